"""What `attnflow evaluate` does, with small random models."""

import csv
import io
import json
import unittest

from support import BAD_FILE, MODELS, TOO_LONG, USAGE, CommandTest, note_codes

SENTENCES = [
    ("the key is on the table", 0),
    ("Sara is here", 1),
    ("the author talk about it", 2),
    ("her book is on it .", 1),
    ("it is the key , the table", 0),
    ("is it here ?", 0),
    ("the cabinet is about the key", 2),
]
BERT = str(MODELS / "bert_classification")
FAST = ("--resamples", "100")


class EvaluateTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "samples.tsv"
        self.data.write_text("".join(f"{text}\t{label}\n" for text, label in SENTENCES))

    def evaluate(self, *arguments):
        return json.loads(self.run_program("evaluate", *arguments, "--json", *FAST).stdout)

    def verb_model(self):
        """A model with the classes of a verb-number model, and prefixes."""
        model = self.copy_model("megatron_bert_classification")
        self.change_config(model, id2label={"0": "plural", "1": "singular", "2": "neither"})
        lines = ["text\tlabel\tgroup\tsource\n"]
        for number, noun in enumerate(["key", "author", "book", "table"] * 3):
            plural = number % 2 == 1
            other = number % 3 == 0
            lines.append(
                f"The {noun}{'s' * plural} on the cabinet{'s' * (other != plural)}\t{('singular', 'plural')[plural]}"
                f"\t{('no attractor', 'attractor')[other]}\tbook{number % 2}\n"
            )
        (model / "prefixes.tsv").write_text("".join(lines))
        return model


class SentencesTest(EvaluateTest):
    def test_tables_in_the_terminal(self):
        done = self.run_program("evaluate", "sentences", self.data, "--model", BERT, *FAST)
        self.assertEqual(done.stdout.count("  all tokens\n"), 2)
        self.assertEqual(done.stdout.count("  special tokens left out\n"), 2)
        self.assertIn("Correlation of what the output token depends on with blank-out\n", done.stdout)
        self.assertIn("layer 1    layer 2\n", done.stdout)
        self.assertIn("7 of 7 samples from samples.tsv", done.stdout)
        self.assertIn("accuracy: ", done.stdout)
        self.assertTrue(all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout)
        # The summary comes before the tables.
        summary = done.stdout.index("Summary: ")
        self.assertLess(summary, done.stdout.index("Correlation of"))
        self.assertIn("Mean and median\nover 7 texts", done.stdout)
        self.assertEqual(done.stdout.count("\nBest: "), 2)

    def test_every_output(self):
        outputs = [part for kind in ("json", "csv", "md") for part in ("-o", f"out.{kind}")]
        done = self.run_program("evaluate", "sentences", self.data, "--model", BERT, *FAST, *outputs)
        self.assertEqual(done.stdout, "")
        report = json.loads((self.folder / "out.json").read_text())
        self.assertEqual((report["format"], report["version"]), ("attnflow-correlations", 2))
        self.assertEqual(report["data"]["used"], len(SENTENCES))
        self.assertNotIn("samples", report)
        rows = list(csv.DictReader(io.StringIO((self.folder / "out.csv").read_text())))
        self.assertEqual(len(rows), len(report["cells"]))
        for row, cell in zip(rows, report["cells"], strict=True):
            self.assertEqual(float(row["mean"]), cell["mean"])
            self.assertEqual((row["method"], int(row["layer"])), (cell["method"], cell["layer"]))
        page = (self.folder / "out.md").read_text()
        self.assertIn("| flow minus rollout | 2 |", page)
        self.assertIn("## What the output token depends on, against blank-out\n", page)

    def test_options_change_what_they_say(self):
        report = self.evaluate(
            *("sentences", self.data, "--model", BERT, "--method", "flow,raw", "--scores", "gradient-x-input"),
            *("--targets", "logit:neutral,probability:predicted", "--relevance", "column-max", "--layers", "2"),
            *("--heads", "1", "--residual", "0.3", "--samples", "4", "--seed", "9", "--blank", "mask"),
        )
        found = {name: {cell[name] for cell in report["cells"]} for name in ("method", "target", "relevance", "layer")}
        targets = {"logit:neutral", "probability:predicted"}
        expected = {"method": {"flow", "raw"}, "target": targets, "relevance": {"column-max"}, "layer": {2}}
        self.assertEqual(found, expected)
        settings = report["settings"]
        self.assertEqual((report["data"]["used"], settings["residual"], settings["heads"]), (4, 0.3, "1"))
        blanks = {}
        for blank in ("unk", "mask", "pad"):
            report = self.evaluate("sentences", self.data, "--model", BERT, "--scores", "blank-out", "--blank", blank)
            blanks[report["blank"]["piece"]] = report["cells"][0]["mean"]
        self.assertEqual(set(blanks), {"[UNK]", "[MASK]", "[PAD]"})
        self.assertEqual(len(set(blanks.values())), 3)

    def test_long_samples_are_counted_or_cut(self):
        (self.folder / "long.tsv").write_text("the key is here\t0\n" + "the key " * 30 + "\t1\nit is here\t1\n")
        report = self.evaluate("sentences", "long.tsv", "--model", BERT)
        self.assertEqual((report["data"]["used"], report["data"]["too_long"]), (2, 1))
        self.assertIn("samples-too-long", note_codes(report))
        report = self.evaluate("sentences", "long.tsv", "--model", BERT, "--truncate")
        self.assertEqual((report["data"]["used"], report["data"]["truncated"]), (3, 1))
        (self.folder / "long.tsv").write_text("the key " * 30 + "\t1\n")
        self.refuse(TOO_LONG, ["at most 20", "--truncate"], "evaluate", "sentences", "long.tsv", "--model", BERT)

    def test_every_classifier(self):
        for model in sorted(path.name for path in MODELS.glob("*_classification")):
            with self.subTest(model):
                report = self.evaluate("sentences", self.data, "--model", MODELS / model)
                self.assertTrue(all(cell["count"] + cell["left_out"] == 7 for cell in report["cells"]))


