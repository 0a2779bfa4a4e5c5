"""Files and streams that conflict: outputs over inputs, messages that cannot be written, pipes and devices in place of
files, bytes that are not text."""

import os
import shutil
import signal
import socket
import subprocess
import time
import unittest

import numpy as np
from support import BAD_FILE, MODELS, OTHER, PROGRAM, ROOT, USAGE, CommandTest, png, random_attention

BERT = "bert_masked_lm"
CLASSIFIER = "bert_classification"
GGUF = ROOT / "tests" / "golden" / "gguf" / "llama.gguf"
TRAIN = os.environ.get("ATTNFLOW_TRAIN", str(ROOT / "build" / "release" / "bin" / "attnflow-train"))


class OutputsOverInputs(CommandTest):
    def refuse_output(self, output, *command, words=("different from the inputs",)):
        """The command is refused, and no file has changed."""
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.refuse(USAGE, [*words], *command, "-o", output)
        after = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.assertEqual(before, after)

    def names_of(self, path):
        """Ways to refer to a file: ./, through a folder, a link, a link to its folder, a hard link."""
        path = path.relative_to(self.folder)
        ways = self.folder / "ways"
        ways.mkdir(exist_ok=True)
        names = [str(path), f"./{path}", f"ways/../{path}", self.folder / path]
        for name in (f"link{path.suffix}", f"hard{path.suffix}"):
            (ways / name).unlink(missing_ok=True)
        (ways / f"link{path.suffix}").symlink_to(os.path.join("..", path))
        os.link(self.folder / path, ways / f"hard{path.suffix}")
        return [*names, f"ways/link{path.suffix}", f"ways/hard{path.suffix}"]

    def test_every_input(self):
        """One name of each; all the ways to refer to a file are tested with the attention file."""
        model = self.copy_model(BERT)
        (model / "README.md").write_text("licence")
        (self.folder / "p.png").write_bytes(png(np.zeros((28, 28, 3), np.uint8)))
        (self.folder / "d.csv").write_text("text,label\nthe key,0\na key,1\n")
        (self.folder / "e.csv").write_text("prefix,good,bad,evidence\nThe author,is,are,author\n")
        # An output's name has another extension; a link may have any name.
        shutil.copy(GGUF, self.folder / "model.gguf")
        (self.folder / "out.json").symlink_to("model.gguf")
        classifier = ("--model", MODELS / CLASSIFIER)
        for output, *command in (
            *((model / file, "explain", "the [MASK]", "--model", model) for file in ("config.json", "README.md")),
            ("out.json", "explain", "the key", "--model", "model.gguf", "--threads", 1),
            ("./p.png", "image", "p.png"),
            ("d.csv", "evaluate", "sentences", "d.csv", *classifier),
            ("d.csv", "evaluate", "sentiment", "--data", "d.csv", *classifier, "--targets", "logit:predicted"),
            ("e.csv", "evaluate", "evidence", "--model", GGUF, "--data", "e.csv", "--threads", 1),
        ):
            with self.subTest(command):
                self.refuse_output(output, *command)
        # Other files of the folder are not inputs.
        for _ in range(2):
            self.run_program("explain", "the [MASK]", "--model", model, "-o", model / "out.json")

    def test_the_attention_file_and_force(self):
        for name in ("a.npz", "a.safetensors"):
            path = self.save_attention(random_attention(), "a.npz")
            if name != "a.npz":
                self.run_program("explain", "--attention", path, "--keep-attention", "-o", name)
                path.unlink()
            command = ("explain", "--attention", name)
            for other in self.names_of(self.folder / name):
                with self.subTest(other):
                    self.refuse_output(other, *command)
            before = (self.folder / name).read_bytes()
            self.run_program(*command, "-o", f"./{name}", "--keep-attention", "--force", "--method", "raw")
            self.assertNotEqual((self.folder / name).read_bytes(), before)
            # The file that replaced it can be read again.
            self.run_program(*command)

    def test_two_outputs_are_two_files(self):
        attention = self.save_attention(random_attention())
        for force in ([], ["--force"]):
            command = ("explain", "--attention", attention, "-o", "t.html", *force)
            self.refuse_output("./t.html", *command, words=("different files", "t.html"))

    @unittest.skipUnless(os.path.exists(TRAIN), "attnflow-train is not built")
    def test_prefixes_of_prose(self):
        prose = self.folder / "prose.tsv"
        prose.write_text("The keys to the cabinet are here.\n" * 20)
        self.program = TRAIN
        for name in self.names_of(prose):
            with self.subTest(name):
                self.refuse_output(name, "prefixes", "--prose", prose)


