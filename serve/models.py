"""The encoder as a deployment of its own: many questions at once become one forward pass."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from ray import serve as ray_serve
from ray.exceptions import RayError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    ReplicaUnavailableError,
)
from ray.serve.handle import DeploymentHandle

from cluster.errors import ModelError, Overloaded
from cluster.model import EncodedQuery, Generation
from cluster.models.open import describe, open_generation
from cluster.models.protocols import Embedder
from cluster.settings import Settings
from cluster.stack.loopback import keep_replica_on_loopback

Asked = tuple[str, str, str]
"""(question, language, fingerprint of the encoder)"""

Given = TypeVar("Given")
Made = TypeVar("Made")

WARM_UP: Sequence[tuple[str, str]] = (("ready?", "en"), ("准备好了吗？", "zh"))
WHO = "the encoder"
KEPT = 2
"""Models in memory: the one that is searched, and the one that is built or was searched before."""


class Encoder:
    """One replica: one forward pass at a time, in a thread of its own so that the event loop
    stays free. A model is opened when it is first asked for; questions to others go on."""

    def __init__(self, settings: Settings) -> None:
        if settings.ray.address is None:
            keep_replica_on_loopback()
        self._settings = settings
        self._own = describe(settings)
        self._open: OrderedDict[str, Embedder] = OrderedDict()
        self._opening = asyncio.Lock()
        self._lock = threading.Lock()
        self._encode_batched = batched(
            self._encode_many,
            max_batch=settings.serve.encoder_batch,
            wait_s=settings.serve.encoder_batch_wait_ms / 1000,
        )

    async def fingerprint(self) -> str:
        """Of the encoder that the settings name."""
        return self._own.fingerprint

    async def encode(
        self, question: str, language: str, generation: Generation | None = None
    ) -> EncodedQuery:
        """By the encoder of `generation`, by default by the one that the settings name."""
        wanted = generation or self._own
        # Before the batch: those in it that have their model must not wait for another one.
        await self._ready(wanted)
        return await self._encode_batched((question, language, wanted.fingerprint))

    async def count(self, texts: Sequence[str], generation: Generation | None = None) -> list[int]:
        """Tokens of each text by the same encoder, prompt and special tokens not counted."""
        wanted = generation or self._own
        await self._ready(wanted)
        return await asyncio.to_thread(self._counted, list(texts), wanted.fingerprint)

    async def _ready(self, generation: Generation) -> None:
        if generation.fingerprint not in self._open:
            async with self._opening:
                if generation.fingerprint not in self._open:
                    embedder = await asyncio.to_thread(self._opened, generation)
                    self._open[generation.fingerprint] = embedder
        self._open.move_to_end(generation.fingerprint)
        while len(self._open) > KEPT:
            self._open.popitem(last=False)

    def _opened(self, generation: Generation) -> Embedder:
        embedder = open_generation(generation, self._settings)
        texts, languages = zip(*WARM_UP, strict=True)
        embedder.encode_queries(texts, languages=languages)
        return embedder

    def _counted(self, texts: Sequence[str], fingerprint: str) -> list[int]:
        embedder = self._open.get(fingerprint)
        if embedder is None:
            raise ModelError(f"encoder {fingerprint} was closed meanwhile; ask again")
        with self._lock:
            return embedder.count_tokens(texts)

    async def _encode_many(self, asked: list[Asked]) -> list[EncodedQuery]:
        return await asyncio.to_thread(self._forward, asked)

    def _forward(self, asked: Sequence[Asked]) -> list[EncodedQuery]:
        """One pass for each encoder."""
        queries: dict[int, EncodedQuery] = {}
        for fingerprint in dict.fromkeys(one[2] for one in asked):
            places = [at for at, one in enumerate(asked) if one[2] == fingerprint]
            embedder = self._open.get(fingerprint)
            if embedder is None:
                raise ModelError(f"encoder {fingerprint} was closed meanwhile; ask again")
            with self._lock:
                made = embedder.encode_queries(
                    [asked[at][0] for at in places], languages=[asked[at][1] for at in places]
                )
            queries.update(zip(places, made, strict=True))
        return [queries[at] for at in range(len(asked))]


def batched(
    make: Callable[[list[Given]], Awaitable[list[Made]]], *, max_batch: int, wait_s: float
) -> Callable[[Given], Awaitable[Made]]:
    """One at a time outside, many at a time inside."""

    @ray_serve.batch(max_batch_size=max_batch, batch_wait_timeout_s=wait_s)
    async def together(given: list[Given]) -> list[Made]:
        return await make(given)

    return together


class RemoteEncoder:
    """`serve.channels.semantic.EncodeQuery` over a handle, with errors of our own tree. It
    encodes for `generation`, by default as the settings say."""

    def __init__(
        self, handle: DeploymentHandle[Encoder], generation: Generation | None = None
    ) -> None:
        self._handle = handle
        self._generation = generation

    def of(self, generation: Generation) -> RemoteEncoder:
        return RemoteEncoder(self._handle, generation)

    async def __call__(self, question: str, language: str) -> EncodedQuery:
        with told(WHO):
            query: EncodedQuery = await self._handle.encode.remote(
                question, language, self._generation
            )
        return query

    async def count(self, texts: Sequence[str]) -> list[int]:
        """`serve.counting.CountTokens`."""
        with told(WHO):
            counts: list[int] = await self._handle.count.remote(list(texts), self._generation)
        return counts

    async def fingerprint(self) -> str:
        try:
            return str(await self._handle.fingerprint.remote())
        except RayError as error:
            raise ModelError(f"the encoder does not start: {_first_line(error)}") from error


@contextmanager
def told(who: str) -> Iterator[None]:
    """What Serve raises when `who` is asked, as errors of our own tree."""
    try:
        yield
    except BackPressureError as error:
        raise Overloaded(f"too many questions wait for {who}") from error
    except (DeploymentUnavailableError, ReplicaUnavailableError, RayError) as error:
        raise ModelError(f"{who} did not answer: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
