"""What `attnflow evaluate` does, with small random models."""

import csv
import io
import json
import unittest

from support import BAD_FILE, MODELS, TOO_LONG, UNSUPPORTED, USAGE, CommandTest, note_codes

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

    def test_few_samples_have_no_interval(self):
        """With 9 samples a bootstrap interval would be meaningless; with 10 there is one."""
        for count in (3, 9, 10):
            (self.folder / "some.tsv").write_text("".join(f"{SENTENCES[i % 7][0]} {i}\t0\n" for i in range(count)))
            sentences = ("evaluate", "sentences", "some.tsv", "--model", BERT)
            report = self.evaluate(*sentences[1:])
            for one in report["cells"] + report["comparisons"]:
                enough = one["count"] >= 10
                self.assertEqual((one["low"] is None, one["high"] is None), (not enough, not enough), one)
                self.assertIsNotNone(one["mean"])
            few = any(cell["count"] < 10 for cell in report["cells"])
            self.assertEqual(note_codes(report).count("no-intervals"), int(few or count < 10))
            printed = self.run_program(*sentences, *FAST, "-o", "few.md", "-o", "few.csv")
            rows = list(csv.DictReader(io.StringIO((self.folder / "few.csv").read_text())))
            self.assertEqual({row["low"] == "" for row in rows if int(row["count"]) < 10} - {True}, set())
            if count < 10:
                self.assertIn("fewer than 10 samples", printed.stderr)
                self.assertRegex((self.folder / "few.md").read_text(), r"\| raw \| - \| - \|")
                table = " ".join(self.run_program(*sentences, *FAST).stdout.split())
                self.assertIn("95% intervals of the means: -.", table)

    def test_same_bytes_whatever_the_threads(self):
        for threads in (1, 3):
            self.run_program(
                *("evaluate", "sentences", self.data, "--model", BERT, "--per-sample", *FAST),
                *("--threads", threads, "-o", f"t{threads}.json", "-o", f"t{threads}.md"),
            )
        for kind in ("json", "md"):
            one, three = ((self.folder / f"t{t}.{kind}").read_bytes() for t in (1, 3))
            self.assertEqual(one, three)

    def test_first_layer(self):
        """Flow equals rollout there; rollout and raw attention differ only at the output token, and rank alike by
        column."""
        report = self.evaluate(
            "sentences", self.data, "--model", BERT, "--relevance", "row,column-sum", "--layers", "1"
        )
        cells = {(c["relevance"], c["score"], c["tokens"], c["formula"], c["method"]): c for c in report["cells"]}
        for (relevance, score, tokens, formula, method), cell in cells.items():
            rollout = cells[relevance, score, tokens, formula, "rollout"]
            same = method == "flow" or relevance == "column-sum" or tokens == "without-special"
            if same:
                self.assertAlmostEqual(cell["mean"], rollout["mean"], delta=1e-12)
        self.assertTrue(
            any(
                cells["row", s, "all", "spearman", "raw"]["mean"]
                != cells["row", s, "all", "spearman", "rollout"]["mean"]
                for s in ("blank-out", "gradient")
            )
        )

    def test_options_change_what_they_say(self):
        report = self.evaluate(
            *("sentences", self.data, "--model", BERT, "--method", "flow,raw", "--scores", "gradient-x-input"),
            *("--targets", "logit:neutral,probability:predicted", "--relevance", "column-max", "--layers", "2"),
            *("--heads", "1", "--residual", "0.3", "--samples", "4", "--seed", "9", "--blank", "mask"),
        )
        self.assertEqual({c["method"] for c in report["cells"]}, {"flow", "raw"})
        self.assertEqual({c["target"] for c in report["cells"]}, {"logit:neutral", "probability:predicted"})
        self.assertEqual({c["relevance"] for c in report["cells"]}, {"column-max"})
        self.assertEqual({c["layer"] for c in report["cells"]}, {2})
        self.assertEqual(report["data"]["used"], 4)
        self.assertEqual(report["settings"]["residual"], 0.3)
        self.assertEqual(report["settings"]["heads"], "1")
        blanks = {}
        for blank in ("unk", "mask", "pad"):
            report = self.evaluate("sentences", self.data, "--model", BERT, "--scores", "blank-out", "--blank", blank)
            blanks[report["blank"]["piece"]] = report["cells"][0]["mean"]
        self.assertEqual(set(blanks), {"[UNK]", "[MASK]", "[PAD]"})
        self.assertEqual(len(set(blanks.values())), 3)

    def test_text_without_labels(self):
        (self.folder / "plain.txt").write_text("the key is here\n\nit is on the table\n")
        report = self.evaluate("sentences", "plain.txt", "--model", BERT)
        self.assertEqual(report["accuracy"], [])
        self.assertFalse(report["data"]["labelled"])
        self.assertEqual(report["data"]["empty_lines"], 1)
        self.assertIn("no-labels", note_codes(report))

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

    def test_sums_that_are_noise_are_named(self):
        for model, noise in (("megatron_bert_classification", True), ("bert_classification", False)):
            report = self.evaluate("sentences", self.data, "--model", MODELS / model, "--scores", "gradient-sum")
            self.assertEqual("scores-are-noise" in note_codes(report), noise, model)


