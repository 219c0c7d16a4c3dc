"""Settings -> the encoder, and what it is called before it is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from cluster.errors import InvalidSettings, ModelError
from cluster.ids import digest
from cluster.model import Generation
from cluster.models import e5_wheel, weights
from cluster.models.centring import Centres, read_centres, read_token_centres
from cluster.models.embedder import Forward
from cluster.models.hashing import HashingEmbedder
from cluster.models.hub import ModelCard, read_card
from cluster.models.protocols import Embedder
from cluster.models.tokens import TextTokens
from cluster.settings import EncoderSettings, Settings

TEXT_RULE = "nfc-strip-1"
INT8 = "onnx-int8"
HASHING = "hashing"
OPENED_AS = "open.model"
OPENED_REVISION = "open.revision"
"""Where the model was opened from: in the recipe, but not in the fingerprint."""

CPU_BATCH_TOKENS = 1024
"""Larger batches on CPU are slower (-6 % at 4096) and take 170 MB more."""


def describe(settings: Settings) -> Generation:
    """Fingerprint, dimension and recipe of the configured encoder. Reads no weights of the
    default model, and no network unless `encoder.model` is a hub name not yet on disk."""
    encoder = resolved(settings.encoder)
    if encoder.backend == HASHING:
        hashing = HashingEmbedder(encoder.hashing_dim)
        recipe = {"model": HASHING, "dim": str(hashing.dim), "backend": HASHING}
        return Generation(fingerprint=hashing.fingerprint, dim=hashing.dim, recipe=recipe)
    card = _card(encoder)
    recipe = _recipe(encoder, card, _centres(encoder, card))
    opened_by = {OPENED_AS: _location(encoder.model), OPENED_REVISION: card.revision or ""}
    return Generation(
        fingerprint=_fingerprint(recipe), dim=card.dim, recipe={**recipe, **opened_by}
    )


def settings_for(generation: Generation, settings: Settings) -> Settings:
    """`settings` with the encoder of `generation`, whichever they name themselves; device,
    threads and batch size stay. `ModelError` when its recipe does not say how to open it."""
    recipe = generation.recipe
    backend = recipe.get("backend")
    if backend is None:
        raise ModelError(f"the ledger does not say how {generation.fingerprint} is opened")
    changed: dict[str, object] = {"backend": backend}
    if backend == HASHING:
        changed["hashing_dim"] = generation.dim
    else:
        changed |= _named_model(recipe, settings.encoder)
        changed |= {key: recipe[key] for key in ("query_prompt", "document_prompt")}
        changed["centred"] = recipe["centred"] != "off"
    if backend == INT8:
        changed["device"] = "cpu"
    return settings.model_copy(update={"encoder": settings.encoder.model_copy(update=changed)})


def open_generation(generation: Generation, settings: Settings) -> Embedder:
    """Its own encoder; `ModelError` when what opens makes other vectors, as after an upgrade
    of the weights."""
    embedder = open_embedder(settings_for(generation, settings))
    if embedder.fingerprint != generation.fingerprint:
        raise ModelError(
            f"the ledger is encoded by {generation.fingerprint}, what opened is "
            f"{embedder.fingerprint}; bring that model back, or run `palimpsest reembed`"
        )
    return embedder


def open_embedder(settings: Settings) -> Embedder:
    """Loads the configured encoder; raises `ModelError` when it cannot."""
    encoder = resolved(settings.encoder)
    if encoder.backend == HASHING:
        return HashingEmbedder(encoder.hashing_dim)
    from cluster.models.embedder import ModelEmbedder, Prompts

    card = _card(encoder)
    centres = _centres(encoder, card)
    recipe = _recipe(encoder, card, centres)
    tokens, forward, pad_id = _load(encoder, card, models_dir=settings.data_dir / "models")
    return ModelEmbedder(
        tokens,
        forward,
        fingerprint=_fingerprint(recipe),
        dim=card.dim,
        prompts=Prompts(query=recipe["query_prompt"], document=recipe["document_prompt"]),
        centres=centres,
        token_centres=_token_centres(encoder, card),
        batch_tokens=min(encoder.batch_tokens, most_tokens(encoder.device)),
        pad_id=pad_id,
    )


def resolved(encoder: EncoderSettings) -> EncoderSettings:
    """`auto` made definite for this machine, so that other processes can be told."""
    if encoder.backend == HASHING:
        return encoder
    device = accelerator() or "cpu" if encoder.device == "auto" else encoder.device
    backend: str = encoder.backend
    if backend == "auto":
        backend = _backend_for(device, default_model=encoder.model == weights.DEFAULT_MODEL)
    elif encoder.backend == INT8:
        if encoder.device not in ("auto", "cpu"):
            raise InvalidSettings(f"encoder.backend {INT8} runs on cpu, not on {encoder.device}")
        device = "cpu"
    return encoder.model_copy(update={"backend": backend, "device": device})


def _backend_for(device: str, *, default_model: bool) -> str:
    if device == "cpu":
        return INT8 if default_model else "torch-fp32"
    if device.startswith("cuda"):
        import torch

        return "torch-bf16" if torch.cuda.is_bf16_supported() else "torch-fp16"
    return "torch-fp16"


def accelerator() -> str | None:
    """Torch takes seconds to import, so it is asked only where there may be something."""
    if sys.platform == "darwin":
        import torch

        return "mps" if torch.backends.mps.is_available() else None
    if Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists():
        import torch

        return "cuda" if torch.cuda.is_available() else None
    return None


def _card(encoder: EncoderSettings) -> ModelCard:
    if encoder.model != weights.DEFAULT_MODEL:
        if encoder.backend == INT8:
            raise InvalidSettings(
                f"encoder.backend {INT8} is there for {weights.DEFAULT_MODEL} only; "
                f"set torch-fp32 or auto for {encoder.model}"
            )
        return read_card(encoder.model, revision=encoder.revision)
    return ModelCard(
        location=weights.DEFAULT_MODEL,
        revision=None,
        weights=weights.WHEEL_FILE_SHA256,
        dim=weights.DIM,
        max_length=e5_wheel.MAX_LENGTH,
        query_prompt=e5_wheel.QUERY_PROMPT,
        document_prompt=e5_wheel.DOCUMENT_PROMPT,
    )


def _centres(encoder: EncoderSettings, card: ModelCard) -> Centres | None:
    centres = read_centres(encoder.model) if encoder.centred else None
    return centres if centres is not None and centres.dim == card.dim else None


def _token_centres(encoder: EncoderSettings, card: ModelCard) -> Centres | None:
    centres = read_token_centres(encoder.model) if encoder.centred else None
    return centres if centres is not None and centres.dim == card.dim else None


def _location(model: str) -> str:
    """A folder by its whole path, as other processes work in other folders."""
    path = Path(model).expanduser()
    return str(path.absolute()) if path.is_dir() else model


def _named_model(recipe: Mapping[str, str], encoder: EncoderSettings) -> dict[str, object]:
    """Ledgers of the first version keep only the last part of the name; that is enough for the
    default model, and for others the settings tell the rest."""
    if OPENED_AS in recipe:
        return {"model": recipe[OPENED_AS], "revision": recipe[OPENED_REVISION] or None}
    if recipe["model"] == weights.DEFAULT_MODEL:
        return {"model": weights.DEFAULT_MODEL}
    return {"model": encoder.model, "revision": encoder.revision}


def _recipe(encoder: EncoderSettings, card: ModelCard, centres: Centres | None) -> dict[str, str]:
    query = card.query_prompt if encoder.query_prompt is None else encoder.query_prompt
    document = card.document_prompt if encoder.document_prompt is None else encoder.document_prompt
    centring = (
        centres.digest if centres else "no means for this model" if encoder.centred else "off"
    )
    recipe = {
        "model": Path(encoder.model).name,
        "weights": card.weights,
        "dim": str(card.dim),
        "backend": encoder.backend,
        "max_length": str(card.max_length),
        "query_prompt": query,
        "document_prompt": document,
        "text": TEXT_RULE,
        "normalised": "l2",
        "centred": centring,
    }
    if encoder.backend == INT8:
        recipe["graph"] = weights.GRAPH
    return recipe


def _fingerprint(recipe: Mapping[str, str]) -> str:
    """For people: model, weights, backend, centring; then a digest over the whole recipe."""
    whole = digest(*(f"{key}={value}" for key, value in sorted(recipe.items()))).hex()[:8]
    centring = recipe["centred"]
    tag = f"centred-{centring[:8]}" if " " not in centring and centring != "off" else "plain"
    return f"{recipe['model']}@{recipe['weights'][:8]}/{recipe['backend']}/{tag}/{whole}"


def _load(
    encoder: EncoderSettings, card: ModelCard, *, models_dir: Path
) -> tuple[TextTokens, Forward, int]:
    threads = encoder.threads or cores()
    if encoder.backend == INT8:
        folder = weights.default_model_dir(models_dir, read=[weights.INT8_GRAPH, weights.TOKENIZER])
        return _load_int8(folder, max_length=card.max_length, threads=threads)
    location = card.location
    if encoder.model == weights.DEFAULT_MODEL:
        read = [weights.TORCH_WEIGHTS, weights.TOKENIZER]
        location = str(weights.default_model_dir(models_dir, read=read))
    from cluster.models.torch_forward import TorchForward

    forward = TorchForward(
        location,
        revision=card.revision,
        backend=encoder.backend,
        device=encoder.device,
        threads=threads,
    )
    return TextTokens(forward.tokenizer, max_length=card.max_length), forward, forward.pad_id


def _load_int8(folder: Path, *, max_length: int, threads: int) -> tuple[TextTokens, Forward, int]:
    from tokenizers import Tokenizer

    from cluster.models.onnx_forward import OnnxForward

    tokenizer = Tokenizer.from_file(str(folder / weights.TOKENIZER))
    forward = OnnxForward(folder / weights.INT8_GRAPH, threads=threads)
    return TextTokens(tokenizer, max_length=max_length), forward, weights.PAD_ID


def most_tokens(device: str) -> int:
    return CPU_BATCH_TOKENS if device == "cpu" else sys.maxsize


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
