"""Changed config.json: the program computes what transformers computes from it, or refuses.

    mutated_configs.py [--number N] [--seed N] [--key KEY] [--print] [FAMILY]...

Each case is one family's config.json with one key changed, removed or set to null, or with an added key that its class
or its model's code knows. The keys are those of transformers' classes and code, so keys read by later versions are
tried as well. The weights are those that transformers makes from the changed config.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import families
import numpy as np
import torch
import transformers
from families import Family

from reference.attention_graph import AttentionGraph, joint_attention

TOLERANCE = 2e-5
REFUSED = {3, 4, 5}

# Training, saving and generation; which class or device runs the model. They do not affect a single pass.
UNTRIED = {
    "model_type",
    "architectures",
    "dtype",
    "torch_dtype",
    "transformers_version",
    "auto_map",
    "base_model_tp_plan",
    "base_model_pp_plan",
    "output_attentions",
    "output_hidden_states",
    "return_dict",
    "use_cache",
    "name_or_path",
    "id2label",
    "label2id",
    "text_config",
}
# Keys that no class declares but the code of many models reads.
SHARED: dict[str, list[Any]] = {
    "head_dim": [4, 16],
    "rope_theta": [500.0],
    "rope_scaling": [{"rope_type": "linear", "factor": 2.0}, {"type": "dynamic", "factor": 2.0}],
    "rope_parameters": [{"rope_type": "default", "rope_theta": 500.0}],
    "partial_rotary_factor": [0.5],
    "sliding_window": [3],
    "use_sliding_window": [True],
    "layer_types": [["full_attention", "sliding_attention"]],
    "is_causal": [False],
    "attention_bias": [True],
    "mlp_bias": [True],
    "tie_word_embeddings": [True, False],
    "num_labels": [3],
    "problem_type": ["multi_label_classification"],
    "per_layer_config": [{"0": {"intermediate_size": 16}}],
    "chunk_size_feed_forward": [2],
    "pruned_heads": [{"0": [1]}],
    "use_bidirectional_attention": [True],
    "attn_logit_softcapping": [1.0],
    "final_logit_softcapping": [1.0],
    "hidden_act": ["relu"],
    "hidden_activation": ["relu"],
    "activation_function": ["relu"],
    "activation": ["relu"],
    "num_key_value_heads": [1],
    "layer_norm_eps": [0.3],
    "layer_norm_epsilon": [0.3],
    "rms_norm_eps": [0.3],
    "norm_eps": [0.3],
    "position_embedding_type": ["relative_key"],
    "embedding_size": [16],
}
# Values to try for a key in addition to those derived from its current one.
NAMED: dict[str, list[Any]] = {
    "feed_forward_proj": ["gelu", "gated-silu", "gated-gelu", "gelu_new", "gated-gelu_new", "silu"],
    "dense_act_fn": ["silu", "relu", "gelu"],
    "is_gated_act": [True, False],
    "scale_decoder_outputs": [False, True],
    "classifier_pooling": ["mean"],
    "pos_att_type": ["c2p", "p2c|c2p", ["c2p"], "C2P|p2c", []],
    "norm_rel_ebd": ["none", "layer_norm"],
    "attention_types": [[[["local"], 4]], [[["global"], 4]], [[["local", "global"], 2]]],
    "attention_layers": [["local"] * 4],
    "no_rope_layers": [[0, 1, 1, 0], [1, 1, 1, 1]],
    "position_buckets": [4, -1],
    "max_relative_positions": [6, -1],
    "n_embed": [16],
    "window_size": [3],
    "local_attention": [2, 6],
    "pad_token_id": [1, 3],
    "problem_type": ["regression", "multi_label_classification"],
    "original_max_position_embeddings": [8, 32],
    "image_size": [16, [32, 16]],
    "patch_size": [16],
    "num_channels": [1],
    "num_labels": [3],
}
ROPE: list[dict[str, Any]] = [
    {"rope_theta": 300.0},
    {"rope_type": "linear", "factor": 3.0},
    {"rope_type": "dynamic", "factor": 3.0},
    {"rope_type": "proportional", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    {"rope_type": "yarn", "factor": 4.0},
    {
        "rope_type": "llama3",
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 2.0,
        "original_max_position_embeddings": 16,
    },
    {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 2.0},
    {"partial_rotary_factor": 0.5},
    {"rope_type": None},
    {"rope_theta": None},
]


@dataclass
class Case:
    family: str
    key: str
    config: dict[str, Any]  # the whole config.json

    def __str__(self) -> str:
        return f"{self.family}: {self.key} = {json.dumps(self.config.get(self.key, 'none'))}"


@cache
def saved_config(name: str) -> str:
    model = families.FAMILIES[name].build()
    with tempfile.TemporaryDirectory(prefix="attnflow.") as folder:
        model.save_pretrained(folder)
        return (Path(folder) / "config.json").read_text()


@cache
def keys_of(name: str) -> tuple[str, ...]:
    """What the family's class and code know, in alphabetical order."""
    family = families.FAMILIES[name]
    config, kind = family.choose()
    model = kind._model_mapping[type(config)]
    model = model[0] if isinstance(model, tuple) else model
    known = set(json.loads(saved_config(name))) | set(SHARED)
    part = getattr(config, "vision_config", None)
    for one in (config, part):
        if one is None:
            continue
        known |= {key for key in type(one).__dataclass_fields__} | set(one.attribute_map)
    for source in {inspect.getsource(inspect.getmodule(c)) for c in (model, type(config))}:
        known |= set(re.findall(r"\bconfig\.([a-z]\w+)\b(?!\()", source))
        known |= set(re.findall(r"getattr\((?:self\.)?config, [\"'](\w+)[\"']", source))
        known |= set(re.findall(r"kwargs\.(?:pop|get|setdefault)\([\"'](\w+)[\"']", source))
    return tuple(sorted(known - UNTRIED))


