"""`attnflow-train fashion` on a small set of pictures generated here."""

import gzip
import hashlib
import json
import signal
import struct
import subprocess
import unittest
from pathlib import Path

import numpy as np
from training_support import BAD_FILE, OTHER, TRAIN, USAGE, TrainTest

SMALL = ["--layers", "1", "--heads", "2", "--hidden", "16", "--intermediate", "16", "--patch", "7"]
WRITTEN = ["config.json", "model.safetensors", "preprocessor_config.json"]


def write_idx(path: Path, values: np.ndarray) -> None:
    header = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    data = header + values.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_set(folder: Path, train=300, test=100) -> None:
    """A picture of label k is dark, with a bar of height 5 k + 1 from the bottom up."""
    random = np.random.default_rng(1)
    for name, count in (("train", train), ("t10k", test)):
        labels = np.arange(count) % 5
        pictures = random.integers(0, 60, (count, 28, 28))
        for picture, label in zip(pictures, labels, strict=True):
            picture[27 - 5 * label :, 6:22] += 150
        write_idx(folder / f"{name}-images-idx3-ubyte.gz", pictures)
        write_idx(folder / f"{name}-labels-idx1-ubyte.gz", labels)


def digests(folder: Path) -> dict:
    # training.json and the card record how long it took.
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in WRITTEN}


class TrainFashion(TrainTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()
        write_set(self.data)

    def train(self, output, *arguments, code=0):
        return self.run_program("fashion", "--data", self.data, "-o", output, *SMALL, *arguments, code=code)

    def test_learns_and_is_the_same_again(self):
        first, second = self.folder / "first", self.folder / "second"
        recipe = ["--epochs", "25", "--rate", "0.01", "--dropout", "0.05"]
        self.train(first, *recipe, "--threads", "1", "--license", "mit")
        self.assertFalse((first / "training").exists())
        self.assertEqual(sorted(p.name for p in first.iterdir()), sorted([*WRITTEN, "README.md", "training.json"]))
        about = json.loads((first / "training.json").read_text())
        self.assertEqual(about["data"]["train"] + about["data"]["validation"], 300)
        self.assertEqual(len(about["history"]), 25)
        results = about["results"]
        self.assertEqual(results["all"]["count"], 100)
        self.assertGreater(results["all"]["accuracy"], 0.8)
        self.assertLess(results["all"]["low"], results["all"]["accuracy"])
        confusion = np.array(results["confusion"])
        self.assertEqual(confusion.shape, (10, 10))
        self.assertEqual(confusion.sum(axis=1).tolist(), [20] * 5 + [0] * 5)
        self.assertEqual(np.trace(confusion), results["all"]["right"])

        card = (first / "README.md").read_text()
        for words in (
            "license: mit\n",
            "Zalando",
            "MIT license",
            "| Ankle boot | 0 |",
            "attnflow-train fashion --data",
        ):
            self.assertIn(words, card)
        config = json.loads((first / "config.json").read_text())
        self.assertEqual(config["id2label"]["9"], "Ankle boot")
        processor = json.loads((first / "preprocessor_config.json").read_text())
        self.assertEqual(processor["size"], {"height": 28, "width": 28})
        self.assertEqual([len(processor[key]) for key in ("image_mean", "image_std")], [1, 1])
        described = self.run_attnflow("model", first).stdout
        refused = self.run_attnflow("explain", "a text", "--model", first, code=USAGE)
        self.assertIn("a vision model", refused.stderr)
        for words in ("28 x 28 pixels (height, width), 1 channel;", "17: 1 class and 16 patch", "Trouser"):
            self.assertIn(words, described)

        self.train(second, *recipe, "--threads", "3")
        self.assertEqual(digests(first), digests(second))

    def test_an_interrupted_run_goes_on_to_the_same_bytes(self):
        whole, halves = self.folder / "whole", self.folder / "halves"
        arguments = ["--epochs", "150", "--threads", "2"]
        command = [TRAIN, "fashion", "--data", self.data, "-o", halves, *SMALL, *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if "validation accuracy" in line:
                    break
            process.send_signal(signal.SIGINT)
            message = process.stderr.read()
        self.assertEqual(process.returncode, OTHER, message)
        self.assertIn("run the same command again", message)
        self.assertTrue((halves / "training" / "checkpoint.safetensors").exists())
        self.assertFalse((halves / "model.safetensors").exists())

        other = self.train(halves, *arguments, "--shift", "1", code=USAGE)
        self.assertIn("same data and options", other.stderr)
        again = self.train(halves, *arguments)
        self.assertIn("resuming from the checkpoint", again.stderr)
        self.train(whole, *arguments)
        self.assertEqual(digests(whole), digests(halves))
        # An existing model is not overwritten.
        self.assertIn("found a model", self.train(whole, *arguments, code=USAGE).stderr)

    def test_bad_input(self):
        output = self.folder / "x"
        command = ["fashion", "--data", self.data, "-o", output]
        self.refuse(USAGE, ["learning rate", "nan"], *command, "--rate", "nan")
        self.refuse(USAGE, ["--epochs", "at least 1"], *command, "--epochs", "0")
        self.refuse(USAGE, ["--patch", "divisor of 28", "5"], *command, "--patch", "5")
        self.refuse(USAGE, ["--heads 5"], *command, "--heads", "5")
        self.refuse(USAGE, ["--shift", "below 28"], *command, "--shift", "28")
        self.refuse(USAGE, ["--mirror", "0 to 1"], *command, "--mirror", "1.5")
        self.refuse(USAGE, ["--augment", "0 to 1"], *command, "--augment", "-0.5")
        self.refuse(USAGE, ["--dropout"], *command, "--dropout", "1")
        for option in "--seed --threads --epochs --shift --layers --heads --hidden --intermediate --patch".split():
            self.refuse(USAGE, [option, "whole number", "'-1'"], *command, option, "-1")

        labels = self.data / "train-labels-idx1-ubyte.gz"
        good = labels.read_bytes()
        for content, words in (
            (good[:-9], ["truncated"]),
            (b"no labels", ["two zero bytes"]),
            (gzip.compress(gzip.decompress(good)[:-1]), ["expected 300 values", "found 299"]),
            (gzip.compress(b"\0\0\x08\x01\0\0\0\x02\x01\x02"), ["each of the 300 images"]),
        ):
            labels.write_bytes(content)
            self.refuse(BAD_FILE, [labels.name, *words], *command)
        labels.unlink()
        self.refuse(BAD_FILE, [labels.name, "dataset-fashion-mnist"], *command)
        nowhere = ["fashion", "--data", self.folder / "nowhere", "-o", output]
        self.refuse(BAD_FILE, ["nowhere", "train-images-idx3-ubyte.gz"], *nowhere)


if __name__ == "__main__":
    unittest.main()
