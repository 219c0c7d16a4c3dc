"""One frozen object holds every setting: defaults, then the TOML file, then `PALIMPSEST_*`.

The file is `$PALIMPSEST_CONFIG`, else `palimpsest.toml` in the data directory if it exists;
`PALIMPSEST_CONFIG=/dev/null` means none at all.
An environment variable names a key with two underscores between the levels:
`PALIMPSEST_SERVE__PORT=8700`. Unknown keys and wrong values are refused by name.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from cluster.errors import InvalidSettings

PREFIX = "PALIMPSEST_"
TEST_PREFIX = "PALIMPSEST_TEST_"
NOT_SETTINGS = ("PALIMPSEST_CONFIG", "PALIMPSEST_API_KEY", "PALIMPSEST_URL")
MAY_BE_SECRET = ("token", "url", "uri", "api_key", "password")
"""Keys whose value an error message does not repeat: passwords are part of addresses."""


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class PostgresSettings(_Section):
    url: str | None = Field(None, description="postgresql://… of a server; unset: embedded")
    port: int = Field(8731, ge=1, le=65535, description="port of the embedded server")
    pool_size: int = Field(8, ge=1, le=200)
    connect_timeout_s: float = Field(5.0, gt=0)
    statement_timeout_s: float = Field(30.0, gt=0)
    lock_timeout_s: float = Field(10.0, gt=0)
    idle_in_transaction_timeout_s: float = Field(60.0, gt=0)
    migration_timeout_s: float = Field(600.0, gt=0, description="of one step of a migration")


class MilvusSettings(_Section):
    uri: str | None = Field(None, description="http://… of a server; unset: Milvus Lite server")
    token: str | None = Field(None, description="user:password or API token of the server")
    port: int = Field(8732, ge=1, le=65535, description="port of the embedded server")
    timeout_s: float = Field(10.0, gt=0)
    batch_rows: int = Field(1000, ge=1, le=10_000)
    hnsw_m: int = Field(16, ge=2, le=2048)
    hnsw_ef_construction: int = Field(200, ge=8)
    hnsw_ef: int = Field(128, ge=1)


class TextIndexSettings(_Section):
    backend: Literal["tantivy", "elasticsearch"] = "tantivy"
    writer_heap_mb: int = Field(64, ge=16, le=4096)
    url: str | None = Field(None, description="https://… of Elasticsearch; several by commas")
    api_key: str | None = Field(None, description="in place of user and password")
    user: str | None = None
    password: str | None = None
    ca_file: Path | None = Field(None, description="certificate that signed the server's")
    index: str = Field("palimpsest", pattern=r"^[a-z0-9][a-z0-9_-]{0,199}$")
    timeout_s: float = Field(10.0, gt=0)
    batch_rows: int = Field(1000, ge=1, le=10_000)
    shards: int = Field(1, ge=1, le=1024)
    replicas: int = Field(0, ge=0, le=20)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if (self.backend == "elasticsearch") != (self.url is not None):
            raise ValueError(
                "text_index.backend elasticsearch and text_index.url belong together: set both, "
                "or neither for the embedded index"
            )
        if (self.user is None) != (self.password is None):
            raise ValueError("text_index.user and text_index.password: set both or neither")
        if self.api_key is not None and self.user is not None:
            raise ValueError("text_index.api_key or text_index.user with password, not both")
        return self


class IndexerSettings(_Section):
    shards: int = Field(
        1, ge=1, le=16, description="drainers of the outbox; more than 1 needs Elasticsearch"
    )
    drainers: int = Field(0, ge=0, le=16, description="shards of one process; 0: all")
    max_attempts: int = Field(
        8, ge=1, le=1000, description="refusals after which a row is set aside"
    )
    max_open_entries: int = Field(
        50_000, ge=1, description="entries owed to the indexes above which ingest waits"
    )
    patience_s: float = Field(
        120.0, gt=0, description="how long ingest waits for an indexer that does not come nearer"
    )


class EncoderSettings(_Section):
    model: str = Field(
        "multilingual-e5-small", description="hub name or local path; the default needs no hub"
    )
    revision: str | None = Field(None, description="hub revision, when `model` is a hub name")
    backend: Literal["auto", "onnx-int8", "torch-fp32", "torch-bf16", "torch-fp16", "hashing"] = (
        "auto"
    )
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps")
    centred: bool = Field(True, description="take the mean of the language off each vector")
    token_vectors: bool = Field(
        True, description="keep the vectors of a chunk's tokens, for reranking"
    )
    query_prompt: str | None = Field(None, description="unset: as the model says")
    document_prompt: str | None = Field(None, description="unset: as the model says")
    batch_tokens: int = Field(
        4096, ge=64, description="padded tokens in one forward pass; on CPU at most 1024"
    )
    threads: int = Field(0, ge=0, description="0: as many as the machine has cores")
    hashing_dim: int = Field(384, ge=8, le=4096, description="only for backend hashing (tests)")


class CrossEncoderSettings(_Section):
    """A model that reads question and passage together, behind late interaction."""

    model: str | None = Field(
        None, description="hub name or local path of a CrossEncoder; unset: late interaction alone"
    )
    revision: str | None = Field(None, description="hub revision, when `model` is a hub name")
    backend: Literal["auto", "onnx-int8", "torch-fp32", "torch-bf16", "torch-fp16"] = "auto"
    device: str = Field("auto", description="auto, cpu, cuda, cuda:1, mps")
    max_tokens: int = Field(
        384, ge=16, le=8192, description="of question and passage together; the rest is cut"
    )
    batch_tokens: int = Field(
        8192, ge=64, description="padded tokens in one forward pass; on CPU at most 1024"
    )
    threads: int = Field(0, ge=0, description="0: as many as the machine has cores")
    pool: int = Field(30, ge=1, le=1000, description="passages that it reads for one question")
    timeout_s: float = Field(0.8, gt=0, le=60, description="then late interaction's order answers")
    failures: int = Field(5, ge=1, le=1000, description="in a row, after which it is not asked")
    rest_s: float = Field(15.0, gt=0, description="so long; then one question tries again")
    replicas: int = Field(1, ge=1)
    gpus: float = Field(0.0, ge=0, description="GPUs of one replica")
    batch: int = Field(4, ge=1, description="questions in one micro-batch")
    batch_wait_ms: float = Field(2.0, ge=0)
    max_queued_requests: int = Field(32, ge=0, description="more than that are not scored")


class ChunkSettings(_Section):
    max_tokens: int = Field(480, ge=32, le=800, description="bounded by the encoder as well")
    target_tokens: int = Field(320, ge=16, le=800)


class IngestSettings(_Section):
    max_item_mb: float = Field(64.0, gt=0, description="a larger file is skipped with a reason")
    max_unpacked_mb: float = Field(512.0, gt=0, description="bound for zip-like containers")
    parse_timeout_s: float = Field(120.0, gt=0)
    parsers: int = Field(1, ge=1, description="parallel parse tasks")
    encoders: int = Field(1, ge=1, description="encoder actors")
    encoder_gpus: float = Field(0.0, ge=0, description="GPUs of one encoder actor")
    block_items: int = Field(64, ge=1, description="items of one Ray Data block")


class ForgetSettings(_Section):
    tombstone_key_file: Path | None = Field(
        None, description="the same for every machine of one ledger; unset: keys/tombstone.key"
    )
    receipt_key_file: Path | None = Field(
        None, description="signs receipts; unset: keys/receipt.key in the data directory"
    )


class ServeSettings(_Section):
    host: str = "127.0.0.1"
    port: int = Field(8730, ge=1, le=65535)
    deadline_s: float = Field(2.0, gt=0)
    channel_deadline_s: float = Field(0.4, gt=0)
    max_ongoing_requests: int = Field(64, ge=1)
    max_queued_requests: int = Field(128, ge=0)
    max_body_mb: float = Field(64.0, gt=0)
    replicas: int = Field(1, ge=1)
    encoder_replicas: int = Field(1, ge=1)
    encoder_gpus: float = Field(0.0, ge=0)
    encoder_batch: int = Field(16, ge=1)
    encoder_batch_wait_ms: float = Field(2.0, ge=0)
    query_cache_entries: int = Field(1000, ge=0, le=1_000_000, description="0: no cache")


class SelectionSettings(_Section):
    similar: float = Field(0.85, gt=0, le=1, description="likeness above which texts are copies")
    reserve: float = Field(0.3, ge=0, lt=1, description="share of a token budget that stays free")
    diversity: float = Field(0.3, ge=0, le=1, description="what likeness to a chosen one costs")
    near_equal: float = Field(0.1, ge=0, le=1, description="distance of scores that are equal")
    context_tokens: int = Field(2000, ge=64, le=200_000, description="budget where none is asked")
    clue_words: int = Field(30, ge=0, description="longest quote of a clue")
    clue_characters: int = Field(60, ge=0, description="the same in Chinese")
    quote_words: int = Field(0, ge=0, description="longest quote of anything else; 0: any")
    quote_characters: int = Field(0, ge=0, description="the same in Chinese; 0: any")


class PlannerSettings(_Section):
    """A language model that suggests how to look; the rules plan without it as well."""

    url: str | None = Field(
        None, description="https://…/v1 of an OpenAI-compatible endpoint; unset: rules alone"
    )
    model: str | None = Field(None, description="its name there; goes with url")
    api_key: str | None = None
    deadline_s: float = Field(0.8, gt=0, le=30, description="then the rules' plan answers")
    cache_s: float = Field(600.0, ge=0, description="how long an answer is kept")
    max_tokens: int = Field(400, ge=16, le=8192)

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if (self.url is None) != (self.model is None):
            raise ValueError("planner.url and planner.model belong together: set both or neither")
        if self.url is not None and not self.url.startswith(("http://", "https://")):
            raise ValueError("planner.url begins with http:// or https://")
        return self


class RaySettings(_Section):
    address: str | None = Field(None, description="an existing cluster; unset: a local one")
    port: int = Field(8733, ge=1, le=65535, description="GCS port of the local cluster")
    logical_cpus: int = Field(8, ge=4, description="scheduling slots, not cores")
    object_store_mb: int = Field(512, ge=80)


class Settings(_Section):
    """See `docs/configuration.md`."""

    home: Path = Field(Path("~/.palimpsest"), description="everything local lives here")
    tenant: str = Field("default", min_length=1, description="tenant of the command line")
    postgres: PostgresSettings = PostgresSettings()
    milvus: MilvusSettings = MilvusSettings()
    text_index: TextIndexSettings = TextIndexSettings()
    indexer: IndexerSettings = IndexerSettings()
    encoder: EncoderSettings = EncoderSettings()
    cross_encoder: CrossEncoderSettings = CrossEncoderSettings()
    chunk: ChunkSettings = ChunkSettings()
    ingest: IngestSettings = IngestSettings()
    forget: ForgetSettings = ForgetSettings()
    serve: ServeSettings = ServeSettings()
    selection: SelectionSettings = SelectionSettings()
    planner: PlannerSettings = PlannerSettings()
    ray: RaySettings = RaySettings()

    @property
    def data_dir(self) -> Path:
        return self.home.expanduser().absolute()


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Defaults, file, environment, in this order of increasing strength."""
    environ = os.environ if environ is None else environ
    from_env = _from_environment(environ)
    home = Path(str(from_env.get("home", Settings.model_fields["home"].default))).expanduser()
    named = environ.get("PALIMPSEST_CONFIG")
    path = Path(named).expanduser() if named else home / "palimpsest.toml"
    if named and named != os.devnull and not path.is_file():
        raise InvalidSettings(f"PALIMPSEST_CONFIG names {path}, which is not a file")
    values = _merge(_from_file(path) if path.is_file() else {}, from_env)
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        raise InvalidSettings(_explain(error)) from error


