"""Regenerates tests/golden. Run by tools/golden/make, which prepares the environment."""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import attention_gradients
import decoders
import encoder_decoders
import encoders
import evaluate
import fashion
import flow
import gguf_models
import gradient_mixing
import gradients
import pictures
import quantised
import small_models
import smollm2
import torch
import transformers
import vision

MAX_BYTES = 300 * 1000
ROOT = Path(__file__).resolve().parent.parent.parent


def main():
    parser = argparse.ArgumentParser(prog="tools/golden/make", description=__doc__)
    parser.add_argument("--minilm", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--smollm2", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, default=ROOT / "tests" / "golden", help="where to write (tests/golden)")
    parser.add_argument("--without-albert", action="store_true", help="leave albert_uspto/ as it is")
    arguments = parser.parse_args()

    albert = ROOT.parent / "shared" / "data" / "albert-uspto"
    if not arguments.without_albert and not albert.is_dir():
        sys.exit(f"golden: {albert} is not there; give --without-albert to leave tests/golden/albert_uspto as it is")

    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    arguments.out.mkdir(parents=True, exist_ok=True)
    # Made next to the old files, which are replaced only if everything succeeded.
    with tempfile.TemporaryDirectory(prefix=".new.", dir=arguments.out) as scratch:
        scratch = Path(scratch)
        encoders.minilm(arguments.minilm, scratch / "minilm")
        flow.generate(scratch / "minilm", scratch / "flow")
        evaluate.generate(scratch / "evaluate")
        if not arguments.without_albert:
            encoders.albert(albert, scratch / "albert_uspto")
        small_models.generate(scratch / "models")
        gradients.generate(scratch / "models", scratch / "gradients")
        decoders.generate(scratch / "decoders")
        encoder_decoders.generate(scratch / "encoder_decoders")
        vision.generate(scratch / "vision")
        fashion.generate(scratch / "fashion")
        attention_gradients.generate(scratch, scratch / "attention_gradients")
        gradient_mixing.generate(scratch, scratch / "gradient_mixing")
        gguf_models.generate(scratch / "gguf")
        pictures.generate(scratch / "pictures")
        quantised.generate(scratch / "quantised")
        smollm2.generate(arguments.smollm2, scratch / "smollm2")

        files = sorted(path for path in scratch.rglob("*") if path.is_file())
        large = [f"{path.name} ({path.stat().st_size} bytes)" for path in files if path.stat().st_size > MAX_BYTES]
        if large:
            sys.exit(f"golden: files over {MAX_BYTES} bytes: {', '.join(large)}")
        total = sum(path.stat().st_size for path in files)
        for path in files:
            path.chmod(0o644)
        for folder in sorted(scratch.iterdir()):
            shutil.rmtree(arguments.out / folder.name, ignore_errors=True)
            folder.rename(arguments.out / folder.name)
    print(f"golden: wrote {len(files)} files, {total} bytes, to {arguments.out}")


if __name__ == "__main__":
    main()
