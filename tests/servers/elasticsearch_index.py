"""Indexes of their own for tests that share one Elasticsearch."""

from __future__ import annotations

import uuid
from typing import Any

from cluster.settings import TextIndexSettings
from cluster.stores.elasticsearch.replacement import removed

__all__ = ["new_settings", "removed"]


def new_settings(url: str, **more: Any) -> TextIndexSettings:
    """An index that nobody else uses; `removed` takes it away."""
    values = {"index": f"test-{uuid.uuid4().hex[:12]}", "timeout_s": 30.0, **more}
    return TextIndexSettings(backend="elasticsearch", url=url, **values)
