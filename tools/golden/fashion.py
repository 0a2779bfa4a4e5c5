"""The built-in picture model: what transformers computes from the first test pictures of Fashion-MNIST.

On its own: .cache/golden/venv/bin/python tools/golden/fashion.py FOLDER, where FOLDER does not exist yet. With
--accuracy as well, it classifies all 10,000 test pictures and prints the share of correct ones.
"""

import gzip
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from golden_io import write_npz

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "models" / "fashion"
DATA = Path("/usr/share/datasets/fashion-mnist")
PICTURES = 24
HEADER = {3: 16, 1: 8}  # bytes before the values


def read_idx(path, dimensions):
    if not path.is_file():
        sys.exit(f"golden: {path} is not there; Debian has it in the package dataset-fashion-mnist (./dev setup data)")
    content = gzip.decompress(path.read_bytes())
    shape = np.frombuffer(content, ">u4", dimensions, 4)
    return np.frombuffer(content, np.uint8, offset=HEADER[dimensions]).reshape(shape)


def load(model):
    """The model in float32, and the function that makes its input from uint8 [n, 28, 28]."""
    loaded = transformers.ViTForImageClassification.from_pretrained(
        model, attn_implementation="eager", dtype=torch.float32
    ).eval()
    # The PIL processor, which ours follows: no PIL mode is guessed from a single channel.
    processor = transformers.ViTImageProcessorPil.from_pretrained(model)

    def prepare(pictures):
        images = [picture[:, :, None] for picture in pictures]
        return processor(images, return_tensors="pt", input_data_format="channels_last")["pixel_values"]

    return loaded, prepare


def generate(folder):
    folder.mkdir()
    pictures = read_idx(DATA / "t10k-images-idx3-ubyte.gz", 3)[:PICTURES]
    labels = read_idx(DATA / "t10k-labels-idx1-ubyte.gz", 1)[:PICTURES]
    model, prepare = load(MODEL)
    pixels = prepare(pictures)
    with torch.no_grad():
        output = model(pixels, output_attentions=True)
    arrays = {
        "pictures": pictures,
        "labels": labels,
        "pixels": pixels[:1].numpy(),
        "logits": output.logits.numpy(),
        "attention": torch.stack([layer[0] for layer in output.attentions]).numpy(),  # of the first picture
    }
    write_npz(folder / "answers.npz", arrays)


def accuracy():
    pictures = read_idx(DATA / "t10k-images-idx3-ubyte.gz", 3)
    labels = read_idx(DATA / "t10k-labels-idx1-ubyte.gz", 1)
    model, prepare = load(MODEL)
    right = 0
    with torch.no_grad():
        for begin in range(0, len(pictures), 500):
            logits = model(prepare(pictures[begin : begin + 500])).logits.numpy()
            right += int((logits.argmax(axis=1) == labels[begin : begin + 500]).sum())
    return right, len(labels)


if __name__ == "__main__":
    generate(Path(sys.argv[1]))
    if "--accuracy" in sys.argv[2:]:
        print("right {} of {}".format(*accuracy()))
