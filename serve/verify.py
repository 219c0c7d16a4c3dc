"""Claims -> verdicts with their evidence, by the product's own search and explicit comparison."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from cluster.errors import DeadlineExceeded, StoreError
from cluster.filters import Filter
from cluster.model import Scope
from cluster.text.versions import LATEST, same_version, version_key
from rerank.citations import CitedPassage
from serve.claims.judge import Judgement, merged
from serve.claims.reading import Claim, read_claim
from serve.plan.planner import Question
from serve.plan.versions import KnownEdition
from serve.proofs import Proof, QuoteCheck, Read, judge_read, proofs_of, quote_in
from serve.retrieve import Retrieved
from serve.service import SEMANTIC, Service
from serve.tasks import ended_with

PASSAGES = 12
AT_ONCE = 4
MAX_OTHER_EDITIONS = 4
LOOKS = 3
"""One look at a claim may take this part of the time that there is for it."""
NEEDED = frozenset({"keyword"})
NEEDED_WITHOUT_NAMES = NEEDED | {SEMANTIC}
"""Channels without which nobody knows that nothing is there: names are found by their words."""
MIN_DEADLINE_S = 0.02
SPARE_S = 0.05
"""What is left at the end for telling what was found."""

Outcome = Literal["supported", "contradicted", "not_found", "unchecked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToCheck:
    """`version` is what the claim is about, where the caller knows it; `quote` are words that are
    said to stand in the source."""

    text: str
    version: str | None = None
    quote: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """`outdated`: only an older edition says so; `only_in` are the versions that do where the
    one asked about does not. `primary`: a source that says it first bears it out, `second_hand`:
    only retellings do; both `None` without evidence."""

    claim: str
    verdict: Outcome
    supported: bool
    why: str
    versions: tuple[str, ...] = ()
    outdated: bool = False
    only_in: tuple[str, ...] = ()
    primary: bool | None = None
    second_hand: bool | None = None
    evidence: tuple[Proof, ...] = ()
    quote: QuoteCheck | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks, of what, and how long it may take."""

    scope: Scope
    now: datetime
    deadline_s: float
    where: Filter | None = None


async def verify(
    service: Service, claims: Sequence[ToCheck], asking: Asking, *, passed_s: float = 0.0
) -> tuple[Checked, ...]:
    """One for each claim, in order. What cannot be checked, or not in time, is `unchecked`.
    Raises a store's error when no claim could be checked because of it."""
    left_s = asking.deadline_s - passed_s - SPARE_S
    ends = time.monotonic() + left_s
    known = await _editions(service, asking.scope, ends=ends)
    patient = _patient(service, left_s=left_s, claims=len(claims))
    checking = _Checking(service=patient, asking=asking, known=known, ends=ends)
    looks = [asyncio.create_task(checking.look(each)) for each in claims]
    async with ended_with(*looks):
        looked = await asyncio.gather(*looks)
    failures = [each.error for each in looked if each.error is not None]
    if failures and len(failures) == len(looked) and isinstance(failures[0], StoreError):
        raise failures[0]
    ending = [asyncio.create_task(checking.finish(each)) for each in looked]
    async with ended_with(*ending):
        return tuple(await asyncio.gather(*ending))


def _patient(service: Service, *, left_s: float, claims: int) -> Service:
    """A check may take longer than a question, and what a late channel would have found is
    missed more: channels get a share of the time, never less than for a question."""
    rounds = max(1, math.ceil(claims / AT_ONCE))
    share_s = left_s / (LOOKS * rounds)
    sources = service.sources
    within_s = max(sources.channel_deadline_s, share_s)
    return replace(service, sources=replace(sources, channel_deadline_s=within_s))


async def _editions(service: Service, scope: Scope, *, ends: float) -> tuple[KnownEdition, ...]:
    """None when they do not come in time: then no time is left for any claim, and each says so."""
    try:
        async with asyncio.timeout(ends - time.monotonic()):
            return tuple(await service.editions.get(scope))
    except TimeoutError:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """A claim with what the versions that it is about say, or why that is not known."""

    asked: ToCheck
    claim: Claim
    judged: tuple[tuple[Judgement, Read], ...] = ()
    quote: QuoteCheck | None = None
    error: DeadlineExceeded | StoreError | None = None


