"""How a question asks the cross-encoder: so long and no longer, and after failures in a row not at
all for a while (`serve.breaker`). The model makes one pass at a time, in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from cluster.errors import DeadlineExceeded, ModelError, Overloaded
from cluster.models.cross_encoder import PairScorer, open_cross_encoder
from cluster.settings import CrossEncoderSettings, Settings
from rerank.cross_encoder import ByCrossEncoder, ScorePassages
from serve.breaker import Breaker

Scored = list[float] | DeadlineExceeded

WHO = "the cross-encoder"
WARM_UP = ("ready?", "The service is ready. 服务已就绪。")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Passages of one question; `until` on the clock `time.monotonic` of the process that
    reads them."""

    question: str
    passages: tuple[str, ...]
    until: float


class HereCrossEncoder:
    """`ScorePassages` in this process. The model is opened by `load`, or by whoever asks first."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._model: PairScorer | None = None
        # Not the loop's own threads: a pass that hangs must not keep these from others.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cross-encoder")

    def load(self) -> None:
        """Raises `ModelError` or `InvalidSettings`."""
        self._thread.submit(self._opened).result()

    async def __call__(
        self, question: str, passages: Sequence[str], *, within_s: float
    ) -> list[float]:
        until = time.monotonic() + within_s
        wanted = Wanted(question=question, passages=tuple(passages), until=until)
        (scored,) = await self.score_all([wanted])
        if isinstance(scored, DeadlineExceeded):
            raise scored
        return scored

    async def score_all(self, wanted: Sequence[Wanted]) -> list[Scored]:
        """Together, in one go. Raises `ModelError`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._pass, tuple(wanted))

    def _opened(self) -> PairScorer:
        if self._model is None:
            model = open_cross_encoder(self._settings)
            model.score([WARM_UP])
            self._model = model
        return self._model

    def _pass(self, wanted: Sequence[Wanted]) -> list[Scored]:
        model = self._opened()
        started = time.monotonic()
        timely = [each for each in wanted if each.until > started]
        pairs = [(each.question, passage) for each in timely for passage in each.passages]
        late = DeadlineExceeded("it was too late to begin to read")
        if not timely:
            return [late for _ in wanted]
        try:
            logits = model.score(pairs, until=max(each.until for each in timely)).tolist()
        except DeadlineExceeded as error:
            return [error for _ in wanted]
        scored: dict[int, list[float]] = {}
        for each in timely:
            scored[id(each)], logits = logits[: len(each.passages)], logits[len(each.passages) :]
        return [scored.get(id(each), late) for each in wanted]


class Guarded:
    """`ScorePassages` that waits `timeout_s` at most, and does not ask while `breaker` is open.

    What is late counts as a failure only if it had all of that time: a caller in a hurry says
    nothing about the model.
    """

    def __init__(self, asked: ScorePassages, *, breaker: Breaker, timeout_s: float) -> None:
        self._asked = asked
        self._breaker = breaker
        self._timeout_s = timeout_s

    async def __call__(
        self, question: str, passages: Sequence[str], *, within_s: float
    ) -> Sequence[float]:
        if not self._breaker.admits():
            raise ModelError("it failed too often in a row and is not asked for a while")
        limit_s = min(within_s, self._timeout_s)
        well: bool | None = None
        try:
            async with asyncio.timeout(limit_s):
                scores = await self._asked(question, passages, within_s=limit_s)
            well = True
        except (TimeoutError, DeadlineExceeded) as error:
            well = None if limit_s < self._timeout_s else False
            raise DeadlineExceeded(f"no answer within {round(limit_s * 1000)} ms") from error
        except (ModelError, Overloaded):
            well = False
            raise
        finally:
            self._tell(well=well)
        return scores

    def _tell(self, *, well: bool | None) -> None:
        before = self._breaker.state
        if well is None:
            self._breaker.unheard()
        else:
            self._breaker.heard(well=well)
        after = self._breaker.state
        if after != before:
            _log.warning("%s: asking it was %s, is %s", WHO, before, after)


def by_cross_encoder(asked: ScorePassages, wanted: CrossEncoderSettings) -> ByCrossEncoder:
    """As `rerank.reranker.Reranker`: guarded, with the pool's cap."""
    breaker = Breaker(failures=wanted.failures, rest_s=wanted.rest_s)
    guarded = Guarded(asked, breaker=breaker, timeout_s=wanted.timeout_s)
    return ByCrossEncoder(score_passages=guarded, pool=wanted.pool)
