"""The HTTP application: every room's endpoints behind one gate; knows nothing of Ray."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse
from pydantic import BaseModel
from starlette.types import ASGIApp

from serve.api import context, documents, forget, health, problems, search, uploads, usage, verify
from serve.api.gate import Gate, Limits
from serve.api.page import render
from serve.api.schemas import Problem, TextUpload
from serve.metrics import Metrics
from serve.service import Service

VERSION = "1.0"
DESCRIPTION = "Ask in Chinese or English; get passages with their source, version and date."

OpenService = Callable[[], Awaitable[Service]]


def build_api(open_service: OpenService, *, limits: Limits, metrics: Metrics) -> FastAPI:
    """An ASGI application that opens its service when it starts and closes it when it ends."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service = await open_service()
        app.state.service = service
        app.state.looks = health.looks_at(service)
        try:
            async with service.running():
                yield
        finally:
            await service.stores.close()

    app = FastAPI(
        title="Palimpsest",
        version=VERSION,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    for room in (search, context, verify, documents, uploads, usage, forget, health):
        app.include_router(room.router)
    problems.install(app)
    app.add_middleware(_gate, limits=limits, metrics=metrics)
    _document(app)
    return app


def _gate(app: ASGIApp, *, limits: Limits, metrics: Metrics) -> ASGIApp:
    return Gate(app, limits=limits, metrics=metrics)


def _document(app: FastAPI) -> None:
    """OpenAPI with the shapes that FastAPI does not see by itself, and the page made of it."""
    made_by_fastapi = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = made_by_fastapi()
            document["components"]["schemas"].update(_schemas((Problem, TextUpload)))
            _drop_validation_errors(document)
        return app.openapi_schema or {}

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents

    @app.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def docs(request: Request) -> str:
        return render(app.openapi(), base=str(request.base_url).rstrip("/"))

    @app.get("/", include_in_schema=False, response_class=HTMLResponse)
    async def root(request: Request) -> str:
        return await docs(request)


def _schemas(models: Iterable[type[BaseModel]]) -> dict[str, Any]:
    return {
        model.__name__: model.model_json_schema(ref_template="#/components/schemas/{model}")
        for model in models
    }


def _drop_validation_errors(document: dict[str, Any]) -> None:
    """FastAPI documents its own error shape for 422; ours are problems."""
    for methods in document["paths"].values():
        for operation in methods.values():
            for answer in operation["responses"].values():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                if schema.get("$ref", "").endswith("/HTTPValidationError"):
                    answer["content"] = {
                        problems.CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}
                    }
    for name in ("HTTPValidationError", "ValidationError"):
        document["components"]["schemas"].pop(name, None)
