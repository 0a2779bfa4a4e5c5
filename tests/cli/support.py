"""What the tests of the command line share: the program, small models, and attention files made on the spot."""

import atexit
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))  # for tools/reference
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
RUNNER = str(Path(PROGRAM).with_name("attnflow_command_runner"))
MODELS = ROOT / "tests" / "golden" / "models"
MINILM = os.environ.get("ATTNFLOW_MINILM_DIR", "")
ALBERT = os.environ.get("ATTNFLOW_SHARED_DATA", "") and os.environ["ATTNFLOW_SHARED_DATA"] + "/albert-uspto"

# Exit codes of the program.
OTHER, USAGE, BAD_FILE, UNSUPPORTED, TOO_LONG = 1, 2, 3, 4, 5


def random_attention(layers=3, heads=2, tokens=5, seed=1, causal=False) -> np.ndarray:
    """Softmax of normal scores: [layer, head, query, key], float32."""
    scores = np.random.default_rng(seed).normal(0.0, 2.0, (layers, heads, tokens, tokens))
    if causal:
        scores = np.where(np.tri(tokens, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def png(pixels):
    """The bytes of a PNG of uint8 [height, width, 3], or [height, width] of gray, without a filter."""

    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    height, width = pixels.shape[:2]
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if pixels.ndim == 3 else 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def note_codes(document: dict) -> list[str]:
    return [note["code"] for note in document["notes"]]


class Runner:
    """Runs commands in one process, one after the other (attnflow/cli/command_runner.cc)."""

    def __init__(self):
        self.process = None

    def run(self, folder: Path, arguments: list[str], stdin: bytes) -> subprocess.CompletedProcess:
        if self.process is None:
            self.process = subprocess.Popen([RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            atexit.register(self.end)
        request = json.dumps({"folder": str(folder), "arguments": arguments, "input": len(stdin)}, ensure_ascii=False)
        self.process.stdin.write(request.encode() + b"\n" + stdin)
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 3:
            raise RuntimeError(f"the process of attnflow {arguments} ended with status {self.end()}")
        code, out, err = map(int, answer)
        return subprocess.CompletedProcess(
            arguments, code, self.process.stdout.read(out), self.process.stdout.read(err)
        )

    def end(self) -> int | None:
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.stdin.close()
        process.stdout.close()
        return process.wait()


RUNNING = Runner()


class CommandTest(unittest.TestCase):
    """Runs commands in an empty folder of their own, self.folder."""

    program = PROGRAM
    # Whether each command gets a process of its own: for tests of what only a process has.
    process = False

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def run_program(self, *arguments, code=0, stdin=None, program=None) -> subprocess.CompletedProcess:
        command = [program or self.program, *map(str, arguments)]
        if self.process or command[0] != PROGRAM or not os.path.exists(RUNNER):
            done = subprocess.run(command, cwd=self.folder, capture_output=True, input=stdin, check=False, timeout=600)
        else:
            done = RUNNING.run(self.folder, command[1:], stdin or b"")
        done.stdout = done.stdout.decode()
        done.stderr = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{command}\n{done.stdout}{done.stderr}")
        return done

    def refuse(self, code, words, *arguments, stdin=None) -> str:
        """The program must end with `code`, print nothing on standard output, say each of `words`, leave no file."""
        before = sorted(self.folder.rglob("*"))
        done = self.run_program(*arguments, code=code, stdin=stdin)
        self.assertEqual(done.stdout, "")
        self.assertTrue(done.stderr.startswith(Path(self.program).name + ": "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return done.stderr

    def save_attention(self, weights, name="attention.npz", **more) -> Path:
        path = self.folder / name
        np.savez(path, attention=weights, **more)
        return path

    def copy_model(self, name: str) -> Path:
        target = self.folder / name
        shutil.copytree(MODELS / name, target)
        return target

    def change_config(self, model: Path, **changes) -> None:
        """A value of None removes the key."""
        path = model / "config.json"
        config = json.loads(path.read_text())
        for key, value in changes.items():
            if value is None:
                config.pop(key, None)
            else:
                config[key] = value
        path.write_text(json.dumps(config))
