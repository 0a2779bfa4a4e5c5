"""`attnflow image` and `attnflow evaluate image`: pictures, picture models, maps."""

import csv
import json
import shutil
import struct
import unittest
import zlib

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

    def test_views_patches_and_columns_set_aside(self):
        model = self.model("dinov2_registers")
        for view in ("overview", "overlay", "layers"):
            for shown in ("smooth", "patches"):
                words = ["--view", view, "--map", shown, "--tone", "color", "-o", f"{view}-{shown}.svg"]
                self.image(*words, "--output-token", "1,2", model=model)
                self.assertIn("patch in row 2, column 3", (self.folder / f"{view}-{shown}.svg").read_text())
        self.image("--mask-columns", "registers", "-o", "registers.npz", model=model)
        made = np.load(self.folder / "registers.npz")
        np.testing.assert_array_equal(made["raw"][:, :, 1:4], 0.0)
        np.testing.assert_allclose(made["raw"].sum(axis=-1), 1.0, atol=1e-12)
        self.assertGreater(made["raw"][:, :, 0].min(), 0.0)
        self.image("--mask-columns", "special", "-o", "special.npz", model=model)
        self.assertEqual(np.load(self.folder / "special.npz")["raw"][:, :, :4].max(), 0.0)
        self.image("--discard", "0.5", "--discard-keep-special", "-o", "discard.npz", model=model)
        kept = np.load(self.folder / "discard.npz")["raw"]
        self.assertGreater(kept[:, :, :4].min(), 0.0)
        np.testing.assert_allclose(kept.sum(axis=-1), 1.0, atol=1e-12)

    def test_gradients_follow_the_class(self):
        model = self.model("vit_classification")
        labels = list(json.loads((self.folder / "vit_classification" / "config.json").read_text())["id2label"].values())
        maps = []
        for label in labels[:2]:
            self.image("--mixing", "gradient", "--target", label, "-o", "a.npz", "-o", "a.json", model=model)
            self.assertEqual(json.loads((self.folder / "a.json").read_text())["target"]["label"], label)
            maps.append(np.load(self.folder / "a.npz")["rollout"])
            self.assertTrue(np.all(maps[-1] >= 0.0))
            # R = (I + G_L) ... (I + G_1): at least the identity.
            self.assertTrue(np.all(np.einsum("lii->li", maps[-1]) >= 1.0))
        self.assertGreater(np.abs(maps[0] - maps[1]).max(), 0.0)

    def test_bad_input(self):
        model = self.model("vit_classification")
        text = self.folder / "text.png"
        text.write_text("no picture")
        self.refuse(BAD_FILE, ["text.png", "PNG, JPEG or WebP"], "image", text, "--model", model)
        cut = self.folder / "cut.png"
        cut.write_bytes(self.picture.read_bytes()[:-400])
        self.refuse(BAD_FILE, ["cut.png"], "image", cut, "--model", model)
        big = self.folder / "big.png"
        data = bytearray(png(self.pixels))
        data[16:24] = struct.pack(">II", 60000, 60000)
        data[29:33] = struct.pack(">I", zlib.crc32(bytes(data[12:29])))
        big.write_bytes(data)
        self.refuse(BAD_FILE, ["big.png", "60000"], "image", big, "--model", model)
        self.refuse(BAD_FILE, ["nowhere.png"], "image", self.folder / "nowhere.png", "--model", model)
        self.refuse(USAGE, ["agreement", "attnflow explain"], "image", self.picture, "--model", "agreement")
        self.refuse(USAGE, ["attnflow image"], "explain", "a text", "--model", model)
        (self.folder / "vit_classification" / "preprocessor_config.json").unlink()
        self.refuse(BAD_FILE, ["preprocessor_config.json"], "image", self.picture, "--model", model)
        model = self.model("deit_teacher")
        refused = [
            (["--words"], ["--words"]),
            (["--view", "graph", "-o", "a.svg"], ["--view", "graph"]),
            (["--map", "round"], ["--map", "round"]),
            (["--opacity", "2"], ["--opacity"]),
            (["--output-token", "9,9"], ["9,9"]),
            (["--mask-columns", "registers"], ["registers"]),
            (["-o", "a.jpg"], ["a.jpg"]),
        ]
        for options, words in refused:
            with self.subTest(options):
                self.refuse(USAGE, words, "image", self.picture, "--model", model, *options)

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
        self.assertEqual(made["pictures"]["scored"], 6)
        self.assertEqual(made["pictures"]["with_label"], 6)
        mixings = ("attention", "gradient", "relevance")
        self.assertEqual(
            [(curve["method"], curve["mixing"]) for curve in made["curves"]],
            [(method, mixing) for mixing in mixings for method in ("raw", "rollout", "flow")]
            + [("attnlrp", None), ("blank-out", None), ("random", None)],
        )
        for curve in made["curves"]:
            compared = (curve["method"], curve["mixing"]) not in (("rollout", "gradient"), ("random", None))
            self.assertEqual("deletion_from_gradient" in curve, compared)
        x = np.array(made["removed"])
        for curve in made["curves"]:
            # The area of a mean is the mean of the areas; all curves have the same ends.
            for kind in ("deletion", "insertion"):
                y = np.array(curve[kind])
                area = np.sum((y[1:] + y[:-1]) / 2 * np.diff(x))
                self.assertAlmostEqual(area, curve[f"{kind}_area"]["mean"], places=9)
            self.assertAlmostEqual(curve["deletion"][0], curve["insertion"][-1], places=6)
            self.assertAlmostEqual(curve["deletion"][-1], curve["insertion"][0], places=6)
        table = (self.folder / "a.md").read_text()
        self.assertIn("| flow over gradient |", table)
        self.assertIn("| rollout over relevance |", table)
        self.assertIn("Difference from rollout over gradient", table)
        self.run_program(*words[:6], "--method", "rollout", "--mixing", "all", "-o", "all.json")
        found = json.loads((self.folder / "all.json").read_text())
        self.assertEqual(set(found["settings"]["mixing"]) & {"auto", "globenc"}, set())
        self.assertIn("globenc", found["impossible_mixings"])
        # The former names of these methods.
        for before, now in (("gradient-rollout", "rollout"), ("gradient-flow", "flow")):
            self.refuse(USAGE, [f"{before} is now {now} with --mixing gradient"], *words[:6], "--method", before)
        (self.folder / "wrong.tsv").write_text("p0.png\tno such class\n")
        self.refuse(BAD_FILE, ["line 1", "no such class"], *words[:4], "--data", "wrong.tsv")
        self.refuse(USAGE, ["--method", "saliency"], *words[:6], "--method", "saliency")

    def numeral_labels(self, names):
        """A model whose class names are numbers that differ from the class indices."""
        folder = self.model("vit_classification")
        path = self.folder / "vit_classification" / "config.json"
        config = json.loads(path.read_text())
        config["id2label"] = {str(index): name for index, name in enumerate(names)}
        config["label2id"] = {name: index for index, name in enumerate(names)}
        path.write_text(json.dumps(config))
        return folder

    def test_labels_that_are_numerals(self):
        model = self.numeral_labels(["2", "0", "7"])

        def curves(*labels):
            (self.folder / "list.tsv").write_text("".join(f"picture.png\t{label}\n" for label in labels))
            words = ["evaluate", "image", "--model", model, "--data", "list.tsv", "--resamples", 50]
            words += ["--method", "rollout", "--mixing", "attention,gradient", "--class", "own"]
            self.run_program(*words, "-o", "a.json")
            return json.loads((self.folder / "a.json").read_text())

        # A class's name takes precedence over its index: "2" is class 0, "0" is class 1; "1" names no class and is
        # class 1.
        made = {label: curves(label) for label in ("2", "0", "7", "1", "id:0", "id:1", "id:2")}
        for name, number in (("2", "id:0"), ("0", "id:1"), ("1", "id:1"), ("7", "id:2")):
            self.assertEqual(made[name], made[number])
        probability = {label: one["pictures"]["probability"] for label, one in made.items()}
        self.assertAlmostEqual(sum(probability[f"id:{index}"] for index in range(3)), 1.0, places=6)
        self.assertEqual(len(set(probability.values())), 3)
        # The gradient is that of the class that is scored, not of the one whose index equals its name.
        self.image("--mixing", "gradient", "--target", "2", "-o", "named.json", "-o", "named.npz", model=model)
        report = json.loads((self.folder / "named.json").read_text())
        self.assertEqual((report["target"]["index"], report["target"]["label"]), (0, "2"))
        self.image("--mixing", "gradient", "--target", "id:2", "-o", "numbered.json", model=model)
        report = json.loads((self.folder / "numbered.json").read_text())
        self.assertEqual((report["target"]["index"], report["target"]["label"]), (2, "7"))
        for wrong in ("3", "id:3", "id:", "id:1x", "-1"):
            (self.folder / "list.tsv").write_text(f"picture.png\t{wrong}\n")
            self.refuse(
                BAD_FILE,
                ["line 1", f"'{wrong}'", "id:N"],
                *("evaluate", "image", "--model", model, "--data", "list.tsv"),
            )


if __name__ == "__main__":
    unittest.main()