class MixingsTest(EvaluateTest):
    def test_several_mixings(self):
        words = ("sentences", self.data, "--model", BERT)
        plain = self.evaluate(*words)
        report = self.evaluate(*words, "--mixing", "attention,gradient,relevance,norm", "--method", "raw,flow,attnlrp")
        mixings = ["attention", "gradient", "relevance", "norm"]
        self.assertEqual(report["settings"]["mixing"], mixings)
        self.assertEqual(len(report["series"]), 4 * 2 + 1)
        self.assertEqual({c["mixing"] for c in report["cells"] if c["method"] == "flow"}, set(mixings))
        beside = [c for c in report["cells"] if c["method"] == "attnlrp"]
        self.assertEqual({(c["mixing"], c["layer"]) for c in beside}, {(None, None)})
        # Attention's numbers are the same with other mixings as on its own.
        key = ("relevance", "score", "target", "tokens", "formula", "method", "layer")
        alone = {tuple(c[k] for k in key): c for c in plain["cells"]}
        for cell in report["cells"]:
            if cell["mixing"] == "attention":
                self.assertEqual(cell, alone[tuple(cell[k] for k in key)])
        between = [c for c in report["comparisons"] if c["first_mixing"] != c["second_mixing"]]
        self.assertEqual({c["second_mixing"] for c in between}, {"attention"})
        self.assertTrue(all(c["first"] == c["second"] for c in between))

    def test_all_mixings_that_a_model_can_be_given(self):
        megatron = MODELS / "megatron_bert_classification"  # norms before the blocks
        report = self.evaluate("sentences", self.data, "--model", megatron, "--mixing", "all", "--scores", "blank-out")
        self.assertEqual(list(report["impossible_mixings"]), ["globenc"])
        self.assertEqual(len(report["settings"]["mixing"]), 9)
        done = self.run_program("evaluate", "sentences", self.data, "--model", megatron, "--mixing", "all", *FAST)
        self.assertIn("Left out --mixing globenc: ", done.stdout)
        self.assertIn("  special tokens left out, over value-zeroing\n", done.stdout)
        self.assertTrue(all(len(line) <= 80 for line in done.stdout.splitlines()), done.stdout)
        report = self.evaluate("sentences", self.data, "--model", BERT, "--mixing", "all", "--scores", "blank-out")
        self.assertEqual(report["impossible_mixings"], {})

    def test_same_bytes_whatever_the_threads(self):
        for threads in (1, 3):
            self.run_program(
                *("evaluate", "sentences", self.data, "--model", BERT, "--per-sample", *FAST, "--mixing", "all"),
                *("--method", "rollout,flow,attnlrp", "--threads", threads, "-o", f"m{threads}.json"),
            )
        one, three = ((self.folder / f"m{threads}.json").read_bytes() for threads in (1, 3))
        self.assertEqual(one, three)

    def test_wrong_mixings_and_methods(self):
        words = ("evaluate", "sentences", self.data, "--model", BERT)
        self.refuse(USAGE, ["--mixing", "'saliency'"], *words, "--mixing", "saliency")
        self.refuse(USAGE, ["--mixing", "auto"], *words, "--mixing", "auto")
        self.refuse(USAGE, ["--mixing", "again"], *words, "--mixing", "norm,norm")
        self.refuse(USAGE, ["--method", "blank-out", "--scores"], *words, "--method", "blank-out")
        megatron = MODELS / "megatron_bert_classification"
        self.refuse(UNSUPPORTED, ["globenc"], *words[:3], "--model", megatron, "--mixing", "attention,globenc")


