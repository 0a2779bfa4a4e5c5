"""The model built into the program, and how model names are resolved."""

import json
import os
import shutil
import statistics
import subprocess
import unittest
from pathlib import Path

import numpy as np
from support import BAD_FILE, MODELS, PROGRAM, ROOT, USAGE, CommandTest

# The source of the built-in model's files.
AGREEMENT = Path(os.environ.get("ATTNFLOW_AGREEMENT_DIR", ROOT / "models" / "agreement"))
FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "README.md", "prefixes.tsv")
TEXT = "The key to the cabinets"


class ExplainTest(CommandTest):
    def test_no_model_is_needed(self):
        done = self.run_program("explain", TEXT)
        self.assertTrue(done.stdout.startswith("singular, 99.9%, rather than plural\n"), done.stdout)
        for words in (
            "agreement (",
            "Prediction: ",
            "singular ",
            "plural ",
            "raw, layer ",
            "rollout, ",
            "flow, ",
            "cabinet",
        ):
            self.assertIn(words, done.stdout)
        # The table already names the model.
        self.assertNotIn("agreement", done.stderr)
        self.assertEqual(self.run_program("explain", TEXT, "--model", "agreement").stdout, done.stdout)
        self.assertEqual(self.run_program("explain", "-", stdin=TEXT.encode() + b"\n").stdout, done.stdout)

    def test_probabilities_are_of_the_two_classes(self):
        report = json.loads(self.run_program("explain", TEXT, "--json").stdout)
        self.assertEqual(report["model"]["name"], "agreement")
        config = json.loads((AGREEMENT / "config.json").read_text())
        [prediction] = report["predictions"]
        labels = [choice["label"] for choice in prediction["choices"]]
        self.assertEqual(sorted(labels), sorted(config["id2label"].values()))
        self.assertAlmostEqual(sum(choice["probability"] for choice in prediction["choices"]), 1.0, delta=1e-6)

    def test_files_come_with_a_note_that_names_the_model(self):
        done = self.run_program("explain", TEXT, "-o", "a.npz")
        self.assertIn("using the built-in model agreement; select another with --model", done.stderr)
        self.assertEqual(done.stdout, "")
        done = self.run_program("explain", TEXT, "-o", "a.npz", "--model", "agreement")
        self.assertNotIn("select another with --model", done.stderr)

    def test_the_same_numbers_as_from_the_folder(self):
        self.run_program("explain", TEXT, "--keep-attention", "-o", "a.npz")
        self.run_program("explain", TEXT, "--keep-attention", "-o", "b.npz", "--model", AGREEMENT)
        self.assertEqual((self.folder / "a.npz").read_bytes(), (self.folder / "b.npz").read_bytes())
        self.assertEqual(np.load(self.folder / "a.npz")["attention"].ndim, 4)

    def test_the_program_holds_the_weights(self):
        program = self.folder / "attnflow"
        shutil.copy(PROGRAM, program)
        environment = {"ATTNFLOW_BACKEND_DIR": str(Path(PROGRAM).parent)}
        done = subprocess.run(
            [program, "explain", TEXT], cwd=self.folder, env=environment, capture_output=True, check=True
        )
        self.assertEqual(done.stdout.decode(), self.run_program("explain", TEXT).stdout)

    def test_start_to_result_within_a_second(self):
        """Measured in CPU time, which does not depend on the load; the fastest of five, so that caches are warm."""
        times = []
        for _ in range(5):
            process = subprocess.Popen([PROGRAM, "explain", TEXT, "--threads", "1"], stdout=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            self.assertEqual(process.returncode, 0)
            times.append(usage.ru_utime + usage.ru_stime)
        self.assertLess(min(times), 1.0, f"median {statistics.median(times):.2f}")


class NameTest(CommandTest):
    def test_the_name_is_the_built_in_model_wherever_it_is_used(self):
        shutil.copytree(MODELS / "bert_masked_lm", self.folder / "agreement")
        done = self.run_program("model", "agreement")
        self.assertIn("singular", done.stdout)
        self.assertIn(
            "note: agreement is the built-in model; for the folder of that name, write ./agreement", done.stderr
        )
        for path in ("./agreement", "agreement/", self.folder / "agreement"):
            done = self.run_program("model", path)
            self.assertIn("masked language model", done.stdout)
            self.assertEqual(done.stderr, "")

    def test_neither_name_nor_folder(self):
        for command in (("model",), ("explain", TEXT, "--model")):
            words = ["agrement: expected", "folder", "built-in one (agreement", "found nothing of that name"]
            self.refuse(BAD_FILE, words, *command, "agrement")
            self.refuse(BAD_FILE, ["./agreement: expected a folder", "nothing of that name"], *command, "./agreement")
            self.refuse(BAD_FILE, ['"": expected'], *command, "")
        (self.folder / "file").touch()
        self.refuse(BAD_FILE, ["file: expected a folder", "found a file"], "model", "file")


class ModelTest(CommandTest):
    def test_list(self):
        done = self.run_program("model")
        lines = done.stdout.splitlines()
        self.assertEqual(lines[0].split(), ["name", "size", "license", "description"])
        row = lines[1].split()
        self.assertEqual(row[0], "agreement")
        size = sum(path.stat().st_size for path in map(AGREEMENT.joinpath, FILES) if path.exists()) / 1e6
        self.assertAlmostEqual(float(row[1]), size, delta=0.06)
        self.assertEqual(row[2], "MB")
        self.assertGreater(len(row), 6)
        self.assertIn("explain uses agreement", done.stderr)

    def test_description_and_card(self):
        done = self.run_program("model", "agreement")
        for words in (
            "name          agreement\n",
            "layers        ",
            "labels        ",
            "\nlicense       ",
            "\ndescription   ",
        ):
            self.assertIn(words, done.stdout)
        card = (AGREEMENT / "README.md").read_text()
        self.assertEqual(self.run_program("model", "agreement", "--card").stdout, card)
        self.assertEqual(self.run_program("model", "--card", AGREEMENT).stdout, card)

    def test_no_card(self):
        self.refuse(USAGE, ["--card requires a model"], "model", "--card")
        self.refuse(BAD_FILE, ["bert_base: ", "README.md", "found none"], "model", "--card", MODELS / "bert_base")


if __name__ == "__main__":
    unittest.main()
