"""Golden files of two real models: MiniLM (a BERT encoder) and the ALBERT of ../shared/data/albert-uspto."""

import numpy as np
import tokenizers
import torch
import transformers
from golden_io import cut_to, describe, mask_predictions, write_json, write_npz
from texts import AUTHOR, CABINETS, CAT, ORIGIN, PAIR, REACTIONS, SCRIPTS

from reference.attention_graph import AttentionGraph, fuse_heads

# Cases up to this many tokens keep all their attention; longer ones a sample, so that each file stays under 300 KB.
FULL_TOKENS = 16
SAMPLES = 2000


def load_tokenizer(folder):
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.no_padding()
    backend.no_truncation()
    return backend


def run(model, case):
    """Attention [L, H, n, n] float32 and the output."""
    ids = torch.tensor([case["ids"]])
    type_ids = torch.tensor([case["type_ids"]])
    with torch.inference_mode():
        output = model(input_ids=ids, token_type_ids=type_ids, output_attentions=True)
    attention = torch.cat(output.attentions).numpy()
    if attention.dtype != np.float32 or not np.isfinite(attention).all():
        raise AssertionError("attention is not finite float32")
    return attention, output


def case_arrays(case, attention, seed):
    layers, heads, n, _ = attention.shape
    values = AttentionGraph(attention).rollout()
    arrays = {"ids": np.array(case["ids"], np.int64), "type_ids": np.array(case["type_ids"], np.int64)}
    if case["attention"] == "full":
        arrays["attention"] = attention
        arrays["rollout"] = values
    else:
        random = np.random.RandomState(seed)
        index = np.stack([random.randint(0, size, SAMPLES) for size in (layers, heads, n, n)], axis=1)
        arrays["attention_index"] = index.astype(np.int64)
        arrays["attention_value"] = attention[tuple(index.T)]
        rows_a_head = max(1, min(4, 34000 // (layers * heads * n)))
        rows = [
            (layer, head, query)
            for layer in range(layers)
            for head in range(heads)
            for query in sorted(random.choice(n, rows_a_head, replace=False))
        ]
        arrays["attention_row_index"] = np.array(rows, np.int64)
        arrays["attention_row_value"] = attention[tuple(np.array(rows).T)]
        index = np.stack([random.randint(0, size, SAMPLES) for size in (layers, n, n)], axis=1)
        arrays["rollout_index"] = index.astype(np.int64)
        arrays["rollout_value"] = values[tuple(index.T)]
    arrays["rollout_first_token"] = values[:, 0]
    return arrays


def rollout_variants(attention):
    variants = {
        "heads_max": {"heads": "max"},
        "heads_min": {"heads": "min"},
        "heads_3": {"heads": "3"},
        "residual_30": {"residual": 0.3},
        "residual_0": {"residual": 0.0},
        "to_layer_2": {"start_layer": 2},
    }
    fused = {f"fused_{heads}": fuse_heads(attention, heads) for heads in ("mean", "max", "min")}
    return fused | {f"rollout_{name}": AttentionGraph(attention, **given).rollout() for name, given in variants.items()}


def minilm(folder, out):
    out.mkdir()
    backend = load_tokenizer(folder)
    model = transformers.BertModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    inputs = {
        "tokens_8": (cut_to(backend, CAT, 8), None),
        "tokens_64": (cut_to(backend, ORIGIN, 64), None),
        "tokens_512": (cut_to(backend, ORIGIN, 512), None),
        "cabinets": (CABINETS, None),
        "author": (AUTHOR, None),
        "pair": PAIR,
        "scripts": (SCRIPTS, None),
    }
    cases = []
    for seed, (name, (text, pair)) in enumerate(inputs.items()):
        case = describe(name, backend, text, pair)
        case["attention"] = "full" if case["n"] <= FULL_TOKENS else "sample"
        attention, _ = run(model, case)
        arrays = case_arrays(case, attention, seed)
        if name == "cabinets":
            arrays |= rollout_variants(attention)
        write_npz(out / f"{name}.npz", arrays)
        cases.append(case)
    about = {"format": "attnflow-golden", "version": 1, "model": "minilm", "cases": cases}
    write_json(out / "cases.json", about)


def albert(folder, out):
    out.mkdir()
    backend = load_tokenizer(folder)
    model, info = transformers.AlbertForMaskedLM.from_pretrained(
        folder, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    if info["missing_keys"]:
        raise AssertionError(f"weights that the ALBERT files lack: {info['missing_keys']}")
    model.eval()
    cases = []
    for seed, (name, text) in enumerate(REACTIONS.items()):
        case = describe(name, backend, text)
        case["attention"] = "full" if case["n"] <= FULL_TOKENS else "sample"
        attention, output = run(model, case)
        arrays = case_arrays(case, attention, 100 + seed)
        positions = sorted({0, case["n"] - 1, *[i for i, t in enumerate(case["tokens"]) if t == "[MASK]"]})
        logits = output.logits[0, positions].numpy()
        arrays["logit_positions"] = np.array(positions, np.int64)
        arrays["logits"] = logits
        case["predictions"] = mask_predictions(backend, logits, positions, case["ids"])
        write_npz(out / f"{name}.npz", arrays)
        cases.append(case)
    about = {"format": "attnflow-golden", "version": 1, "model": "albert-uspto", "cases": cases}
    write_json(out / "cases.json", about)