class OtherTasksTest(EvaluateTest):
    def test_sentiment(self):
        report = self.evaluate("sentiment", "--data", self.data, "--model", MODELS / "distilbert_classification")
        self.assertEqual(
            report["scores"],
            [
                {"score": "gradient", "target": "logit:positive"},
                {"score": "gradient", "target": "logit:predicted"},
            ],
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

    def test_agreement_of_a_file(self):
        (self.folder / "verbs.tsv").write_text("The key\tsingular\nThe keys\tplural\nThe keys here\tplural\n")
        report = self.evaluate("agreement", "--data", "verbs.tsv", "--model", self.verb_model())
        self.assertEqual(report["data"]["used"], 3)

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
    def test_bad_files(self):
        for name, content, words in (
            ("empty.tsv", "", ["at least one sample"]),
            ("blank.tsv", "\n  \n", ["2 empty lines"]),
            ("columns.tsv", "just text\n", ["line 1", "text TAB label"]),
            ("label.tsv", "good\t0\nbad\t3\n", ["line 2", "from 0 to 2", "'3'"]),
            ("csv.csv", "a,b\n1,2\n", ["line 1", "header"]),
            ("broken.jsonl", "{\n", ["line 1", "JSON object"]),
        ):
            (self.folder / name).write_text(content)
            self.refuse(BAD_FILE, words, "evaluate", "sentences", name, "--model", BERT)
        (self.folder / "latin.tsv").write_bytes(b"caf\xe9\t1\n")
        self.refuse(BAD_FILE, ["UTF-8", "line 1"], "evaluate", "sentences", "latin.tsv", "--model", BERT)
        self.refuse(BAD_FILE, ["none.tsv"], "evaluate", "sentences", "none.tsv", "--model", BERT)

    def test_models_that_cannot_be_evaluated(self):
        masked = MODELS / "bert_masked_lm"
        self.refuse(UNSUPPORTED, ["classification head"], "evaluate", "sentences", self.data, "--model", masked)
        self.refuse(UNSUPPORTED, ["singular and plural"], "evaluate", "agreement", "--model", BERT)
        several = self.copy_model("bert_classification")
        self.change_config(several, problem_type="multi_label_classification")
        self.refuse(UNSUPPORTED, ["not mutually exclusive"], "evaluate", "sentences", self.data, "--model", several)

    def test_wrong_usage(self):
        sentences = ("evaluate", "sentences", self.data, "--model", BERT)
        for words, more in (
            (["--scores", "magic"], ("--scores", "magic")),
            (["--targets", "sideways"], ("--targets", "logit:sideways")),
            (["--relevance", "rows"], ("--relevance", "rows")),
            (["--blank", "zero"], ("--blank", "zero")),
            (["--output-token", "all"], ("--output-token", "all")),
            (["--output-token", "'key'"], ("--output-token", "key")),
            (["--samples", "whole number"], ("--samples", "-1")),
            (["--resamples"], ("--resamples", "0")),
            ([".md", "out.txt"], ("-o", "out.txt")),
            (["twice"], ("-o", "a.md", "-o", "a.md")),
            (["--per-sample", "--json"], ("--per-sample",)),
            (["layers"], ("--layers", "3")),
        ):
            self.refuse(USAGE, words, *sentences, *more)
        self.refuse(USAGE, ["--data"], "evaluate", "sentiment", "--model", BERT)
        self.refuse(USAGE, ["a command of attnflow evaluate", "found none"], "evaluate")
        for task in ("agreement", "sentiment", "sentences"):
            self.assertRegex(self.run_program("evaluate", "--help").stdout, rf"Which task\?(.|\n)*\n  {task} ")
        self.refuse(USAGE, ["none"], *sentences, "-o", "none/a.md")
        model = self.verb_model()
        (model / "prefixes.tsv").unlink()
        words = ["--data", "prefixes.tsv", "attnflow-train prefixes"]
        self.refuse(USAGE, words, "evaluate", "agreement", "--model", model)
        (self.folder / "a.tsv").write_text("The key\tsingular\n")
        (model / "training.json").write_text("[]")
        agreement = ("evaluate", "agreement", "--model", model, "--data")
        self.refuse(BAD_FILE, ["training.json", "JSON object"], *agreement, "a.tsv")
        (self.folder / "a.csv").write_text("text\nThe key\n")
        self.refuse(BAD_FILE, ["a.csv", "expected a label"], *agreement, "a.csv")


if __name__ == "__main__":
    unittest.main()
