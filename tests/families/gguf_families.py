"""Are gradients that the program takes from a GGUF file those of the folder of the same weights? Tiny random models of
every family that both engines run, saved by transformers and written as GGUF files.

    gguf_families.py [NAME]...      prints the table of GGUF files in docs/models.md, or some of its lines

ATTNFLOW is the program, as in families.py. The comparison covers libllama's attention and the probability of its
prediction; each token's gradient times input, which the torch backend takes from the file's weights; and the
contributions of every layer (`alti`), from libllama or, where it does not give them, from the torch backend.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import families
import numpy as np
import transformers

sys.path.append(str(families.ROOT / "tests" / "cli"))
from gguf_folder import ARCHITECTURES, as_gguf, write_gguf  # noqa: E402

LINEAR = {
    "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
}
# Longer than the text, so that libllama chooses the factors for short texts.
LONGER = {"original_max_position_embeddings": 512}
LONGROPE = {"max_position_embeddings": 1024, "rope_parameters": families.LONGROPE | LONGER} | LONGER
PHI3 = {"sliding_window": None, "original_max_position_embeddings": 64}
PARTIAL = {"rope_parameters": {"rope_type": "default", "rope_theta": 100.0, "partial_rotary_factor": 0.75}}
GEMMA = {"head_dim": 12, "sliding_window": 6, "query_pre_attn_scalar": 12}
FALCON = {"ffn_hidden_size": 128, "num_kv_heads": 1}
GROUPED = {"new_decoder_architecture": True, "num_kv_heads": 2}
# Settings that libllama reads, with values other than the usual; variants have another word in their names.
GIVEN = {
    "gpt2": {"n_inner": 128},
    "llama": {},
    "mistral": {"sliding_window": None},
    "qwen2": {},
    "qwen2 yarn": {"rope_parameters": families.YARN},
    "qwen3": {"head_dim": 12},
    "qwen3_moe": families.DECODERS["qwen3_moe"].given,
    "mixtral": families.EXPERTS,
    "gpt_oss": families.GPT_OSS,
    "olmoe": families.EXPERTS | {"num_key_value_heads": 4},  # as libllama expects
    "smollm3": {},
    "granite": families.DECODERS["granite"].given,
    "olmo2": {},
    "gemma": {"head_dim": 12},
    "gemma2": GEMMA | {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 5.0},
    "gemma3_text": GEMMA | {"num_hidden_layers": 7},
    "gemma3_text linear": GEMMA | {"num_hidden_layers": 7, "rope_parameters": LINEAR},
    "gemma3_text whole": GEMMA | {"sliding_window": None, "layer_types": ["full_attention"] * 4},
    "phi": {"num_key_value_heads": 4},
    "phi3": PHI3,
    "phi3 longrope": PHI3 | LONGROPE,
    "phi3 partial": PHI3 | PARTIAL,
    "starcoder2": {"sliding_window": None},
    "stablelm": {"use_qkv_bias": True, "num_key_value_heads": 4},
    "stablelm parallel": {"use_parallel_residual": True},
    "gpt_neox": {},
    "gpt_neox serial": {"use_parallel_residual": False},
    "falcon": FALCON,
    "falcon grouped": FALCON | GROUPED,
    "falcon shared": FALCON | GROUPED | {"num_ln_in_parallel_attn": 1},
    "bloom": {"seq_length": 64},
    "cohere": {"logit_scale": 0.5},
    "cohere2": {"sliding_window": 6, "logit_scale": 0.5},
}


class Outcome(NamedTuple):
    """The largest differences, that of gradient times input relative to the largest."""

    attention: float
    prediction: float
    gradient: float
    contributions: float


def architecture_of(name: str) -> str:
    """GGUF's name for a row of GIVEN."""
    kind = name.split()[0]
    return ARCHITECTURES.get(kind, kind)


def written(name: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """A folder, and the metadata and tensors of a file of the same weights."""
    usual = families.DECODERS[name.split()[0]]
    family = families.Family(usual.name, GIVEN[name], usual.without, values=usual.values)
    families.save(family.build(), usual, folder)
    return as_gguf(folder)


def compare(folder: Path, file: Path) -> Outcome:
    """Raises if tokens or predictions differ, or with the program's message if it refuses."""
    asked = ("explain", families.TEXT, "--force", "--mixing", "attention", "--keep-attention")
    asked += ("--method", "raw,gradient-x-input")
    (report, expected), (told, found) = (families.reported(model, *asked) for model in (folder, file))
    likely, choice = (one["predictions"][0]["choices"][0] for one in (report, told))
    if list(found["tokens"]) != list(expected["tokens"]) or choice["label"] != likely["label"]:
        raise AssertionError(f"{file}: other tokens, or {choice['label']!r} in place of {likely['label']!r}")
    largest = float(np.abs(expected["gradient_x_input"]).max())
    if largest == 0:
        raise AssertionError(f"{file}: no gradient")
    asked = ("explain", families.TEXT, "--force", "--mixing", "alti", "--method", "raw", "--output-token", "all")
    of_folder, of_file = (families.reported(model, *asked)[1]["raw"] for model in (folder, file))
    return Outcome(
        attention=float(np.abs(found["attention"] - expected["attention"]).max()),
        prediction=abs(choice["probability"] - likely["probability"]),
        gradient=float(np.abs(found["gradient_x_input"] - expected["gradient_x_input"]).max()) / largest,
        contributions=float(np.abs(of_folder - of_file).max()),
    )


def outcome_of(name: str, more: dict[str, Any] | None = None) -> Outcome:
    """`more`: settings that the file has besides."""
    with tempfile.TemporaryDirectory(prefix="attnflow.") as made:
        file = Path(made) / "model.gguf"
        metadata, tensors = written(name, Path(made))
        write_gguf(file, metadata | (more or {}), tensors)
        return compare(Path(made), file)


def table(names: list[str]) -> str:
    lines = [
        "| architecture | model type | attention | probability | gradient | contributions |",
        "| --- | --- | --: | --: | --: | --: |",
    ]
    for name in names:
        cells = [f"{one:.0e}" for one in outcome_of(name)]
        lines.append(f"| {architecture_of(name)} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


transformers.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()

if __name__ == "__main__":
    print(table(sys.argv[1:] or list(GIVEN)), end="")
