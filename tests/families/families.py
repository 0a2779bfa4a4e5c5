"""Does the program run each family's folders correctly? Tiny random models, saved by transformers, run by the program.

    families.py [NAME]...      prints the table in docs/models.md, or some of its lines

ATTNFLOW is the program (default: build/release/bin/attnflow), ATTNFLOW_DEVICE the device that runs models: cpu or cuda.

Every text family on the program's list has a row, as do picture families that tests/golden does not compare. The
comparison covers the attention of every head, the probability of the prediction and each token's gradient times input
where there is a prediction, and the contributions of every layer (`alti`), computed here from the inputs of
transformers' attention functions. Encoder-decoders write a text: the comparison covers the tokens chosen, the attention
of every decoder head to its own tokens and to the source, and the rollout of both halves, which includes the encoder's
attention.
"""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import tokenizers
import torch
import transformers

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))
from reference.attention_graph import AttentionGraph, joint_attention  # noqa: E402

PROGRAM = Path(os.environ.get("ATTNFLOW", ROOT / "build" / "release" / "bin" / "attnflow"))
DEVICE = os.environ.get("ATTNFLOW_DEVICE", "cpu")
TEXT = "the key to the old cabinets is on"
PAIR = "the old table is on the key to the cabinets the key is to old cabinets"  # the text in which answers are sought
WORDS = ["the", "key", "to", "old", "cabinets", "is", "on", "table"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# Any of these that a configuration knows make it small.
SMALL: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "n_embd", "dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "n_layers"), 4),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads"), 4),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "hidden_dim"), 48),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "word_embed_proj_dim": 32,
    "max_position_embeddings": 64,
    "n_positions": 64,
}
SMALL_WITH_SOURCE: dict[str, Any] = {
    "d_model": 32,
    **dict.fromkeys(("encoder_layers", "num_layers"), 3),
    **dict.fromkeys(("decoder_layers", "num_decoder_layers"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "num_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim", "d_ff"), 48),
    "d_kv": 12,
    "relative_attention_num_buckets": 8,
    "relative_attention_max_distance": 16,
    "max_position_embeddings": 64,
}
SMALL_FOR_PICTURES: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 32,
    "patch_size": 8,
}
CLASSES = ["O", "B-PER", "I-PER", "B-LOC"]
# The head, by the last word of a row's name.
HEADS = {
    "tags": transformers.AutoModelForTokenClassification,
    "classes": transformers.AutoModelForSequenceClassification,
    "answers": transformers.AutoModelForQuestionAnswering,
}
BYTES = ["<pad>", "<s>", "</s>", "<unk>", *sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())]
MIDDLE, SPREAD = 0.5, 0.25  # of picture pixels: subtracted and divided by