QUIET = re.compile("drop|init|_token_id|summary_|auxiliary|_plan")  # mostly for training: one value each


def values_beside(key: str, value: Any, layers: int) -> list[Any]:
    """Other values of the same kind as a key's current one."""
    values = NAMED.get(key, []) + [
        (one * layers)[:layers] if key == "layer_types" else one for one in SHARED.get(key, [])
    ]
    if isinstance(value, str) and "act" in key:
        values += list(transformers.activations.ACT2FN)
    elif isinstance(value, bool):
        values += [not value]
    elif isinstance(value, int):
        values += [value * 2, value // 2, value + 1, 0]
    elif isinstance(value, float):
        values += [value * 1.7 + 0.1, 0.0]
    elif isinstance(value, str):
        values += ["none", "mean"]
    elif isinstance(value, list):
        values += [value[::-1], value[:-1], []]
    elif value is None and not values:
        values += [True, 3, 0.5]
    return values[:1] if QUIET.search(key) else values


def changed_rope(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for change in ROPE:
        yield value | change
        for kind in ("full_attention", "sliding_attention"):
            if isinstance(value.get(kind), dict):
                yield value | {kind: value[kind] | change}
    for key in value:
        yield {other: one for other, one in value.items() if other != key}


def layers_of(config: dict[str, Any]) -> int:
    keys = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers")
    return next((config[key] for key in keys if key in config), 1)


def changes_of(name: str, config: dict[str, Any], keys: tuple[str, ...]) -> Iterator[tuple[str, dict[str, Any]]]:
    other_names = type(families.FAMILIES[name].choose()[0]).attribute_map
    for key in keys:
        stated = config.get(key, config.get(other_names.get(key, "")))
        values = values_beside(key, stated, layers_of(config))
        if key in config:
            yield key, {other: value for other, value in config.items() if other != key}
        if key in config or key in SHARED or key in other_names:
            values.append(None)
        if isinstance(stated, dict) and key.startswith("rope"):
            values += changed_rope(stated)
        seen = {json.dumps(config[key])} if key in config else set()
        for value in values:
            if (written := json.dumps(value)) not in seen:
                seen.add(written)
                yield key, config | {key: value}


def legacy_rope(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """rope_parameters as written by version 4 of transformers, and both forms together."""
    rope = config.get("rope_parameters")
    if not isinstance(rope, dict) or "rope_theta" not in rope:
        return
    rest = {key: value for key, value in config.items() if key != "rope_parameters"}
    scaling = {"rope_type": "linear", "factor": 3.0}
    yield "rope_theta", rest | {"rope_theta": 300.0}
    yield "rope_scaling", rest | {"rope_theta": 300.0, "rope_scaling": scaling}
    yield "rope_scaling", config | {"rope_scaling": scaling}
    yield "rope_scaling", config | {"rope_scaling": scaling | {"rope_theta": 77.0}, "rope_theta": 300.0}
    yield "rope_scaling", rest | {"rope_scaling": {"type": "yarn", "factor": 4.0}, "rope_theta": 300.0}
    yield "partial_rotary_factor", rest | {"rope_theta": 300.0, "partial_rotary_factor": 0.5}
    yield "rope_theta", rest | {"rope_theta": None}


def cases_of(name: str) -> list[Case]:
    config = json.loads(saved_config(name))
    cases = [Case(name, *one) for one in changes_of(name, config, keys_of(name))]
    cases += [Case(name, *one) for one in legacy_rope(config)]
    if "layer_types" in keys_of(name):
        layers = layers_of(config)
        types = (["sliding_attention", "full_attention"] * layers)[:layers]
        window = {"sliding_window": 3, "use_sliding_window": True}
        cases.append(Case(name, "layer_types", config | window | {"layer_types": types}))
        cases.append(Case(name, "layer_types", {k: v for k, v in (config | window).items() if k != "layer_types"}))
    part = config.get("vision_config")
    if isinstance(part, dict):
        for key, inner in changes_of(name, part, keys_of(name)):
            cases.append(Case(name, key, config | {"vision_config": inner}))
    return cases


def every_case(names: list[str]) -> list[Case]:
    return [case for name in names for case in cases_of(name)]


def model_of(case: Case, folder: Path) -> Any:
    """The model that transformers makes from the changed config, with the family's weights where they fit."""
    family = families.FAMILIES[case.family]
    (folder / "config.json").write_text(json.dumps(case.config))
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = family.choose()[1]
    return family.fill(kind.from_config(config, attn_implementation=family.attention))


def difference_of_folder(family: Family, model: Any, folder: Path) -> float:
    """Raises with the program's message if it refuses."""
    code, said = run_program(family, model, folder)
    if code != 0:
        raise AssertionError(said)
    return difference(family, model, folder)


def difference(family: Family, model: Any, folder: Path) -> float:
    """The largest difference of the attention and the predictions from the program's report."""
    report = json.loads((folder / "report.json").read_text())
    with np.load(folder / "report.npz") as file:
        arrays = {key: file[key] for key in file.files}
    if family.has_source:
        return difference_of_writer(family, model, report, arrays)
    read = families.given_to(model, family, folder, report)
    segments = {}
    if family.head == "answers" and getattr(model.config, "type_vocab_size", 0) > 1:
        segments = {"token_type_ids": torch.tensor([families.segments_of(read[0].tolist())])}
    with torch.no_grad():
        output = model(read, output_attentions=True, **segments)
    expected = torch.stack([layer[0] for layer in output.attentions]).numpy()
    found = arrays["attention"]
    if found.shape != expected.shape:
        return np.inf
    worst = float(np.abs(found - expected).max())
    predictions = [one for one in report.get("predictions", []) if one["kind"] != "answer"]
    for one in predictions:
        if not hasattr(output, "logits"):
            return np.inf  # a prediction for a model that has none
        of_all = output.logits.dim() == 2
        logits = output.logits[0] if of_all else output.logits[0, one["position"]]
        many = getattr(model.config, "problem_type", None) == "multi_label_classification" and of_all
        likely = torch.sigmoid(logits) if many else torch.softmax(logits, -1)
        worst = max(worst, abs(one["choices"][0]["probability"] - float(likely.max())))
    if family.head == "answers":
        outcome = families.Outcome(0.0, 0.0)
        families.compare_answer(outcome, output, read[0].tolist(), report)
        worst = max(worst, outcome.prediction)
    return worst if worst == worst else np.inf


def difference_of_writer(family: Family, model: Any, report: dict[str, Any], arrays: dict[str, Any]) -> float:
    source = [t for t in report["input"]["tokens"] if t["segment"] == 0]
    read = torch.tensor([[families.vocabulary_of(family)[token["text"]] for token in source]])
    ids = [token["id"] for token in report["generation"]["tokens"]]
    begin = [families.vocabulary_of(family)[t["text"]] for t in report["input"]["tokens"] if t["segment"] == 1]
    target = torch.tensor([begin + ids])
    with torch.no_grad():
        output = model(input_ids=read, decoder_input_ids=target[:, :-1], output_attentions=True)
    graph = AttentionGraph(np.stack(joint_attention(output))[:, 0])
    logits = output.logits[0, len(begin) - 1 :]
    forbidden = [word for (word,) in family.given.get("bad_words_ids", [])]
    logits[:, forbidden] = -torch.inf
    said = np.array([token["probability"] for token in report["generation"]["tokens"]])
    likely = torch.softmax(logits, -1).gather(1, torch.tensor(ids)[:, None])[:, 0].numpy()
    first = len(source) + len(begin) - 1
    both = np.concatenate([arrays["rollout"], arrays["rollout_generated"]], axis=1)
    rows = both[:, : graph.top.shape[-1]].transpose(2, 0, 1)
    expected = graph.rollout()[:, first:]
    if rows.shape != expected.shape:
        return np.inf
    return float(max(np.abs(rows - expected).max(), np.abs(said - likely).max()))


def run_program(family: Family, model: Any, folder: Path) -> tuple[int, str]:
    if family.has_source:
        encoder, decoder = (len(families.layers_of(half)) for half in (model.get_encoder(), model.get_decoder()))
        layers = f"1-{encoder + 2 * decoder}"
        asked = ["generate", families.TEXT, "-n", "4", "--ignore-end", "--method", "rollout", "--layers", layers]
    elif family.is_of_pictures:
        asked = ["image", str(folder / "picture.png"), "--keep-attention", "--mixing", "attention", "--method", "raw"]
    else:
        text = families.TEXT if family.is_decoder or family.head else families.TEXT.replace("old", "[MASK]")
        asked = ["explain", text, "--force", "--keep-attention", "--mixing", "attention", "--method", "raw"]
        asked += ["--pair", families.PAIR] if family.head == "answers" else []
    command = [str(families.PROGRAM), *asked, "--model", str(folder), "--device", families.DEVICE]
    for name in ("report.json", "report.npz"):
        command += ["-o", str(folder / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.strip()


def try_case(case: Case) -> tuple[str, str]:
    """The outcome (followed, refused, transformers refused; or different, failed), and details."""
    family = families.FAMILIES[case.family]
    with tempfile.TemporaryDirectory(prefix="attnflow.") as name:
        folder = Path(name)
        try:
            model = model_of(case, folder)
            if family.has_source:
                model.generation_config = families.generation_of(family)
            families.save(model, family, folder)
        except Exception as error:  # whatever it is, transformers does not run this
            return "not run by transformers", f"{type(error).__name__}: {error}"
        (folder / "config.json").write_text(json.dumps(case.config))
        code, said = run_program(family, model, folder)
        if code in REFUSED:
            return "refused", said
        if code != 0:
            return "failed", f"ended with {code}: {said}"
        try:
            worst = difference(family, model, folder)
        except AssertionError as error:
            return "different", str(error)
        except Exception as error:
            return "not run by transformers", f"{type(error).__name__}: {error}"
    return ("followed", f"{worst:.0e}") if worst < TOLERANCE else ("different", f"by {worst:.2g}")


def sample(cases: list[Case], seed: int, number: int) -> list[Case]:
    """`number` of the cases, evenly over the families."""
    chosen = random.Random(seed)
    by_family: dict[str, list[Case]] = {}
    for case in cases:
        by_family.setdefault(case.family, []).append(case)
    each = max(1, number // len(by_family))
    return [case for of in by_family.values() for case in chosen.sample(of, min(each, len(of)))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=0, help="so many cases, seeded; 0: all")
    parser.add_argument("--key", help="cases of this key only")
    parser.add_argument("--print", action="store_true", help="print every case")
    parser.add_argument("family", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity(50)
    transformers.utils.logging.disable_progress_bar()
    cases = every_case(options.family or list(families.FAMILIES))
    cases = [case for case in cases if options.key in (None, case.key)]
    if options.number:
        cases = sample(cases, options.seed, options.number)
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        became, said = try_case(case)
        counts.setdefault(case.family, Counter())[became] += 1
        if options.print or became in ("different", "failed"):
            print(f"{became}: {case}: {said[:300]}", flush=True)
    total: Counter[str] = sum(counts.values(), Counter())
    for name, of in [*counts.items(), ("all", total)]:
        print(f"{name}: {of.total()} cases, " + ", ".join(f"{n} {became}" for became, n in sorted(of.items())))
    return int(total["different"] + total["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())
