"""Models of tests/golden as transformers loads them, and common imports of their tests."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import transformers

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from support import ROOT, PackageTest  # noqa: E402

__all__ = ["BERT", "DECODERS", "MODELS", "ROOT", "PackageTest", "like", "loaded"]

transformers.logging.set_verbosity_error()
MODELS = ROOT / "tests" / "golden" / "models"
DECODERS = ROOT / "tests" / "golden" / "decoders"
BERT = MODELS / "bert_masked_lm"
# By the last word of a model's name; decoders are in a separate folder.
KINDS: dict[str, Any] = {
    "lm": transformers.AutoModelForMaskedLM,
    "classification": transformers.AutoModelForSequenceClassification,
    "base": transformers.AutoModel,
}


def like(package: str, kind: str, **held: Any) -> Any:
    """A stand-in by package and name, which identify wrappers."""
    made = type(kind, (), {"__module__": f"{package}.somewhere", **held})
    return made()


def loaded(name: str = BERT.name, **options: Any) -> tuple[Any, Any]:
    """A model and its tokenizer."""
    folder, kind = DECODERS / name, transformers.AutoModelForCausalLM
    if not folder.exists():
        folder, kind = MODELS / name, KINDS[name.rpartition("_")[2]]
    return kind.from_pretrained(folder, **options).eval(), transformers.AutoTokenizer.from_pretrained(folder)
