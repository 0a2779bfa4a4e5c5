"""Folders whose files contradict each other or contain more than is supported, and models stored elsewhere."""

import json
import os
import shutil
import unittest
from pathlib import Path

from support import BAD_FILE, MODELS, UNSUPPORTED, CommandTest

DECODERS = MODELS.parent / "decoders"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class ModelFolderTest(CommandTest):
    process = True  # HF_HUB_CACHE is read from the environment

    def setUp(self):
        super().setUp()
        cache = self.folder / "hub"
        before = os.environ.get("HF_HUB_CACHE")
        os.environ["HF_HUB_CACHE"] = str(cache)
        self.addCleanup(os.environ.pop, "HF_HUB_CACHE", None)
        if before is not None:
            self.addCleanup(os.environ.__setitem__, "HF_HUB_CACHE", before)
        self.cache = cache

    def copy_of(self, name, folder="model", models=MODELS) -> Path:
        return Path(shutil.copytree(models / name, self.folder / folder))

    def change(self, file, **settings):
        content = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps(content | settings))


class HoldsTogether(ModelFolderTest):
    def test_more_layers_than_the_config_says(self):
        model = self.copy_of("bert_masked_lm")
        whole = json.loads(self.run_program("explain", "the key", "--model", model, "--json").stdout)
        self.change(model / "config.json", num_hidden_layers=1)
        words = ["bert.encoder.layer.1.", "--allow-unused-weights", "1 layers"]
        for command in (["explain", "the key", "--model"], ["model"]):
            self.refuse(BAD_FILE, words, *command, model)
            self.run_program(*command, model, "--allow-unused-weights")
        cut = self.run_program("explain", "the key", "--model", model, "--json", "--allow-unused-weights").stdout
        self.assertEqual(json.loads(cut)["model"]["layers"], whole["model"]["layers"] - 1)

    def test_an_adapter(self):
        model = self.copy_of("bert_masked_lm")
        (model / "adapter_config.json").write_text('{"base_model_name_or_path": "org/base"}')
        for command in (["explain", "the key", "-o", "r.json", "--model"], ["model"]):
            done = self.run_program(*command, model)
            self.assertIn("not applied", done.stderr)
            self.assertIn('"org/base"', done.stderr)
        (model / "config.json").unlink()
        self.refuse(BAD_FILE, ["adapter without its model", '"org/base"'], "explain", "the key", "--model", model)

    def test_a_decoder_without_its_head(self):
        model = self.copy_of("qwen2_window", models=DECODERS)
        words = ["explain", "the key", "--model", model, "--mixing", "attention", "--json"]
        whole = json.loads(self.run_program(*words).stdout)
        self.assertEqual(whole["predictions"][0]["kind"], "next")
        # The weights' header with the head renamed: as if it were missing.
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes().replace(b'"lm_head.weight"', b'"xx_head.weight"'))
        self.change(model / "config.json", tie_word_embeddings=False)
        self.refuse(BAD_FILE, ["missing", "lm_head.weight"], "explain", "the key", "--model", model)
        self.change(model / "config.json", architectures=["Qwen2Model"])
        base = json.loads(self.run_program(*words).stdout)
        self.assertEqual(base["arrays"], whole["arrays"])
        self.assertEqual(base.get("predictions", []), [])
        for more in (["--only-output-token", "--method", "rollout"], ["--keep-attention"]):
            self.run_program("explain", "the key", "--model", model, "--json", *more)
        self.refuse(UNSUPPORTED, ["lm_head.weight"], "generate", "the key", "--model", model)


class LiesElsewhere(ModelFolderTest):
    def fetch(self, name):
        folder = self.cache / f"models--{name.replace('/', '--')}"
        shutil.copytree(MODELS / "bert_masked_lm", folder / "snapshots" / COMMIT)
        (folder / "refs").mkdir()
        (folder / "refs" / "main").write_text(COMMIT)
        return folder

    def test_the_hub_cache(self):
        folder = self.fetch("org/name")
        for reference in ("org/name", folder, folder / "snapshots" / COMMIT):
            report = json.loads(self.run_program("explain", "the key", "--model", reference, "--json").stdout)
            self.assertEqual(report["model"]["name"], "org/name")

    def test_a_name_that_is_nowhere(self):
        for name in ("bert-base-uncased", "org/name"):
            words = ["nothing of that name", "does not download", f"hf download {name}", str(self.cache)]
            self.refuse(BAD_FILE, words, "explain", "the key", "--model", name)


if __name__ == "__main__":
    unittest.main()