class Streams(CommandTest):
    process = True

    def test_later_output_of_other_commands_comes_after_the_report(self):
        attention = self.save_attention(random_attention())
        command = ["explain", "--attention", attention, "-o", "-.csv"]
        report = self.run_program(*command).stdout
        with (self.folder / "shared.csv").open("w") as shared:
            subprocess.run([PROGRAM, *map(str, command)], stdout=shared, stderr=subprocess.DEVNULL, check=True)
            subprocess.run(["echo", "next"], stdout=shared, check=True)
        self.assertEqual((self.folder / "shared.csv").read_text(), report + "next\n")

    def run_shell(self, command, code):
        """Runs `command` in a shell, with $A for the program; returns what reaches descriptors 1 and 2."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            capture_output=True,
            env={**os.environ, "A": PROGRAM, "T": TRAIN},
            timeout=60,
            check=False,
        )
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def test_messages_that_cannot_be_written_change_nothing_else(self):
        self.save_attention(random_attention(), "a.npz")
        for lost in ("2>/dev/full", "2>&-", "2</dev/null"):
            with self.subTest(lost):
                self.run_shell(f"$A explain --attention a.npz -o out.json -o out.svg {lost}", 0)
                for name in ("out.json", "out.svg"):
                    content = (self.folder / name).read_bytes()
                    self.assertNotIn(b"wrote", content)
                    self.assertTrue(content.rstrip().endswith((b"}", b"</svg>")))
                    (self.folder / name).unlink()
                self.run_shell(f"$A model {lost}", 0)
                self.run_shell(f"$A explain --no-such-option {lost}", USAGE)
                self.run_shell(f"$A explain --attention missing.npz {lost}", BAD_FILE)
                self.run_shell(f"$A serve --port x {lost}", USAGE)
                if os.path.exists(TRAIN):
                    self.run_shell(f"$T nothing {lost}", USAGE)
                    self.run_shell(f"$T prefixes --prose missing -o x.tsv {lost}", BAD_FILE)

    def test_closed_descriptors_are_not_given_to_files(self):
        self.save_attention(random_attention(), "a.npz")
        self.run_shell("$A explain --attention a.npz -o out.csv", 0)
        expected = (self.folder / "out.csv").read_bytes()
        for closed in ("<&-", "2>&-", "<&- 2>&-", "1>&- 2>&-", "<&- 1>&- 2>&-"):
            (self.folder / "out.csv").unlink()
            self.run_shell(f"$A explain --attention a.npz -o out.csv {closed}", 0)
            self.assertEqual((self.folder / "out.csv").read_bytes(), expected, closed)
        self.run_shell("$A explain - -o out.csv <&-", OTHER)

    def test_output_that_cannot_be_written_is_an_error(self):
        programs = ["$A", "$T"] if os.path.exists(TRAIN) else ["$A"]
        for program in programs:
            commands = ["--help", "--version"] + (
                ["explain --help", "model", "explain 'a key'"] if program == "$A" else []
            )
            for command in commands:
                for lost in (">/dev/full", ">&-"):
                    with self.subTest(command=command, lost=lost):
                        done = self.run_shell(f"{program} {command} {lost}", OTHER)
                        self.assertIn(b": standard output could not be written", done.stderr)

    def test_messages_are_text_whatever_they_quote(self):
        bad = b"\xff\xfe\x1b[31m"
        self.save_attention(random_attention(), "a.npz")
        commands = [
            [b"explain", b"--model", bad, b"x"],
            [b"explain", b"--view", bad, b"x"],
            [b"explain", b"x", b"--" + bad],
            [b"explain", b"x", b"--residual", bad],
            [b"explain", b"x", b"more", bad],
            [b"explain", b"--attention", bad + b".npz"],
            [b"explain", b"--attention", b"a.npz", b"-o", bad],
            [b"generate", b"x", b"--model", bad],
            [b"image", bad],
            [b"evaluate", bad],
            [b"model", bad],
            [b"serve", b"--port", bad],
            [bad],
        ]
        for command in commands:
            with self.subTest(command):
                done = subprocess.run([PROGRAM.encode(), *command], cwd=self.folder, capture_output=True, check=False)
                self.assertGreater(done.returncode, 0)
                message = done.stderr.decode()  # must be UTF-8
                self.assertNotIn("\x1b", message)
                self.assertIn(r"\xff\xfe\x1b[31m", message)
        name = bad + b".json"
        done = subprocess.run(
            [PROGRAM, "explain", "--attention", "a.npz", "-o", name], cwd=self.folder, capture_output=True, check=True
        )
        self.assertIn("wrote \\xff\\xfe\\x1b[31m.json\n", done.stderr.decode())
        self.assertTrue(os.path.exists(os.fsencode(self.folder) + b"/" + name))


class SpecialFiles(CommandTest):
    """Pipes without a writer wait forever, /dev/zero never ends: both are refused at once."""

    process = True

    def special(self, kind, path):
        path.unlink(missing_ok=True)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "zero":
            path.symlink_to("/dev/zero")
        elif kind == "socket":
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(os.path.relpath(path))
        else:
            path.mkdir()

    def refuse_at_once(self, words, *command, code=BAD_FILE):
        start = time.monotonic()
        self.refuse(code, words, *command)
        self.assertLess(time.monotonic() - start, 20)

    def each_kind(self, path):
        # Socket names are short: they are created from within the folder.
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)
        for kind, found in (("pipe", "a pipe"), ("zero", "a device"), ("socket", "a socket"), ("folder", "a folder")):
            if path.is_dir():
                path.rmdir()
            self.special(kind, path)
            with self.subTest(path=path.name, kind=kind):
                yield found

    def test_arrays(self):
        for ending in ("npy", "npz", "safetensors"):
            path = self.folder / f"a.{ending}"
            for found in self.each_kind(path):
                self.refuse_at_once([path.name, found], "explain", "--attention", path)

    def test_models_and_tables(self):
        model = self.copy_model(BERT)
        for path, *commands in (
            (self.folder / "m.gguf", ["model", "m.gguf"], ["explain", "a", "--model", "m.gguf", "--threads", 1]),
            (model / "vocab.txt", ["explain", "the [MASK]", "--model", model]),
            (self.folder / "d.csv", ["evaluate", "sentences", "d.csv", "--model", MODELS / CLASSIFIER]),
        ):
            for found in self.each_kind(path):
                for command in commands:
                    self.refuse_at_once([path.name, found], *command)

    def test_standard_input_stays(self):
        done = self.run_program("explain", "-", "--model", MODELS / BERT, "--json", stdin=b"the [MASK]\n")
        self.assertIn('"the [MASK]"', done.stdout)
        picture = self.folder / "p.png"
        picture.write_bytes(png(np.zeros((28, 28, 3), np.uint8)))
        with picture.open() as file:
            subprocess.run([PROGRAM, "image", "/dev/stdin"], stdin=file, capture_output=True, check=True)


class KilledRuns(CommandTest):
    def test_what_they_leave_is_removed_by_the_next(self):
        attention = self.save_attention(random_attention(layers=2, heads=2, tokens=300))
        command = [PROGRAM, "explain", "--attention", attention, "--method", "raw", "--keep-attention", "-o", "out.npz"]
        left = []
        for _ in range(40):
            with subprocess.Popen(command, cwd=self.folder, stderr=subprocess.PIPE) as run:
                while run.poll() is None and not left:
                    left = list(self.folder.glob(".attnflow-*.tmp"))
                run.send_signal(signal.SIGKILL)
            left = list(self.folder.glob(".attnflow-*.tmp"))
            if left:
                break
        self.assertTrue(left, "no run was killed while it wrote")
        self.run_program(*command[1:])
        self.assertEqual(list(self.folder.glob(".attnflow-*")), [])


class Dev(unittest.TestCase):
    def dev(self, *words):
        return subprocess.run([ROOT / "dev", *words], capture_output=True, text=True, timeout=20, check=False)

    def test_help_answers_at_once(self):
        for command in ("setup", "build", "demo", "test", "bench", "golden", "fmt", "lint", "fuzz", "docs", "clean"):
            for word in ("--help", "-h"):
                done = self.dev(command, word)
                self.assertIn(f"usage: ./dev {command}", done.stdout)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_there_is_not_is_told_at_once(self):
        for words, expected in (
            (["1", "nothing_fuzz"], ["npy_fuzz", "'nothing_fuzz'"]),
            (["mutate", "nothing"], ["expected campaigns of files, "]),
            (["soak", "--requests", "0"], ["at least one"]),
        ):
            done = self.dev("fuzz", *words)
            self.assertGreater(done.returncode, 0)
            for part in expected:
                self.assertIn(part, done.stderr)


if __name__ == "__main__":
    unittest.main()
