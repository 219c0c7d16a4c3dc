"""Who is calling? A key tells tenant, owner, agent and role; nothing in a request can."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from cluster.errors import NotAllowed, NotAuthenticated
from cluster.model import ApiKey, Role, Scope
from serve.secret import secret_digest
from serve.service import Service

NO_KEY = "no API key; send `Authorization: Bearer pk_…` or `X-API-Key`"
REACH: dict[Role, int] = {"read": 0, "write": 1, "admin": 2}

_bearer = HTTPBearer(auto_error=False, description="`Authorization: Bearer pk_…`")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="the key alone")


def service_of(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


async def caller(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    header: Annotated[str | None, Security(_header)],
) -> ApiKey:
    secret = bearer.credentials if bearer else header
    if not secret:
        raise NotAuthenticated(NO_KEY)
    key = await service_of(request).keys.get(secret_digest(secret.strip()))
    if key is None:
        raise NotAuthenticated(
            "this API key is unknown or revoked; make one with `palimpsest keys create`"
        )
    return key


class Reaching:
    """A dependency: the caller's key, if its role reaches as far as `role`."""

    def __init__(self, role: Role) -> None:
        self.role = role

    async def __call__(self, key: Annotated[ApiKey, Depends(caller)]) -> ApiKey:
        if REACH[key.role] < REACH[self.role]:
            raise NotAllowed(f"this needs a key of role {self.role}; yours is {key.role}")
        return key


Reader = Annotated[ApiKey, Depends(Reaching("read"))]
Writer = Annotated[ApiKey, Depends(Reaching("write"))]
TheService = Annotated[Service, Depends(service_of)]


def scope_of(key: ApiKey) -> Scope:
    return Scope(tenant=key.tenant, owner=key.owner, agent=key.agent)
