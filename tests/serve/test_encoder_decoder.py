"""An encoder-decoder in the server: what the command gives, and what is refused."""

import json
import unittest

from support import MODELS, ServerTest, run_program

T5 = MODELS.parent / "encoder_decoders" / "t5_tied"
SOURCE = "the key to the cabinets"


class EncoderDecoderTest(ServerTest):
    ARGUMENTS = ("--model", T5)

    def test_explain_answers_what_the_command_prints(self):
        for target, options in (("they are", []), ("", ["--mixing", "attention"])):
            with self.subTest(target):
                fields = {"mixing": options[1]} if options else {}
                ask = {"text": SOURCE, "target_text": target, "model": T5.name} | fields
                answer = self.server.post("explain", ask)
                self.assertEqual(answer.status, 200, answer.body[:500])
                printed = run_program(
                    "explain", SOURCE, "--model", T5, "--target-text", target, "--json", "--check", "auto", *options
                )
                self.assertEqual(answer.body, printed)

    def test_refusals_name_the_field(self):
        ask = {"text": SOURCE, "model": T5.name}
        for missing in ({}, {"target_text": None}):
            answer = self.server.post("explain", ask | missing)
            self.refuse(answer, 400, "bad_request", "target_text: expected the text that the decoder")
        self.refuse(
            self.server.post("explain", {"text": SOURCE, "model": "agreement", "target_text": "they"}),
            *(400, "bad_request", "target_text is for encoder-decoders only"),
        )
        self.refuse(self.server.post("explain", ask | {"target_text": 3}), 400, "bad_request", "target_text")
        self.refuse(self.server.post("evaluate", ask), 422, "unsupported_model", "an encoder-decoder (t5)")

    def test_the_table_of_models_says_which_takes_a_target(self):
        models = {one["name"]: one for one in self.server.get("/api/v1/models").json()["models"]}
        self.assertTrue(models[T5.name]["takes_target"])
        self.assertFalse(models["agreement"]["takes_target"])
        self.assertIn("attnlrp", models[T5.name]["methods"])
        self.assertIn("alti-logit", models[T5.name]["methods"])
        self.assertIn("alti", models[T5.name]["mixings"])
        self.assertNotIn("globenc", models[T5.name]["mixings"])  # its norms come before its blocks

    def test_a_generated_token_is_checked(self):
        ask = {"prompt": SOURCE, "model": T5.name, "method": "raw,rollout", "mixing": "attention"}
        whole = self.server.post("generate", ask | {"tokens": 3}).json()
        ids = [token["id"] for token in whole["generation"]["tokens"]]
        again = ask | {"tokens": 3, "begin_with": ids, "check_tokens": [2]}
        answer = self.server.post("generate", again)
        self.assertEqual(answer.status, 200, answer.body[:500])
        tokens = json.loads(answer.body)["generation"]["tokens"]
        self.assertEqual([token["id"] for token in tokens], ids)
        self.assertEqual(["check" in token for token in tokens], [False, False, True])
        check = tokens[2]["check"]
        self.assertEqual([one["method"] for one in check["maps"]], ["raw", "rollout"])
        # The source's tokens are replaced.
        self.assertTrue(check["tokens"])
        source = sum(token["segment"] == 0 for token in whole["input"]["tokens"])
        self.assertTrue(all(one["token"] < source for one in check["tokens"]))


if __name__ == "__main__":
    unittest.main()
