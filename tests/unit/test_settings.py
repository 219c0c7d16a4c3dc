"""Which setting wins, and how is a wrong one told?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import ValidationError

from cluster.errors import InvalidSettings
from cluster.settings import Settings, load_settings
from cluster.stores.open import milvus_uri, text_index_dir


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose data directory is empty."""
    return {"PALIMPSEST_HOME": str(tmp_path)}


def file_in(home: Mapping[str, str], text: str) -> Path:
    path = Path(home["PALIMPSEST_HOME"]) / "palimpsest.toml"
    path.write_text(text, encoding="utf-8")
    return path


def told(environ: Mapping[str, str]) -> str:
    with pytest.raises(InvalidSettings) as refused:
        load_settings(environ)
    return str(refused.value)


class TestOrder:
    def test_nothing_set_gives_the_defaults(self, home: dict[str, str]) -> None:
        loaded = load_settings(home)
        assert loaded == Settings(home=Path(home["PALIMPSEST_HOME"]))
        assert (loaded.serve.port, loaded.tenant, loaded.milvus.uri) == (8730, "default", None)

    def test_the_file_beats_a_default(self, home: dict[str, str]) -> None:
        file_in(home, 'tenant = "acme"\n[serve]\nport = 9000\n[milvus]\ntoken = "a:b"\n')
        loaded = load_settings(home)
        assert (loaded.tenant, loaded.serve.port, loaded.milvus.token) == ("acme", 9000, "a:b")
        assert loaded.serve.host == "127.0.0.1"

    def test_the_environment_beats_the_file_key_by_key(self, home: dict[str, str]) -> None:
        file_in(home, '[serve]\nport = 9000\nhost = "::1"\n')
        loaded = load_settings({**home, "PALIMPSEST_SERVE__PORT": "9001"})
        assert (loaded.serve.port, loaded.serve.host) == (9001, "::1")

    def test_a_named_file_is_taken_instead_of_the_one_in_the_data_directory(
        self, home: dict[str, str], tmp_path: Path
    ) -> None:
        file_in(home, 'tenant = "left"\n')
        other = tmp_path / "other.toml"
        other.write_text('tenant = "named"\n', encoding="utf-8")
        assert load_settings({**home, "PALIMPSEST_CONFIG": str(other)}).tenant == "named"

    def test_the_data_directory_is_absolute(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/somewhere")
        assert Settings().data_dir == Path("/somewhere/.palimpsest")
        assert Settings(home=Path("here")).data_dir == Path.cwd() / "here"

    def test_where_the_stores_are(self, home: dict[str, str]) -> None:
        loaded = load_settings(home)
        assert milvus_uri(loaded) == "http://127.0.0.1:8732"
        assert text_index_dir(loaded) == Path(home["PALIMPSEST_HOME"]) / "text-index"
        elsewhere = load_settings({**home, "PALIMPSEST_MILVUS__URI": "http://milvus:19530"})
        assert milvus_uri(elsewhere) == "http://milvus:19530"


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "value", "words"),
        [
            ("PALIMPSEST_TENNANT", "x", ["tennant", "did you mean 'tenant'"]),
            ("PALIMPSEST_SERVE__PROT", "1", ["serve.prot", "did you mean 'port'"]),
            ("PALIMPSEST_SERVR__PORT", "1", ["servr", "did you mean 'serve'"]),
            ("PALIMPSEST_URLS", "1", ["urls"]),
            ("PALIMPSEST_CONFIG_FILE", "1", ["config_file"]),
            ("PALIMPSEST_ZZZ", "1", ["zzz", "PALIMPSEST_ZZZ", "remove it"]),
            ("PALIMPSEST_SERVE__PORT__X", "1", ["serve.port", "PALIMPSEST_SERVE__PORT"]),
            ("PALIMPSEST_SERVE", "8080", ["serve", "PALIMPSEST_SERVE"]),
            ("PALIMPSEST_SERVE__PORT", "http", ["serve.port", "PALIMPSEST_SERVE__PORT", "'http'"]),
            ("PALIMPSEST_SERVE__PORT", "0", ["serve.port", "greater than or equal to 1"]),
            ("PALIMPSEST_SERVE__PORT", "65536", ["serve.port", "less than or equal to 65535"]),
            ("PALIMPSEST_SERVE__DEADLINE_S", "-1", ["serve.deadline_s", "greater than 0"]),
            ("PALIMPSEST_SERVE__DEADLINE_S", "", ["serve.deadline_s"]),
            ("PALIMPSEST_TENANT", "", ["tenant", "at least 1 character"]),
            ("PALIMPSEST_TEXT_INDEX__BACKEND", "lucene", ["text_index.backend", "tantivy"]),
            ("PALIMPSEST_ENCODER__BACKEND", "int4", ["encoder.backend", "onnx-int8"]),
            ("PALIMPSEST_MILVUS__BATCH_ROWS", "1.5", ["milvus.batch_rows", "integer"]),
        ],
    )
    def test_a_wrong_variable_is_told_by_name(
        self, home: dict[str, str], name: str, value: str, words: list[str]
    ) -> None:
        message = told({**home, name: value})
        assert all(word in message for word in words), message

    def test_all_wrong_keys_are_told_at_once(self, home: dict[str, str]) -> None:
        file_in(home, "[serve]\nport = 0\n[postgres]\npool = 3\n")
        message = told({**home, "PALIMPSEST_NOPE": "1"})
        assert {"serve.port", "postgres.pool", "nope"} <= {
            word.strip("'") for word in message.split()
        }
        assert "did you mean 'pool_size'" in message

    def test_a_section_that_is_both_a_value_and_a_section(self, home: dict[str, str]) -> None:
        value, key = ("PALIMPSEST_SERVE", "x"), ("PALIMPSEST_SERVE__PORT", "1")
        for pairs in ((value, key), (key, value)):
            assert "as well; unset one" in told({**home, **dict(pairs)})

    def test_a_file_that_is_no_toml_is_named(self, home: dict[str, str]) -> None:
        path = file_in(home, "tenant = \n")
        assert str(path) in told(home)
        path.write_bytes(b"tenant = '\xff'\n")
        assert str(path) in told(home)

    def test_a_named_file_that_is_not_there_is_named(self, home: dict[str, str]) -> None:
        assert "/no/such.toml" in told({**home, "PALIMPSEST_CONFIG": "/no/such.toml"})

    def test_other_programs_and_tests_variables_are_left_alone(self, home: dict[str, str]) -> None:
        loaded = load_settings(
            {
                **home,
                "PALIMPSEST_TEST_DATA": "/x",
                "PALIMPSEST_TEST_MILVUS_URI": "http://x",
                "PALIMPSEST_API_KEY": "k",
                "PALIMPSEST_URL": "http://y",
                "PALIMPSESTX": "1",
                "SERVE__PORT": "1",
            }
        )
        assert loaded == load_settings(home)

    def test_a_secret_in_a_wrong_value_is_not_told(self, home: dict[str, str]) -> None:
        message = told({**home, "PALIMPSEST_MILVUS__TOKEN__X": "hunter2"})
        assert "hunter2" not in message
        assert "milvus.token" in message

    def test_an_address_in_the_place_of_a_section_is_not_told(self, home: dict[str, str]) -> None:
        message = told({**home, "PALIMPSEST_POSTGRES": "postgresql://u:hunter2@db/x"})
        assert "hunter2" not in message
        assert "setting 'postgres' (or PALIMPSEST_POSTGRES)" in message


class TestFrozen:
    def test_nothing_can_be_changed(self) -> None:
        settings = Settings()
        with pytest.raises(ValidationError):
            settings.tenant = "x"  # type: ignore[misc]  # that is the point
        with pytest.raises(ValidationError):
            settings.serve.port = 1  # type: ignore[misc]  # that is the point

    def test_equal_settings_are_equal_values(self) -> None:
        assert Settings() == Settings()
        assert hash(Settings()) == hash(Settings())