class MixingsTest(EvaluateTest):
    def test_all_mixings_that_a_model_can_be_given(self):
        megatron = MODELS / "megatron_bert_classification"  # norms before the blocks
        report = self.evaluate("sentences", self.data, "--model", megatron, "--mixing", "all", "--scores", "blank-out")
        self.assertEqual(list(report["impossible_mixings"]), ["globenc"])
        self.assertEqual(len(report["settings"]["mixing"]), 9)
        done = self.run_program("evaluate", "sentences", self.data, "--model", megatron, "--mixing", "all", *FAST)
        self.assertIn("Left out --mixing globenc: ", done.stdout)
        self.assertRegex(done.stdout, r"  special tokens left out\n.*layer 1.*\n(.*\n)*rollout over value-zeroing ")
        self.assertTrue(all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout)
        report = self.evaluate("sentences", self.data, "--model", BERT, "--mixing", "all", "--scores", "blank-out")
        self.assertEqual(report["impossible_mixings"], {})


class OtherTasksTest(EvaluateTest):
    def test_sentiment(self):
        report = self.evaluate("sentiment", "--data", self.data, "--model", MODELS / "distilbert_classification")
        self.assertEqual(
            report["scores"],
            [{"score": "gradient", "target": "logit:positive"}, {"score": "gradient", "target": "logit:predicted"}],
        )
        self.assertEqual(report["settings"]["relevance"], ["column-max", "row"])
        self.assertEqual(report["task"], "sentiment")

    def test_agreement_with_the_models_own_prefixes(self):
        report = self.evaluate("agreement", "--model", self.verb_model())
        self.assertEqual(report["data"]["used"], 12)
        self.assertEqual(report["data"]["source"], "the model's prefixes.tsv")
        self.assertEqual(report["data"]["sources"], ["book0", "book1"])
        self.assertEqual(
            [(row["group"], row["count"]) for row in report["accuracy"]],
            [("", 12), ("attractor", 4), ("no attractor", 8)],
        )
        self.assertEqual(
            report["scores"],
            [
                {"score": "blank-out", "target": "probability:correct"},
                {"score": "gradient", "target": "difference:correct"},
            ],
        )
        self.assertEqual(report["data"]["caveat"], "")

    def test_accuracy_on_what_was_seen_in_training_has_its_warning_beside_it(self):
        model = self.verb_model()
        (model / "training.json").write_text(json.dumps({"data": {"train": {"sources": ["book1", "book7"]}}}))
        agreement = ("evaluate", "agreement", "--model", model, *FAST)
        warning = "the model was trained on some of the documents"
        done = self.run_program(*agreement, "-o", "a.md", "-o", "a.json")
        self.assertIn("was trained on book1, so these are not results on held-out data.", done.stderr)
        report = json.loads((self.folder / "a.json").read_text())
        self.assertEqual(report["data"]["caveat"], warning)
        self.assertEqual(report["notes"][0]["values"]["sources"], ["book1"])
        rows = [line for line in (self.folder / "a.md").read_text().splitlines() if line.startswith("| all (12) |")]
        self.assertEqual(len(rows), 1)
        self.assertIn(f": {warning} |", rows[0])
        printed = self.run_program(*agreement).stdout
        self.assertRegex(" ".join(printed.split()), rf"accuracy: [\d.]+ \([^)]*\); {warning}")
        # Other samples have none.
        report = self.evaluate("sentences", self.data, "--model", BERT)
        self.assertEqual(report["data"]["caveat"], "")

    def test_groups_of_a_file_by_number_of_attractors(self):
        rows = [
            ("The key", "singular", 0),
            ("The keys", "plural", 2),
            ("The book", "singular", 1),
            ("It", "singular", 0),
        ]
        lines = [json.dumps({"sentence": text, "label": label, "attractors": number}) for text, label, number in rows]
        (self.folder / "verbs.jsonl").write_text("\n".join(lines))
        report = self.evaluate("agreement", "--data", "verbs.jsonl", "--model", self.verb_model())
        self.assertEqual(
            {row["group"]: row["count"] for row in report["accuracy"]},
            {"": 4, "1 attractor": 1, "2 attractors": 1, "no attractor": 2},
        )

    def test_prose_is_refused_with_the_command_that_makes_samples(self):
        prose = self.folder / "book.txt"
        prose.write_text("The key to the cabinets is on the table.\n")
        model = self.verb_model()
        for data in (prose, self.folder):
            words = [str(data), "attnflow-train prefixes", ".tsv"]
            self.refuse(USAGE, words, "evaluate", "agreement", "--data", data, "--model", model)
        self.refuse(USAGE, ["--test-sources"], "evaluate", "agreement", "--test-sources", "book", "--model", model)


class BadInputTest(EvaluateTest):
    def test_wrong_usage(self):
        sentences = ("evaluate", "sentences", self.data, "--model", BERT)
        for words, more in (
            (["--samples", "whole number"], ("--samples", "-1")),
            ([".md", "out.txt"], ("-o", "out.txt")),
            (["twice"], ("-o", "a.md", "-o", "a.md")),
            (["none"], ("-o", "none/a.md")),
            (["--per-sample", "--json"], ("--per-sample",)),
            (["--mixing", "auto"], ("--mixing", "auto")),
            (["--method", "blank-out", "--scores"], ("--method", "blank-out")),
        ):
            self.refuse(USAGE, words, *sentences, *more)
        self.refuse(BAD_FILE, ["none.tsv"], "evaluate", "sentences", "none.tsv", "--model", BERT)
        for task in ("agreement", "sentiment", "sentences"):
            self.assertRegex(self.run_program("evaluate", "--help").stdout, rf"Which task\?(.|\n)*\n  {task} ")


if __name__ == "__main__":
    unittest.main()
