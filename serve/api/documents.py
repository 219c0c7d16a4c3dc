"""/v1/documents and /v1/passages: what is stored, as the caller may see it."""

from __future__ import annotations

import json
import re
from typing import Annotated

from fastapi import APIRouter, Query, Response

from cluster.errors import InvalidFilter, NotFound
from cluster.filters import Filter, parse_filter
from cluster.kill_points import reached
from cluster.model import Scope, StoredPassage
from rerank.citations import citation_of
from rerank.dedup import Block
from serve.api.auth import Reader, TheService, Writer, scope_of
from serve.api.documented import problems
from serve.api.schemas import DocumentDetail, DocumentPage, PassageDetail, PassageText
from serve.service import Service

router = APIRouter()
ID = re.compile(r"[a-z0-9_]{1,64}")
CURSOR_PATTERN = r"^[ -~]{1,2048}$"


@router.get(
    "/v1/documents",
    tags=["documents"],
    response_model=DocumentPage,
    summary="List documents",
    responses=problems(401, 422, 503),
)
async def list_documents(
    key: Reader,
    service: TheService,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    cursor: Annotated[str | None, Query(pattern=CURSOR_PATTERN)] = None,
    filter: Annotated[  # noqa: A002  # the name of the parameter in the address
        str | None, Query(max_length=16_384, description='JSON, e.g. `{"language": "zh"}`')
    ] = None,
) -> DocumentPage:
    """Visible editions in the order of their ids, a page at a time."""
    where = _filter(filter)
    async with service.ledger.transaction() as tx:
        documents, next_cursor = await tx.documents.page(
            scope_of(key), where=where, after=cursor, limit=limit
        )
    return DocumentPage(documents=documents, next_cursor=next_cursor)


@router.get(
    "/v1/documents/{document_id}",
    tags=["documents"],
    response_model=DocumentDetail,
    summary="One document",
    responses=problems(401, 404, 503),
)
async def get_document(
    document_id: str,
    key: Reader,
    service: TheService,
    text: Annotated[
        bool, Query(description="with the stored text that offsets point into")
    ] = False,
    revision_id: Annotated[str | None, Query(description="whose text; default: newest")] = None,
) -> DocumentDetail:
    """Its visible editions, newest first. A document of another tenant is not found."""
    known_form(document_id, "document")
    scope = scope_of(key)
    async with service.ledger.transaction() as tx:
        editions = await tx.documents.editions(scope, document_id)
    if not text and revision_id is None:
        return DocumentDetail(document_id=document_id, editions=editions)
    chosen = revision_id or editions[0].revision_id
    if chosen not in {edition.revision_id for edition in editions}:
        raise NotFound("this document has no visible revision of that id")
    async with service.ledger.transaction() as tx:
        stored = await tx.documents.texts(scope, [chosen])
    if chosen not in stored:
        raise NotFound("the document was deleted just now")
    return DocumentDetail(
        document_id=document_id, editions=editions, revision_id=chosen, text=stored[chosen]
    )


@router.delete(
    "/v1/documents/{document_id}",
    tags=["documents"],
    status_code=204,
    summary="Delete a document",
    responses=problems(401, 403, 404, 503),
)
async def delete_document(document_id: str, key: Writer, service: TheService) -> Response:
    """All its editions; no answer shows it from this moment on."""
    known_form(document_id, "document")
    async with service.ledger.transaction() as tx:
        deleted = await tx.documents.delete(scope_of(key), [document_id])
    reached("delete.committed")
    if not deleted:
        raise NotFound(f"there is no document {document_id}")
    return Response(status_code=204)


@router.get(
    "/v1/passages/{chunk_id}",
    tags=["passages"],
    response_model=PassageDetail,
    summary="One passage and those around it",
    responses=problems(401, 404, 422, 503),
)
async def get_passage(
    chunk_id: str,
    key: Reader,
    service: TheService,
    before: Annotated[int, Query(ge=0, le=20)] = 1,
    after: Annotated[int, Query(ge=0, le=20)] = 1,
) -> PassageDetail:
    """The chunk that a citation names, and its neighbours in the same revision (for a turn:
    in the same session)."""
    known_form(chunk_id, "passage")
    passage, around = await _with_neighbours(
        service, scope_of(key), chunk_id, before=before, after=after
    )
    place = _place(passage)
    return PassageDetail(
        passage=_text_of(passage),
        before=[_text_of(each) for each in around if _place(each) < place],
        after=[_text_of(each) for each in around if _place(each) > place],
    )


async def _with_neighbours(
    service: Service, scope: Scope, chunk_id: str, *, before: int, after: int
) -> tuple[StoredPassage, list[StoredPassage]]:
    async with service.ledger.transaction() as tx:
        passage = (await tx.documents.visible(scope, [chunk_id])).get(chunk_id)
        if passage is None:
            raise NotFound(f"there is no passage {chunk_id}")
        if not before and not after:
            return passage, []
        around = await tx.documents.neighbours(scope, chunk_id, before=before, after=after)
    return passage, around


def _filter(raw: str | None) -> Filter | None:
    if raw is None:
        return None
    try:
        return parse_filter(json.loads(raw))
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits
        raise InvalidFilter(f'filter is not JSON such as {{"language": "zh"}}: {error}') from error


def known_form(identifier: str, what: str) -> None:
    """Anything else was never given out as an id."""
    if not ID.fullmatch(identifier):
        raise NotFound(f"there is no such {what}")


def _place(passage: StoredPassage) -> tuple[int, str, int]:
    """As `Documents.neighbours` orders them."""
    ordinal = passage.turn.ordinal if passage.turn else 0
    return (ordinal, passage.document_id, passage.chunk.ordinal)


def _text_of(passage: StoredPassage) -> PassageText:
    block = Block(passages=(passage,), score=0.0, hits=())
    return PassageText(text=passage.chunk.text, citation=citation_of(block))
