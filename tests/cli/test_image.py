"""`attnflow image` and `attnflow evaluate image`: pictures, picture models, maps."""

import csv
import json
import shutil
import unittest

import numpy as np
from support import BAD_FILE, ROOT, USAGE, CommandTest, png

from reference.attention_graph import AttentionGraph

VISION = ROOT / "tests" / "golden" / "vision"
KINDS = ("png", "svg", "pdf", "html", "json", "csv", "npz", "safetensors", "md", "txt")


class ImageTest(CommandTest):
    def setUp(self):
        super().setUp()
        random = np.random.default_rng(7)
        self.pixels = random.integers(0, 256, (33, 47, 3), dtype=np.uint8)
        self.picture = self.folder / "picture.png"
        self.picture.write_bytes(png(self.pixels))

    def model(self, name):
        """A golden model with a preprocessor_config.json of its own size."""
        folder = self.folder / name
        shutil.copytree(VISION / name, folder)
        config = json.loads((folder / "config.json").read_text())
        size, channels = config["image_size"], config["num_channels"]
        height, width = (size, size) if isinstance(size, int) else size
        processor = {
            "image_processor_type": "ViTImageProcessor",
            "size": {"height": height, "width": width},
            "resample": 2,
            "image_mean": [0.5] * channels,
            "image_std": [0.25] * channels,
        }
        (folder / "preprocessor_config.json").write_text(json.dumps(processor))
        return str(folder)

    def image(self, *arguments, model, code=0):
        return self.run_program("image", self.picture, "--model", model, *arguments, code=code)

    def test_rollout_is_that_of_numpy(self):
        for name in ("vit_classification", "deit_teacher", "dinov2_registers"):
            with self.subTest(name):
                model = self.model(name)
                self.image("--keep-attention", "--residual", "0.4", "-o", "a.npz", "-o", "a.json", model=model)
                made = np.load(self.folder / "a.npz")
                n = made["attention"].shape[-1]
                graph = AttentionGraph(made["attention"], residual=0.4)
                np.testing.assert_allclose(made["rollout"], graph.rollout(), atol=1e-12)
                np.testing.assert_allclose(made["raw"], graph.weights, atol=1e-12)
                report = json.loads((self.folder / "a.json").read_text())
                image = report["input"]["image"]
                self.assertEqual((image["width"], image["height"]), (47, 33))
                self.assertEqual(n, image["first_patch"] + image["rows"] * image["columns"])
                self.assertEqual(image["seen"], [0.0, 0.0, 47.0, 33.0])
                roles = [token["role"] for token in report["input"]["tokens"]]
                self.assertEqual(roles.count("patch"), image["rows"] * image["columns"])
                self.assertEqual(roles[image["first_patch"] :], ["patch"] * roles.count("patch"))
                leading = {"vit": ["class"], "deit": ["class", "distillation"]}
                expected = leading.get(name.split("_")[0], ["class", "register", "register", "register"])
                self.assertEqual(roles[: image["first_patch"]], expected)
                patch = report["input"]["tokens"][image["first_patch"] + image["columns"] + 2]
                self.assertEqual(patch["text"], "1,2")
                total = sum(choice["probability"] for choice in report["predictions"][0]["choices"])
                self.assertAlmostEqual(total, 1.0, places=6)

    def test_every_kind_of_file_and_the_same_again(self):
        model = self.model("dinov2_registers")
        files = [word for kind in KINDS for word in ("-o", f"a.{kind}")]
        self.image(*files, model=model)
        again = [word for kind in KINDS for word in ("-o", f"b.{kind}")]
        self.image(*again, "--threads", 1, model=model)
        for kind in KINDS:
            first, second = ((self.folder / f"{name}.{kind}").read_bytes() for name in "ab")
            self.assertGreater(len(first), 100, kind)
            self.assertEqual(first, second, kind)
        with open(self.folder / "a.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertTrue({"0,1", "[CLS]", "[REG 1]"} <= {row["input_text"] for row in rows}, rows[0])

    def test_views_of_a_patch(self):
        model = self.model("dinov2_registers")
        for view in ("overview", "overlay", "layers"):
            words = ["--view", view, "--map", "smooth", "--tone", "color", "-o", f"{view}.svg"]
            self.image(*words, "--output-token", "1,2", model=model)
            self.assertIn("patch in row 2, column 3", (self.folder / f"{view}.svg").read_text())

    def test_bad_input(self):
        model = self.model("vit_classification")
        image = ("image", self.picture, "--model")
        (self.folder / "text.png").write_text("no picture")
        self.refuse(BAD_FILE, ["text.png", "PNG, JPEG or WebP"], "image", "text.png", "--model", model)
        self.refuse(USAGE, ["agreement", "attnflow explain"], *image, "agreement")
        for words, options in (
            (["--words"], ["--words"]),
            (["--view", "graph"], ["--view", "graph", "-o", "a.svg"]),
            (["--map", "round"], ["--map", "round"]),
            (["--opacity"], ["--opacity", "2"]),
            (["9,9"], ["--output-token", "9,9"]),
            (["registers"], ["--mask-columns", "registers"]),
            (["a.jpg"], ["-o", "a.jpg"]),
        ):
            with self.subTest(options):
                self.refuse(USAGE, words, *image, model, *options)
        (self.folder / "vit_classification" / "preprocessor_config.json").unlink()
        self.refuse(BAD_FILE, ["preprocessor_config.json"], *image, model)

    def test_curves(self):
        model = self.model("vit_classification")
        random = np.random.default_rng(3)
        lines = []
        for i in range(6):
            name = f"p{i}.png"
            (self.folder / name).write_bytes(png(random.integers(0, 256, (20, 20, 3), dtype=np.uint8)))
            lines.append(f"{name}\t{i % 2}")
        (self.folder / "list.tsv").write_text("\n".join(lines) + "\n")
        words = ["evaluate", "image", "--model", model, "--data", "list.tsv", "--resamples", 200]
        words += ["--method", "raw,rollout,flow,attnlrp,blank-out", "--mixing", "attention,gradient,relevance"]
        self.run_program(*words, "-o", "a.json", "-o", "a.csv", "-o", "a.md")
        self.run_program(*words, "--threads", 1, "-o", "b.json")
        self.assertEqual((self.folder / "a.json").read_bytes(), (self.folder / "b.json").read_bytes())
        made = json.loads((self.folder / "a.json").read_text())
        self.assertEqual((made["pictures"]["scored"], made["pictures"]["with_label"]), (6, 6))
        mixings = ("attention", "gradient", "relevance")
        self.assertEqual(
            [(curve["method"], curve["mixing"]) for curve in made["curves"]],
            [(method, mixing) for mixing in mixings for method in ("raw", "rollout", "flow")]
            + [("attnlrp", None), ("blank-out", None), ("random", None)],
        )
        x = np.array(made["removed"])
        for curve in made["curves"]:
            # The area of a mean is the mean of the areas.
            for kind in ("deletion", "insertion"):
                y = np.array(curve[kind])
                area = np.sum((y[1:] + y[:-1]) / 2 * np.diff(x))
                self.assertAlmostEqual(area, curve[f"{kind}_area"]["mean"], places=9)
        self.assertIn("| flow over gradient |", (self.folder / "a.md").read_text())
        # The former names of these methods.
        for before, now in (("gradient-rollout", "rollout"), ("gradient-flow", "flow")):
            self.refuse(USAGE, [f"{before} is now {now} with --mixing gradient"], *words[:6], "--method", before)
        (self.folder / "wrong.tsv").write_text("p0.png\tno such class\n")
        self.refuse(BAD_FILE, ["line 1", "no such class"], *words[:4], "--data", "wrong.tsv")
        self.refuse(USAGE, ["--method", "saliency"], *words[:6], "--method", "saliency")


if __name__ == "__main__":
    unittest.main()
