"""Is attention captured right, family by family? Tiny random models, against their own output_attentions.

    architectures.py      prints the table in docs/python.md

A family is `captured` (its attention function was replaced), `asked` (it has its own attention functions, and was asked
for output_attentions), or refused with a reason. Captured weights must equal attn_implementation="eager" to 1e-5.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import attnflow.joint
import torch
import transformers

import attnflow

sys.path.append(str(Path(__file__).resolve().parents[3] / "tools"))
from reference.attention_graph import joint_attention

TOLERANCE = 1e-5  # of weights of at most 1 in float32

# Applied where a configuration has the option.
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "d_model", "dim", "emb_dim", "hidden_dim", "embed_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "encoder_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads"), 4),
    **dict.fromkeys(("decoder_attention_heads", "encoder_attention_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "decoder_ffn_dim", "encoder_ffn_dim", "d_ff"), 48),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    "moe_intermediate_size": 16,
    "num_experts_per_tok": 2,
    "embedding_size": 16,
    "word_embed_proj_dim": 32,
    "vocab_size": 99,
    "max_position_embeddings": 64,
    "n_positions": 64,
    "sliding_window": 4,
    "rotary_dim": 4,
    "image_size": 16,
    "patch_size": 4,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


@dataclass
class Family:
    """A type of models, and the requirements of its smallest configuration."""

    name: str  # of its configuration
    given: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    model: str = ""  # the class, where it is not that of AutoModel
    label: str = ""  # in the table, where it is not its name

    def build(self) -> Any:
        make = transformers.CONFIG_MAPPING[self.name]
        usual = make()
        small = {
            name: value
            for name, value in SMALL.items()
            if name not in self.without and getattr(usual, name, None) is not None
        }
        small["pad_token_id"] = 0
        if getattr(usual, "sliding_window", 0) is None and "sliding_window" not in self.without:
            small["sliding_window"] = 4
        config = make(**small | self.given)
        kind = getattr(transformers, self.model) if self.model else transformers.MODEL_MAPPING[make]
        torch.manual_seed(0)
        model = (kind[0] if isinstance(kind, tuple) else kind)(config).eval()
        for parameter in model.parameters():  # the usual weights are so small that all attention is uniform
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.3)
        return model


def _families() -> list[Family]:
    texts = (
        "albert apertus arcee bert biogpt bitnet bloom camembert codegen cohere cohere2 convbert data2vec-text "
        "deberta deberta-v2 diffllama distilbert electra ernie ernie4_5 exaone4 gemma gemma2 gemma3_text glm glm4 gpt2 "
        "gpt_bigcode gpt_neox gpt_neox_japanese gpt_oss gptj granite helium jais2 layoutlm llama megatron-bert "
        "mistral mixtral mobilebert modernbert mpnet mpt mra nystromformer olmo olmo2 olmo3 olmoe opt persimmon "
        "phi phi3 phimoe qwen2 qwen2_moe qwen3 qwen3_moe rembert roberta roberta-prelayernorm roc_bert roformer seed_oss "
        "smollm3 splinter stablelm starcoder2 vaultgemma xglm xlm xlm-roberta xlm-roberta-xl yoso big_bird longformer "
        "mamba rwkv fnet nomic_bert eurobert"
    ).split()
    families = [Family(name) for name in texts]
    families += [
        Family("ctrl", {"dff": 48}),
        Family("xmod", {"languages": ["en_XX"], "default_language": "en_XX"}),
        Family("lilt", {"hidden_size": 48}),
        Family("esm", {"position_embedding_type": "rotary", "mask_token_id": 4, "vocab_size": 99}),
        Family("falcon", {"num_kv_heads": 4}, without=("head_dim",)),
        Family("funnel", {"block_sizes": [1, 1]}, without=("num_hidden_layers",)),
        Family("gpt_neo", {"attention_types": [[["global", "local"], 1]], "window_size": 4}),
        Family("xlnet", {"n_layer": 2, "d_inner": 48}, without=("max_position_embeddings", "num_hidden_layers")),
        Family("t5", model="T5EncoderModel"),
        Family("umt5", model="UMT5EncoderModel"),
        Family("t5", model="T5Model", label="t5 (encoder and decoder)"),
        Family("umt5", model="UMT5Model", label="umt5 (encoder and decoder)"),
        Family(  # chooses the keys of each query
            "deepseek_v32",
            {
                **dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"), 8),
                **dict.fromkeys(("kv_lora_rank", "q_lora_rank", "index_head_dim"), 16),
                **dict.fromkeys(("n_group", "topk_group"), 1),
                "num_key_value_heads": 4,
                "index_n_heads": 2,
                "index_topk": 3,
            },
        ),
        *(Family(name) for name in "bart blenderbot m2m_100 marian mbart pegasus plbart".split()),
    ]
    families += [Family(name) for name in "beit deit dinov2 dinov2_with_registers ijepa vit vit_mae vit_msn".split()]
    families += [
        Family(
            "swin",
            {"embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 2},
            without=("num_attention_heads", "num_hidden_layers", "num_layers", "hidden_size"),
        ),
        Family("clip_vision_model"),
        Family("clip_text_model"),
        Family("siglip_vision_model"),
        Family("clip"),
    ]
    return families


FAMILIES = _families()


def inputs_of(model: Any) -> dict[str, Any]:
    """Two inputs, the second padded on the left; pictures have no padding."""
    torch.manual_seed(1)
    config = model.config
    inputs: dict[str, Any] = {}
    if model.main_input_name == "pixel_values" or hasattr(config, "vision_config"):
        picture = getattr(config, "vision_config", config)
        size = picture.image_size if isinstance(picture.image_size, int) else picture.image_size[0]
        inputs["pixel_values"] = torch.randn(2, picture.num_channels, size, size)
    if model.main_input_name != "pixel_values":
        inputs["input_ids"] = torch.randint(5, 99, (2, 12))
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        inputs["attention_mask"][1, :4] = 0
        if attnflow.joint.is_encoder_decoder(model):
            inputs["decoder_input_ids"] = torch.randint(5, 99, (2, 7))
    return inputs


@dataclass
class Outcome:
    """A family's result; `error` is the largest difference of a weight."""

    how: str  # captured, asked, refused
    error: float = 0.0
    reason: str = ""


