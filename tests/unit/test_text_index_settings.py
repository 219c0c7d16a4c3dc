"""Which settings of the text index fit together?"""

from __future__ import annotations

import pytest

from cluster.errors import InvalidSettings
from cluster.settings import load_settings

SERVER = {
    "PALIMPSEST_CONFIG": "/dev/null",
    "PALIMPSEST_TEXT_INDEX__BACKEND": "elasticsearch",
    "PALIMPSEST_TEXT_INDEX__URL": "http://u:hidden@es:9200",
}


def test_a_server_is_named_by_its_address() -> None:
    loaded = load_settings(SERVER).text_index
    assert (loaded.backend, loaded.url) == ("elasticsearch", "http://u:hidden@es:9200")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"URL": None}, r"text_index\.url"),
        ({"BACKEND": None}, r"text_index\.backend"),
        ({"USER": "me"}, r"text_index\.password"),
        ({"PASSWORD": "hidden"}, r"text_index\.user"),
        ({"API_KEY": "hidden", "USER": "me", "PASSWORD": "hidden"}, "not both"),
        ({"INDEX": "Upper"}, r"text_index\.index"),
        ({"SHARDS": "0"}, r"text_index\.shards"),
    ],
)
def test_what_does_not_fit_is_told_by_name_and_without_secrets(
    change: dict[str, str | None], reason: str
) -> None:
    changed = {f"PALIMPSEST_TEXT_INDEX__{name}": value for name, value in change.items()}
    environ = {name: value for name, value in {**SERVER, **changed}.items() if value is not None}
    with pytest.raises(InvalidSettings, match=reason) as refused:
        load_settings(environ)
    assert "hidden" not in str(refused.value)
    assert "Value error" not in str(refused.value)
