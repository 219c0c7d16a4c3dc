"""The ledger's recipe opens the encoder, whatever the settings name by now."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.errors import ModelError
from cluster.model import Generation
from cluster.models.open import describe, open_generation, settings_for
from cluster.settings import Settings

ENCODERS = st.one_of(
    st.fixed_dictionaries({"backend": st.just("hashing"), "hashing_dim": st.integers(8, 64)}),
    st.fixed_dictionaries(
        {"backend": st.sampled_from(["onnx-int8", "torch-fp32"]), "centred": st.booleans()},
        optional={
            "query_prompt": st.sampled_from(["", "q: "]),
            "document_prompt": st.sampled_from(["", "d: "]),
        },
    ),
)


def settings(**encoder: Any) -> Settings:
    return Settings.model_validate({"encoder": encoder})


@given(ENCODERS, ENCODERS)
@hypothesis.settings(deadline=None)  # the first one reads the means
def test_the_recipe_leads_back_to_its_encoder(first: dict[str, Any], now: dict[str, Any]) -> None:
    made = describe(settings(**first, device="cpu"))
    assert describe(settings_for(made, settings(**now, device="cpu"))) == made


def test_how_it_runs_stays_with_the_settings() -> None:
    made = describe(settings(backend="hashing", hashing_dim=16))
    opened = settings_for(made, settings(threads=3, batch_tokens=100, device="cpu"))
    assert (opened.encoder.threads, opened.encoder.batch_tokens) == (3, 100)
    assert opened.encoder.hashing_dim == 16


def test_a_ledger_of_the_first_version_opens_the_default_model() -> None:
    made = describe(settings(backend="onnx-int8", centred=False, device="cpu"))
    kept = {key: value for key, value in made.recipe.items() if not key.startswith("open.")}
    opened = settings_for(replace(made, recipe=kept), settings(backend="hashing"))
    assert describe(opened).fingerprint == made.fingerprint


def test_what_cannot_be_opened_is_told() -> None:
    bare = Generation(fingerprint="somebody's@1", dim=8, recipe={})
    with pytest.raises(ModelError, match="somebody's@1"):
        settings_for(bare, settings())
    other = Generation(fingerprint="hashing-8@0", dim=8, recipe={"backend": "hashing"})
    with pytest.raises(ModelError, match=r"hashing-8@0.*hashing-8@1.*palimpsest reembed"):
        open_generation(other, settings())
    there = open_generation(describe(settings(backend="hashing", hashing_dim=9)), settings())
    assert there.fingerprint == "hashing-9@1"


def test_chunks_keep_the_name_of_the_encoder_they_were_cut_for() -> None:
    first = describe(settings(backend="hashing", hashing_dim=9))
    assert first.chunked_as == "hashing-9@1"
    second = replace(first, fingerprint="x", recipe={"chunked_as": first.chunked_as})
    assert second.chunked_as == "hashing-9@1"
