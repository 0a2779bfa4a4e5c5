"""`attnflow generate`, and `explain` with decoders: Hugging Face folders and GGUF files."""

import csv
import json
import os
import signal
import subprocess
import time
import unittest

import numpy as np
from support import BAD_FILE, OTHER, PROGRAM, ROOT, TOO_LONG, USAGE, CommandTest

from reference.attention_graph import AttentionGraph

DECODERS = ROOT / "tests" / "golden" / "decoders"
LLAMA = str(DECODERS / "llama_grouped")
GPT2 = str(DECODERS / "gpt2_tied")
GGUF = str(ROOT / "tests" / "golden" / "gguf" / "llama.gguf")
SMOLLM2 = os.environ.get("ATTNFLOW_SMOLLM2", "")
PROMPT = "The author"
COLOSSEUM = (
    "The Colosseum is an elliptical amphitheatre in the centre of the city of Rome, just east of the Roman Forum. "
    "Construction began under the emperor Vespasian in 72 and was completed in 80 under his successor and heir, Titus. "
    "The Colosseum is built of travertine limestone, volcanic rock and brick-faced concrete. It could hold fifty to "
    "eighty thousand spectators, and was used for contests of gladiators and for public spectacles."
)


class ThreadsTest(CommandTest):
    def test_more_threads_than_processors_are_not_started(self):
        """libllama's threads wait for each other by spinning: 8 on 2 processors took 300 times as long as one."""
        program = subprocess.Popen(
            [PROGRAM, "generate", PROMPT, "--model", GGUF, "-n", "40", "--ignore-end", "--threads", "64"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        most = 0
        while program.poll() is None:
            try:
                most = max(most, len(os.listdir(f"/proc/{program.pid}/task")))
            except FileNotFoundError:
                break
            time.sleep(0.001)
        self.assertEqual(program.wait(timeout=60), 0)
        self.assertGreater(most, 0)
        # Each of attnflow's own loops may also have one helper per processor.
        self.assertLess(most, 2 * len(os.sched_getaffinity(0)) + 8)


class GenerateTest(CommandTest):
    def generate(self, *arguments, prompt=PROMPT, model=LLAMA, code=0):
        """With attention edges, unless others are requested."""
        if "--mixing" not in arguments:
            arguments += ("--mixing", "attention")
        return self.run_program("generate", prompt, "--model", model, *arguments, code=code)

    def refuse_generate(self, code, words, *arguments, prompt=PROMPT, model=LLAMA):
        return self.refuse(code, words, "generate", prompt, "--model", model, *arguments)

    def test_rows_are_those_of_explain_and_of_numpy(self):
        for model in (LLAMA, GPT2, GGUF):
            with self.subTest(model):
                self.generate("-n", 5, "--method", "raw,rollout,flow", "-o", "a.npz", "-o", "a.json", model=model)
                made = np.load(self.folder / "a.npz")
                report = json.loads((self.folder / "a.json").read_text())
                n, m, layers = made["rollout"].shape
                self.assertEqual((n, m, layers), (len(report["generation"]["tokens"]), len(made["prompt_tokens"]), 3))
                words = ["--mixing", "attention", "--output-token", "last", "--keep-attention", "-o", "e.npz"]
                self.run_program("explain", PROMPT, "--model", model, *words)
                explained = np.load(self.folder / "e.npz")
                np.testing.assert_allclose(made["rollout"][0].T, explained["rollout"][:, -1], atol=1e-12)
                np.testing.assert_allclose(made["raw"][0].T, explained["raw"][:, -1], atol=1e-12)
                np.testing.assert_allclose(made["flow"][0, :, 0], explained["flow"][-1, -1], atol=1e-9)
                expected = AttentionGraph(explained["attention"]).rollout()[:, -1]
                np.testing.assert_allclose(made["rollout"][0].T, expected, atol=1e-9)

    def test_one_row_without_matrices_is_that_of_the_matrices(self):
        for model in (LLAMA, GPT2, GGUF):
            for options in ([], ["--words", "--normalize", "receptive-field", "--heads", "max", "--start-layer", 1]):
                with self.subTest(model=model, options=options):
                    ask = ["explain", "The author of the play knows", "--model", model, "--method", "raw,rollout,flow"]
                    ask += ["--layers", "2-3", "--output-token", 3, "--threads", 1, *options]
                    self.run_program(*ask, "-o", "all.npz", "-o", "all.json")
                    row = [*ask, "--only-output-token", "-o", "row.npz", "-o", "row.json", "-o", "row.html"]
                    self.run_program(*row, "-o", "row.svg", "-o", "row.csv", "-o", "row.md")
                    whole, one = np.load(self.folder / "all.npz"), np.load(self.folder / "row.npz")
                    at = json.loads((self.folder / "all.json").read_text())["output_token"]
                    self.assertEqual(one["output_tokens"].tolist(), [at])
                    for method in ("raw", "rollout"):
                        self.assertGreater(one[method].max(), 0.0)
                        np.testing.assert_allclose(one[method][:, 0], whole[method][:, at], atol=2e-6)
                    said = [json.loads((self.folder / name).read_text()) for name in ("all.json", "row.json")]
                    self.assertEqual(said[1]["flow_output_tokens"], [at])
                    at_flow = said[0]["flow_output_tokens"].index(at)
                    np.testing.assert_allclose(one["flow"][:, 0], whole["flow"][:, at_flow], atol=2e-6)
                    self.assertEqual(*([c["label"] for c in d["predictions"][0]["choices"]] for d in said))
                    # Without --method, flow is omitted, and only the last layer is available.
                    last = ["--mixing", "attention", "--only-output-token", "-o", "last.npz"]
                    self.run_program("explain", PROMPT, "--model", model, *last)
                    self.assertEqual(np.load(self.folder / "last.npz")["rollout"].shape[:2], (1, 1))

    def test_one_row_refuses_what_needs_matrices(self):
        def refuse(words, *arguments):
            self.refuse(USAGE, words, "explain", PROMPT, "--only-output-token", *arguments)

        self.run_program("explain", PROMPT, "--only-output-token", "-o", "row.npz")  # an encoder, with its matrices
        self.assertEqual(np.load(self.folder / "row.npz")["rollout"].shape[:2], (1, 1))
        refuse(["--discard"], "--model", LLAMA, "--discard", "0.5")
        refuse(["--output-token", "all"], "--model", LLAMA, "--output-token", "all")
        refuse(["--keep-attention"], "--model", LLAMA, "--keep-attention", "-o", "a.npz")
        refuse(["matrix", "one output token"], "--model", LLAMA, "--view", "matrix", "-o", "a.svg")

    def test_later_rows_are_those_of_the_prompt_with_the_text_so_far(self):
        # Byte-level models may emit partial characters; tokens are compared only as far as they are whole text.
        self.generate("-n", 4, "--temperature", "0.8", "--seed", 3, "-o", "a.npz", "-o", "a.json", model=GPT2)
        made = np.load(self.folder / "a.npz")
        report = json.loads((self.folder / "a.json").read_text())["generation"]
        checked = 0
        for t in range(1, len(report["tokens"])):
            raw = report["text"].encode()[: report["tokens"][t - 1]["end"]].decode()
            if "\ufffd" in raw:
                break
            words = ["--mixing", "attention", "--output-token", "last", "-o", "e.npz"]
            self.run_program("explain", PROMPT + raw, "--model", GPT2, *words)
            explained = np.load(self.folder / "e.npz")
            if len(explained["tokens"]) != made["rollout"].shape[1] + t:
                break  # the text is not split into the same tokens
            m = made["rollout"].shape[1]
            np.testing.assert_allclose(made["rollout"][t].T, explained["rollout"][:, -1, :m], atol=1e-5)
            checked += 1
        self.assertGreaterEqual(len(report["tokens"]), 2)
        print(f"generate: {checked} later rows compared with explain")

    def test_every_kind_of_file_is_written_and_the_same_again(self):
        names = [f"a.{ending}" for ending in "html svg png pdf json csv npz safetensors md txt".split()]
        outputs = [word for name in names for word in ("-o", name)]
        self.generate("-n", 6, "--method", "raw,rollout,flow", "--generated-columns", *outputs)
        first = {name: (self.folder / name).read_bytes() for name in names}
        self.generate("-n", 6, "--method", "raw,rollout,flow", "--generated-columns", "--threads", 1, *outputs)
        for name in names:
            self.assertGreater(len(first[name]), 100, name)
            self.assertEqual(first[name], (self.folder / name).read_bytes(), name)
        with (self.folder / "a.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        made = np.load(self.folder / "a.npz")
        n, m, layers = made["rollout"].shape
        self.assertEqual(len(rows), n * m * layers)
        value = made["rollout"][2, 1, 0]
        row = next(r for r in rows if (r["output_token"], r["input_token"], r["layer"]) == ("2", "1", "1"))
        self.assertEqual(float(row["rollout"]), value)
        sums = made["rollout"].sum(axis=1) + made["rollout_generated"].sum(axis=1)
        np.testing.assert_allclose(sums, 1.0, atol=1e-5)

    def test_streams_text_and_prints_a_table_or_the_document(self):
        done = self.generate("-n", 3)
        self.assertIn("depends most on", done.stdout)
        report = json.loads(self.generate("-n", 3, "--json").stdout)
        self.assertEqual(report["input"]["kind"], "generation")
        self.assertTrue(done.stdout.startswith(report["generation"]["text"]))

    def test_branches_begin_with_what_is_given(self):
        sampling = ("-n", 8, "--ignore-end", "--temperature", 2, "--seed", 5)

        def made(*options, model=LLAMA):
            return json.loads(self.generate(*sampling, "--json", *options, model=model).stdout)["generation"]

        for model in (LLAMA, GGUF):
            with self.subTest(model):
                own = made(model=model)
                ids = [token["id"] for token in own["tokens"]]
                same = made("--begin-with", ",".join(map(str, ids[:3])), model=model)
                self.assertEqual(same["given"], 3)
                # Random numbers are drawn for given tokens as well.
                self.assertEqual([token["id"] for token in same["tokens"]], ids)
                self.assertEqual(same["text"], own["text"])
                other = next(choice["id"] for choice in own["tokens"][2]["choices"] if choice["id"] != ids[2])
                branch = made("--begin-with", f"{ids[0]},{ids[1]},{other}", model=model)
                self.assertEqual([token["id"] for token in branch["tokens"][:3]], [*ids[:2], other])
        report = json.loads(self.generate(*sampling, "--json", "--begin-with", ids[0], model=GGUF).stdout)
        self.assertIn("tokens-given", [note["code"] for note in report["notes"]])
        self.refuse_generate(2, ["--begin-with", "at most 1"], "-n", 1, "--begin-with", "1,2")
        self.refuse_generate(2, ["--begin-with", "-1"], "--begin-with=-1")

    def test_bad_input(self):
        for words, more in (
            (["-n", "at least 1"], ["-n", 0]),
            (["--flow-tokens"], ["--flow-tokens", 0]),
            (["--token"], ["-n", 3, "--token", 3]),
            (["--chat"], ["--system", "x"]),
            (["--keep-template requires --chat"], ["--keep-template"]),
            (["--mask-columns first"], ["--drop-sink"]),
            (["overview, strip, heatmap or matrix"], ["--view", "graph"]),
            (["expected positions among the 3 tokens"], ["--words", "--exclude-tokens", 5]),
        ):
            with self.subTest(more):
                self.refuse_generate(USAGE, words, *more, prompt="Unbelievably, Katherine")
        for method in ("raw,rollout", "flow"):
            said = self.refuse_generate(USAGE, ["--heads 0", "--method raw"], "--heads", 0, "--method", method)
            self.assertEqual(said.count("\n"), 1, said)
        # Reported before the model is looked for.
        self.refuse_generate(USAGE, ["--heads 0"], "--heads", 0, model=str(self.folder / "none"))
        self.generate("--heads", 0, "--method", "raw", "-n", 1)
        self.refuse_generate(TOO_LONG, ["at most"], prompt="word " * 5000)
        self.refuse_generate(BAD_FILE, ["expected a folder"], model=str(self.folder / "none"))
        cut = self.folder / "cut.gguf"
        cut.write_bytes((ROOT / "tests" / "golden" / "gguf" / "llama.gguf").read_bytes()[:5000])
        self.refuse_generate(BAD_FILE, ["truncated"], model=str(cut))

    def test_the_templates_own_system_turn_is_announced(self):
        for options, announced in ((["--chat"], True), (["--chat", "--system", "Be brief."], False), ([], False)):
            with self.subTest(options):
                done = self.generate("-n", 1, "-o", "a.json", *options, model=GGUF)
                notes = json.loads((self.folder / "a.json").read_text())["notes"]
                found = [note for note in notes if note["code"] == "system-turn"]
                self.assertEqual(len(found), int(announced), notes)
                for note in found:
                    self.assertIn("--system TEXT", note["advice"])
                    self.assertIn(f"note: {note['text']} {note['advice']}\n", done.stderr)

    def test_a_chat_ranks_what_people_wrote(self):
        def ranked(*options):
            self.generate("-n", 1, "-o", "a.json", *options, model=GGUF, prompt="Hello")
            report = json.loads((self.folder / "a.json").read_text())
            rules = {entry["rule"]: entry["tokens"] for entry in report["generation"]["excluded"]}
            tokens = report["input"]["tokens"]
            if "chat template" not in rules:
                return None
            kept = [token for j, token in enumerate(tokens) if j not in rules["chat template"]]
            text = report["input"]["text"].encode()
            return b"".join(text[token["begin"] : token["end"]] for token in kept).decode()

        self.assertEqual(ranked("--chat"), "Hello")
        self.assertEqual(ranked("--chat", "--system", "Short."), "Short.Hello")
        self.assertIsNone(ranked("--chat", "--keep-template"))
        self.assertIsNone(ranked())

    def test_interrupted_generation_keeps_what_is_there(self):
        # Small models have finished generating when the signal arrives, and are computing flow.
        cases = [(LLAMA, "raw,rollout,flow", "attention"), (LLAMA, "raw,rollout", "relevance")]
        cases += [(SMOLLM2, "raw,rollout", "attention")] if SMOLLM2 else []
        for model, method, mixing in cases:
            command = [PROGRAM, "generate", PROMPT, "--model", model, "--method", method, "--threads", "1"]
            command += ["--mixing", mixing]
            command += ["-n", "100000", "--ignore-end", "-o", "a.npz"]
            for wanted in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(model=model, mixing=mixing, signal=wanted):
                    with subprocess.Popen(
                        command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                    ) as run:
                        run.stdout.read(1)
                        time.sleep(0.2)
                        run.send_signal(wanted)
                        _, messages = run.communicate(timeout=120)
                    self.assertEqual(run.returncode, OTHER, messages)
                    self.assertIn(b"attnflow: interrupted after ", messages)
                    made = np.load(self.folder / "a.npz")
                    self.assertGreaterEqual(len(made["generated_tokens"]), 1)
                    if mixing == "attention":
                        self.assertGreaterEqual(made["rollout"].shape[0], 1)

    @unittest.skipUnless(SMOLLM2, "SmolLM2 is not here")
    def test_the_capital_of_france(self):
        prompt = "The capital of France is"
        done = self.generate("-n", 12, "-o", "a.npz", "-o", "a.json", "-o", "a.html", prompt=prompt, model=SMOLLM2)
        self.assertTrue(done.stdout.startswith(" Paris."))
        made = np.load(self.folder / "a.npz")
        report = json.loads((self.folder / "a.json").read_text())["generation"]
        for t in (0, 1, 5, 11):
            said = "".join(report["text"][x["begin"] : x["end"]] for x in report["tokens"][:t])
            words = ["--mixing", "attention", "--output-token", "last", "--method", "raw,rollout", "-o", "e.npz"]
            self.run_program("explain", prompt + said, "--model", SMOLLM2, *words)
            explained = np.load(self.folder / "e.npz")
            m = made["rollout"].shape[1]
            self.assertEqual(len(explained["tokens"]), m + t)
            np.testing.assert_allclose(made["rollout"][t].T, explained["rollout"][:, -1, :m], atol=1e-4)
            np.testing.assert_allclose(made["raw"][t].T, explained["raw"][:, -1, :m], atol=1e-3)

    @unittest.skipUnless(SMOLLM2, "SmolLM2 is not here")
    def test_three_examples(self):
        """A name and a country, the weather, and a long text: shown in experiments/generation."""
        chat = ["--chat", "--system", "You are helpful."]
        examples = {
            "name": (4, [], "My name is Hans, I am from"),
            "weather": (24, chat, "It is sunny today, which is bad. How is the weather today?"),
            "colosseum": (8, chat, f"{COLOSSEUM} What is the Colosseum built of?"),
        }
        filters = ["--exclude-special", "--exclude-punctuation", "--exclude-stop-words", "en"]
        filters += ["--exclude-matching", r"^(system|user|assistant|\s*)$"]
        for name, (count, options, prompt) in examples.items():
            with self.subTest(name):
                words = ["-n", count, "--words", "--generated-columns", "--threads", 1, *options, *filters]
                files = ["-o", "a.npz", "-o", "a.json", "-o", "a.md", "-o", "a.svg", "-o", "a.html"]
                self.generate(*words, *files, prompt=prompt, model=SMOLLM2)
                made = np.load(self.folder / "a.npz")
                report = json.loads((self.folder / "a.json").read_text())
                tokens = report["generation"]["tokens"]
                n, m, layers = made["rollout"].shape
                self.assertEqual((n, layers), (len(tokens), 30))
                for method in ("raw", "rollout"):
                    whole = made[method].sum(axis=1) + made[method + "_generated"].sum(axis=1)
                    np.testing.assert_allclose(whole, 1.0, atol=2e-6)
                # The table's first word is the largest of those that no filter excludes.
                kept = np.ones(m, bool)
                for rule in report["generation"]["excluded"]:
                    kept[rule["tokens"]] = False
                self.assertTrue(0 < kept.sum() < m)
                table = (self.folder / "a.md").read_text()
                for t in range(n):
                    mean = np.where(kept, made["rollout"][t].mean(axis=-1), -1.0)
                    first = report["input"]["tokens"][int(mean.argmax())]["text"].strip("\u0120 ")
                    line = next(row for row in table.splitlines() if row.startswith(f"| {t} |"))
                    self.assertIn(first, line)
                if name == "colosseum":
                    # Copying shows in raw attention of layers 18 to 25: "tra" comes from the text's "travertine".
                    token = next(t for t, said in enumerate(tokens) if said["text"].strip("\u0120") == "tra")
                    mean = np.where(kept, made["raw"][token][:, 17:25].mean(axis=-1), -1.0)
                    self.assertIn("travertine", report["input"]["tokens"][int(mean.argmax())]["text"])


if __name__ == "__main__":
    unittest.main()
