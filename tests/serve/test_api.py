"""Each endpoint of `attnflow serve`: its answers are what the command line computes."""

import base64
import concurrent.futures
import json
import os
import shutil
import struct
import tempfile
import unittest
import zlib
from pathlib import Path

from support import GGUF, LLAMA, MASKED, MASKED_TEXT, MODELS, TEXT, Server, ServerTest, png, run_program


def values_of(array: dict) -> list[list[float]]:
    """[tokens, columns]: the last layer of a plain array [layers, tokens, columns]."""
    data = base64.b64decode(array["data"])
    if array["encoding"] == "zlib+base64":
        data = zlib.decompress(data)
    layers, tokens, columns = array["shape"]
    code = {"f16": "e", "f32": "f", "f64": "d"}[array["dtype"]]
    values = struct.unpack(f"<{layers * tokens * columns}{code}", data)
    last = values[(layers - 1) * tokens * columns :]
    return [list(last[at : at + columns]) for at in range(0, len(last), columns)]


class OwnExamplesTest(unittest.TestCase):
    def test_a_file_beside_the_model(self):
        """What such a file may hold is tested in attnflow/serve/examples_test.cc."""
        with tempfile.TemporaryDirectory() as folder:
            own = Path(shutil.copytree(MASKED, Path(folder) / "own"))
            (own / "examples.txt").write_text("The [MASK].\n\nUn café.\n")
            server = Server("--model", own)
            try:
                models = {model["name"]: model for model in server.get("/api/v1/models").json()["models"]}
            finally:
                ended = server.stop()
        self.assertEqual(models["own"]["examples"], [{"text": "The [MASK]."}, {"text": "Un café."}])
        self.assertEqual(ended, (0, ""))


