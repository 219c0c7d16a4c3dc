"""The encoder as a deployment of its own: many questions at once become one forward pass."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence

import numpy as np
from ray import serve as ray_serve
from ray.exceptions import RayError
from ray.serve.exceptions import (
    BackPressureError,
    DeploymentUnavailableError,
    ReplicaUnavailableError,
)
from ray.serve.handle import DeploymentHandle

from cluster.errors import ModelError, Overloaded
from cluster.model import Vector
from cluster.models.open import open_embedder
from cluster.models.protocols import Embedder
from cluster.settings import Settings
from cluster.stack.loopback import keep_replica_on_loopback

Asked = tuple[str, str]
"""(question, language)"""

WARM_UP: Sequence[Asked] = (("ready?", "en"), ("准备好了吗？", "zh"))


class Encoder:
    """One replica: one model, one forward pass at a time, in a thread of its own so that the
    event loop stays free."""

    def __init__(self, settings: Settings) -> None:
        if settings.ray.address is None:
            keep_replica_on_loopback()
        self._embedder: Embedder = open_embedder(settings)
        self._lock = threading.Lock()
        self._encode_batched = batched(
            self._encode_many,
            max_batch=settings.serve.encoder_batch,
            wait_s=settings.serve.encoder_batch_wait_ms / 1000,
        )
        self._forward(WARM_UP)

    async def fingerprint(self) -> str:
        return self._embedder.fingerprint

    async def encode(self, question: str, language: str) -> Vector:
        return await self._encode_batched((question, language))

    async def _encode_many(self, asked: list[Asked]) -> list[Vector]:
        return await asyncio.to_thread(self._forward, asked)

    def _forward(self, asked: Sequence[Asked]) -> list[Vector]:
        with self._lock:
            vectors = self._embedder.embed_queries(
                [question for question, _ in asked],
                languages=[language for _, language in asked],
            )
        return list(vectors)


def batched(
    encode: Callable[[list[Asked]], Awaitable[list[Vector]]], *, max_batch: int, wait_s: float
) -> Callable[[Asked], Awaitable[Vector]]:
    """One at a time outside, many at a time inside."""

    @ray_serve.batch(max_batch_size=max_batch, batch_wait_timeout_s=wait_s)
    async def together(asked: list[Asked]) -> list[Vector]:
        return await encode(asked)

    return together


class RemoteEncoder:
    """`serve.channels.semantic.EncodeQuery` over a handle, with errors of our own tree."""

    def __init__(self, handle: DeploymentHandle[Encoder]) -> None:
        self._handle = handle

    async def __call__(self, question: str, language: str) -> Vector:
        try:
            vector = await self._handle.encode.remote(question, language)
        except BackPressureError as error:
            raise Overloaded("too many questions wait for the encoder") from error
        except (DeploymentUnavailableError, ReplicaUnavailableError, RayError) as error:
            raise ModelError(f"the encoder did not answer: {_first_line(error)}") from error
        return np.asarray(vector, dtype=np.float32)

    async def fingerprint(self) -> str:
        try:
            return str(await self._handle.fingerprint.remote())
        except RayError as error:
            raise ModelError(f"the encoder does not start: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1] if lines else type(error).__name__
