"""The cross-encoder as a deployment of its own: the passages of questions that come together are
read together, and what can no longer be in time is not read."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from ray.serve.handle import DeploymentHandle

from cluster.errors import DeadlineExceeded, ModelError
from cluster.settings import Settings
from cluster.stack.loopback import keep_replica_on_loopback
from serve.cross_encoding import WHO, HereCrossEncoder, Scored, Wanted
from serve.models import batched, told

_log = logging.getLogger(__name__)


class CrossEncoderReplica:
    """One replica. Where its model cannot be opened it starts nevertheless, and tells everyone
    who asks; each of these is another try."""

    def __init__(self, settings: Settings) -> None:
        if settings.ray.address is None:
            keep_replica_on_loopback()
        wanted = settings.cross_encoder
        self._model = HereCrossEncoder(settings)
        self._scored = batched(
            self._model.score_all,
            max_batch=wanted.batch,
            wait_s=wanted.batch_wait_ms / 1000,
        )
        try:
            self._model.load()
        except ModelError as error:
            _log.warning("the cross-encoder is not there: %s", error)

    async def score(self, question: str, passages: Sequence[str], within_s: float) -> Scored:
        """Lateness is a value here, as errors of a deployment are logged with a traceback."""
        until = time.monotonic() + within_s
        return await self._scored(Wanted(question=question, passages=tuple(passages), until=until))


class RemoteCrossEncoder:
    """`ScorePassages` over a handle, with errors of our own tree."""

    def __init__(self, handle: DeploymentHandle[CrossEncoderReplica]) -> None:
        self._handle = handle

    async def __call__(
        self, question: str, passages: Sequence[str], *, within_s: float
    ) -> list[float]:
        with told(WHO):
            scored: Scored = await self._handle.score.remote(question, list(passages), within_s)
        if isinstance(scored, DeadlineExceeded):
            raise scored
        return scored