def _from_file(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidSettings(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise InvalidSettings(f"{path} cannot be read: {error.strerror}") from error


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in environ.items():
        if not name.startswith(PREFIX) or name.startswith(TEST_PREFIX) or name in NOT_SETTINGS:
            continue
        *sections, key = name.removeprefix(PREFIX).lower().split("__")
        place = values
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise InvalidSettings(f"{name}: {section!r} is set to a value as well; unset one")
        if isinstance(place.get(key), dict):
            raise InvalidSettings(f"{name}: keys below {key!r} are set as well; unset one")
        place[key] = value
    return values


def _merge(weak: dict[str, Any], strong: dict[str, Any]) -> dict[str, Any]:
    merged = dict(weak)
    for key, value in strong.items():
        below = merged.get(key)
        both = isinstance(value, dict) and isinstance(below, dict)
        merged[key] = _merge(below, value) if both else value  # type: ignore[arg-type]
    return merged


def _explain(error: ValidationError) -> str:
    lines = []
    for problem in error.errors():
        path = [str(part) for part in problem["loc"]]
        name = ".".join(path)
        env = PREFIX + "__".join(path).upper()
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(path[-1], _known_keys(path[:-1]), n=1)
            hint = f"did you mean {near[0]!r}?" if near else "remove it"
            lines.append(f"unknown setting {name!r} (or {env}); {hint}")
        else:
            # In the place of a section, an address is what people put there.
            secret = path[-1] in MAY_BE_SECRET or _known_keys(path)
            got = "" if secret else f"; got {problem['input']!r}"
            told = problem["msg"].removeprefix("Value error, ")
            lines.append(f"setting {name!r} (or {env}): {told}{got}")
    return "\n".join(lines)


def _known_keys(sections: list[str]) -> list[str]:
    model: type[BaseModel] = Settings
    for section in sections:
        annotation = (
            model.model_fields[section].annotation if section in model.model_fields else None
        )
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return list(model.model_fields)