class ApiTest(ServerTest):
    ARGUMENTS = ("--model", MASKED, "--model", LLAMA, "--model", GGUF, "--model", MODELS / "bert_classification")

    def test_the_page(self):
        answer = self.server.get("/")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        policy = answer.headers["Content-Security-Policy"]
        for part in ("default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'"):
            self.assertIn(part, policy)
        self.assertNotIn("unsafe", policy)
        for name, value in {
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-cache",
        }.items():
            self.assertEqual(answer.headers[name], value)
        # The viewer without a report, which requests them from this server.
        self.assertIn(b'<div id="viewer"></div>', answer.body)
        self.assertIn(b'<script type="application/json" id="report">null</script>', answer.body)
        head = self.server.ask("HEAD", "/")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["Content-Length"], str(len(answer.body)))

    def test_health(self):
        self.server.wait_until(lambda health: health["running"] == 0)
        answer = self.server.get("/api/v1/health")
        self.assertEqual((answer.status, answer.json()), (200, {"status": "ok", "running": 0, "waiting": 0}))
        self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(answer.headers["Cache-Control"], "no-store")

    def test_models(self):
        table = self.server.get("/api/v1/models").json()
        models = {model["name"]: model for model in table["models"]}
        self.assertEqual(list(models)[-2:], ["agreement", "fashion"])
        agreement = models["agreement"]
        self.assertEqual(agreement["kind"], "text")
        self.assertEqual(agreement["head"], "classification")
        self.assertEqual(sorted(agreement["labels"]), ["plural", "singular"])
        self.assertTrue(agreement["built_in"])
        self.assertIn("relevance", agreement["mixings"])
        self.assertNotIn("globenc", agreement["mixings"])
        self.assertIn("logit", agreement["methods"])
        self.assertEqual(models["fashion"]["kind"], "image")
        masked = models[MASKED.name]
        self.assertEqual(masked["head"], "masked")
        self.assertIn("relevance", masked["mixings"])
        self.assertIn("globenc", masked["mixings"])
        self.assertNotIn("logit", masked["methods"])
        self.assertEqual(models[LLAMA.name]["kind"], "generation")
        self.assertIn("alti-logit", models[LLAMA.name]["methods"])
        gguf = models["llama"]
        self.assertEqual((gguf["kind"], gguf["layers"], gguf["heads"]), ("generation", 3, 4))
        self.assertIn("relevance", gguf["mixings"])
        self.assertGreater(gguf["max_tokens"], 0)
        self.assertEqual(table["default"], {"text": MASKED.name, "image": "fashion", "generation": LLAMA.name})
        self.assertEqual(table["limits"]["queue"], 64)
        self.assertGreater(table["limits"]["memory_bytes"], 0)
        cannot = {"blanks": False, "evaluates": False, "mask": None}
        can = {
            "agreement": {"blanks": True, "evaluates": True, "mask": None},
            MASKED.name: {"blanks": True, "evaluates": True, "mask": "[MASK]"},
            LLAMA.name: cannot | {"evaluates": True},
            "fashion": cannot,
            "llama": cannot | {"evaluates": True},
        }
        for name, expected in can.items():
            self.assertEqual({key: models[name][key] for key in expected}, expected, name)
        self.assertTrue(all("[MASK]" in example["text"] for example in models[MASKED.name]["examples"]))
        # A model does what its description says; its examples are explained without any warning.
        for example in agreement["examples"]:
            answer = self.server.post("explain", {"text": example["text"], "model": "agreement", "method": "raw"})
            self.assertEqual(answer.status, 200)
            self.assertNotIn("unknown-words", [note["code"] for note in answer.json()["notes"]], example)
        for name in (MASKED.name, LLAMA.name, "llama"):
            text = models[name]["examples"][0]["text"]
            self.assertEqual(self.server.post("evaluate", {"text": text, "model": name}).status, 200, name)
        self.assertIn(self.server.post("evaluate", {"text": TEXT, "model": "fashion"}).status, (400, 422))
        self.assertGreater(len(models["fashion"]["examples"]), 1)
        for example in models["fashion"]["examples"]:
            self.assertEqual(example["type"], "image/png")
            answer = self.server.ask(
                "POST",
                "/api/v1/image?method=raw",
                base64.b64decode(example["data"], validate=True),
                {"Content-Type": example["type"]},
            )
            self.assertEqual(answer.status, 200, example["name"])
            best = answer.json()["predictions"][0]["choices"][0]["label"]
            self.assertEqual(best.lower(), example["name"])
        models = self.server.get("/api/v1/models").json()["models"]
        self.assertTrue(next(model for model in models if model["name"] == "agreement")["loaded"])

    def test_explain_is_what_the_command_line_prints(self):
        cases = [
            ("agreement", TEXT, {}, []),
            ("agreement", TEXT, {"words": True, "method": ["flow", "raw"]}, ["--words", "--method", "flow,raw"]),
            (
                "agreement",
                TEXT,
                {"mixing": "gradient", "target": "plural", "output_token": "cls", "certificate": ["cls,2"]},
                ["--mixing", "gradient", "--target", "plural", "--output-token", "cls", "--certificate", "cls,2"],
            ),
            (
                "agreement",
                TEXT,
                {"heads": 1, "residual": 0.25, "layers": "2-4", "start_layer": 1, "output_token": 3, "top_k": 2},
                ["--heads", 1, "--residual", 0.25, "--layers", "2-4", "--start-layer", 1, "--output-token", 3, "--top-k", 2],
            ),
            (
                "agreement",
                TEXT,
                {"normalize": "receptive-field", "discard": 0.3, "discard_keep_special": True, "mask_columns": "special"},
                ["--normalize", "receptive-field", "--discard", 0.3, "--discard-keep-special", "--mask-columns", "special"],
            ),
            (
                MASKED,
                MASKED_TEXT,
                {"candidates": ["key", "table"], "referents": "key,table", "keep_attention": True, "mask_columns": [0, 2]},
                ["--candidates", "key,table", "--referents", "key,table", "--keep-attention", "--mask-columns", "0,2"],
            ),
            (MASKED, "the key", {"pair": "is on a table", "flow_tolerance": 1e-9}, ["--pair", "is on a table", "--flow-tolerance", 1e-9]),
            (MASKED, "the key " * 300, {"truncate": True, "method": "rollout"}, ["--truncate", "--method", "rollout"]),
            (LLAMA, "The author", {"only_output_token": True}, ["--only-output-token"]),
            (LLAMA, "The author", {"only_output_token": True, "method": "flow"}, ["--only-output-token", "--method", "flow"]),
            (GGUF, "The author", {"output_token": "all"}, ["--output-token", "all"]),
        ]  # fmt: skip
        for model, text, fields, options in cases:
            with self.subTest(f"{model} {fields}"):
                name = model if isinstance(model, str) else model.stem
                answer = self.server.post("explain", {"text": text, "model": name} | fields)
                self.assertEqual(answer.status, 200, answer.body[:500])
                self.assertEqual(answer.headers["Content-Type"], "application/json")
                self.assertEqual(answer.headers["Cache-Control"], "no-store")
                printed = run_program("explain", text, "--model", model, "--json", *options)
                self.assertEqual(answer.body, printed)

    def test_compact_reports_are_the_same_in_float32(self):
        whole = self.server.post("explain", {"text": TEXT, "model": "agreement"}).json()
        small = self.server.post("explain", {"text": TEXT, "model": "agreement", "compact": True}).json()
        self.assertEqual({array["dtype"] for array in small["arrays"].values()}, {"f32", "u8"})
        self.assertEqual(small["arrays"]["flow"]["shape"], whole["arrays"]["flow"]["shape"])
        whole.pop("arrays"), small.pop("arrays")
        self.assertEqual(whole, small)

    def test_blank_is_what_the_unknown_token_in_the_text_gives(self):
        # "key" is token 2 of "[CLS] the key to the [MASK] ...".
        ask = {"model": MASKED.name, "method": "raw,rollout", "text": MASKED_TEXT}
        blanked = self.server.post("explain", ask | {"blank": [2]}).json()
        written = self.server.post("explain", ask | {"text": MASKED_TEXT.replace("key", "[UNK]")}).json()
        self.assertEqual(blanked["input"]["tokens"][2]["text"], "key")
        self.assertEqual(blanked["arrays"], written["arrays"])
        self.assertEqual(blanked["predictions"], written["predictions"])
        # A decoder has no unknown token: the end-of-text token is used instead.
        ask = {"text": "a b", "model": "llama", "mixing": "attention", "blank": [1]}
        blanked = self.server.post("explain", ask).json()
        self.assertIn("tokens-blanked", [note["code"] for note in blanked["notes"]])

    def test_events(self):
        answer = self.server.post("explain", {"text": TEXT, "model": "agreement"}, accept="text/event-stream")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")
        events = answer.events()
        self.assertEqual(events[0], ("queued", {"position": 0}))
        progress = [data for name, data in events if name == "progress"]
        self.assertEqual(progress[-1]["done"], progress[-1]["total"])
        self.assertEqual(progress[-1]["phase"], "flow")
        self.assertEqual(events[-1][0], "report")
        self.assertEqual(events[-1][1], self.server.post("explain", {"text": TEXT, "model": "agreement"}).json())

    def test_what_is_wrong_in_a_stream(self):
        # An error found before the work gives a plain answer, one found during the work an event.
        answer = self.server.post("explain", {"text": TEXT, "method": "x"}, accept="text/event-stream")
        self.refuse(answer, 400, "bad_request", "method: expected")
        answer = self.server.post("explain", {"text": " ", "model": "agreement"}, accept="text/event-stream")
        self.assertEqual(answer.status, 200)
        name, data = answer.events()[-1]
        self.assertEqual((name, data["error"]["kind"]), ("error", "bad_request"))

    def test_image_is_what_the_command_line_prints(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "shirt.png"
            path.write_bytes(png())
            printed = run_program("image", path, "--json", "--method", "raw,flow", "--residual", "0.25", "--top-k", "3")
        headers = {"Content-Type": "image/png"}
        query = "/api/v1/image?name=shirt.png&method=raw,flow&residual=0.25&top_k=3"
        answer = self.server.ask("POST", query, png(), headers)
        self.assertEqual(answer.status, 200, answer.body[:500])
        self.assertEqual(answer.body, printed)
        report = answer.json()
        self.assertEqual(report["input"]["kind"], "image")
        self.assertEqual(report["model"]["name"], "fashion")
        events = self.server.ask("POST", query, png(), headers | {"Accept": "text/event-stream"}).events()
        self.assertEqual(events[-1], ("report", report))

    def test_pictures_that_are_none(self):
        def ask(body, query="", kind="image/png"):
            return self.server.ask("POST", f"/api/v1/image{query}", body, {"Content-Type": kind})

        for body in (b"", png()[:60], b"GIF89a" + bytes(100)):
            self.refuse(ask(body), 422, "bad_input")
        self.refuse(ask(png(), kind="image/svg+xml"), 415, "unsupported_media_type", "image/png or image/jpeg")
        self.refuse(ask(png(), "?model=agreement"), 422, "unsupported_model", "image", "agreement")
        self.refuse(ask(png(), "?output_token=99,99"), 400, "bad_request", "output_token")

    def test_generate(self):
        ask = {"prompt": "The author", "tokens": 6, "model": LLAMA.name, "method": "raw,rollout,flow"}
        # The default is what can be shown while the model runs, even where the command's default is relevance.
        self.assertEqual(self.server.post("generate", ask).json()["settings"]["mixing"], "alti")
        ask["mixing"] = "attention"
        answer = self.server.post("generate", ask)
        options = ("-n", 6, "--json", "--method", "raw,rollout,flow", "--mixing", "attention")
        printed = run_program("generate", "The author", "--model", LLAMA, *options)
        self.assertEqual(answer.body, printed)
        report = answer.json()
        streamed = self.server.post("generate", ask, accept="*/*")
        self.assertEqual(streamed.headers["Content-Type"], "text/event-stream")
        events = streamed.events()
        self.assertEqual(events[0], ("queued", {"position": 0}))
        self.assertEqual(events[-1], ("report", report))
        pieces = [data for name, data in events if name == "token"]
        self.assertEqual([piece["index"] for piece in pieces], list(range(len(pieces))))
        self.assertEqual("".join(piece["text"] for piece in pieces), report["generation"]["text"])
        self.assertGreater(len(pieces), 1)

    def test_generate_says_what_each_token_drew_on_as_it_comes(self):
        for more in ({}, {"generated_columns": True}, {"layers": [1, 2], "words": True}, {"mask_columns": "first"}):
            ask = {"prompt": "The author of the book", "tokens": 20, "ignore_end": True, "model": LLAMA.name} | more
            events = self.server.post("generate", ask, accept="text/event-stream").events()
            names = [name for name, _ in events if name != "progress"]
            self.assertEqual(names, ["queued", "prompt", *["token"] * 20, "report"])
            prompt = next(data for name, data in events if name == "prompt")
            tokens = [data for name, data in events if name == "token"]
            report = events[-1][1]
            self.assertEqual(prompt["model"], report["model"])
            self.assertEqual(prompt["text"], report["input"]["text"])
            self.assertEqual(prompt["tokens"], report["input"]["tokens"])
            # Over contributions, the last layer is shown.
            self.assertEqual(prompt["layers"], report["settings"]["layers"][-1:])
            self.assertEqual("".join(token["text"] for token in tokens), report["generation"]["text"])
            rollout = values_of(report["arrays"]["rollout"])
            for t, (token, said) in enumerate(zip(tokens, report["generation"]["tokens"], strict=True)):
                self.assertEqual((token["index"], token["piece"], token["special"]), (t, said["text"], said["special"]))
                self.assertEqual(token["choices"], said["choices"])
                self.assert_near([token["probability"]], [said["probability"]])
                self.assert_near(token["rollout"], rollout[t])
                if "generated_columns" in more:
                    generated = values_of(report["arrays"]["rollout_generated"])
                    self.assert_near(token.get("rollout_generated", []), generated[t][:t])
                else:
                    self.assertNotIn("rollout_generated", token)

    def test_a_generation_is_ended_early_with_the_tokens_so_far(self):
        self.assertEqual(self.server.post("stop", {"stop_id": "nobody"}).json(), {"stopped": False})
        self.refuse(self.server.post("stop", {}), 400, "bad_request", "stop_id")
        ask = {"prompt": "The author", "tokens": 4096, "model": LLAMA.name, "method": "raw", "ignore_end": True, "stop_id": "mine"}  # fmt: skip
        with concurrent.futures.ThreadPoolExecutor() as pool:
            answer = pool.submit(self.server.post, "generate", ask, accept="text/event-stream")
            while not self.server.post("stop", {"stop_id": "mine"}).json()["stopped"]:
                self.assertFalse(answer.done(), "it was over before it was stopped")
        name, report = answer.result().events()[-1]
        if name == "error":  # before the first token
            self.assertEqual(report["error"]["kind"], "stopped")
        else:
            self.assertEqual(report["generation"]["stopped"], "interrupted")

    def assert_near(self, found, expected):
        """Equal to the four digits that events have."""
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected, strict=True):
            self.assertLessEqual(abs(one - other), 1e-3 * abs(other), (one, other))

    def test_files_that_shrink_under_the_server(self):
        """Another program rewrites a model's file in place: loaded models keep working, others report it."""
        with tempfile.TemporaryDirectory() as folder:
            loaded = Path(folder) / "loaded.gguf"
            torch = Path(folder) / "torch"
            later = Path(folder) / "later.gguf"
            shutil.copy(GGUF, loaded)
            shutil.copy(GGUF, later)
            shutil.copytree(LLAMA, torch)
            server = Server("--model", loaded, "--model", torch, "--model", later)
            try:
                names = [model["name"] for model in server.get("/api/v1/models").json()["models"]]
                loaded_name, torch_name, later_name = [n for n in names if n not in ("agreement", "fashion")]
                ask = {"text": "The author of the book", "method": "rollout"}
                before = {
                    name: server.post("explain", ask | {"model": name}).body for name in (loaded_name, torch_name)
                }
                for file in (loaded, torch / "model.safetensors", later):
                    os.truncate(file, 4096)
                for name, body in before.items():
                    self.assertEqual(server.post("explain", ask | {"model": name}).body, body)
                # Longer than before, so that every weight is read.
                longer = ask | {"text": "The author of the book " * 20, "model": loaded_name}
                self.assertEqual(server.post("explain", longer).status, 200)
                self.refuse(server.post("explain", ask | {"model": later_name}), 500, "internal", "failed to load")
                self.assertEqual(server.get("/api/v1/health").status, 200)
            finally:
                code, said = server.stop()
            self.assertEqual(code, 0)
            self.assertIn("later", said)

    def test_generate_with_a_gguf_file(self):
        answer = self.server.post("generate", {"prompt": "The author", "tokens": 4, "model": "llama", "seed": 3, "temperature": 1, "mixing": "relevance"})  # fmt: skip
        printed = run_program(
            *("generate", "The author", "--model", GGUF, "-n", 4, "--json", "--seed", 3, "--temperature", 1),
            *("--mixing", "relevance"),
        )
        self.assertEqual(json.loads(printed)["generation"], answer.json()["generation"])

    def test_one_generated_token_is_checked(self):
        """The existing tokens, given again: the same map, checked for only one of them, over any edges."""
        for edges in ({}, {"mixing": "attention"}):
            ask = {"prompt": "The author", "model": LLAMA.name, "method": "raw,rollout"} | edges
            whole = self.server.post("generate", ask | {"tokens": 4}).json()
            ids = [token["id"] for token in whole["generation"]["tokens"][:3]]
            one = self.server.post("generate", ask | {"tokens": 3, "begin_with": ids, "check_tokens": [2]}).json()
            tokens = one["generation"]["tokens"]
            self.assertEqual([token["id"] for token in tokens], ids)
            self.assertEqual(["check" in token for token in tokens], [False, False, True])
            check = tokens[2]["check"]
            self.assertEqual([of["method"] for of in check["maps"]], ["raw", "rollout"])
            self.assertNotIn("blank_out", one["arrays"])
            # If it is quick, it is included unasked; the result is the same.
            self.assertEqual(whole["generation"]["tokens"][2].get("check", check), check)
        self.refuse(
            self.server.post("generate", {"prompt": "a", "tokens": 2, "check_tokens": [2]}),
            *(400, "bad_request", "check_tokens: expected generated tokens from 0 to 1, found 2"),
        )

    def test_evaluate_another_output_token_says_so(self):
        ask = {"text": "The author", "model": LLAMA.name}
        for asked, differ in ({}, False), ({"output_token": 0}, True):
            notes = self.server.post("evaluate", ask | asked).json()["notes"]
            found = [note["values"]["values"] for note in notes if note["code"] == "positions-differ"]
            self.assertEqual(found, [0] if differ else [])

    def test_messages_name_models_and_no_path(self):
        answer = self.server.post("evaluate", {"text": "The author", "model": "fashion"})
        self.refuse(answer, 422, "unsupported_model", "fashion")
        self.assertNotIn("/", answer.message)

    def test_evaluate_a_classifier(self):
        ask = {"text": TEXT, "model": "agreement"}
        result = self.server.post("evaluate", ask).json()
        report = self.server.post("explain", ask).json()
        tokens = [token["text"] for token in report["input"]["tokens"]]
        self.assertEqual([token["text"] for token in result["input"]["tokens"]], tokens)
        self.assertEqual([score["name"] for score in result["scores"]], ["blank-out", "gradient"])
        best = report["predictions"][0]["choices"][0]
        self.assertEqual(result["target"]["label"], best["label"])
        self.assertAlmostEqual(result["target"]["probability"], best["probability"], delta=1e-5)
        for score in result["scores"]:
            self.assertEqual(len(score["values"]), len(tokens))
        # The command line's evaluation of one sample.
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "one.txt").write_text(TEXT + "\n")
            run_program(
                *("evaluate", "sentences", "one.txt", "--model", "agreement", "-o", "one.json", "--resamples", 1),
                cwd=folder,
            )
            cells = json.loads((Path(folder) / "one.json").read_text())["cells"]
        expected = {
            (c["score"], c["tokens"], c["method"], c["layer"]): c["mean"]
            for c in cells
            if c["formula"] == "spearman" and c["relevance"] == "row"
        }
        found = {(c["score"], c["tokens"], c["method"], c["layer"]): c["spearman"] for c in result["correlations"]}
        self.assertEqual(set(expected), set(found))
        for key, value in expected.items():
            if value is None:
                self.assertIsNone(found[key], key)
            else:
                self.assertAlmostEqual(found[key], value, delta=1e-12, msg=key)
        events = self.server.post("evaluate", ask, accept="text/event-stream").events()
        self.assertEqual(events[-1], ("result", result))

    def test_evaluate_a_masked_model(self):
        ask = {"text": MASKED_TEXT, "model": MASKED.name}
        result = self.server.post("evaluate", ask).json()
        [score] = result["scores"]
        self.assertEqual((score["name"], result["blank"]), ("blank-out", "[UNK]"))
        # One of the scores by hand: the probability of the same word with "key" blanked.
        likeliest = result["target"]["label"]
        blanked = self.server.post("explain", ask | {"blank": [2], "top_k": 1000, "method": "raw"}).json()
        # Pieces of different spelling may look the same. Texts with a blank run in batches, whose float32 logits may
        # round otherwise than those of one text.
        changes = [
            abs(result["target"]["probability"] - choice["probability"])
            for choice in blanked["predictions"][0]["choices"]
            if choice["label"] == likeliest
        ]
        self.assertLess(min(abs(change - score["values"][2]) for change in changes), 1e-6)
        self.refuse(self.server.post("evaluate", ask | {"text": "the key"}), 400, "bad_request", "mask token")

    def test_evaluate_a_decoder(self):
        result = self.server.post("evaluate", {"text": "The author", "model": LLAMA.name}).json()
        [score] = result["scores"]
        self.assertEqual((score["name"], result["blank"]), ("gradient", ""))
        self.assertTrue(all(value >= 0 for value in score["values"]))

    def test_models_that_are_not_there(self):
        for name in ("nothing", "../agreement", "/etc/passwd", str(MASKED), "agreement/", "./agreement", "agreement\0"):
            answer = self.server.post("explain", {"text": TEXT, "model": name})
            self.refuse(answer, 404, "unknown_model", "agreement")
        self.refuse(
            self.server.post("explain", {"text": TEXT, "model": "fashion"}), 422, "unsupported_model", "fashion"
        )
        self.refuse(self.server.post("generate", {"prompt": TEXT, "model": "agreement"}), 422, "unsupported_model")
        answer = self.server.ask("POST", "/api/v1/image?model=..%2F..%2Fetc", png(), {"Content-Type": "image/png"})
        self.refuse(answer, 404, "unknown_model")

    def test_inputs_that_do_not_fit(self):
        for ask, status, *expected in (
            ({"text": "the " * 600, "model": "agreement"}, 422, "input_too_long", "truncate"),
            ({"text": "", "model": "agreement"}, 400, "bad_request", "text"),
            ({"text": TEXT, "model": "agreement", "layers": [99]}, 400, "bad_request", "layers"),
        ):
            self.refuse(self.server.post("explain", ask), status, *expected)
        self.refuse(self.server.post("generate", {"prompt": "a", "tokens": 0}), 400, "bad_request", "tokens")

    def test_paths_and_methods(self):
        for path in ("/x", "/api", "/api/v1", "/api/v1/", "/api/v2/models", "/api/v1/models/", "//", "/../etc/passwd"):
            self.refuse(self.server.get(path), 404, "not_found")
        self.assertEqual(self.server.get("/?a=b").status, 200)
        answer = self.server.get("/api/v1/explain")
        self.refuse(answer, 405, "wrong_method", "POST")
        self.assertEqual(answer.headers["Allow"], "POST")
        answer = self.server.ask("DELETE", "/api/v1/models")
        self.refuse(answer, 405, "wrong_method")
        self.assertEqual(answer.headers["Allow"], "GET, HEAD")
        self.refuse(self.server.ask("OPTIONS", "/api/v1/explain"), 405, "wrong_method")
        self.assertNotIn("Access-Control-Allow-Origin", answer.headers)


if __name__ == "__main__":
    unittest.main()
