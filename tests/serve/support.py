"""Shared by the tests of the server: a running `attnflow serve`, and ways to send it requests."""

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("ATTNFLOW", str(ROOT / "build" / "release" / "bin" / "attnflow"))
MODELS = ROOT / "tests" / "golden" / "models"
LLAMA = ROOT / "tests" / "golden" / "decoders" / "llama_grouped"
GGUF = ROOT / "tests" / "golden" / "gguf" / "llama.gguf"
# A real encoder, for work that takes a while (tools/fetch_minilm).
MINILM = Path(os.environ.get("ATTNFLOW_MINILM_DIR") or ROOT / ".cache" / "models" / "minilm")
MASKED = MODELS / "bert_masked_lm"
TEXT = "The key to the cabinets"
MASKED_TEXT = "the key to the [MASK] is on a table"


class Answer:
    def __init__(self, response: http.client.HTTPResponse):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        return self.json()["error"]["kind"]

    @property
    def message(self) -> str:
        return self.json()["error"]["message"]

    def events(self) -> list[tuple[str, dict]]:
        return parse_events(self.body.decode())


def parse_events(text: str) -> list[tuple[str, dict]]:
    events = []
    for block in text.split("\n\n"):
        if not block:
            continue
        name, data = "", []
        for line in block.split("\n"):
            field, _, value = line.partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data.append(value)
        events.append((name, json.loads("\n".join(data))))
    return events


class Server:
    """A separate process, on a free port."""

    def __init__(self, *arguments, environment: dict | None = None):
        # A file: a pipe that nobody reads would block the server once it is full.
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=self.log,
            env=os.environ | (environment or {}),
        )
        line = self.process.stdout.readline().decode()
        found = re.fullmatch(r"attnflow serves http://(.+):(\d+)/\n", line)
        if found is None:
            self.process.wait(30)
            raise AssertionError(f"no address in {line!r}: {self.logged()}")
        self.host, self.port = found[1], int(found[2])

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"

    def connection(self, timeout: float = 120) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, method: str, path: str, body=None, headers: dict | None = None) -> Answer:
        connection = self.connection()
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            return Answer(connection.getresponse())

    def get(self, path: str, **headers) -> Answer:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, document, *, accept: str = "application/json", **headers) -> Answer:
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        sent = {"Content-Type": "application/json", "Accept": accept} | headers
        return self.ask("POST", f"/api/v1/{path}", body, sent)

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def raw(self, request: bytes) -> bytes:
        """Everything that the server sends in response to these bytes until it closes the connection."""
        with self.socket() as connection:
            connection.sendall(request)
            return hear(connection)

    def health(self) -> dict:
        return self.get("/api/v1/health").json()

    def wait_until(self, condition, seconds: float = 60) -> None:
        """Waits until condition(health) holds."""
        end = time.monotonic() + seconds
        while not condition(self.health()):
            if time.monotonic() > end:
                raise AssertionError(f"still {self.health()} after {seconds} s")
            time.sleep(0.02)

    def logged(self) -> str:
        self.log.seek(0)
        return self.log.read().decode()

    def stop(self, how: int = signal.SIGTERM) -> tuple[int, str]:
        """Exit code and output on standard error."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        said = self.logged()
        self.process.stdout.close()
        self.log.close()
        return self.process.returncode, said


def hear(connection: socket.socket) -> bytes:
    heard = b""
    while True:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            return heard
        if not piece:
            return heard
        heard += piece


class ServerTest(unittest.TestCase):
    """One server for all tests of a class, which must exit cleanly."""

    ARGUMENTS: tuple = ()
    server: Server

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.ARGUMENTS)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        code, said = cls.server.stop()
        if code != 0 or said:
            raise AssertionError(f"the server ended with {code}: {said}")

    def refuse(self, answer: Answer, status: int, kind: str, *words: str) -> None:
        self.assertEqual((answer.status, answer.kind), (status, kind), answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        for word in words:
            self.assertIn(word, answer.message)


def run_program(*arguments, **options) -> bytes:
    done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, timeout=300, **options)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: {done.stderr.decode()}")
    return done.stdout


def png(width: int = 28, height: int = 28) -> bytes:
    """A gray picture with a bright square."""
    rows = b"".join(
        b"\0" + bytes(220 if 8 <= x < 20 and 6 <= y < 22 else 10 for x in range(width)) for y in range(height)
    )

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
