"""What Ray's own exporter on this node says, to be merged into `/metrics`."""

from __future__ import annotations

from typing import Any

import httpx
import ray

TIMEOUT_S = 0.5


async def read_exporter() -> str:
    """Prometheus text; empty where the node has no exporter or it does not answer, which
    Ray's own missing series then show."""
    here = ray.get_runtime_context().get_node_id()
    nodes = ray.nodes()  # type: ignore[no-untyped-call]  # Ray has no types here
    node: dict[str, Any] = next((each for each in nodes if each["NodeID"] == here), {})
    port = node.get("MetricsExportPort")
    if not port:
        return ""
    try:
        async with httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False) as client:
            answer = await client.get(f"http://{node['NodeManagerAddress']}:{port}/metrics")
    except httpx.HTTPError:
        return ""
    return answer.text if answer.status_code == httpx.codes.OK else ""
