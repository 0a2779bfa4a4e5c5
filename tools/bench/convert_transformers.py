"""The Python way from a GGUF file to a Hugging Face folder, and a folder's answers. Run by tools/bench/convert.py.

    convert_transformers.py write FILE.gguf FOLDER...     pairs of them
    convert_transformers.py answer JOBS.json              reads and writes arrays; see answer()

Needs torch, transformers, accelerate and gguf: the environment of tools/golden.
"""

import json
import os
import sys
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers


def write(file: Path, folder: Path) -> None:
    where = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    transformers.AutoTokenizer.from_pretrained(**where).save_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32)
    # It reads the file into plain float32 but still marks the model as quantized, which it refuses to save.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)


def write_all(pairs: list[Path]) -> None:
    """Prints for each folder an empty line, or why there is none."""
    for file, folder in zip(pairs[::2], pairs[1::2], strict=True):
        try:
            write(file, folder)
            print()
        except Exception as error:  # noqa: BLE001  what it raises is what is measured
            print(f"{type(error).__name__}: {' '.join(str(error).split())}")


def answer(jobs: list[dict]) -> None:
    """Each job: a folder, token ids of some prompts, texts, and the output files: an .npz of attention [layer, head,
    query, key] and logits [position, vocabulary] by prompt, and a .json of the texts' tokens."""
    for job in jobs:
        tokenizer = tokenizers.Tokenizer.from_file(job["folder"] + "/tokenizer.json")
        Path(job["tokens"]).write_text(json.dumps([tokenizer.encode(text).tokens for text in job["texts"]]))
        model = transformers.AutoModelForCausalLM.from_pretrained(
            job["folder"], dtype=torch.float32, attn_implementation="eager"
        ).eval()
        arrays = {}
        for number, prompt in enumerate(job["prompts"]):
            with torch.no_grad():
                output = model(torch.tensor([prompt]), output_attentions=True, use_cache=False)
            arrays[f"attention_{number}"] = torch.stack(output.attentions)[:, 0].numpy()
            arrays[f"logits_{number}"] = output.logits[0].numpy()
        np.savez(job["arrays"], **arrays)


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    if sys.argv[1] == "write":
        write_all([Path(name).resolve() for name in sys.argv[2:]])
    else:
        answer(json.loads(Path(sys.argv[2]).read_text()))