@dataclass
class Family:
    """A model type, what its smallest configuration needs in addition, and remarks if not everything is compared."""

    name: str
    given: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    remark: str = ""
    values: str = ""  # the map that gives values, if attention is not a function of transformers' interface

    @property
    def head(self) -> str:
        """One of HEADS, or the default."""
        last = self.name.split()[-1]
        return last if last in HEADS else ""

    @property
    def is_decoder(self) -> bool:
        return self.name in DECODERS

    @property
    def is_of_pictures(self) -> bool:
        return self.name in PICTURES

    @property
    def has_source(self) -> bool:
        return self.name in ENCODER_DECODERS

    @property
    def predicts(self) -> bool:
        return self.choose()[1] is not transformers.AutoModel

    def choose(self) -> tuple[Any, Any]:
        """A configuration, and the kind of model to make from it."""
        if self.is_of_pictures:
            return self.picture_model()
        return self.writer() if self.has_source else self.text_model()

    @property
    def attention(self) -> str:
        """The implementation that records what is compared, if attention is a function of transformers' interface."""
        return "eager" if self.has_source or self.values else KEPT

    def build(self) -> Any:
        config, kind = self.choose()
        return self.fill(kind.from_config(config, attn_implementation=self.attention))

    def fill(self, model: Any) -> Any:
        """Random weights from this seed."""
        model.eval()
        torch.manual_seed(0)
        if "untied" in self.name:
            model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
        for parameter in model.parameters():  # the default weights are so small that all attention is uniform
            if parameter.requires_grad:  # others, of sinusoidal positions, follow from the configuration
                torch.nn.init.normal_(parameter, std=0.3 if parameter.dim() > 1 else 0.5)
        if hasattr(model, "final_logits_bias"):
            torch.nn.init.normal_(model.final_logits_bias)
        return model

    def writer(self) -> tuple[Any, Any]:
        make = transformers.CONFIG_MAPPING[self.name.split()[0]]
        usual = make()
        small = {name: value for name, value in SMALL_WITH_SOURCE.items() if hasattr(usual, name)}
        small |= {"vocab_size": len(SPECIAL) + len(WORDS), "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        small |= {"decoder_start_token_id": 2, "forced_eos_token_id": None}
        return make(**small | self.given), transformers.AutoModelForSeq2SeqLM

    def picture_model(self) -> tuple[Any, Any]:
        """With classes if there is a model that has them."""
        make = transformers.CONFIG_MAPPING[self.name.split()[0]]
        small = SMALL_FOR_PICTURES | self.given
        if hasattr(make(), "vision_config"):
            small = {"vision_config": small, "id2label": {i: f"class {i}" for i in range(3)}}
        config = make(**small)
        classifies = type(config) in transformers.MODEL_FOR_IMAGE_CLASSIFICATION_MAPPING
        return config, transformers.AutoModelForImageClassification if classifies else transformers.AutoModel

    def text_model(self) -> tuple[Any, Any]:
        make = transformers.CONFIG_MAPPING[self.name.split()[0]]
        usual = make()
        small = {name: value for name, value in SMALL.items() if name not in self.without and hasattr(usual, name)}
        small |= {"vocab_size": 260 if self.is_decoder else len(SPECIAL) + len(WORDS)}
        small |= {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
        if self.head in ("tags", "classes"):
            small |= {"id2label": dict(enumerate(CLASSES))}
        config = make(**small | self.given)
        if self.head:
            return config, HEADS[self.head]
        if not self.is_decoder:
            return config, transformers.AutoModelForMaskedLM
        writes = type(config) in transformers.MODEL_FOR_CAUSAL_LM_MAPPING
        return config, transformers.AutoModelForCausalLM if writes else transformers.AutoModel


KEPT = "eager_and_kept"
_kept: list[tuple[torch.Tensor, torch.Tensor]] = []  # attention and values of each layer run, by head


def attend_and_keep(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Any,
    scaling: float,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(2, 3) * scaling
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    scores = scores if mask is None else scores + mask
    if s_aux is not None:  # a sink for each head
        scores = torch.cat([scores, s_aux.view(1, -1, 1, 1).expand(*scores.shape[:3], 1)], -1)
    weights = torch.softmax(scores, -1)[..., : key.shape[2]]
    _kept.append((weights[0].detach(), value[0].detach()))
    return (weights @ value).transpose(1, 2).contiguous(), weights


transformers.AttentionInterface.register(KEPT, attend_and_keep)
transformers.AttentionMaskInterface.register(KEPT, transformers.masking_utils.eager_mask)

# When asked for its attention, Falcon adds ALiBi to the scores twice, once in the mask; otherwise only once.
falcon = transformers.models.falcon.modeling_falcon
falcon.build_alibi_tensor = lambda *given, make=falcon.build_alibi_tensor, **more: make(*given, **more) / 2

FIRST_DISTANCES = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}
DISTANCES = {
    "relative_attention": True,
    "pos_att_type": ["p2c", "c2p"],
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
ENCODERS = {
    family.name: family
    for family in (
        Family("bert"),
        Family("roberta"),
        Family("xlm-roberta"),
        Family("camembert"),
        Family("data2vec-text"),
        Family("ernie"),
        Family("distilbert"),
        Family("albert", {"embedding_size": 16}),
        Family("electra", {"embedding_size": 16}),
        Family("megatron-bert", values="value"),
        Family("mpnet", values="v"),
        Family("deberta", FIRST_DISTANCES | {"position_biased_input": False}, values="in_proj"),
        Family(
            "deberta placed", FIRST_DISTANCES | {"max_relative_positions": 6, "type_vocab_size": 2}, values="in_proj"
        ),
        Family("deberta-v2", DISTANCES | {"position_buckets": 4, "position_biased_input": False}, values="value_proj"),
        Family(
            "deberta-v2 placed", DISTANCES | {"max_relative_positions": 6, "type_vocab_size": 2}, values="value_proj"
        ),
        Family("modernbert", {"local_attention": 4}),
        Family("bert tags"),
        Family("roberta tags"),
        Family("deberta-v2 tags", DISTANCES | {"position_buckets": 4}, values="value_proj"),
        Family("modernbert tags", {"local_attention": 4}),
        Family("bert answers", {"num_hidden_layers": 2}),  # with more, an answer begins at all tokens alike
        Family("roberta answers"),
        Family("distilbert answers", {"num_hidden_layers": 2}),
        Family("albert answers", {"embedding_size": 16}),
        Family("electra answers", {"embedding_size": 16}),
        Family("mpnet answers", values="v"),
        Family("deberta-v2 answers", DISTANCES | {"position_buckets": 4}, values="value_proj"),
        Family("modernbert answers", {"local_attention": 4}),
    )
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 100.0,
    "factor": 4.0,
    "original_max_position_embeddings": 16,
    "beta_fast": 4.0,
}
LONGROPE = {
    "rope_type": "longrope",
    "rope_theta": 100.0,
    "short_factor": [1.0, 1.5, 2.0, 3.0],
    "long_factor": [1.0, 3.0, 4.0, 6.0],
    "original_max_position_embeddings": 48,
}
EXPERTS = {"num_local_experts": 6, "num_experts": 6, "num_experts_per_tok": 2}
# Weights so large that sinks take much, and some gates reach their limit.
GPT_OSS = EXPERTS | {"sliding_window": 6, "initializer_range": 0.8, "rope_parameters": YARN | {"truncate": False}}
# The limits between which pairs are scaled, 2.6 and 5.6, are not rounded.
UNROUNDED = {
    "head_dim": 16,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 4.0,
        "original_max_position_embeddings": 4096,
        "beta_fast": 32.0,
        "truncate": False,
    },
}
FALCON = {"without": ("head_dim",), "values": "query_key_value"}
DECODERS = {
    name: Family(name, **more)
    for name, more in {
        "gpt2": {},
        "llama": {"given": {"attention_bias": True, "mlp_bias": True}},
        "mistral": {"given": {"sliding_window": 6}},
        "qwen2": {},
        "qwen3": {"given": {"head_dim": 12}},
        "qwen3_moe": {"given": EXPERTS | {"moe_intermediate_size": 40, "norm_topk_prob": True}},
        "qwen3_moe windows": {
            "given": EXPERTS | {"use_sliding_window": True, "sliding_window": 6, "max_window_layers": 4}
        },
        "qwen3_moe raw": {"given": EXPERTS | {"moe_intermediate_size": 40, "norm_topk_prob": False}},
        "mixtral": {"given": EXPERTS | {"sliding_window": 6}},
        "olmoe": {"given": EXPERTS, "without": ("head_dim",)},
        "gpt_oss": {"given": GPT_OSS | UNROUNDED},
        "smollm3": {},
        "granite": {
            "given": {
                "embedding_multiplier": 3.0,
                "attention_multiplier": 0.2,
                "residual_multiplier": 0.4,
                "logits_scaling": 2.0,
            }
        },
        "phi3": {"given": {"sliding_window": 6}},
        "gemma": {"given": {"head_dim": 12}},
        "starcoder2": {},
        "stablelm": {"given": {"use_qkv_bias": True, "num_key_value_heads": 4}},
        "opt": {"given": {"dropout": 0.0}},
        "gpt_neo": {
            "given": {"num_layers": 4, "num_heads": 4, "window_size": 6, "attention_types": [[["global", "local"], 2]]},
            "values": "v_proj",
        },
        "gptj": {"given": {"rotary_dim": 4}, "values": "v_proj"},
        "gpt_neox": {},
        "phi": {"given": {"num_key_value_heads": 4}},
        "cohere": {"given": {"attention_bias": True, "logit_scale": 0.5}},
        "cohere2": {"given": {"sliding_window": 6, "logit_scale": 0.5}},
        "bloom": {"values": "query_key_value"},
        "falcon": FALCON,
        "clip_text_model": {},
        "olmo2": {},
        "gemma2": {
            "given": {"head_dim": 12, "sliding_window": 6, "query_pre_attn_scalar": 5, "attn_logit_softcapping": 2.0}
        },
        "llama yarn": {"given": {"rope_parameters": YARN}},
        "phi3 longrope": {"given": {"rope_parameters": LONGROPE}},
        "gpt_neox serial": {"given": {"use_parallel_residual": False, "attention_bias": False}},
        "stablelm parallel": {"given": {"use_parallel_residual": True}},
        "falcon grouped": FALCON | {"given": {"new_decoder_architecture": True, "num_kv_heads": 2}},
        "falcon shared": FALCON
        | {"given": {"new_decoder_architecture": True, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1}},
        "falcon alibi": FALCON
        | {
            "given": {
                "hidden_size": 48,
                "num_attention_heads": 12,
                "alibi": True,
                "multi_query": False,
                "parallel_attn": False,
                "bias": True,
            }
        },
        "gemma3_text": {"given": {"head_dim": 12, "sliding_window": 6, "query_pre_attn_scalar": 5}},
        "gpt2 classes": {},
        "llama classes": {"given": {"pad_token_id": BYTES.index("n")}},  # which ends the text
        "mistral classes": {},
        "qwen2 classes": {},
        "qwen3 classes": {},
        "gpt_neox classes": {},
        "gemma2 classes": {"given": {"head_dim": 12, "final_logit_softcapping": 1.0}},
        "gemma3_text classes": {"given": {"head_dim": 12}},
        "bloom classes": {"values": "query_key_value"},
        "opt classes": {"given": {"dropout": 0.0}},
    }.items()
}
PICTURES = {
    name: Family(name, **more)
    for name, more in {
        "beit": {"given": {"use_relative_position_bias": True}},
        "beit unscaled": {"given": {"layer_scale_init_value": 0.0}},
        "data2vec-vision": {"given": {"use_relative_position_bias": True}, "values": "value"},
        "clip": {},
        "clip_vision_model": {},
        "siglip": {},
        "siglip_vision_model": {},
        "dinov3_vit": {"given": {"num_register_tokens": 4}},
    }.items()
}
ENCODER_DECODERS = {
    name: Family(name, given)
    for name, given in {
        "t5": {"decoder_start_token_id": 0},
        "mt5": {},
        "bart": {},
        "mbart": {"forced_bos_token_id": 7},
        "marian": {"activation_function": "swish", "scale_embedding": True, "bad_words_ids": [[0]]},
        "pegasus": {"activation_function": "relu", "scale_embedding": True},
        "m2m_100": {"pad_token_id": 1, "bad_words_ids": [[1]]},
        "t5 untied": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    }.items()
}
FAMILIES: dict[str, Family] = ENCODERS | DECODERS | PICTURES | ENCODER_DECODERS


def vocabulary_of(family: Family) -> dict[str, int]:
    if not family.is_decoder:
        return {token: i for i, token in enumerate(SPECIAL + WORDS)}
    return {token: i for i, token in enumerate(BYTES)}


def save(model: Any, family: Family, folder: Path) -> None:
    """Saves the model with a tokenizer (bytes for decoders, words for the others), or with a picture as input."""
    model.save_pretrained(folder)
    if family.is_of_pictures:
        sides = (SMALL_FOR_PICTURES["image_size"],) * 2
        pixels = np.random.default_rng(0).integers(0, 256, (*sides, 3), dtype=np.uint8)
        PIL.Image.fromarray(pixels).save(folder / "picture.png")
        settings = {"do_resize": False, "image_mean": [MIDDLE] * 3, "image_std": [SPREAD] * 3}
        (folder / "preprocessor_config.json").write_text(
            json.dumps({"image_processor_type": "ViTImageProcessor"} | settings)
        )
        return
    vocabulary = vocabulary_of(family)
    if family.is_decoder:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = tokenizers.decoders.ByteLevel()
    else:
        tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, "[UNK]"))
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
            "$A [SEP]" if family.has_source else "[CLS] $A [SEP]",
            None if family.has_source else "[CLS] $A [SEP] $B:1 [SEP]:1",
            [("[CLS]", 2), ("[SEP]", 3)],
        )
        tokenizer.add_special_tokens(SPECIAL)
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {} if family.is_decoder else {"mask_token": "[MASK]", "unk_token": "[UNK]", "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))


def ask(folder: Path, family: Family, *options: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """A report by the program, and its arrays."""
    text = TEXT if family.is_decoder or family.head else TEXT.replace("old", "[MASK]")
    asked = ["image", str(folder / "picture.png")] if family.is_of_pictures else ["explain", text, "--force"]
    asked += ["--pair", PAIR] if family.head == "answers" else []
    return reported(folder, *asked, *options)


def reported(folder: Path, *asked: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a command of the program writes for the model in `folder`, or for a GGUF file."""
    files = [(folder if folder.is_dir() else folder.parent) / name for name in ("report.json", "report.npz")]
    command = [str(PROGRAM), *asked, "--model", str(folder), "--device", DEVICE]
    for file in files:
        command += ["-o", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    with np.load(files[1]) as arrays:
        return json.loads(files[0].read_text()), {name: arrays[name] for name in arrays.files}


@dataclass
class Outcome:
    """Largest differences: in a weight, a probability, a score relative to the largest, a contribution."""

    attention: float
    prediction: float
    gradient: float = 0.0
    contributions: float = 0.0


def layers_of(model: Any) -> Any:
    return next(m for m in model.modules() if isinstance(m, torch.nn.ModuleList))


def run(
    model: Any, read: torch.Tensor, values: str = "", **more: torch.Tensor
) -> tuple[torch.Tensor, list[torch.Tensor], Any]:
    """The embeddings, with respect to which gradients are taken; each layer's input; and the model's output."""
    given: list[torch.Tensor] = []
    embedded: list[torch.Tensor] = []

    def keep(_: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        given.append(arguments[0] if arguments else named["hidden_states"])
        given[-1].retain_grad()

    def keep_embedding(_: Any, __: Any, output: torch.Tensor | tuple[torch.Tensor, ...]) -> None:
        embedded.append(output[0] if isinstance(output, tuple) else output)
        embedded[-1].retain_grad()

    mapped: list[tuple[torch.Tensor, Any]] = []
    handles = [layer.register_forward_pre_hook(keep, with_kwargs=True) for layer in layers_of(model)]
    if hasattr(model.base_model, "embeddings"):
        handles.append(model.base_model.embeddings.register_forward_hook(keep_embedding))
    for name, module in model.named_modules():
        if values and name.split(".")[-1] == values:
            added = getattr(
                model.get_submodule(name.rpartition(".")[0]), "v_bias", torch.zeros(model.config.hidden_size)
            ).detach()
            handles.append(
                module.register_forward_hook(lambda _, __, out, added=added: mapped.append((out[0].detach(), added)))
            )
    _kept.clear()
    output = model(read, output_attentions=True, **more)
    for handle in handles:
        handle.remove()
    for weights, (one, added) in zip(output.attentions, mapped, strict=False):
        heads, width = weights.shape[1], model.config.hidden_size // weights.shape[1]
        maps = one.view(len(one), -1, width)
        groups = (maps.shape[1] - heads) // 2 or heads  # in a common map, each group has queries, a key and a value
        of_groups = maps.view(len(one), groups, -1, width)[:, :, -1]
        by_head = of_groups.repeat_interleave(heads // groups, 1) + added.view(heads, width)
        _kept.append((weights[0].detach(), by_head.transpose(0, 1)))
    return (embedded or given)[0], given, output


PROJECTIONS = ("o_proj", "out_proj", "dense", "out_lin", "o", "Wo")


def projection_of(layer: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The map after a layer's attention, [in, out], and its bias."""
    for name, module in layer.named_modules():
        if name.split(".")[-1] in PROJECTIONS or name == "attn.c_proj":
            weight = module.weight.detach()
            flipped = isinstance(module, transformers.pytorch_utils.Conv1D)
            bias = torch.zeros(1) if module.bias is None else module.bias.detach()
            return (weight if flipped else weight.T), bias
    raise AssertionError(f"no output projection in {[name for name, _ in layer.named_modules()]}")


def norm_behind_attention(layer: Any) -> Any:
    """The norm of layers that normalize the sum of the attention's output and the residual."""
    modules = dict(layer.named_modules())
    behind = [name for name in modules if name.endswith(("attention.LayerNorm", "output.LayerNorm", "sa_layer_norm"))]
    return modules[min(behind, key=lambda name: "attention" not in name)] if behind else None


def alti_of(model: Any, given: list[torch.Tensor]) -> np.ndarray:
    """max(0, |y_i| - |y_i - F_ij|) in rows that sum to 1, where F_ij = T_ij + d_ij x_i and y_i = x_i + sum_j T_ij + b.

    For layers with a norm after that sum, y_i is the norm's output, and F_ij goes through its linear part.
    """
    factor = getattr(model.config, "residual_multiplier", 1.0)
    found = []
    layers = itertools.cycle(layers_of(model))  # ALBERT runs the same layers repeatedly
    for layer, (weights, values), stream in zip(itertools.islice(layers, len(given)), _kept, given, strict=True):
        heads, tokens, width = values.shape
        weight, bias = projection_of(layer)
        scale = layer.layer_scale1.lambda1 if hasattr(layer, "layer_scale1") else getattr(layer, "lambda_1", None)
        if isinstance(scale, torch.Tensor):
            weight, bias = weight * scale.detach(), bias * scale.detach()
        written = torch.einsum("hjd,hdo->hjo", values, weight.reshape(heads, width, -1))
        terms = factor * torch.einsum("hij,hjo->ijo", weights, written)
        bias = factor * bias
        if hasattr(layer, "post_feedforward_layernorm"):  # the block's output is normalized before it is added
            norm = layer.post_attention_layernorm
            block = terms.sum(1) + bias
            of_positions = torch.rsqrt(block.square().mean(-1) + model.config.rms_norm_eps)
            of_numbers = norm.weight.detach() + float("Gemma" in type(norm).__name__)
            terms = terms * of_positions[:, None, None] * of_numbers
            bias = bias * of_positions[:, None] * of_numbers
        x = stream[0].detach()
        y = x + terms.sum(1) + bias
        parts = terms + torch.eye(tokens)[:, :, None] * x[:, None, :]
        if (norm := norm_behind_attention(layer)) is not None:
            epsilon = norm.variance_epsilon if hasattr(norm, "variance_epsilon") else norm.eps
            deviation = (y.var(-1, unbiased=False) + epsilon).sqrt()
            parts = (parts - parts.mean(-1, keepdim=True)) / deviation[:, None, None] * norm.weight.detach()
            y = norm(y).detach()
        nearer = (y.abs().sum(-1)[:, None] - (y[:, None, :] - parts).abs().sum(-1)).clamp(min=0.0)
        found.append((nearer / nearer.sum(-1, keepdim=True)).numpy())
    return np.stack(found)


def given_to(model: Any, family: Family, folder: Path, report: dict[str, Any]) -> torch.Tensor:
    """The input that the program gave its model."""
    if family.is_of_pictures:
        pixels = np.asarray(PIL.Image.open(folder / "picture.png"), np.float32) / np.float32(255)
        return torch.tensor((pixels - MIDDLE) / SPREAD).permute(2, 0, 1)[None]
    vocabulary = vocabulary_of(family)
    return torch.tensor([[vocabulary[token["text"]] for token in report["input"]["tokens"]]])


WRITTEN = 7  # tokens of a target to generate


@dataclass
class Written:
    """The program's text, and its arrays [generated token, ...]; and the same from transformers."""

    report: dict[str, Any]
    arrays: dict[str, np.ndarray]
    ids: list[int]
    joint: np.ndarray  # [layer, head, token, token], over source and target
    probabilities: np.ndarray
    first: int  # the token of the joint sequence that chose the first one

    def rows(self, method: str) -> np.ndarray:
        """[layer, generated token, token of the joint sequence]"""
        both = np.concatenate([self.arrays[method], self.arrays[method + "_generated"]], axis=1)
        return both[:, : self.joint.shape[-1]].transpose(2, 0, 1)


def generation_of(family: Family) -> transformers.GenerationConfig:
    return transformers.GenerationConfig(
        decoder_start_token_id=family.given.get("decoder_start_token_id", 2),
        forced_bos_token_id=family.given.get("forced_bos_token_id"),
        bad_words_ids=family.given.get("bad_words_ids"),
        pad_token_id=0,
        eos_token_id=3,
    )


def written_by(family: Family, *options: str) -> Written:
    model = family.build()
    model.generation_config = generation_of(family)
    forced = model.generation_config.forced_bos_token_id
    with tempfile.TemporaryDirectory(prefix="attnflow.") as name:
        folder = Path(name)
        save(model, family, folder)
        report, arrays = reported(folder, "generate", TEXT, "-n", str(WRITTEN), "--ignore-end", *options)
        source = [t for t in report["input"]["tokens"] if t["segment"] == 0]
        read = torch.tensor([[vocabulary_of(family)[token["text"]] for token in source]])
    model.generation_config.eos_token_id = None  # --ignore-end
    with torch.no_grad():
        target = model.generate(read, max_new_tokens=WRITTEN + (forced is not None))[0]
        output = model(input_ids=read, decoder_input_ids=target[None, :-1], output_attentions=True)
    begin = len(target) - WRITTEN
    likely = output.logits[0, begin - 1 :]
    for (word,) in family.given.get("bad_words_ids", []):
        likely[:, word] = -torch.inf
    likely = torch.softmax(likely, -1).gather(1, target[begin:, None])[:, 0]
    joint = np.stack(joint_attention(output))[:, 0]
    return Written(report, arrays, target[begin:].tolist(), joint, likely.numpy(), len(source) + begin - 1)


def outcome_of_writer(family: Family) -> Outcome:
    outcome = Outcome(0.0, 0.0)
    layers = "1-7"
    for head in ("0", "1", "2", "3", "mean"):
        methods = ("raw",) if head != "mean" else ("raw", "rollout")
        found = written_by(family, "--heads", head, "--method", ",".join(methods), "--layers", layers)
        made = [token["id"] for token in found.report["generation"]["tokens"]]
        if made != found.ids:
            raise AssertionError(f"{family.name}: writes {made}, not {found.ids}")
        joint = found.joint.astype(np.float64)
        expected = {
            "raw": joint.mean(1) if head == "mean" else joint[:, int(head)],
            "rollout": AttentionGraph(joint).rollout(),
        }
        for method in methods:
            difference = found.rows(method) - expected[method][:, found.first :]
            outcome.attention = max(outcome.attention, float(np.abs(difference).max()))
        said = [token["probability"] for token in found.report["generation"]["tokens"]]
        outcome.prediction = max(outcome.prediction, float(np.abs(said - found.probabilities).max()))
    return outcome


def last_read(model: Any, read: torch.Tensor) -> int:
    """Where a decoder predicts: at the last token, or when classifying the text, at the last one that is not
    padding."""
    classifies = "SequenceClassification" in type(model).__name__
    there = (read[0] != model.config.pad_token_id) | (not classifies)
    return int(torch.nonzero(there)[-1])


def segments_of(ids: list[int]) -> list[int]:
    """0 for the text and the tokens around it, 1 for the pair."""
    first = ids.index(SPECIAL.index("[SEP]")) + 1
    return [0] * first + [1] * (len(ids) - first)


LONGEST_ANSWER = 15


def compare_answer(outcome: Outcome, output: Any, ids: list[int], report: dict[str, Any]) -> None:
    """As in the pipeline of transformers 4: among the pair's tokens, or no answer, which [CLS] indicates."""
    places = [t for t, segment in enumerate(segments_of(ids)) if segment == 1 and ids[t] >= len(SPECIAL)]
    begins, ends = (
        torch.softmax(logits[0, [0, *places]].detach().double(), -1)[1:]
        for logits in (output.start_logits, output.end_logits)
    )
    likely = torch.outer(begins, ends).triu().tril(LONGEST_ANSWER - 1)
    first, last = divmod(int(likely.argmax()), len(places))
    said = report["predictions"][0]
    best = said["choices"][0]
    answer = " ".join(PAIR.split()[first : last + 1])
    found = (said["kind"], best["label"], said["position"], report["output_token"], report["target"]["index"])
    if found != ("answer", answer, *[places[first]] * 3):
        raise AssertionError(f"answers {found}, not {answer!r} from {places[first]}")
    outcome.prediction = abs(best["probability"] - float(likely.max()))


def compare_gradient(
    outcome: Outcome,
    logits: torch.Tensor,
    index: int,
    target: dict[str, Any],
    embedded: torch.Tensor,
    arrays: dict[str, np.ndarray],
) -> None:
    against = target["against"]
    named = [one["index"] for one in against.get("others", [])] or [against.get("index")]
    others = [i for i in range(len(logits)) if i != index and (named == [None] or i in named)]
    (logits[index] - logits[others].mean()).backward()
    scores = (embedded * embedded.grad).sum(-1)[0].detach().numpy()
    outcome.gradient = float(np.abs(scores - arrays["gradient_x_input"][0]).max() / np.abs(scores).max())


def outcome_of(family: Family) -> Outcome:
    """Raises with the program's message if it refuses."""
    if family.has_source:
        return outcome_of_writer(family)
    model = family.build()
    with tempfile.TemporaryDirectory(prefix="attnflow.") as name:
        folder = Path(name)
        save(model, family, folder)
        methods = "raw,gradient-x-input" if family.predicts else "raw"
        report, arrays = ask(folder, family, "--keep-attention", "--mixing", "attention", "--method", methods)
        contributions = ask(folder, family, "--mixing", "alti", "--method", "raw", "--output-token", "all")[1]["raw"]
        read = given_to(model, family, folder, report)
    segments = {}
    if family.head == "answers" and getattr(model.config, "type_vocab_size", 0) > 1:
        segments = {"token_type_ids": torch.tensor([segments_of(read[0].tolist())])}
    embedded, given, output = run(model, read, family.values, **segments)
    expected = torch.stack([layer[0] for layer in output.attentions]).detach().numpy()
    outcome = Outcome(float(np.abs(arrays["attention"] - expected).max()), 0.0)
    outcome.contributions = float(np.abs(contributions - alti_of(model, given)).max())
    if not family.predicts:
        return outcome
    of_output = [one for one in report["predictions"] if one.get("position") == report["output_token"]]
    if family.head == "answers":
        compare_answer(outcome, output, read[0].tolist(), report)
        begin = report["target"]["index"]
        compare_gradient(outcome, output.start_logits[0], begin, report["target"], embedded, arrays)
        return outcome
    prediction = of_output[0] if family.head == "tags" else report["predictions"][0]
    of_all = family.is_of_pictures or family.head == "classes"
    logits = output.logits[0] if of_all else output.logits[0, prediction["position"]]
    if family.is_decoder and report["output_token"] != (last := last_read(model, read)):
        raise AssertionError(f"{family.name}: predicts at {report['output_token']}, not {last}")
    likely = torch.softmax(logits.detach(), -1)
    outcome.prediction = abs(prediction["choices"][0]["probability"] - float(likely.max()))
    target = report["target"]
    if target["index"] != int(likely.argmax()):
        raise AssertionError(f"{family.name}: predicts {target['index']}, not {int(likely.argmax())}")
    compare_gradient(outcome, logits, target["index"], target, embedded, arrays)
    return outcome


def table(names: list[str]) -> str:
    """The table of docs/models.md."""
    lines = ["| model type | attention | probability | gradient | contributions |", "| --- | --: | --: | --: | --: |"]
    for name in names:
        found = outcome_of(FAMILIES[name])
        numbers = [found.attention, found.prediction, found.gradient, found.contributions]
        cells = [f"{one:.0e}" if one else "" for one in numbers]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    print(table(sys.argv[1:] or list(FAMILIES)), end="")
