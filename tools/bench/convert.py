"""GGUF to a Hugging Face folder: `attnflow model FILE.gguf -o FOLDER` compared with transformers on the same file.

The cost is measured on SmolLM2-135M-Instruct (4 bits), as whole processes in turn. Results are checked on it and on
small files written by a test or this script: one for each property of a GGUF file that a folder has to reproduce. Each
folder is run by transformers (eager attention, float32), so that attnflow does not judge itself, and compared with
reference values of the model:

    golden     numbers of tests/golden, from weights that neither way has read (SmolLM2, llama.gguf)
    original   the folder that the GGUF file was made of
    libllama   attention of the GGUF file itself, which libllama runs without rounding where it holds float32

and its tokens of some texts with those of libllama. If a converter refuses a file, its message is the result.

Needs PyTorch: the environment of tools/golden (5.4 GB), which is made if it is missing.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from measured import PROGRAM, ROOT, in_turn, machine, median, run_timed, store

sys.path[:0] = [str(ROOT / "tests" / "cli"), str(ROOT / "tools" / "golden")]

from gguf_folder import as_gguf, read_gguf, rope_factors, write_gguf  # noqa: E402
from prompts import PROMPTS  # noqa: E402

GOLDEN = ROOT / "tests" / "golden"
SMOLLM2 = Path(os.environ.get("ATTNFLOW_SMOLLM2", ROOT / ".cache/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
ENVIRONMENT = ROOT / ".cache" / "golden" / "venv"
PYTHON = ENVIRONMENT / "bin" / "python"
SCRIPT = Path(__file__).resolve().parent / "convert_transformers.py"
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "3"))
SHORT_TEXTS = json.loads((GOLDEN / "gguf" / "index.json").read_text())["models"][0]["texts"].values()
TEXTS = PROMPTS[::5] + [one["text"] for one in SHORT_TEXTS if one["text"]]
TEXT = PROMPTS[26]  # for attention, where ids do not matter
WAYS = ("attnflow", "transformers")


def by_attnflow(file, folder):
    return [str(PROGRAM), "model", str(file), "-o", str(folder)]


def by_transformers(*pairs):
    return [str(PYTHON), str(SCRIPT), "write", *map(str, pairs)]


def changed(folder, name, metadata=None, tensors=None):
    """llama.gguf with some of its content changed."""
    old_metadata, old_tensors = read_gguf(GOLDEN / "gguf" / "llama.gguf")
    path = folder / f"{name}.gguf"
    write_gguf(path, old_metadata | (metadata or {}), old_tensors | (tensors or {}))
    return path


def with_large_vocabulary(folder, name, split):
    """SmolLM2's vocabulary, declared to split text in another way, with random weights."""
    vocabulary = {k: v for k, v in read_gguf(SMOLLM2, with_tensors=False)[0].items() if k.startswith("tokenizer.")}
    rows = len(vocabulary["tokenizer.ggml.tokens"])
    embedding = np.random.RandomState(7).standard_normal((rows, 32)) * 0.1
    metadata = vocabulary | {"tokenizer.ggml.pre": split, "llama.vocab_size": rows}
    return changed(folder, name, metadata, {"token_embd.weight": embedding})


def biases():
    random = np.random.RandomState(8)
    widths = {"attn_q": 32, "attn_k": 16, "attn_v": 16, "attn_output": 32}
    return {
        f"blk.{layer}.{part}.bias": random.standard_normal(width) * 0.5
        for layer in range(3)
        for part, width in widths.items()
    }


