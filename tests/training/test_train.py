"""Training from the command line: small models from prose generated here."""

import csv
import hashlib
import json
import random
import resource
import signal
import struct
import subprocess
import time
import unittest

import numpy as np
from training_support import BAD_FILE, MODELS, OTHER, TRAIN, UNSUPPORTED, USAGE, TrainTest

NOUNS = (
    "garden river king table house teacher farmer letter window mountain valley sailor village doctor painter "
    "bridge forest market soldier castle student lawyer basket engine island kitchen ladder mirror needle orchard"
).split()
ADJECTIVES = ["old", "quiet", "small", "green", "famous", "heavy", "distant", "strange"]


def phrase(chooser, plural):
    noun = chooser.choice(NOUNS)
    adjective = chooser.choice(ADJECTIVES) + " " if chooser.random() < 0.4 else ""
    if plural:
        return f"{chooser.choice(['the', 'these', 'many'])} {adjective}{noun}s"
    article = chooser.choice(["the", "every", "a", "one"])
    if article == "a" and (adjective or noun)[0] in "aeiou":
        article = "an"
    return f"{article} {adjective}{noun}"


def sentence(chooser):
    plural = chooser.random() < 0.5
    subject = phrase(chooser, plural)
    if chooser.random() < 0.5:
        other = phrase(chooser, chooser.random() < 0.5)
        subject += f" {chooser.choice(['near', 'behind', 'of', 'with'])} {other}"
    verb = chooser.choice([("is", "are"), ("was", "were"), ("has", "have")])[plural]
    rest = "been seen" if verb in ("has", "have") else chooser.choice(ADJECTIVES)
    return f"{subject[0].upper()}{subject[1:]} {verb} {rest} in the {chooser.choice(NOUNS)} today."