def outcome_of(family: Family) -> Outcome:
    """Raises anything but attnflow's refusals."""
    model = family.build()
    inputs = inputs_of(model)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with attnflow.capture(model) as captured, torch.no_grad():
                model(**inputs)
        found = captured.attentions
    except attnflow.Error as error:
        return Outcome("refused", reason=str(error))
    how = "asked" if captured.calls[0].module.startswith("attentions[") else "captured"
    if how == "captured" or model._can_set_attn_implementation():
        model.set_attn_implementation("eager")
    with torch.no_grad():
        output = model(**inputs, output_attentions=True)
    is_joint = "decoder_input_ids" in inputs
    expected = [torch.from_numpy(layer) for layer in joint_attention(output)] if is_joint else output.attentions
    if len(found) != len(expected):
        raise AssertionError(f"{family.name}: {len(found)} layers were captured of {len(expected)}")
    padded = 4 if "attention_mask" in inputs else 0  # rows of padding mean nothing
    errors = [(a - b).abs() for a, b in zip(found, expected, strict=True)]
    worst = max(max(float(error[0].max()), float(error[1, :, padded:].max())) for error in errors)
    return Outcome(how, error=worst)


def table() -> str:
    """The table of docs/python.md."""
    outcomes = {family.label or family.name: outcome_of(family) for family in FAMILIES}
    lines = ["| how | families |", "| --- | --- |"]
    for how, words in (("captured", "captured"), ("asked", "asked for `output_attentions`"), ("refused", "refused")):
        names = sorted(name for name, outcome in outcomes.items() if outcome.how == how)
        lines.append(f"| {words}: {len(names)} | {', '.join(names)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    print(table(), end="")