def make_cases(folder):
    """name -> (GGUF file, its reference values)"""
    cases = {
        "SmolLM2, Q4_1": (SMOLLM2, "golden"),
        "llama": (GOLDEN / "gguf" / "llama.gguf", "golden"),
    }
    for model in ("llama_grouped", "llama_linear", "llama_scaled", "qwen2_tied", "gpt2_tied", "gpt2_base"):
        path = folder / f"{model}.gguf"
        write_gguf(path, *as_gguf(GOLDEN / "decoders" / model))
        cases[model] = (path, "original")
    for split in ("smollm", "gpt-2", "llama-bpe", "qwen2"):
        cases[f"split {split}"] = (with_large_vocabulary(folder, f"split_{split}", split), "libllama")
    yarn = {"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0}
    yarn |= {"llama.rope.scaling.original_context_length": 128}
    factors = {"rope_freqs.weight": np.array([1, 2, 1, 3], np.float32)}
    llama3 = {"rope_theta": 10000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    llama3 = {"rope_freqs.weight": rope_factors(llama3 | {"original_max_position_embeddings": 1024}, 8)}
    cases["Llama 3's rope_freqs"] = (changed(folder, "llama3", None, llama3), "libllama")
    cases["biases of attention"] = (changed(folder, "biases", None, biases()), "libllama")
    cases["token behind the text"] = (changed(folder, "eos", {"tokenizer.ggml.add_eos_token": True}), "libllama")
    cases["scaled by YaRN"] = (changed(folder, "yarn", yarn), "libllama")
    cases["other rope_freqs"] = (changed(folder, "factors", None, factors), "libllama")
    nan = np.ones(32, np.float32)
    nan[3] = np.nan
    cases["a weight is NaN"] = (changed(folder, "nan", None, {"output_norm.weight": nan}), None)
    cases["gemma2"] = (GOLDEN / "gguf" / "gemma2.gguf", "golden")
    for name in ("olmo3", "gpt_oss", "mamba", "bert"):
        cases[name] = (GOLDEN / "gguf" / f"{name}.gguf", None)
    return cases


def make_folders(cases, folder):
    """way -> name -> folder or message"""
    made = {way: {} for way in WAYS}
    pairs = []
    for name, (file, _) in cases.items():
        target = folder / "attnflow" / name
        target.parent.mkdir(exist_ok=True)
        done = subprocess.run(by_attnflow(file, target), capture_output=True, text=True)
        made["attnflow"][name] = target if done.returncode == 0 else done.stderr.strip()
        pairs += [file, folder / "transformers" / name]
    done = subprocess.run(by_transformers(*pairs), capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != len(cases):
        sys.exit(f"{SCRIPT.name} stopped:\n{done.stderr}")
    for name, message in zip(cases, lines, strict=True):
        made["transformers"][name] = message or folder / "transformers" / name
    return made


def by_libllama(file, text, folder):
    """Tokens and attention of a GGUF file."""
    out = folder / "libllama.npz"
    command = [PROGRAM, "explain", text, "--model", file, "--method", "raw", "--keep-attention", "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"attnflow explain {text!r} --model {file}: {done.stderr}")
    with np.load(out) as arrays:
        return list(arrays["tokens"]), arrays["attention"]


def golden_of(name):
    """Prompts, and their reference values: (number, attention or logits, values, how to extract them from an
    answer)."""
    if not name.startswith("SmolLM2"):
        with np.load(GOLDEN / "gguf" / f"{name}.npz") as arrays:
            ids = [int(i) for i in arrays["ids"][: len(arrays["logits"])]]
            whole = ((0, kind, arrays[kind], lambda array: array) for kind in ("attention", "logits"))
            return [ids], list(whole)
    prompts = json.loads((GOLDEN / "smollm2" / "prompts.json").read_text())["prompts"]
    known = []
    with np.load(GOLDEN / "smollm2" / "logits.npz") as arrays:
        sample = arrays["ids"]
        for number, values in enumerate(arrays["logits"]):
            known.append((number, "logits", values, lambda array: array[-1][sample]))
    with np.load(GOLDEN / "smollm2" / "attention.npz") as arrays:
        for name_of_array in arrays.files:
            number = int(name_of_array.rsplit("_", 1)[1])
            below = np.tril_indices(len(prompts[number]["ids"]))
            take = lambda array, below=below: array[:, :, below[0], below[1]]  # noqa: E731
            known.append((number, "attention", arrays[name_of_array], take))
    return [prompt["ids"] for prompt in prompts], known


class Answers:
    """What transformers computes from folders, all in one process."""

    def __init__(self, folder):
        self.folder = folder
        self.jobs = {}

    def ask(self, key, model, prompts):
        place = self.folder / f"answer_{len(self.jobs)}"
        self.jobs[key] = {"folder": str(model), "prompts": prompts, "texts": TEXTS}
        self.jobs[key] |= {"arrays": f"{place}.npz", "tokens": f"{place}.json"}

    def run(self):
        path = self.folder / "jobs.json"
        path.write_text(json.dumps(list(self.jobs.values())))
        done = subprocess.run([PYTHON, SCRIPT, "answer", path], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{SCRIPT.name} stopped:\n{done.stderr}")

    def arrays(self, key):
        return np.load(self.jobs[key]["arrays"])

    def tokens(self, key):
        return json.loads(Path(self.jobs[key]["tokens"]).read_text())


def difference(a, b):
    return float(np.max(np.abs(a - b))) if a.shape == b.shape else float("inf")


def check(cases, made, folder):
    """way -> name -> largest differences and prompts with the same tokens, or the message"""
    answers = Answers(folder)
    prompts, known, tokens = {}, {}, {}
    for name, (file, reference) in cases.items():
        folders = [way for way in WAYS if isinstance(made[way][name], Path)]
        if reference is None or not folders:
            continue
        tokens[name] = [by_libllama(file, text, folder)[0] for text in TEXTS]
        if reference == "golden":
            prompts[name], known[name] = golden_of(name)
        else:
            pieces, attention = by_libllama(file, TEXT, folder)
            names = read_gguf(file)[0]["tokenizer.ggml.tokens"]
            prompts[name] = [[names.index(piece) for piece in pieces]]
            if reference == "libllama":
                known[name] = [(0, "attention", attention, lambda array: array)]
            else:
                answers.ask((name, "original"), GOLDEN / "decoders" / name, prompts[name])
        for way in folders:
            answers.ask((name, way), made[way][name], prompts[name])
    answers.run()
    results = {way: {} for way in WAYS}
    for name, (_, reference) in cases.items():
        if reference == "original":
            with answers.arrays((name, "original")) as arrays:
                known[name] = [(0, kind, arrays[f"{kind}_0"], lambda array: array) for kind in ("attention", "logits")]
        for way in WAYS:
            if not isinstance(made[way][name], Path):
                results[way][name] = {"refused": str(made[way][name])}
                continue
            results[way][name] = found = {}
            if name not in known:
                continue
            with answers.arrays((name, way)) as arrays:
                for number, kind, values, take in known[name]:
                    found[kind] = max(found.get(kind, 0.0), difference(take(arrays[f"{kind}_{number}"]), values))
            same = [a == b for a, b in zip(answers.tokens((name, way)), tokens[name], strict=True)]
            found["same_tokens"] = sum(same)
            found["first_other"] = next((TEXTS[i] for i, one in enumerate(same) if not one), None)
    return results


def measure(folder):
    targets = {way: folder / f"timed_{way}" for way in WAYS}
    commands = {"attnflow": by_attnflow(SMOLLM2, targets["attnflow"])}
    commands["transformers"] = by_transformers(SMOLLM2, targets["transformers"])

    def take(way):
        shutil.rmtree(targets[way], ignore_errors=True)
        return run_timed(commands[way])

    for way in WAYS:  # the warm-up: Python compiles what it imports
        take(way)
    samples = in_turn({way: lambda way=way: take(way) for way in WAYS}, RUNS)
    installed = {"attnflow": [PROGRAM, PROGRAM.parent / "libattnflow_llama.so"], "transformers": [ENVIRONMENT]}
    results = {}
    for way in WAYS:
        results[way] = {key: median(samples[way], key) for key in ("seconds", "cpu_seconds", "peak_memory_kib")}
        results[way]["written_bytes"] = sum(path.stat().st_size for path in targets[way].iterdir())
        results[way]["installed_bytes"] = sum(size_of(path) for path in installed[way])
    return results


def size_of(path):
    if path.is_file():
        return path.stat().st_size
    return sum(one.lstat().st_size for one in path.rglob("*") if not one.is_dir())


def cell(found):
    if "refused" in found:
        return "refused"
    if "same_tokens" not in found:
        return "written"
    numbers = " ".join(f"{kind} {found[kind]:.0e}" for kind in ("attention", "logits") if kind in found)
    return f"{numbers}, tokens {found['same_tokens']}"


def main():
    if subprocess.run([sys.executable, ROOT / "tools" / "golden" / "make", "--environment-only"]).returncode != 0:
        return 1
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        costs = measure(folder)
        cases = make_cases(folder)
        made = make_folders(cases, folder)
        results = check(cases, made, folder)
    print(f"SmolLM2-135M-Instruct, Q4_1, median of {RUNS}")
    for way, found in costs.items():
        print(
            f"  {way:13} {found['seconds']:5.1f} s  processor {found['cpu_seconds']:5.1f} s"
            f"  peak {found['peak_memory_kib'] / 1024:5.0f} MiB  written {found['written_bytes'] / 1e6:.0f} MB"
            f"  installed {found['installed_bytes'] / 1e6:.0f} MB"
        )
    print(f"\nlargest differences, and how many of {len(TEXTS)} texts have libllama's tokens")
    print(f"  {'':22} {'attnflow':50} transformers")
    for name in cases:
        print(f"  {name:22} {cell(results['attnflow'][name]):50} {cell(results['transformers'][name])}")
    store("convert", {"machine": machine(), "costs": costs, "results": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())
