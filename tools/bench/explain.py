"""`attnflow explain` as a whole process compared with what people run today: a Python process with transformers and
NumPy that does the same (start, load the model, tokenize, run, raw attention and rollout).

Checks that both give the same rollout, then times them in turn, and prints medians and ratios. Also: all three methods
at 32 tokens, an attention file of 12 tokens, and peak memory at 512 tokens compared with a bare forward pass.

The peer's packages are those of the golden files (`./dev golden` makes the environment; made here if it is missing).
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import measured
import numpy as np
from measured import ROOT, in_turn, median, run_timed

PROGRAM = str(measured.PROGRAM)
BARE = str(Path(PROGRAM).parent / "attnflow_bare_forward")
MINILM = os.environ.get("ATTNFLOW_MINILM_DIR", str(ROOT / ".cache" / "models" / "minilm"))
SENTENCE = "The key to the cabinets is on the table."  # 12 tokens with [CLS] and [SEP]
RUNS = int(os.environ.get("ATTNFLOW_BENCH_RUNS", "7"))

PEER = """
import sys
import numpy as np, torch
from transformers import AutoModel, AutoTokenizer
folder, text, out = sys.argv[1:4]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
with torch.no_grad():
    attention = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
raw = np.stack([layer[0].numpy().astype(np.float64).mean(axis=0) for layer in attention])
rollout = [0.5 * raw[0] + 0.5 * np.eye(raw.shape[1])]
for layer in raw[1:]:
    rollout.append((0.5 * layer + 0.5 * np.eye(raw.shape[1])) @ rollout[-1])
np.savez(out, raw=raw, rollout=np.stack(rollout))
"""


def run(command: list[str]) -> dict:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    # The warm-up leaves compiled bytecode, as in everyday use: compiling each time would slow the peer down.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return run_timed(command, environment)


def measure(*commands: list[str]) -> list[dict]:
    """Medians of the commands, run in turn RUNS times after one warm-up each."""
    for command in commands:
        run(command)
    samples = in_turn({place: lambda command=command: run(command) for place, command in enumerate(commands)}, RUNS)
    return [
        {
            "wall_s": median(of, "seconds"),
            "wall_min_s": min(sample["seconds"] for sample in of),
            "wall_max_s": max(sample["seconds"] for sample in of),
            "peak_mib": median(of, "peak_memory_kib") / 1024,
        }
        for of in samples.values()
    ]


def text_of(tokens: int) -> str:
    """A text that MiniLM splits into this many tokens, including its two special ones: each common word is one
    token."""
    words = "the old bridge over the river was closed while engineers looked at every cable and wrote a report".split()
    return " ".join(words[i % len(words)] for i in range(tokens - 2))


def peer_python() -> str:
    python = ROOT / ".cache" / "golden" / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([str(ROOT / "tools" / "golden" / "make"), "--environment-only"], check=True)
    return str(python)


def main() -> None:
    python = peer_python()
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs, dump = (str(Path(folder) / name) for name in ("ours.npz", "theirs.npz", "dump.npz"))
        explain = [PROGRAM, "explain", SENTENCE, "--model", MINILM]
        mine = [*explain, "--method", "raw,rollout", "-o", ours]
        peer = [python, "-c", PEER, MINILM, SENTENCE, theirs]
        run(mine)
        run(peer)
        with np.load(ours) as a, np.load(theirs) as b:
            error = float(np.abs(a["rollout"] - b["rollout"]).max())
        if not error < 1e-5:
            sys.exit(f"the rollouts differ by {error}")
        print(f"rollout of both: largest difference {error:.1e}")

        results = {"machine": measured.machine(), "runs": RUNS}
        results["sentence_ours"], results["sentence_transformers"] = measure(mine, peer)
        ratio = results["sentence_ours"]["wall_s"] / results["sentence_transformers"]["wall_s"]
        print(
            f"12 tokens, raw and rollout: {results['sentence_ours']['wall_s']:.2f} s, transformers "
            f"{results['sentence_transformers']['wall_s']:.2f} s, ratio {ratio:.3f}"
        )

        (all_methods,) = measure([PROGRAM, "explain", text_of(32), "--model", MINILM, "-o", ours])
        with np.load(ours) as a:
            assert a["flow"].shape == (6, 32, 32), a["flow"].shape
        results["all_methods_32"] = all_methods
        print(f"32 tokens, all methods, all pairs: {all_methods['wall_s']:.2f} s")

        run([*explain, "--keep-attention", "-o", dump])
        (from_file,) = measure([PROGRAM, "explain", "--attention", dump])
        results["attention_file_12"] = from_file
        print(f"12 tokens from an attention file, all methods: {1000 * from_file['wall_s']:.0f} ms")

        long_one = [PROGRAM, "explain", text_of(512), "--model", MINILM, "--method", "rollout", "-o", ours]
        mine_512, bare_512 = measure(long_one, [BARE, MINILM, "512"])
        with np.load(ours) as a:
            assert a["rollout"].shape == (6, 512, 512), a["rollout"].shape
        results["rollout_512"], results["bare_forward_512"] = mine_512, bare_512
        peak, bare = mine_512["peak_mib"], bare_512["peak_mib"]
        print(f"512 tokens, rollout: peak {peak:.0f} MiB, bare forward pass {bare:.0f} MiB, ratio {peak / bare:.2f}")

    measured.store("explain", results)


if __name__ == "__main__":
    main()
