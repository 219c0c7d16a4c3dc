"""Settings -> who counts tokens. Chunking needs the encoder's tokenizer, not its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cluster.models import e5_wheel, weights
from cluster.models.hub import read_card
from cluster.models.open import HASHING, open_embedder, resolved
from cluster.models.tokens import TextTokens
from cluster.settings import EncoderSettings, Settings
from ingest.prepare import TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptedTokens:
    """Counts as the embedder of the same settings does."""

    tokens: TextTokens
    prompt: str

    @property
    def max_tokens(self) -> int:
        prompt = self.tokens.count([self.prompt])[0]
        return self.tokens.max_length - self.tokens.special_count - prompt

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self.tokens.count(texts, prompt=self.prompt)


def open_counter(settings: Settings) -> TokenCounter:
    encoder = resolved(settings.encoder)
    if encoder.backend == HASHING:
        return open_embedder(settings)
    if encoder.model != weights.DEFAULT_MODEL:
        return _from_hub(encoder)
    from tokenizers import Tokenizer

    folder = weights.default_model_dir(settings.data_dir / "models", read=[weights.TOKENIZER])
    tokenizer = Tokenizer.from_file(str(folder / weights.TOKENIZER))
    prompt = encoder.document_prompt
    return PromptedTokens(
        tokens=TextTokens(tokenizer, max_length=e5_wheel.MAX_LENGTH),
        prompt=e5_wheel.DOCUMENT_PROMPT if prompt is None else prompt,
    )


def _from_hub(encoder: EncoderSettings) -> TokenCounter:
    from transformers import AutoTokenizer

    card = read_card(encoder.model, revision=encoder.revision)
    found = AutoTokenizer.from_pretrained(card.location, revision=encoder.revision)
    prompt = encoder.document_prompt
    return PromptedTokens(
        tokens=TextTokens(found.backend_tokenizer, max_length=card.max_length),
        prompt=card.document_prompt if prompt is None else prompt,
    )