class _Checking:
    """One call: all of its claims share the places and the time."""

    def __init__(
        self, *, service: Service, asking: Asking, known: Sequence[KnownEdition], ends: float
    ) -> None:
        self._service, self._asking, self._known, self._ends = service, asking, known, ends
        self._places = asyncio.Semaphore(AT_ONCE)
        self._products = {product.casefold() for product, _ in known if product}

    async def look(self, asked: ToCheck) -> _Looked:
        """The verdict, for every claim before other editions are looked at for any."""
        claim = read_claim(asked.text, products=self._products, version=_named(asked.version))
        try:
            async with asyncio.timeout(self._left_s()), self._places:
                return await self._looked(asked, claim)
        except TimeoutError:
            error = DeadlineExceeded("the time ran out before this claim was looked at")
            return _Looked(asked=asked, claim=claim, error=error)
        except (DeadlineExceeded, StoreError) as error:
            return _Looked(asked=asked, claim=claim, error=error)

    async def _looked(self, asked: ToCheck, claim: Claim) -> _Looked:
        judged: list[tuple[Judgement, Read]] = []
        for version in claim.versions or (None,):
            one = replace(claim, versions=(version,) if version else ())
            read = await self._read(one.question, version or "latest", named=one.named)
            judged.append((await _judged(one, read), read))
        quote = await self._quote(asked, claim, judged[0][1]) if asked.quote else None
        return _Looked(asked=asked, claim=claim, judged=tuple(judged), quote=quote)

    async def finish(self, looked: _Looked) -> Checked:
        if looked.error is not None:
            return _unchecked(looked.asked, looked.claim, str(looked.error))
        judgement = merged([each for each, _ in looked.judged])
        only_in: tuple[str, ...] = ()
        notes = [note for _, each in looked.judged for note in each.notes]
        if judgement.verdict == "supported":
            return _checked(looked, judgement, only_in, notes)
        if not judgement.findings and (unheard := _unheard(looked)):
            return _unchecked(looked.asked, looked.claim, "; ".join(unheard))
        try:
            async with asyncio.timeout(self._left_s()), self._places:
                only_in = await self._elsewhere(looked.claim, looked.judged)
        except (TimeoutError, DeadlineExceeded):
            notes.append("there was no time to look at other versions")
        except StoreError as error:
            notes.append(f"other versions were not looked at: {error}")
        return _checked(looked, judgement, only_in, notes)

    async def _read(self, question: str, version: str, *, named: bool = False) -> Read:
        """What the product's search finds. For a claim that names identifiers the passages that
        have them are what is needed, so that the fused order is enough. Whether a passage is
        about the claim is told by comparing, not by a threshold."""
        scope = self._asking.scope
        plan = await self._service.plan(
            Question(
                text=question,
                scope=scope,
                limit=PASSAGES,
                now=self._asking.now,
                deadline_s=max(self._left_s(), MIN_DEADLINE_S),
                where=self._asking.where,
                version=version,
            )
        )
        rerank = replace(plan.rerank, min_relevance=0.0)
        plan = replace(plan, rerank=replace(rerank, name="none") if named else rerank)
        found: Retrieved = await self._service.search(plan)
        ids = sorted({passage.citation.revision_id for passage in found.passages})
        async with self._service.ledger.transaction() as tx:
            texts = await tx.documents.texts(scope, ids) if ids else {}
        failed = {
            each.channel: f"{each.channel} gave nothing: {each.reason}" for each in found.failures
        }
        needed = NEEDED if named else NEEDED_WITHOUT_NAMES
        return Read(
            passages=found.passages,
            texts=texts,
            notes=(*found.notes, *failed.values()),
            unheard=tuple(told for channel, told in failed.items() if channel in needed),
        )

    async def _elsewhere(
        self, claim: Claim, judged: Sequence[tuple[Judgement, Read]]
    ) -> tuple[str, ...]:
        """The other editions that bear the claim out where the one that was asked does not."""
        passages = [passage for _, read in judged for passage in read.passages]
        found = []
        for edition in self._other_editions(claim, passages):
            if self._left_s() <= 0:
                break
            read = await self._read(claim.question, edition, named=claim.named)
            if (await _judged(replace(claim, versions=(edition,)), read)).verdict == "supported":
                found.append(edition)
        return tuple(found)

    def _other_editions(self, claim: Claim, passages: Sequence[CitedPassage]) -> list[str]:
        """Of the product that the claim or the best passage is of, the newest first."""
        products = set(claim.products)
        if not products:
            products = {(each.citation.product or "").casefold() for each in passages[:1]}
        looked_at = claim.versions or {
            each.citation.version or "" for each in passages if each.citation.newest_edition
        }
        others = {
            edition
            for product, edition in self._known
            if product.casefold() in products
            and not any(same_version(each, edition) for each in looked_at)
        }
        return sorted(others, key=version_key, reverse=True)[:MAX_OTHER_EDITIONS]

    async def _quote(self, asked: ToCheck, claim: Claim, read: Read) -> QuoteCheck:
        """Looked for in what was found for the claim, then in what the words themselves find."""
        quote = asked.quote or ""
        checked = await asyncio.to_thread(quote_in, quote, claim, read)
        if checked.verbatim or self._left_s() <= 0:
            return checked
        version = claim.versions[0] if claim.versions else "latest"
        more = await self._read(quote, version)
        again = await asyncio.to_thread(quote_in, quote, claim, more)
        return again if again.verbatim or not checked.nearest else checked

    def _left_s(self) -> float:
        return self._ends - time.monotonic()


def _checked(
    looked: _Looked, judgement: Judgement, only_in: tuple[str, ...], notes: Sequence[str]
) -> Checked:
    claim = looked.claim
    proofs = proofs_of(looked.judged, judgement)
    bearing = [proof for proof in proofs if proof.says == judgement.verdict]
    return Checked(
        claim=looked.asked.text,
        verdict=judgement.verdict,
        supported=judgement.verdict == "supported",
        why=_why(judgement, only_in, claim),
        versions=claim.versions,
        outdated=bool(only_in) and not claim.versions,
        only_in=only_in,
        primary=any(not proof.second_hand for proof in bearing) if bearing else None,
        second_hand=all(proof.second_hand for proof in bearing) if bearing else None,
        evidence=proofs,
        quote=looked.quote,
        notes=tuple(dict.fromkeys(notes)),
    )


def _unheard(looked: _Looked) -> tuple[str, ...]:
    return tuple(dict.fromkeys(told for _, read in looked.judged for told in read.unheard))


async def _judged(claim: Claim, read: Read) -> Judgement:
    return await asyncio.to_thread(judge_read, claim, read)


def _named(version: str | None) -> str | None:
    """`latest` is what is looked at without a version."""
    return None if version is None or version.casefold() in LATEST else version


def _why(judgement: Judgement, only_in: Sequence[str], claim: Claim) -> str:
    if not only_in:
        return judgement.why
    told = f"only in version {', '.join(only_in)}"
    if not claim.versions:
        told += ", which is not the newest"
    return f"{told}; {judgement.why}"


def _unchecked(asked: ToCheck, claim: Claim, why: str) -> Checked:
    return Checked(
        claim=asked.text, verdict="unchecked", supported=False, why=why, versions=claim.versions
    )
