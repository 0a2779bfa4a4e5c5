"""Bad input of every kind: the message says what was expected and found, the exit code is the right one, and no file is
left behind."""

import io
import json
import os
import shutil
import struct
import subprocess
import unittest
import zipfile

import numpy as np
from support import BAD_FILE, MODELS, OTHER, PROGRAM, UNSUPPORTED, USAGE, CommandTest, random_attention

BERT = str(MODELS / "bert_masked_lm")
CLASSIFIER = str(MODELS / "bert_classification")


class AttentionFileTest(CommandTest):
    def explain(self, code, words, path, *more):
        return self.refuse(code, words, "explain", "--attention", path, "-o", "out.npz", *more)

    def test_missing_file(self):
        self.explain(BAD_FILE, ["nothing.npz"], "nothing.npz")

    def test_unknown_ending(self):
        self.explain(USAGE, [".npz, .npy or .safetensors", "weights.txt"], "weights.txt")

    def test_not_a_zip(self):
        path = self.folder / "attention.npz"
        path.write_bytes(b"no zip at all")
        self.explain(BAD_FILE, ["attention.npz"], path)

    def test_truncated_zip(self):
        path = self.save_attention(random_attention())
        path.write_bytes(path.read_bytes()[:200])
        self.explain(BAD_FILE, ["attention.npz"], path)

    def test_other_keys(self):
        path = self.folder / "other.npz"
        np.savez(path, weights=random_attention(), labels=np.arange(3))
        self.explain(BAD_FILE, ["attention", "weights", "labels"], path)

    def test_wrong_rank(self):
        self.explain(BAD_FILE, ["rank 4", "[2, 5, 5]"], self.save_attention(random_attention()[0]))

    def test_not_square(self):
        self.explain(BAD_FILE, ["queries", "[3, 2, 5, 4]"], self.save_attention(random_attention()[..., :4]))

    def test_empty(self):
        self.explain(BAD_FILE, ["at least one"], self.save_attention(np.zeros((0, 2, 4, 4), np.float32)))

    def test_nan_infinite_and_negative(self):
        for bad in (np.nan, np.inf, -0.25):
            weights = random_attention()
            weights[1, 0, 2, 3] = bad
            self.explain(BAD_FILE, ["layer 2, head 0, query 2, key 3"], self.save_attention(weights))

    def test_rows_that_do_not_sum_to_one(self):
        weights = random_attention()
        weights[2, 1, 4] *= 3
        path = self.save_attention(weights)
        self.explain(BAD_FILE, ["layer 3, head 1, query 4", "--renormalize", "--any-weights"], path)
        for way in ("--renormalize", "--any-weights"):
            self.run_program("explain", "--attention", path, way, "-o", "fine.npz")
            self.assertTrue((self.folder / "fine.npz").exists())
            (self.folder / "fine.npz").unlink()
        self.explain(USAGE, ["mutually exclusive"], path, "--renormalize", "--any-weights")

    def test_tokens_that_do_not_match(self):
        path = self.save_attention(random_attention(), tokens=np.array(["a", "b"]))
        self.explain(BAD_FILE, ["5 tokens", "found 2"], path)
        path = self.save_attention(random_attention(), tokens=np.arange(5))
        self.explain(BAD_FILE, ["unicode"], path)
        path = self.save_attention(random_attention(), special=np.zeros(4, bool))
        self.explain(BAD_FILE, ["5 special flags", "found 4"], path)

    def test_text_as_attention(self):
        self.explain(BAD_FILE, ["attention"], self.save_attention(np.array([["a"]])))

    def test_pickled_npy(self):
        path = self.folder / "pickle.npy"
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
        self.explain(BAD_FILE, ["pickle"], path)

    def test_truncated_npy(self):
        path = self.folder / "cut.npy"
        np.save(path, random_attention())
        path.write_bytes(path.read_bytes()[:-7])
        self.explain(BAD_FILE, ["cut.npy"], path)

    def test_npy_whose_shape_overflows(self):
        path = self.folder / "huge.npy"
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296, 4), }\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        self.explain(BAD_FILE, ["huge.npy"], path)

    def test_zip_bomb(self):
        path = self.folder / "bomb.npz"
        raw = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            raw, {"descr": "<f4", "fortran_order": False, "shape": (1, 1, 60000, 60000)}
        )
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("attention.npy", "w") as entry:
            entry.write(raw.getvalue())
            entry.write(bytes(1 << 20))
        self.explain(BAD_FILE, ["bomb.npz"], path)

    def test_results_without_their_attention(self):
        for name in ("results.npz", "results.safetensors"):
            self.run_program("explain", "--attention", self.save_attention(random_attention()), "-o", name)
            self.explain(BAD_FILE, [name, "--keep-attention"], self.folder / name)

    def test_safetensors(self):
        path = self.folder / "bad.safetensors"

        def write(header: bytes, data: bytes = b"", length: int | None = None):
            path.write_bytes(struct.pack("<Q", len(header) if length is None else length) + header + data)

        good = {"attention": {"dtype": "F32", "shape": [1, 1, 1, 1], "data_offsets": [0, 4]}}
        write(json.dumps(good).encode(), struct.pack("<f", 1.0))
        self.run_program("explain", "--attention", path)
        path.write_bytes(path.read_bytes()[:-2])
        self.explain(BAD_FILE, ["bad.safetensors"], path)
        write(json.dumps(good).encode(), length=1 << 40)
        self.explain(BAD_FILE, ["header"], path)
        path.write_bytes(b"abc")
        self.explain(BAD_FILE, ["bad.safetensors"], path)
        write(b"{not json")
        self.explain(BAD_FILE, ["bad.safetensors"], path)
        good["attention"]["shape"] = [2**62, 2**62, 1, 1]
        write(json.dumps(good).encode(), bytes(4))
        self.explain(BAD_FILE, ["attention"], path)
        good["attention"] |= {"shape": [1, 1, 2, 2]}
        write(json.dumps(good).encode(), bytes(4))
        self.explain(BAD_FILE, ["attention"], path)
        write(json.dumps({"weights": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode(), bytes(4))
        self.explain(BAD_FILE, ["attention", "weights"], path)

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

    def test_reason_and_cure(self):
        weights = random_attention()
        padded = weights.copy()
        padded[:, :, 4] = 0
        for words, given in (
            (["one dimension is missing", "attention[:, None] adds the head"], weights.mean(axis=1)),
            (["query and key look swapped", "np.swapaxes(attention, -1, -2)"], np.swapaxes(weights, -1, -2)),
            (["heads look last"], np.moveaxis(weights, 1, -1)),
            (["take one input of the batch"], np.stack([weights, weights])),
            (["6 rows of zeros, the first at layer 1, head 0, query 4", "leave it out", "--renormalize"], padded),
            (["whole row of NaN comes from padding"], np.where(padded.sum(-1, keepdims=True) == 0, np.nan, padded)),
        ):
            with self.subTest(words[0]):
                self.explain(BAD_FILE, words, self.save_attention(given))
        self.run_program("explain", "--attention", self.save_attention(padded), "--renormalize", "-o", "out.json")
        report = json.loads((self.folder / "out.json").read_text())
        (note,) = [note for note in report["notes"] if note["code"] == "zero-rows"]
        self.assertEqual(note["values"], {"count": 6, "layers": [1, 2, 3], "heads": [0, 1], "positions": [4]})

    def test_values_that_overflow(self):
        weights = np.zeros((12, 1, 4, 4), np.float32)
        weights[..., 0] = 1e38
        weights[:, 0, 3, 3] = 1e38
        path = self.save_attention(weights)
        self.explain(BAD_FILE, ["rollout", "finite", "--renormalize"], path, "--any-weights", "--method", "rollout")

    def test_special_tokens_that_are_not_marked(self):
        path = self.save_attention(random_attention())
        self.explain(USAGE, ["--mask-columns special", "none"], path, "--mask-columns", "special")
        self.explain(USAGE, ["--discard-keep-special"], path, "--discard", "0.5", "--discard-keep-special")

    def test_options_that_need_a_model(self):
        path = self.save_attention(random_attention())
        self.explain(USAGE, ["--words"], path, "--words")
        self.explain(USAGE, ["--candidates"], path, "--candidates", "a")
        self.explain(USAGE, ["both"], path, "--model", BERT)
        self.explain(USAGE, ["--truncate"], path, "--truncate")
        self.explain(USAGE, ["--device"], path, "--device", "cuda")


class ModelTest(CommandTest):
    def explain(self, code, words, model, *more, text="a b"):
        return self.refuse(code, words, "explain", text, "--model", model, "-o", "out.npz", *more)

    def test_missing_weights(self):
        model = self.copy_model("bert_masked_lm")
        (model / "model.safetensors").unlink()
        self.explain(BAD_FILE, ["model.safetensors"], model)

    def test_truncated_weights(self):
        model = self.copy_model("bert_masked_lm")
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-100])
        self.explain(BAD_FILE, ["model.safetensors"], model)

    def test_missing_shard(self):
        model = self.copy_model("bert_sharded")
        shard = sorted(model.glob("model-*.safetensors"))[0]
        shard.unlink()
        self.explain(BAD_FILE, [shard.name], model)

    def test_wrong_shape(self):
        model = self.copy_model("bert_masked_lm")
        config = json.loads((model / "config.json").read_text())
        self.change_config(model, intermediate_size=config["intermediate_size"] + 1)
        self.explain(BAD_FILE, ["shape"], model)

    def test_missing_tensor(self):
        model = self.copy_model("bert_masked_lm")
        config = json.loads((model / "config.json").read_text())
        self.change_config(model, num_hidden_layers=config["num_hidden_layers"] + 1)
        self.explain(BAD_FILE, ["layer"], model)

    def test_unknown_architecture(self):
        model = self.copy_model("bert_masked_lm")
        self.change_config(model, model_type="mamba")
        self.explain(UNSUPPORTED, ["mamba", "bert", "roberta", "distilbert", "albert"], model)

    def test_config_with_missing_keys(self):
        for key in ("hidden_size", "num_attention_heads", "num_hidden_layers"):
            model = self.copy_model("bert_masked_lm")
            self.change_config(model, **{key: None})
            self.explain(BAD_FILE, [key], model)
            for path in sorted(model.rglob("*"), reverse=True):
                path.unlink()
            model.rmdir()

    def test_config_that_is_no_json(self):
        model = self.copy_model("bert_masked_lm")
        (model / "config.json").write_text("{")
        self.explain(BAD_FILE, ["config.json"], model)

    def test_tokenizer_of_another_model(self):
        model = self.copy_model("bert_masked_lm")
        vocabulary = model / "vocab.txt"
        vocabulary.write_text(vocabulary.read_text() + "".join(f"extra{i}\n" for i in range(50)))
        self.explain(BAD_FILE, ["vocab.txt", "vocabulary"], model)

    def test_missing_tokenizer(self):
        model = self.copy_model("bert_masked_lm")
        (model / "vocab.txt").unlink()
        self.explain(BAD_FILE, ["tokenizer.json", "vocab.txt"], model)


