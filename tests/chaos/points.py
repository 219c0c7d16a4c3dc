"""Which store calls and commits of the code have no kill point behind them? Found by reading it.

In a writing path, each of these is followed at once by `reached("…")`:

- a block `async with ….transaction() as tx:` that writes,
- a statement that hands such work to a `LedgerLink` (`link.call(work)`),
- a statement that calls, or hands on, a writing verb of an index.

What only reads needs no point: whoever dies there has changed nothing. A call that cannot be
followed counts as a write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LEDGER_READS = frozenset(
    {
        "active", "all_of", "around", "aside", "backlog", "blocked", "check", "count", "counts",
        "derived", "digests", "done_total", "editions", "encoded", "find", "get", "headed",
        "holdings", "known", "known_editions", "lag", "latest", "live", "matching", "missing",
        "neighbours", "newest_version", "of_document", "of_receipt", "owed", "owed_until", "page",
        "publishable", "receipt", "recent", "refused", "replaced", "residue", "set_aside", "sizes",
        "standing", "states", "supports", "text", "texts", "titled", "tokenless", "tokens_of",
        "turns", "unfinished", "unshown", "used_in", "visible", "waiting", "without_vector", "work",
    }
)  # fmt: skip
"""Verbs of the ledger's parts that change nothing; all others are taken to write."""

LEFT_EARLY = "a commit, and a return that leaves its block past any point"
INDEX_READS = frozenset({"search", "versions", "scan", "close"})
INDEX_NAMES = ("vectors", "texts", "vector_index", "text_index", "index", "vector", "text")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Store calls without a point (`path:line what`), and the points that are there."""

    missing: tuple[str, ...]
    used: tuple[str, ...]


def look_through(source: str, *, path: str, index_verbs: frozenset[str]) -> Found:
    """`index_verbs`: those that write."""
    module = ast.parse(source)
    reader = _Reader(path=path, index_verbs=index_verbs, functions=_functions(module))
    for function in reader.functions.values():
        for each in function:
            reader.read(each.body)
    return Found(missing=tuple(reader.missing), used=tuple(_points(module)))


def index_verbs(protocols: str) -> frozenset[str]:
    """All verbs of the indexes' protocols, given as source, that are not known to read."""
    return frozenset(
        verb.name
        for one in ast.parse(protocols).body
        if isinstance(one, ast.ClassDef) and one.name.endswith("Index")
        for verb in one.body
        if isinstance(verb, Function)
    ) - (INDEX_READS)


def python_files(root: Path, patterns: Sequence[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in root.glob(pattern)})


@dataclass(kw_only=True)
class _Reader:
    path: str
    index_verbs: frozenset[str]
    functions: dict[str, list[Function]]
    missing: list[str] = field(default_factory=list)

    def read(self, statements: Sequence[ast.stmt]) -> None:
        for at, statement in enumerate(statements):
            if isinstance(statement, Function | ast.ClassDef):
                continue
            if what := self._store_call(statement):
                following = statements[at + 1] if at + 1 < len(statements) else None
                if what == LEFT_EARLY or not _is_point(following):
                    self.missing.append(f"{self.path}:{statement.lineno} {what}")
            if not (isinstance(statement, ast.AsyncWith) and _transaction(statement)):
                for body in _bodies(statement):
                    self.read(body)

    def _store_call(self, statement: ast.stmt) -> str | None:
        if isinstance(statement, ast.AsyncWith) and (tx := _transaction(statement)):
            writes = [one for one in statement.body if self._writes(one, tx)]
            if not writes:
                return self._index_call(statement.body)
            behind = statement.body[statement.body.index(writes[0]) :]
            return LEFT_EARLY if any(_returns(one) for one in behind) else "a commit"
        for call in _calls(_head(statement)):
            if _hands_to_link(call) and any(self._works(each) for each in call.args):
                return "a commit through a link"
        return self._index_call(_head(statement))

    def _index_call(self, nodes: Sequence[ast.AST]) -> str | None:
        for node in nodes:
            for one in _own(node):
                if (
                    isinstance(one, ast.Attribute)
                    and one.attr in self.index_verbs
                    and _last_name(one.value).lstrip("_") in INDEX_NAMES
                    and _root(one.value) != "tx"
                ):
                    return f"{ast.unparse(one)} of an index"
        return None

    def _works(self, work: ast.expr) -> bool:
        """Whether what is handed over writes to the transaction that it gets."""
        if isinstance(work, ast.Lambda):
            return self._writes(work.body, work.args.args[0].arg)
        return not isinstance(work, ast.Name) or self._function_writes(work.id, 0, ())

    def _function_writes(self, name: str, position: int, inside: tuple[str, ...]) -> bool:
        known = self.functions.get(name)
        if known is None:
            return True
        if name in inside:
            return False
        for each in known:
            names = [arg.arg for arg in each.args.args if arg.arg != "self"]
            tx = names[position] if position < len(names) else "tx"
            if any(self._writes(one, tx, (*inside, name)) for one in each.body):
                return True
        return False

    def _writes(self, node: ast.AST, tx: str, inside: tuple[str, ...] = ()) -> bool:
        return any(self._call_writes(call, tx, inside) for call in _calls([node], nested=True))

    def _call_writes(self, call: ast.Call, tx: str, inside: tuple[str, ...]) -> bool:
        if isinstance(call.func, ast.Attribute) and _root(call.func) == tx:
            return call.func.attr not in LEDGER_READS
        handed = [isinstance(arg, ast.Name) and arg.id == tx for arg in call.args]
        if not any(handed):
            return False
        return self._function_writes(_last_name(call.func), handed.index(True), inside)


def _functions(module: ast.Module) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for node in ast.walk(module):
        if isinstance(node, Function):
            found.setdefault(node.name, []).append(node)
    return found


def _points(module: ast.Module) -> Iterator[str]:
    for call in _calls([module], nested=True):
        if isinstance(call.func, ast.Name) and call.func.id == "reached":
            (name,) = call.args
            yield ast.literal_eval(name)


def _is_point(statement: ast.stmt | None) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and _last_name(statement.value.func) == "reached"
    )


def _transaction(statement: ast.AsyncWith) -> str | None:
    """The name under which the block has its transaction."""
    for item in statement.items:
        call = item.context_expr
        if isinstance(call, ast.Call) and _last_name(call.func) == "transaction":
            return item.optional_vars.id if isinstance(item.optional_vars, ast.Name) else "tx"
    return None


def _hands_to_link(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "call"
        and _last_name(call.func.value).endswith("link")
    )


def _bodies(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        yield getattr(statement, name, [])
    for handler in getattr(statement, "handlers", []):
        yield handler.body
    for case in getattr(statement, "cases", []):
        yield case.body


def _head(statement: ast.stmt) -> list[ast.AST]:
    """What of a statement is not in one of its bodies."""
    below = {id(one) for body in _bodies(statement) for one in body}
    if not below:
        return [statement]
    return [
        one
        for one in ast.iter_child_nodes(statement)
        if id(one) not in below and not isinstance(one, ast.ExceptHandler | ast.match_case)
    ]


def _calls(nodes: Sequence[ast.AST], *, nested: bool = False) -> Iterator[ast.Call]:
    for node in nodes:
        for one in ast.walk(node) if nested else _own(node):
            if isinstance(one, ast.Call):
                yield one


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """`ast.walk` that stays out of functions defined inside."""
    yield node
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, Function):
            yield from _own(one)


def _returns(node: ast.AST) -> list[ast.AST]:
    return [one for one in _own(node) if isinstance(one, ast.Return)]


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
