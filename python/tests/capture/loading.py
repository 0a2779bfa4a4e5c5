"""Models of tests/golden as transformers loads them, and common imports of their tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import ROOT, PackageTest  # noqa: E402

__all__ = ["BERT", "DECODERS", "MODELS", "ROOT", "PackageTest", "folder_of", "like", "loaded"]

transformers.logging.set_verbosity_error()
MODELS = ROOT / "tests" / "golden" / "models"
DECODERS = ROOT / "tests" / "golden" / "decoders"
ENCODER_DECODERS = ROOT / "tests" / "golden" / "encoder_decoders"
BERT = MODELS / "bert_masked_lm"
# By the last word of a model's name; decoders and encoder-decoders are in separate folders.
KINDS: dict[str, Any] = {
    "lm": transformers.AutoModelForMaskedLM,
    "classification": transformers.AutoModelForSequenceClassification,
    "base": transformers.AutoModel,
}


def like(package: str, kind: str, **held: Any) -> Any:
    """A stand-in by package and name, which identify wrappers."""
    made = type(kind, (), {"__module__": f"{package}.somewhere", **held})
    return made()


def folder_of(name: str) -> Path:
    """The folder of a model."""
    return next(kind / name for kind in (DECODERS, ENCODER_DECODERS, MODELS) if (kind / name).exists())


def loaded(name: str = BERT.name, folder: Path | None = None, **options: Any) -> tuple[Any, Any]:
    """A model and its tokenizer; from another folder, the same with other settings."""
    kind: Any = {
        DECODERS: transformers.AutoModelForCausalLM,
        ENCODER_DECODERS: transformers.AutoModelForSeq2SeqLM,
    }.get(folder_of(name).parent) or KINDS[name.rpartition("_")[2]]
    folder = folder or folder_of(name)
    return kind.from_pretrained(folder, **options).eval(), transformers.AutoTokenizer.from_pretrained(folder)
