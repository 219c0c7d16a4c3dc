"""What the API says of a receipt's shape is the shape that is signed."""

from __future__ import annotations

import json

from cluster.forget.receipts import SECTIONS, Signer
from serve.api.schemas import SignedReceipt


def test_a_signed_receipt_has_the_parts_that_the_schema_names() -> None:
    text = Signer(bytes(range(32))).sign({name: {"of": name} for name in SECTIONS})
    told = SignedReceipt.model_validate_json(text)
    assert told.model_dump(by_alias=True) == json.loads(text)
    assert set(SignedReceipt.model_json_schema()["properties"]) == set(json.loads(text))