def write_prose(folder, documents=4, sentences=400):
    for number in range(documents):
        chooser = random.Random(number)
        lines = [" ".join(sentence(chooser) for _ in range(4)) for _ in range(sentences // 4)]
        (folder / f"book{number}.txt").write_text("\n".join(lines) + "\n")


SMALL = ["--layers", "1", "--heads", "2", "--hidden", "16", "--vocabulary", "400"]


def digests(folder):
    # training.json and the card record how long it took.
    names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "prefixes.tsv"]
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def read_table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def tensors(path):
    """The tensors of a safetensors file, as float32."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    kinds = {"F16": np.float16, "F32": np.float32}
    found = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            found[name] = (
                np.frombuffer(data[begin:end], kinds[entry["dtype"]]).reshape(entry["shape"]).astype(np.float32)
            )
    return found


class Train(TrainTest):
    def setUp(self):
        super().setUp()
        self.prose = self.folder / "prose"
        self.prose.mkdir()
        write_prose(self.prose)

    def evaluate(self, *arguments):
        fast = ("--scores", "gradient", "--method", "rollout", "--resamples", "100", "--json")
        return json.loads(self.run_attnflow("evaluate", "agreement", *arguments, *fast).stdout)

    def train(self, task, output, *arguments, code=0):
        return self.run_program(task, "--prose", self.prose, "-o", output, *SMALL, *arguments, code=code)

    def test_agreement_learns_and_is_the_same_again(self):
        first, second = self.folder / "first", self.folder / "second"
        steps = ["--masked-steps", "20", "--steps", "120", "--rate", "0.005"]
        self.train("agreement", first, *steps, "--threads", "1", "--license", "mit")
        self.assertFalse((first / "training").exists())
        about = json.loads((first / "training.json").read_text())
        everything = about["results"]["all"]
        self.assertEqual(everything["count"], about["data"]["test"]["examples"])
        self.assertGreater(everything["accuracy"], 0.8)
        self.assertLess(everything["low"], everything["accuracy"])
        self.assertLess(everything["accuracy"], everything["high"] + 1e-12)
        splits = [set(about["data"][split]["sources"]) for split in ("train", "validation", "test")]
        self.assertEqual(sum(map(len, splits)), 4)
        self.assertEqual(len(set.union(*splits)), 4)
        card = (first / "README.md").read_text()
        self.assertIn("| with an attractor |", card)
        self.assertIn("license: mit\n", card)

        explained = self.run_attnflow("explain", "The keys to the garden", "--model", first, "--json")
        report = json.loads(explained.stdout)
        self.assertEqual(report["model"]["architecture"], "megatron-bert")
        self.assertEqual(report["input"]["tokens"][0]["text"], "[CLS]")
        self.assertFalse(report["input"]["tokens"][-1]["special"])

        self.train("agreement", second, *steps, "--threads", "3")
        self.assertEqual(digests(first), digests(second))

    def interrupted(self, output, arguments, after):
        command = [TRAIN, "agreement", "--prose", self.prose, "-o", output, *SMALL, *arguments]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            for line in process.stderr:
                if after in line:
                    break
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read()
        return process.returncode, rest

    def test_an_interrupted_run_goes_on_to_the_same_bytes(self):
        whole, halves = self.folder / "whole", self.folder / "halves"
        arguments = ["--masked-steps", "10", "--steps", "150"]
        # Long enough to be interrupted in its second phase, wherever that begins.
        code, message = self.interrupted(halves, arguments, "agreement:")
        self.assertEqual(code, OTHER, message)
        self.assertIn("run the same command again", message)
        self.assertTrue((halves / "training" / "checkpoint.safetensors").exists())
        self.assertFalse((halves / "model.safetensors").exists())

        # Other options make it another run.
        other = self.train("agreement", halves, "--masked-steps", "11", "--steps", "150", code=USAGE)
        self.assertIn("same data and options", other.stderr)

        again = self.train("agreement", halves, *arguments)
        self.assertIn("resuming from the checkpoint", again.stderr)
        self.train("agreement", whole, *arguments)
        self.assertEqual(digests(whole), digests(halves))

    def test_a_full_disk_loses_no_checkpoint(self):
        output = self.folder / "full"
        arguments = ["--masked-steps", "10", "--steps", "150"]
        code, message = self.interrupted(output, arguments, "agreement:")
        self.assertEqual(code, OTHER, message)
        checkpoint = output / "training" / "checkpoint.safetensors"
        before = checkpoint.read_bytes()

        def limit():
            # Room for a model of the same size, but not for a checkpoint, which is three times as large.
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, len(before) // 2))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

        command = [TRAIN, "agreement", "--prose", self.prose, "-o", output, *SMALL, *arguments]
        process = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=120)
        self.assertEqual(process.returncode, OTHER, process.stderr)
        self.assertIn("checkpoint.safetensors", process.stderr)
        self.assertEqual(checkpoint.read_bytes(), before)
        self.assertEqual([p.name for p in checkpoint.parent.iterdir() if p.is_file()], [checkpoint.name])

    def test_nothing_of_the_users_is_lost(self):
        output = self.folder / "out"
        (output / "training").mkdir(parents=True)
        (output / "training" / "thesis.txt").write_text("mine")
        self.train("agreement", output, "--masked-steps", "1", "--steps", "1")
        self.assertEqual([p.name for p in (output / "training").iterdir()], ["thesis.txt"])
        before = digests(output)
        # An existing model is not overwritten.
        refused = self.train("agreement", output, "--masked-steps", "1", "--steps", "1", code=USAGE)
        self.assertIn("found a model", refused.stderr)
        self.assertEqual(digests(output), before)

    def test_evaluate_measures_with_the_prefixes_beside_the_model(self):
        output = self.folder / "verbs"
        self.train("agreement", output, "--masked-steps", "0", "--steps", "0")
        about = json.loads((output / "training.json").read_text())
        rows = read_table(output / "prefixes.tsv")
        self.assertEqual({row["source"] for row in rows}, set(about["test_sources"]))
        self.assertEqual(len(rows), about["data"]["test"]["examples"])
        self.assertEqual(sum(row["label"] == "plural" for row in rows) * 2, len(rows))
        report = self.evaluate("--model", output, "--samples", "30")
        self.assertEqual(report["data"]["sources"], sorted(about["test_sources"]))
        self.assertEqual([row["group"] for row in report["accuracy"]], ["", "attractor", "no attractor"])
        self.assertEqual(report["data"]["caveat"], "")

        # The command for other prose: here, all prefixes of the held-out documents, and some of them.
        command = ["prefixes", "--prose", self.prose, "--model", output]
        done = self.run_program(*command, "-o", "all.tsv")
        self.assertIn(f"{len(rows)} prefixes from {about['test_sources'][0]}", done.stderr)
        self.assertEqual((self.folder / "all.tsv").read_bytes(), (output / "prefixes.tsv").read_bytes())
        self.run_program(*command, "--samples", "20", "-o", "some.tsv")
        some = read_table(self.folder / "some.tsv")
        self.assertEqual((len(some), sum(row["label"] == "plural" for row in some)), (20, 10))
        self.assertTrue(all(row in rows for row in some))

        # What the model has seen is marked.
        seen = about["data"]["train"]["sources"][0]
        done = self.run_program(*command, "--test-sources", seen, "-o", "seen.tsv")
        self.assertIn(f"was trained on {seen}", done.stderr)
        report = self.evaluate("--model", output, "--data", "seen.tsv", "--samples", "10")
        trained = [note["values"] for note in report["notes"] if note["code"] == "trained-on-samples"]
        self.assertEqual([values["sources"] for values in trained], [[seen]])
        self.assertEqual(report["data"]["caveat"], "the model was trained on some of the documents")

        # Without a model the documents are drawn at random.
        done = self.run_program("prefixes", "--prose", self.prose, "-o", "drawn.tsv")
        self.assertIn("drawn: book", done.stderr)

    def test_bad_prefixes(self):
        command = ["prefixes", "--prose", self.prose]
        self.refuse(USAGE, [".tsv", "x.csv"], *command, "-o", "x.csv")
        self.refuse(USAGE, ["book9"], *command, "-o", "x.tsv", "--test-sources", "book9")
        model = self.folder / "model"
        model.mkdir()
        self.refuse(USAGE, ["training.json", "--test-sources"], *command, "-o", "x.tsv", "--model", model)
        (model / "training.json").write_text('{"test_sources": "all"}')
        self.refuse(BAD_FILE, ["training.json", "--test-sources"], *command, "-o", "x.tsv", "--model", model)
        few = [self.prose / "book0.txt", self.prose / "book1.txt"]
        self.refuse(USAGE, ["at least 3", "found 2"], "prefixes", "--prose", *few, "-o", "x.tsv")

    def test_masked_predicts_words(self):
        output = self.folder / "masked"
        self.train("masked", output, "--masked-steps", "60")
        explained = self.run_attnflow(
            "explain", "The garden [MASK] old today.", "--model", output, "--candidates", "is,are", "--json"
        )
        candidates = json.loads(explained.stdout)["predictions"][0]["candidates"]
        self.assertEqual([c["label"] for c in candidates], ["is", "are"])

    def test_agreement_keeps_its_masked_model_too(self):
        output, masked, alone = (self.folder / name for name in ("verbs", "masked", "alone"))
        steps = ["--masked-steps", "20", "--steps", "5"]
        self.train("agreement", output, *steps, "--masked-model", masked)
        self.assertEqual(json.loads((masked / "training.json").read_text())["settings"]["task"], "agreement")
        self.assertIn(f"--masked-model {masked}", json.loads((output / "training.json").read_text())["command"])
        self.assertTrue((masked / "README.md").exists())
        explained = self.run_attnflow(
            "explain", "The garden [MASK] old today.", "--model", masked, "--candidates", "is,are", "--json"
        )
        candidates = json.loads(explained.stdout)["predictions"][0]["candidates"]
        self.assertEqual([c["label"] for c in candidates], ["is", "are"])
        # The option does not affect the verb model.
        self.train("agreement", alone, *steps)
        self.assertEqual(digests(alone), digests(output))

    def test_a_masked_model_has_a_folder_of_its_own(self):
        output, masked = self.folder / "verbs", self.folder / "masked"
        steps = ["--masked-steps", "3", "--steps", "1"]
        output.mkdir()
        (self.folder / "elsewhere").mkdir()
        for same in (output, self.folder / "elsewhere" / ".." / "verbs"):
            refused = self.train("agreement", output, *steps, "--masked-model", same, code=USAGE)
            self.assertIn("--masked-model: expected a folder other", refused.stderr)
        refused = self.train("agreement", output, "--masked-steps", "0", "--masked-model", masked, code=USAGE)
        self.assertIn("--masked-steps 0", refused.stderr)
        self.assertFalse(masked.exists())
        self.train("masked", masked, "--masked-steps", "1")
        before = (masked / "model.safetensors").read_bytes()
        refused = self.train("agreement", output, *steps, "--masked-model", masked, code=USAGE)
        self.assertIn("found a model", refused.stderr)
        self.assertEqual((masked / "model.safetensors").read_bytes(), before)
        self.assertFalse((output / "model.safetensors").exists())

    def test_sentiment(self):
        chooser = random.Random(5)
        lines = []
        for _ in range(300):
            good = chooser.random() < 0.5
            words = [chooser.choice(NOUNS), "was", chooser.choice(["lovely", "bright"] if good else ["awful", "dull"])]
            lines.append(f"the {' '.join(words)}\t{int(good)}")
        paths = []
        for name, part in (("train", lines[:200]), ("dev", lines[200:250]), ("test", lines[250:])):
            paths.append(self.folder / f"{name}.tsv")
            paths[-1].write_text("\n".join(part) + "\n")
        output = self.folder / "sentiment"
        command = ["sentiment", "--data", paths[0], "--validation", paths[1], "--test", paths[2]]
        self.run_program(*command, "-o", output, "--epochs", "12", "--rate", "0.002", "--dropout", "0")
        about = json.loads((output / "training.json").read_text())
        self.assertGreater(about["results"]["accuracy"], 0.9)
        explained = self.run_attnflow("explain", "the garden was lovely", "--model", output, "--json")
        report = json.loads(explained.stdout)
        self.assertEqual(report["model"]["architecture"], "distilbert")
        self.assertEqual(report["predictions"][0]["choices"][0]["label"], "positive")
        self.assertEqual(report["input"]["tokens"][-1]["text"], "[SEP]")

    def test_sentiment_from_every_other_layer_of_a_bert(self):
        data = self.folder / "data.tsv"
        data.write_text("the key is here\t1\nthe author is on it\t0\n" * 4)
        bert = MODELS / "bert_masked_lm_tied"
        output = self.folder / "sentiment"
        command = ["sentiment", "--data", data, "--validation", data, "--test", data, "-o", output]
        # A rate so small that nothing changes in half precision.
        self.run_program(*command, "--init-from-bert", bert, "--rate", "1e-12", "--epochs", "1")
        found, given = tensors(output / "model.safetensors"), tensors(bert / "model.safetensors")
        names = {"attention.self.query": "attention.q_lin", "attention.self.key": "attention.k_lin"}
        names |= {"attention.self.value": "attention.v_lin", "attention.output.dense": "attention.out_lin"}
        names |= {"attention.output.LayerNorm": "sa_layer_norm", "output.LayerNorm": "output_layer_norm"}
        names |= {"intermediate.dense": "ffn.lin1", "output.dense": "ffn.lin2"}
        pairs = [(f"encoder.layer.0.{a}", f"transformer.layer.0.{b}") for a, b in names.items()]
        pairs.append(("embeddings.LayerNorm", "embeddings.LayerNorm"))
        for theirs, ours in pairs:
            for kind in ("weight", "bias"):
                np.testing.assert_allclose(
                    found[f"distilbert.{ours}.{kind}"], given[f"bert.{theirs}.{kind}"], rtol=1e-3, atol=1e-6
                )
        embeddings = "embeddings.{}_embeddings.weight"
        word, position = (found["distilbert." + embeddings.format(name)] for name in ("word", "position"))
        np.testing.assert_allclose(word, given["bert." + embeddings.format("word")], rtol=1e-3, atol=1e-6)
        both = given["bert." + embeddings.format("position")] + given["bert." + embeddings.format("token_type")][0]
        np.testing.assert_allclose(position, both, rtol=1e-3, atol=1e-6)
        self.assertFalse(any(".layer.1." in name for name in found))
        self.assertEqual((output / "vocab.txt").read_bytes(), (bert / "vocab.txt").read_bytes())
        self.assertIn("every other layer", (output / "README.md").read_text())
        report = json.loads(self.run_attnflow("explain", "the key", "--model", output, "--json").stdout)
        self.assertEqual([token["text"] for token in report["input"]["tokens"]], ["[CLS]", "the", "key", "[SEP]"])
        words = ["--init-from-bert", "expected a BERT", "distilbert"]
        other = self.folder / "other"
        command[-1] = other
        self.refuse(UNSUPPORTED, words, *command, "--init-from-bert", MODELS / "distilbert_classification")

    def test_bad_input(self):
        output = self.folder / "x"
        empty = self.folder / "empty"
        empty.mkdir()
        self.refuse(BAD_FILE, [".txt"], "agreement", "--prose", empty, "-o", output)

        useless = self.folder / "useless"
        useless.mkdir()
        for name in ("a", "b", "c"):
            (useless / f"{name}.txt").write_text(f"no sentence here {name}\n" * 5)
        self.refuse(BAD_FILE, ["expected", "found"], "agreement", "--prose", useless, "-o", output)

        broken = self.folder / "broken"
        broken.mkdir()
        (broken / "a.txt").write_bytes(b"A line.\n\xff\xfe is not text.\n")
        self.refuse(BAD_FILE, ["a.txt"], "agreement", "--prose", broken, "-o", output)

        data = self.folder / "labels.tsv"
        data.write_text("good\t1\nbad\t2\n")
        command = ["sentiment", "--data", data, "--validation", data, "--test", data, "-o", output]
        self.refuse(BAD_FILE, ["labels.tsv", "2"], *command)

        command = ["agreement", "--prose", self.prose, "-o", output]
        self.refuse(USAGE, ["learning rate", "-1"], *command, "--rate", "-1")
        self.refuse(USAGE, ["learning rate", "nan"], *command, "--masked-rate", "nan")
        self.refuse(USAGE, ["--dropout", "1.5"], *command, "--dropout", "1.5")
        self.refuse(USAGE, ["--grammar-share", "-1"], *command, "--grammar-share", "-1")
        self.refuse(USAGE, ["book9"], *command, "--test-sources", "book9")
        self.refuse(USAGE, ["--heads", "5"], *command, "--heads", "5")
        self.refuse(USAGE, ["--layers", "0"], *command, "--layers", "0")
        counts = "--seed --threads --masked-steps --steps --vocabulary --layers --heads --hidden".split()
        for option in counts:
            self.refuse(USAGE, [option, "whole number", "'-1'"], *command, option, "-1")
        command = ["sentiment", "--data", data, "--validation", data, "--test", data, "-o", output]
        for option in ("--seed", "--threads", "--epochs"):
            self.refuse(USAGE, [option, "whole number", "'1.5'"], *command, option, "1.5")


if __name__ == "__main__":
    unittest.main()