class UsageTest(CommandTest):
    """What is wrong whatever the input is."""

    def explain(self, words, *arguments, code=USAGE):
        return self.refuse(code, words, "explain", "a b", "--model", BERT, *arguments)

    def test_output_folder_that_is_read_only(self):
        """By a user who is not root: root may write anywhere."""
        self.save_attention(random_attention())
        locked = self.folder / "locked"
        locked.mkdir(mode=0o555)
        # Where the other user can reach it.
        program = self.folder / "attnflow"
        shutil.copy(PROGRAM, program)
        self.folder.chmod(0o755)
        (self.folder / "attention.npz").chmod(0o644)
        nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        done = subprocess.run(
            [program, "explain", "--attention", "attention.npz", "-o", "locked/a.npz"],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            **nobody,
        )
        self.assertEqual(done.returncode, OTHER, done.stderr)
        self.assertIn("locked", done.stderr)
        self.assertEqual(list(locked.iterdir()), [])

    def test_full_disk(self):
        done = self.run_program("explain", "--attention", self.save_attention(random_attention()), code=0)
        self.assertTrue(done.stdout)
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [PROGRAM, "explain", "--attention", "attention.npz"],
                cwd=self.folder,
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        self.assertEqual(done.returncode, OTHER)


if __name__ == "__main__":
    unittest.main()
