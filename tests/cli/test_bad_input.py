"""Files that are not attention and models that hold together badly: the message says what was expected and found, the
exit code is the right one, and no file is left behind."""

import json
import struct
import unittest

import numpy as np
from support import BAD_FILE, MODELS, UNSUPPORTED, USAGE, CommandTest, random_attention


class AttentionFileTest(CommandTest):
    def explain(self, code, words, path, *more):
        self.refuse(code, words, "explain", "--attention", path, "-o", "out.npz", *more)

    def test_files(self):
        """What is wrong inside of .npy, .npz and .safetensors files is tested in attnflow/files."""
        self.explain(BAD_FILE, ["nothing.npz"], "nothing.npz")
        self.explain(USAGE, [".npz, .npy or .safetensors", "weights.txt"], "weights.txt")
        path = self.save_attention(random_attention())
        path.write_bytes(path.read_bytes()[:200])
        self.explain(BAD_FILE, ["attention.npz"], path)
        np.savez(self.folder / "other.npz", weights=random_attention(), labels=np.arange(3))
        self.explain(BAD_FILE, ["attention", "weights", "labels"], "other.npz")
        np.save(self.folder / "pickle.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
        self.explain(BAD_FILE, ["pickle"], "pickle.npy")

    def test_weights(self):
        """Each reason and its cure is tested in attnflow/graph and attnflow/explain."""
        bad = random_attention()
        bad[1, 0, 2, 3] = np.nan
        huge = np.zeros((12, 1, 4, 4), np.float32)
        huge[..., 0] = huge[:, 0, 3, 3] = 1e38
        for words, weights, *more in (
            (["rank 4", "[2, 5, 5]"], random_attention()[0]),
            (["layer 2, head 0, query 2, key 3"], bad),
            (["attention"], np.array([["a"]])),
            (["rollout", "finite", "--renormalize"], huge, "--any-weights", "--method", "rollout"),
        ):
            self.explain(BAD_FILE, words, self.save_attention(weights), *more)

    def test_rows_that_do_not_sum_to_one(self):
        weights = random_attention()
        weights[2, 1, 4] *= 3
        path = self.save_attention(weights)
        self.explain(BAD_FILE, ["layer 3, head 1, query 4", "--renormalize", "--any-weights"], path)
        for way in ("--renormalize", "--any-weights"):
            self.run_program("explain", "--attention", path, way)
        self.explain(USAGE, ["mutually exclusive"], path, "--renormalize", "--any-weights")

    def test_rows_of_zeros(self):
        padded = random_attention()
        padded[:, :, 4] = 0
        words = ["6 rows of zeros, the first at layer 1, head 0, query 4", "leave it out", "--renormalize"]
        self.explain(BAD_FILE, words, self.save_attention(padded))
        self.run_program("explain", "--attention", "attention.npz", "--renormalize", "-o", "out.json")
        report = json.loads((self.folder / "out.json").read_text())
        (note,) = [note for note in report["notes"] if note["code"] == "zero-rows"]
        self.assertEqual(note["values"], {"count": 6, "layers": [1, 2, 3], "heads": [0, 1], "positions": [4]})

    def test_tokens_that_do_not_match(self):
        for words, beside in (
            (["5 tokens", "found 2"], {"tokens": np.array(["a", "b"])}),
            (["unicode"], {"tokens": np.arange(5)}),
            (["5 special flags", "found 4"], {"special": np.zeros(4, bool)}),
        ):
            self.explain(BAD_FILE, words, self.save_attention(random_attention(), **beside))

    def test_results_without_their_attention(self):
        for name in ("results.npz", "results.safetensors"):
            self.run_program("explain", "--attention", self.save_attention(random_attention()), "-o", name)
            self.explain(BAD_FILE, [name, "--keep-attention"], self.folder / name)

    def test_what_stands_beside_attention(self):
        path = self.folder / "beside.safetensors"
        weights = random_attention().astype("<f4")

        def write(attention: str, size: int):
            shape = list(weights.shape)
            header = {
                "__metadata__": None,
                "attention": {"dtype": attention, "shape": shape, "data_offsets": [0, size]},
            }
            for number, dtype in enumerate(("U16", "F8_E4M3", "F4", "C64")):
                begin = size + 8 * number
                header[dtype] = {"dtype": dtype, "shape": [1], "data_offsets": [begin, begin + 8]}
            encoded = json.dumps(header).encode()
            path.write_bytes(struct.pack("<Q", len(encoded)) + encoded + weights.tobytes()[:size] + bytes(32))

        self.assertEqual(weights.shape, (3, 2, 5, 5))
        write("F8_E4M3", 150)
        self.explain(BAD_FILE, ['tensor "attention" has dtype "F8_E4M3"', "convert the tensor"], path)
        write("F32", 600)
        self.run_program("explain", "--attention", path)
        tokens = np.array(["na\u00efve".encode(), b"b", b"c", b"d", b"e"])
        self.run_program("explain", "--attention", self.save_attention(weights, tokens=tokens), "-o", "a.npz")
        self.run_program("explain", "--attention", self.save_attention(weights[:, None]), "-o", "b.npz")
        with np.load(self.folder / "a.npz") as first, np.load(self.folder / "b.npz") as second:
            self.assertEqual(list(first["tokens"]), ["na\u00efve", "b", "c", "d", "e"])
            self.assertEqual(first["rollout"].tobytes(), second["rollout"].tobytes())

    def test_options_that_mean_nothing_for_it(self):
        path = self.save_attention(random_attention())
        for words, more in (
            (["--mask-columns special", "none"], ["--mask-columns", "special"]),
            (["--discard-keep-special"], ["--discard", "0.5", "--discard-keep-special"]),
            (["--words"], ["--words"]),
            (["--candidates"], ["--candidates", "a"]),
            (["both"], ["--model", MODELS / "bert_masked_lm"]),
            (["--truncate"], ["--truncate"]),
            (["--device"], ["--device", "cuda"]),
        ):
            self.explain(USAGE, words, path, *more)


class ModelTest(CommandTest):
    def test_folders(self):
        """One of each kind of error; the others are tested in attnflow/model and attnflow/text."""
        model = self.copy_model("bert_masked_lm")
        vocabulary = model / "vocab.txt"
        kept = vocabulary.read_text()

        def explain(code, words):
            self.refuse(code, words, "explain", "a b", "--model", model, "-o", "out.npz")

        vocabulary.write_text(kept + "".join(f"extra{i}\n" for i in range(50)))
        explain(BAD_FILE, ["vocab.txt", "vocabulary"])
        vocabulary.unlink()
        explain(BAD_FILE, ["tokenizer.json", "vocab.txt"])
        vocabulary.write_text(kept)
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        explain(BAD_FILE, ["model.safetensors"])
        self.change_config(model, model_type="mamba")
        explain(UNSUPPORTED, ["mamba", "bert", "roberta", "distilbert", "albert"])


if __name__ == "__main__":
    unittest.main()
