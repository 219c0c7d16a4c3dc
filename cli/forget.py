"""Make something gone for good: forget, receipt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from cli.stack import service_specs
from cluster.clock import SystemClock
from cluster.errors import InvalidRequest, NotFound
from cluster.forget.key_files import receipt_key_file, tombstone_key_file
from cluster.forget.receipts import Signer, key_id, read_public_key
from cluster.forget.receipts import verify as check_receipt
from cluster.forget.request import Preview, Wish, commit, job_view, look
from cluster.forget.request import lift as lift_receipt
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up
from cluster.stores.open import open_ledger
from cluster.stores.protocols import ForgetJob, Ledger, Selector
from cluster.stores.protocols.forgetting import SelectorKind
from lifecycle.forget import finish, finish_all
from lifecycle.ground import open_ground

Result = TypeVar("Result")

Value = Annotated[str, typer.Argument(help="Its id, origin or name.")]
Tenant = Annotated[str, typer.Option(help="Whose; else `tenant` of the settings.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines.")]
Wait = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Until the receipt is signed; the default.")
]
Within = Annotated[float, typer.Option(help="Seconds to wait at most.", min=0)]

MEANINGS: dict[SelectorKind, str] = {
    "item": "What has this id or origin, or holds this passage; its place stays open.",
    "document": "A document with all its versions; its place is closed, too.",
    "source": "Everything of a source.",
    "owner": "Everything that belongs to an owner.",
    "session": "All turns of a session.",
    "conversation": "All turns of a conversation.",
}


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    forgets = typer.Typer(no_args_is_help=True, help="Forget exactly, and have it in writing.")
    for kind, meaning in MEANINGS.items():
        forgets.command(kind, help=meaning)(_command(kind))
    forgets.command("resume")(resume)
    forgets.command("lift")(lift)
    app.add_typer(forgets, name="forget")
    receipts = typer.Typer(no_args_is_help=True, help="Signed proof of what was forgotten.")
    receipts.command("show")(show)
    receipts.command("verify")(verify)
    receipts.command("public-key")(public_key)
    app.add_typer(receipts, name="receipt")


def _command(kind: SelectorKind) -> Callable[..., None]:
    def command(
        value: Value,
        *,
        tenant: Tenant = "",
        dry_run: DryRun = False,
        yes: Yes = False,
        wait: Wait = True,
        within_s: Within = 120.0,
        as_json: AsJson = False,
    ) -> None:
        settings = load_settings()
        wish = Wish(tenant=tenant or settings.tenant, selector=Selector(kind=kind, value=value))
        _ensure_up(settings)
        if dry_run:
            seen = _with_ledger(settings, lambda ledger: look(ledger, wish))
            _tell_preview(seen, as_json=as_json)
            return
        if not yes:
            _confirm(settings, wish)
        job = _with_ledger(settings, lambda ledger: _committed(ledger, wish, settings))
        if wait:
            job = asyncio.run(_finished(settings, job, within_s=within_s))
        _tell_job(job, as_json=as_json)
        if wait and job.state != "finished":
            raise typer.Exit(1)

    return command


def resume(
    within_s: Within = 120.0,
    as_json: AsJson = False,
) -> None:
    """Finish what was begun and interrupted, of all tenants."""
    settings = load_settings()
    _ensure_up(settings)

    async def run() -> list[ForgetJob]:
        async with open_ground(settings) as ground:
            return await finish_all(ground, within_s=within_s)

    left = asyncio.run(run())
    if as_json:
        typer.echo(json.dumps({"unfinished": [job_view(job) for job in left]}, indent=2))
    elif not left:
        typer.echo("nothing is left to be finished")
    for job in left if not as_json else ():
        typer.echo(f"{job.job_id} waits for {job.waits_for}")
    if left:
        raise typer.Exit(1)


def lift(
    receipt_id: Annotated[str, typer.Argument(help="As `forget` told it.")],
    *,
    tenant: Tenant = "",
    as_json: AsJson = False,
) -> None:
    """Let what a receipt keeps away be ingested again."""
    settings = load_settings()
    _ensure_up(settings)
    whose = tenant or settings.tenant
    now = SystemClock().now()
    count = _with_ledger(settings, lambda ledger: lift_receipt(ledger, whose, receipt_id, now=now))
    if as_json:
        typer.echo(json.dumps({"receipt_id": receipt_id, "tombstones": count}))
    else:
        what = (
            f"{count:,} tombstones lifted" if count else "keeps nothing away, or was lifted before"
        )
        typer.echo(f"{receipt_id}: {what}; ingest again what shall come back")


def show(
    receipt_id: Annotated[str, typer.Argument(help="As `forget` told it.")],
    *,
    tenant: Tenant = "",
) -> None:
    """The receipt, byte for byte as it was signed."""
    typer.echo(_stored_receipt(load_settings(), receipt_id, tenant))


def verify(
    receipt: Annotated[str, typer.Argument(help="A receipt's id, or a file that holds it.")],
    *,
    public_key: Annotated[
        Path | None, typer.Option(help="PEM or hex; else this instance's own key.")
    ] = None,
    tenant: Tenant = "",
    as_json: AsJson = False,
) -> None:
    """Check a receipt's signature; exit status 1 and the part that differs if it was changed."""
    settings = load_settings()
    path = Path(receipt)
    if not path.is_file() and not receipt.startswith("rcp_"):
        raise InvalidRequest(f"{receipt}: neither a file nor the id of a receipt (rcp_…)")
    text = _read(path) if path.is_file() else _stored_receipt(settings, receipt, tenant)
    key = read_public_key(_read(public_key)) if public_key else _known_signer(settings).public_key
    wrong = check_receipt(text.removesuffix("\n"), key)
    if as_json:
        typer.echo(json.dumps({"valid": not wrong, "wrong": wrong, "key_id": key_id(key)}))
    elif wrong:
        for part in wrong:
            typer.echo(f"not valid: {part}", err=True)
    else:
        typer.echo(f"valid, signed by key {key_id(key)}")
    if wrong:
        raise typer.Exit(1)


