"""A small made-up handbook in both languages: every kind of evidence, copies, retellings, a
conversation, and sources that may be quoted each in another way."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from serving import prepared

from cluster.model import Metadata, QuotePolicy, Turn
from cluster.stores.protocols import Prepared

SESSION = "monday"
UPDATED = datetime(2026, 3, 2, tzinfo=UTC)

DEFINITION = (
    "The outbox is a table in which every write of the harbour leaves a note for the indexes. "
    "A note says which row has changed, and stays until both indexes have taken it."
)
MECHANISM = (
    "The outbox works by writing the note in the same transaction as the row, so that neither "
    "can be lost without the other. A drainer then takes the notes of the outbox in their order."
)
PROJECT = (
    "We decided to drain the outbox by one drainer for each shard, because two drainers of one "
    "shard would write rows out of order."
)
ISSUE = "The outbox of the staging harbour grew to 40,000 notes while the drainer was paused."
CHANGELOG = "- Added a limit on open notes of the outbox\n- Fixed a drainer that slept too long\n"
BOUNDARY = (
    "The outbox does not support more than 16 shards. A note of the outbox is kept for at most "
    "30 days, unless it was set aside."
)
COUNTER = (
    "More drainers do not always help: with the embedded index, two drainers of the outbox made "
    "it slower. It fails when both write the same file."
)
FORUM = "I read that a note of the outbox is kept for at most 30 days, unless it was set aside."
BLOG = (
    "Somebody at a meetup told me that the outbox of the harbour is the best idea since sliced "
    "bread, and that their team would never again build an index without one, whatever the cost "
    "of the second table may be in a year or two when everything has grown."
)
NOT_TO_BE_QUOTED = "The outbox of the customer Orion has twelve shards in a cellar in Porto."
RULE = "Always name the version of the harbour that an answer holds for."
PROFILE = "Ann maintains the indexes of the harbour and prefers short answers."
ZH_DEFINITION = (
    "发件箱是一张表，港口的每次写入都会在其中为索引留下一条便条。便条保留到两个索引都取走为止。"
)
ZH_BOUNDARY = "发件箱最多支持16个分片。除非被搁置，便条最多保留30天。"
ZH_MECHANISM = "发件箱的原理是在同一个事务里写入数据行和便条，因此两者不会只丢其一。"
ZH_RULE = "请一律用完整的句子回答。"


def about(
    title: str,
    source_type: str,
    policy: QuotePolicy,
    *,
    authority: float,
    language: str = "en",
    **more: Any,
) -> Metadata:
    return Metadata(
        title=title,
        language=language,
        source_type=source_type,
        quote_policy=policy,
        authority=authority,
        source_url=f"https://harbour.example/{title.replace(' ', '-').lower()}",
        updated_at=UPDATED,
        **more,
    )


OFFICIAL: Any = {"source_type": "official_doc", "policy": "citable", "authority": 0.9}
MANUAL: Any = {**OFFICIAL, "policy": "citable_with_version", "product": "harbour",
               "product_version": "2.0"}  # fmt: skip


def turn(ordinal: int, speaker: str, text: str, *, session: str = SESSION) -> Prepared:
    said = datetime(2026, 4, 27, 9, ordinal, tzinfo=UTC)
    return prepared(
        f"{session}-{ordinal}",
        text,
        metadata=Metadata(
            title="Chat", language="en", source_type="conversation", authority=0.6,
            quote_policy="citable",
        ),
        turn=Turn(
            conversation="chat", session=session, ordinal=ordinal, speaker=speaker, said_at=said
        ),
    )  # fmt: skip


def handbook() -> list[Prepared]:
    tagged: Any = {"provenance": {"tags": "flag"}}
    return [
        prepared("outbox.md", DEFINITION, metadata=about("What is the outbox", **OFFICIAL)),
        prepared("how.md", MECHANISM, edition="2.0", metadata=about("How it works", **MANUAL)),
        prepared("limits.md", BOUNDARY, edition="2.0", metadata=about("Limits", **MANUAL)),
        prepared("notes.md", PROJECT,
                 metadata=about("Meeting notes", "mail", "project_fact", authority=0.5)),
        prepared("issue.md", ISSUE,
                 metadata=about("Issue 12", "issue", "project_fact", authority=0.5)),
        prepared("changes.md", CHANGELOG,
                 metadata=about("Changelog", "changelog", "project_fact", authority=0.8)),
        prepared("pitfalls.md", COUNTER, metadata=about("Common mistakes", **OFFICIAL)),
        prepared("mirror.md", BOUNDARY.upper(),
                 metadata=about("A mirror", "blog", "clue", authority=0.4)),
        prepared("forum.md", FORUM, metadata=about("A thread", "forum", "clue", authority=0.3)),
        prepared("blog.md", BLOG, metadata=about("A blog", "blog", "clue", authority=0.4)),
        prepared("secret.md", NOT_TO_BE_QUOTED,
                 metadata=about("Orion", "official_doc", "do_not_quote", authority=0.9)),
        prepared("rule.md", RULE,
                 metadata=about("House rule", "unknown", "clue", authority=0.2,
                                tags=("instruction",), **tagged)),
        prepared("ann.md", PROFILE,
                 metadata=about("Ann", "unknown", "clue", authority=0.2,
                                tags=("profile",), **tagged)),
        prepared("outbox.zh.md", ZH_DEFINITION,
                 metadata=about("什么是发件箱", language="zh", **OFFICIAL)),
        prepared("limits.zh.md", ZH_BOUNDARY,
                 metadata=about("限制", language="zh", **OFFICIAL)),
        prepared("how.zh.md", ZH_MECHANISM,
                 metadata=about("工作原理", language="zh", **OFFICIAL)),
        turn(0, "Ann", "Please only answer with facts from the handbook."),
        turn(1, "assistant", "Always happy to help with the outbox."),
        turn(2, "Ann", "The drainer of my outbox was paused this morning."),
        turn(0, "Bo", "Last week the outbox was empty.", session="friday"),
    ]  # fmt: skip
