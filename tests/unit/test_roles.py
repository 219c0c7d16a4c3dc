"""Kinds of evidence, on passages labelled by hand in both languages."""

from __future__ import annotations

from collections import Counter

import pytest

from rerank.roles import ROLES, EvidenceRole, role_of

Labelled = tuple[EvidenceRole, str, tuple[str, ...], str]

ENGLISH: tuple[Labelled, ...] = (
    ("definition", "A tombstone is a marker that keeps a deleted row from coming back.", (), ""),
    ("definition", "Backpressure refers to a consumer telling its producer to slow down.", (), ""),
    ("definition", "Quorum: the number of replicas that must agree on a write.",
     ("Harbour manual", "Glossary"), "official_doc"),
    ("definition", "The ledger is the database that every other store is built from.",
     ("Harbour manual", "What is the ledger?"), "official_doc"),
    ("mechanism", ("The scheduler works by hashing the job key, so that one worker always gets "
     "the same key; because the hash is stable, a restart moves nothing."), (), ""),
    ("mechanism", "Each write goes to two logs and is acknowledged once both have it.",
     ("Harbour manual", "How it works"), "official_doc"),
    ("mechanism", ("Internally the index is split into segments, which are merged in between "
     "so that reads stay fast."), (), ""),
    ("project_fact", "We decided to keep the outbox in PostgreSQL and to drop the message broker.",
     ("Meeting notes",), ""),
    ("project_fact", "Our cluster runs three replicas in Lisbon; we measured 40 ms at the median.",
     (), "conversation"),
    ("project_fact", "def retry(job):\n    return job.attempts < MAX_ATTEMPTS\n", (),
     "source_code"),
    ("project_fact", "Login page stays white after the update to the new theme.", (), "issue"),
    ("counter_example", ("This is not always true: a cache in front of a counter fails when two "
     "writers update it at once."), (), ""),
    ("counter_example", ("Sorting in the client looks simpler and backfires when a page is "
     "missing."), ("Guide", "Common mistakes"), ""),
    ("counter_example", "Contrary to what many posts say, more threads made the import slower.",
     (), "blog"),
    ("boundary", "Uploads are limited to 64 MB. Larger files are not supported.",
     ("API", "Limits"), "official_doc"),
    ("boundary", "The flag only works on Linux and does not apply to read replicas.", (), ""),
    ("boundary", "At most 32 labels are allowed per item, unless the tenant has been raised.",
     (), ""),
    ("changelog", "- Added retries to the uploader\n- Fixed a crash when a name is empty\n",
     ("Changelog", "2.4.0"), "changelog"),
    ("changelog", "Since version 3.1 the option is called max_attempts; it was renamed in 3.1.",
     (), ""),
    ("changelog", "Deprecated: the old token format. Removed in 5.0.", (), ""),
    ("procedure", ("To rotate the key, run the following command:\n$ harbour keys rotate\n"
     "then restart the gateway."), (), "official_doc"),
    ("procedure", "1. Stop the indexer.\n2. Copy the folder.\n3. Start it again.",
     ("Guide", "How to move an index"), "official_doc"),
    ("other", "The weather in Lisbon stayed mild through the week.", (), "news"),
    ("other", "Ann, Bo and Chen went to the pier and took photographs.", (), ""),
)  # fmt: skip

CHINESE: tuple[Labelled, ...] = (
    ("definition", "墓碑是一种标记，用来防止已删除的行重新出现。", (), ""),
    ("definition", "背压是指消费者让生产者放慢速度。", (), ""),
    ("definition", "法定人数：一次写入必须达成一致的副本数量。",
     ("港口手册", "术语"), "official_doc"),
    ("mechanism", "调度器对任务键做哈希，因此同一键总到同一节点；由于哈希稳定，重启不会引起迁移。",
     (), ""),
    ("mechanism", "每次写入都会进入两份日志，两份都落盘后才确认。", ("港口手册", "工作原理"), ""),
    ("mechanism", "该索引基于分段结构，通过后台合并来保证读取速度。", (), ""),
    ("project_fact", "我们决定把发件箱放在 PostgreSQL 里，不再使用消息中间件。", ("会议纪要",), ""),
    ("project_fact", "本项目目前有三个副本，经讨论一致同意保留两周的备份。", (), ""),
    ("project_fact", "升级主题后登录页一片空白。", (), "issue"),
    ("counter_example", "缓存并非总是更快：两个写入方同时更新计数器时，反而更慢。", (), ""),
    ("counter_example", "在客户端排序看起来简单，缺一页时就会出错。", ("指南", "常见误区"), ""),
    ("boundary", "上传文件最大为 64 MB，不支持更大的文件。", ("接口", "限制"), "official_doc"),
    ("boundary", "该参数仅支持 Linux，不适用于只读副本。", (), ""),
    ("boundary", "每个条目最多 32 个标签，除非租户已申请提高上限。", (), ""),
    ("changelog", "- 新增上传重试\n- 修复名称为空时的崩溃\n", ("更新日志", "2.4.0"), "changelog"),
    ("changelog", "从 v3.1 版本开始，该选项改名为 max_attempts。", (), ""),
    ("procedure", "第一步 停止索引器。\n第二步 复制目录。\n最后重启服务。", ("如何迁移索引",), ""),
    ("procedure", "要轮换密钥，请执行以下命令，然后重启网关。", (), ""),
    ("other", "里斯本这一周天气温和。", (), "news"),
    ("other", "小安和小陈去了码头，拍了很多照片。", (), ""),
)  # fmt: skip


@pytest.mark.parametrize(("role", "text", "headings", "source"), [*ENGLISH, *CHINESE])
def test_labelled_passages(
    role: EvidenceRole, text: str, headings: tuple[str, ...], source: str
) -> None:
    assert role_of(text, headings=headings, source_type=source or "unknown") == role


def test_every_role_is_labelled_in_both_languages() -> None:
    for labelled in (ENGLISH, CHINESE):
        counted = Counter(role for role, *_ in labelled)
        assert set(counted) == set(ROLES)
        assert min(counted.values()) >= 2


def test_a_heading_near_the_text_counts_more_than_one_far_above() -> None:
    text = "Values are kept for a day."
    assert role_of(text, headings=("Glossary", "Limits")) == "boundary"
    assert role_of(text, headings=("Limits", "Glossary")) == "definition"


def test_only_the_beginning_is_looked_at() -> None:
    assert role_of("Plain words. " * 400 + "At most 5, unless raised. Not supported.") == "other"
