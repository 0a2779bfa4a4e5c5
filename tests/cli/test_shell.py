"""What a newcomer types: no command, help, misspelled names, several lines, standard output as a file."""

import json
import subprocess
import unittest

import numpy as np
from support import MODELS, PROGRAM, USAGE, CommandTest, random_attention

BERT = MODELS / "bert_masked_lm"


class Shell(CommandTest):
    def test_help(self):
        done = self.run_program(code=USAGE)
        self.assertEqual(done.stdout, "")
        self.assertIn("expected a command of attnflow, found none", done.stderr)
        self.assertIn("explain", done.stderr)
        self.assertEqual(self.run_program("help").stdout, self.run_program("--help").stdout)
        for command in (["explain"], ["evaluate", "image"]):
            helped = self.run_program("help", *command).stdout
            self.assertEqual(helped, self.run_program(*command, "--help").stdout)
        self.assertIn("rest (all others)", self.run_program("help", "explain").stdout)

    def test_what_was_meant(self):
        for arguments, meant in (
            (["explian"], "explain"),
            (["hepl"], "help"),
            (["help", "generat"], "generate"),
            (["evaluate", "sentimant"], "sentiment"),
            (["explain", "a", "--metod", "flow"], "--method"),
            (["explain", "a", "--method", "rolout"], "rollout"),
            (["explain", "a", "--mixing", "relevence"], "relevance"),
            (["explain", "a", "--heads", "men"], "mean"),
            (["explain", "a", "--normalize", "receptive_field"], "receptive-field"),
            (["explain", "a", "--mask-columns", "frist"], "first"),
            (["explain", "a", "--output-token", "lst"], "last"),
            (["explain", "a", "-o", "a.svg", "--view", "grpah"], "graph"),
            (["explain", "a", "-o", "a.jpg"], ".png"),
            (["image", "a.png", "--map", "smoth"], "smooth"),
            (["evaluate", "agreement", "--blank", "msk"], "mask"),
            (["evaluate", "agreement", "--scores", "gradiant"], "gradient"),
            (["evaluate", "agreement", "-o", "a.markdown"], ".md"),
        ):
            with self.subTest(arguments=arguments):
                self.refuse(USAGE, [f"did you mean {meant}?"], *arguments)

    def test_several_lines_are_no_text_by_themselves(self):
        lines = b"the [MASK]\nthe dog\n"
        self.refuse(USAGE, ["one text", "2 lines", "--multiline"], "explain", "-", "--model", BERT, stdin=lines)
        done = self.run_program("explain", "-", "--multiline", "--model", BERT, "--json", stdin=lines)
        self.assertEqual(json.loads(done.stdout)["input"]["text"], "the [MASK]\nthe dog")

    def test_standard_output_as_a_file(self):
        attention = self.save_attention(random_attention(), tokens=np.array(list("abcde")))
        report = self.run_program("explain", "--attention", attention, "--json").stdout
        done = self.run_program("explain", "--attention", attention, "-o", "-")
        self.assertEqual((done.stdout, "wrote" in done.stderr), (report, False))
        self.run_program("explain", "--attention", attention, "-o", "a.csv")
        done = self.run_program("explain", "--attention", attention, "-o", "-.csv")
        self.assertEqual(done.stdout, (self.folder / "a.csv").read_text())
        # Later output of other commands comes after the report.
        with (self.folder / "shared.csv").open("w") as shared:
            command = [PROGRAM, "explain", "--attention", str(attention), "-o", "-.csv"]
            subprocess.run(command, stdout=shared, stderr=subprocess.DEVNULL, check=True)
            subprocess.run(["echo", "next"], stdout=shared, check=True)
        self.assertEqual((self.folder / "shared.csv").read_text(), done.stdout + "next\n")
        for more in (["-o", "-.svg"], ["--json"]):
            self.refuse(USAGE, ["standard output", "-o"], "explain", "--attention", attention, "-o", "-", *more)

    def test_outputs_that_are_none(self):
        attention = self.save_attention(random_attention())
        (self.folder / "a.png").mkdir()
        for output, words in (("nope/x.png", ["nope", "create it first"]), ("a.png", ["a folder"])):
            self.refuse(USAGE, words, "explain", "--attention", attention, "-o", output)
        self.refuse(USAGE, ["not both", "tokens", ".npz"], "explain", "a text", "--attention", attention)


if __name__ == "__main__":
    unittest.main()