def public_key(as_json: AsJson = False) -> None:
    """The key that receipts of this instance are checked with, as PEM."""
    signer = Signer(receipt_key_file(load_settings()).make())
    if as_json:
        raw = signer.public_key
        told = {"key_id": key_id(raw), "public_key": raw.hex(), "pem": signer.pem}
        typer.echo(json.dumps(told, indent=2))
    else:
        typer.echo(signer.pem, nl=False)


def _ensure_up(settings: Settings) -> None:
    if settings.postgres.url is None or settings.milvus.uri is None:
        ensure_up(settings, service_specs(settings), say=lambda line: typer.echo(line, err=True))


def _confirm(settings: Settings, wish: Wish) -> None:
    """What is not there needs no consent: it was forgotten before, or the next step says so."""
    try:
        seen = _with_ledger(settings, lambda ledger: look(ledger, wish))
    except NotFound:
        return
    typer.echo(_in_words(seen), err=True)
    try:
        typer.confirm("Forget this for good?", abort=True, err=True)
    except typer.Abort:
        typer.echo(err=True)
        raise InvalidRequest("nothing was forgotten; --yes consents beforehand") from None


def _with_ledger(settings: Settings, act: Callable[[Ledger], Awaitable[Result]]) -> Result:
    async def run() -> Result:
        ledger = await open_ledger(settings)
        try:
            return await act(ledger)
        finally:
            await ledger.close()

    return asyncio.run(run())


async def _committed(ledger: Ledger, wish: Wish, settings: Settings) -> ForgetJob:
    key_file = tombstone_key_file(settings)
    return await commit(ledger, wish, key_file=key_file, now=SystemClock().now())


async def _finished(settings: Settings, job: ForgetJob, *, within_s: float) -> ForgetJob:
    async with open_ground(settings) as ground:
        return await finish(ground, job, within_s=within_s)


def _stored_receipt(settings: Settings, receipt_id: str, tenant: str) -> str:
    async def ask(ledger: Ledger) -> str:
        async with ledger.transaction() as tx:
            return await tx.forget_jobs.receipt(tenant or settings.tenant, receipt_id)

    _ensure_up(settings)
    return _with_ledger(settings, ask)


def _known_signer(settings: Settings) -> Signer:
    """Checking makes no key: a new one would call every receipt false."""
    file = receipt_key_file(settings)
    held = file.read()
    if held is None:
        raise InvalidRequest(
            f"there is no key of receipts at {file.path}; name the public key with --public-key, "
            "or the key's file with forget.receipt_key_file"
        )
    return Signer(held)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read: {error}") from error


def _tell_preview(seen: Preview, *, as_json: bool) -> None:
    if as_json:
        told: dict[str, Any] = {**asdict(seen), "documents": len(seen.plan.documents)}
        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        typer.echo(_in_words(seen))


def _in_words(seen: Preview) -> str:
    plan = seen.plan
    lines = [
        f"{len(plan.documents):,} documents: {seen.revisions:,} revisions, {seen.chunks:,} chunks",
        f"  of them {len(plan.derived):,} that were made of the others alone",
        f"{len(plan.recompute):,} stay on other support and should be made anew"
        + (": " + ", ".join(plan.recompute[:5]) if plan.recompute else ""),
        f"{seen.tombstones:,} tombstones would keep contents and places away until lifted",
        *(f"  {line}" for line in seen.shown),
    ]
    if len(plan.documents) > len(seen.shown):
        lines.append("  …")
    return "\n".join(lines)


def _tell_job(job: ForgetJob, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(job_view(job), indent=2))
        return
    counts = ", ".join(f"{count:,} {name}" for name, count in job.counts.items() if count)
    typer.echo(f"forgotten: {counts or 'nothing was there'}")
    if job.state == "finished":
        typer.echo(f"every store was searched, nothing is left; receipt {job.receipt_id}")
    else:
        typer.echo(
            f"nothing shows it any more; {job.job_id} waits for {job.waits_for or 'its turn'}. "
            "`palimpsest forget resume` goes on"
        )
