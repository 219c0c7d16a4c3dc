"""Made-up bilingual material of any size: the same arguments, the same bytes."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

_ENGLISH = """
queue worker lease token retry limit payload scheduler database connection replica index
vector passage query filter tenant version release page table column node cluster memory
disk network timeout deadline budget batch stream parser chunk heading paragraph citation
source policy author record ledger outbox snapshot archive restore backup shard partition
key value cache miss hit rank score fusion channel keyword semantic recent document
conversation turn speaker session moment zone opens closes writes reads drops keeps moves
copies checks renews expires returns raises measures slowly quickly rarely always never
often safely twice once after before while until because although
"""
_CHINESE = """
队列 任务 租约 令牌 重试 上限 载荷 调度 数据库 连接 副本 索引 向量 段落
查询 过滤 租户 版本 发布 页面 表格 节点 集群 内存 磁盘 网络 超时 期限
预算 批次 解析 分块 标题 引用 来源 策略 作者 记录 账本 快照 归档 恢复
备份 分区 缓存 命中 排序 得分 融合 通道 关键词 语义 文档 会话 时刻 时区
打开 关闭 写入 读取 丢弃 保留 移动 复制 检查 续期 过期 返回 抛出 测量
缓慢 迅速 很少 总是 从不 经常 安全 之后 之前 直到 因为 虽然
"""
ENGLISH = tuple(_ENGLISH.split())
CHINESE = tuple(_CHINESE.split())


def sentence(rng: random.Random, *, language: str, words: int) -> str:
    if language == "zh":
        return "".join(rng.choice(CHINESE) for _ in range(words)) + "。"
    text = " ".join(rng.choice(ENGLISH) for _ in range(words))
    return f"{text[0].upper()}{text[1:]} {rng.randint(1, 9999)}."


def passages(*, count: int, words: int, salt: str) -> Iterator[dict[str, str]]:
    """`count` records of one passage each, half English and half Chinese. A new `salt` makes
    every text new, so that no cache of vectors can help."""
    rng = random.Random(salt)  # noqa: S311  # the point is to be repeatable
    for number in range(count):
        language = "zh" if number % 2 else "en"
        sentences = [sentence(rng, language=language, words=12) for _ in range(max(1, words // 12))]
        yield {
            "doc_id": f"{salt}-{number:06d}",
            "title": f"{salt} {number}",
            "language": language,
            "text": " ".join(sentences) if language == "en" else "".join(sentences),
        }


def write_jsonl(path: Path, *, count: int, words: int, salt: str) -> None:
    with path.open("w", encoding="utf-8") as file:
        for record in passages(count=count, words=words, salt=salt):
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def write_conversation(path: Path, *, turns: int, name: str) -> None:
    """Turns of two speakers in one session, a minute apart, in both languages."""
    rng = random.Random(name)  # noqa: S311  # the point is to be repeatable
    began = datetime(2025, 3, 1, 9, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        for number in range(turns):
            language = "zh" if number % 2 else "en"
            record = {
                "turn_id": f"{name}/{number}",
                "conversation": name,
                "session": f"{name}/1",
                "ordinal": number,
                "speaker": "ann" if number % 2 else "bob",
                "timestamp": (began + timedelta(minutes=number)).isoformat(),
                "language": language,
                "text": sentence(rng, language=language, words=14),
            }
            file.write(json.dumps(record, ensure_ascii=False) + "\n")
