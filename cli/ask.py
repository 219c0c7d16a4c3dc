"""Ask questions: search."""

from __future__ import annotations

import json
import math
import os
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import httpx
import typer
from rich.console import Console

from cli.answer import print_answer
from cli.stack import service_specs
from cluster.errors import InvalidRequest, NotAuthenticated, PalimpsestError, StackError
from cluster.filters import FIELDS
from cluster.settings import Settings, load_settings
from cluster.stack.control import ensure_up, tenant_of_stack
from cluster.stack.services import endpoints, local_key_path

TIMEOUT_S = 65.0


@dataclass(frozen=True, slots=True)
class Endpoint:
    url: str
    key: str


def register(app: typer.Typer) -> None:
    """Add this group's commands to `app`."""
    app.command("search")(search)


def search(  # noqa: PLR0917  # called with names by the command line
    question: Annotated[str, typer.Argument(help="What you want to know, in your own words.")],
    top_k: Annotated[int, typer.Option("-k", "--top-k", help="How many passages.")] = 5,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--filter",
            "-f",
            help='`field=value` (several: all; `a,b`: any of) or JSON such as {"language": "zh"}.',
        ),
    ] = None,
    version: Annotated[
        str | None, typer.Option("--version", help="Answer from this version, such as 7.5.")
    ] = None,
    explain: Annotated[bool, typer.Option(help="Also say how the answer was found.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="For machines: the answer as is.")
    ] = False,
) -> None:
    """Answer a question with cited passages."""
    body: dict[str, Any] = {"query": question, "top_k": top_k, "explain": explain}
    if where:
        body["filter"] = filter_of(where)
    if version is not None:
        body["version"] = version
    answer = ask(find_endpoint(quiet=as_json), body)
    if as_json:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    else:
        print_answer(answer, Console(highlight=False), explain=explain)


def filter_of(given: list[str]) -> dict[str, Any]:
    """`field=value` and JSON, all of which must hold. The server checks the meaning."""
    parts = [_json(each) if each.lstrip().startswith("{") else _pair(each) for each in given]
    return parts[0] if len(parts) == 1 else {"all_of": parts}


def find_endpoint(*, quiet: bool) -> Endpoint:
    """`PALIMPSEST_URL` and `PALIMPSEST_API_KEY`, else the local stack, started if need be."""
    url, key = os.environ.get("PALIMPSEST_URL"), os.environ.get("PALIMPSEST_API_KEY")
    if url and not key:
        raise NotAuthenticated("PALIMPSEST_URL is set; set PALIMPSEST_API_KEY to a key for it, too")
    settings = load_settings()
    if not url:
        ensure_up(settings, service_specs(settings), say=_say_nothing if quiet else _say)
        url = endpoints(settings).serve
    return Endpoint(url.rstrip("/"), key or local_key(settings))


def local_key(settings: Settings) -> str:
    """The local administrator's; it is one for the tenant that the stack was started for, so
    with settings that name another the answer would come from the wrong one: refused."""
    running = tenant_of_stack(settings)
    if running not in (None, settings.tenant):
        raise StackError(
            f"the stack and its local key are of tenant {running!r}, these settings name "
            f"{settings.tenant!r}; run `palimpsest down` and ask again, or put what `palimpsest "
            f"keys create --tenant {settings.tenant}` prints into PALIMPSEST_API_KEY"
        )
    path = local_key_path(settings)
    if not path.is_file():
        raise StackError(f"there is no key at {path}; `palimpsest keys create` makes one")
    return path.read_text(encoding="ascii").strip()


def ask(endpoint: Endpoint, body: dict[str, Any], *, path: str = "/v1/search") -> dict[str, Any]:
    try:
        answer = httpx.post(
            f"{endpoint.url}{path}",
            json=body,
            headers={"Authorization": f"Bearer {endpoint.key}"},
            timeout=TIMEOUT_S,
            trust_env=False,
        )
    except (httpx.HTTPError, UnicodeEncodeError) as error:
        raise StackError(f"cannot ask {endpoint.url}: {error}; see `palimpsest status`") from error
    if answer.status_code != httpx.codes.OK:
        raise _refusal(answer)
    found: dict[str, Any] = answer.json()
    return found


def _refusal(answer: httpx.Response) -> PalimpsestError:
    try:
        told = answer.json()
        return InvalidRequest(f"{told['title']}: {told['detail']}")
    except (ValueError, KeyError, TypeError):
        return StackError(f"the server answered {answer.status_code}: {answer.text[:200]}")


def _json(text: str) -> dict[str, Any]:
    try:
        parsed: dict[str, Any] = json.loads(text, parse_constant=_finite, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise InvalidRequest(f"--filter: not JSON: {error}") from error
    return parsed


def _pair(text: str) -> dict[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise InvalidRequest(f'--filter: {text!r} is neither field=value nor {{"field": "value"}}')
    values = [_value(name, each) for each in value.split(",")]
    return {name: values if len(values) > 1 else values[0]}


def _value(name: str, text: str) -> Any:
    kind = FIELDS.get(name)
    if kind == "flag" and text in ("true", "false"):
        return text == "true"
    if kind == "number":
        try:
            return _finite(text)
        except ValueError:
            return text
    return text


def _finite(text: str) -> float:
    """JSON cannot carry any other, so the server would never see it."""
    number = float(text)
    if not math.isfinite(number):
        raise InvalidRequest(f"--filter: {text} is not a finite number")
    return number


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")


def _say_nothing(_line: str) -> None:
    """For machines."""
