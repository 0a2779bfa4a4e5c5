"""Access control and limits: hosts, origins, tokens, sizes, and malicious bodies."""

import gzip
import json
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from support import MASKED, PROGRAM, TEXT, Server, ServerTest, hear, png

EXPLAIN = {"text": TEXT, "model": "agreement", "method": "raw"}


class HostTest(ServerTest):
    """That the server asks its guard; whom that lets through is tested in attnflow/http/request_guard_test.cc."""

    ARGUMENTS = ("--allow-host", "demo.example")

    def test_hosts(self):
        for host in (f"localhost:{self.server.port}", "demo.example"):
            self.assertEqual(self.server.get("/api/v1/models", Host=host).status, 200, host)
        for host in (f"attacker.example:{self.server.port}", "127.0.0.1"):
            for path in ("/", "/api/v1/models", "/nothing"):
                self.refuse(self.server.get(path, Host=host), 421, "wrong_host", "--allow-host")
        answer = self.server.raw(b"GET /api/v1/health HTTP/1.1\r\n\r\n")
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)

    def test_other_sites(self):
        own = {"Origin": f"http://127.0.0.1:{self.server.port}"}
        self.assertEqual(self.server.post("explain", EXPLAIN, **own).status, 200)
        for headers in ({"Origin": "http://attacker.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            self.refuse(self.server.post("explain", EXPLAIN, **headers), 403, "cross_origin")
            self.refuse(self.server.get("/api/v1/models", **headers), 403, "cross_origin")
            self.assertEqual(self.server.get("/", **headers).status, 200)

    def test_content_types(self):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = self.server.post("explain", EXPLAIN, **{"Content-Type": kind})
            self.refuse(answer, 415, "unsupported_media_type", "application/json")
        answer = self.server.post("explain", EXPLAIN, **{"Content-Type": "application/json; charset=utf-8"})
        self.assertEqual(answer.status, 200)


class TokenTest(ServerTest):
    ARGUMENTS = ("--token", "a-token-of-some-length")

    def test_the_api_needs_it(self):
        right = {"Authorization": "Bearer a-token-of-some-length"}
        self.assertEqual(self.server.post("explain", EXPLAIN, **right).status, 200)
        self.assertEqual(self.server.get("/api/v1/models", **right).status, 200)
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic a-token-of-some-length"}):
            for answer in (self.server.post("explain", EXPLAIN, **wrong), self.server.get("/api/v1/models", **wrong)):
                self.refuse(answer, 401, "unauthorized", "Bearer")
                self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
        # Never from the address, where it would be kept in histories and logs.
        self.refuse(self.server.get("/api/v1/models?token=a-token-of-some-length"), 401, "unauthorized")

    def test_the_page_does_not(self):
        self.assertEqual(self.server.get("/").status, 200)
        self.assertEqual(self.server.get("/api/v1/health").status, 200)
        self.assertNotIn(b"a-token-of-some-length", self.server.get("/").body)


class StartTest(unittest.TestCase):
    def refuse(self, words, *arguments):
        done = subprocess.run([PROGRAM, "serve", *arguments], capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (2, b""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr.decode())

    def test_other_machines_need_a_token(self):
        self.refuse(["--host 0.0.0.0", "--token"], "--host", "0.0.0.0", "--port", "0")
        self.refuse(["--token"], "--host", "::", "--port", "0")
        server = Server("--host", "0.0.0.0", environment={"ATTNFLOW_TOKEN": "from-the-environment"})
        try:
            self.assertEqual(server.get("/api/v1/models").status, 401)
            answer = server.get("/api/v1/models", Authorization="Bearer from-the-environment")
            self.assertEqual(answer.status, 200)
        finally:
            self.assertEqual(server.stop()[0], 0)

    def test_a_token_that_is_guessed_at_once(self):
        self.refuse(["--token of at least 16", "found one of 1"], "--host", "0.0.0.0", "--port", "0", "--token", "x")
        server = Server("--token", "x")  # at a loopback address it keeps out pages, not people
        self.assertEqual(server.stop()[0], 0)

    def test_wrong_options(self):
        for option, value, *words in (
            ("--token", "two words", "visible"),
            ("--allow-host", "a/b"),
            ("--workers", "0"),
            ("--timeout", "0"),
            ("--max-connections-per-address", "0"),
            ("--port", "-1"),
            ("--host", "no.such.name.invalid", "no.such.name.invalid"),
        ):
            self.refuse([option, *words], "--port", "0", option, value)

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = str(taken.getsockname()[1])
            done = subprocess.run([PROGRAM, "serve", "--port", port], capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertIn(f"cannot listen on 127.0.0.1:{port}", done.stderr.decode())

    def test_weights_that_the_config_has_no_place_for(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Path(shutil.copytree(MASKED, Path(folder) / "cut"))
            config = json.loads((model / "config.json").read_text())
            (model / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 1}))
            arguments = ["serve", "--port", "0", "--model", str(model)]
            done = subprocess.run([PROGRAM, *arguments], capture_output=True, timeout=60)
            self.assertEqual((done.returncode, done.stdout), (3, b""))
            self.assertIn("--allow-unused-weights", done.stderr.decode())
            server = Server("--model", model, "--allow-unused-weights")
            try:
                answer = server.post("explain", {"text": "the key", "model": "cut", "method": "raw"})
                self.assertEqual(answer.json()["model"]["layers"], 1)
            finally:
                self.assertEqual(server.stop()[0], 0)

    def test_a_model_that_is_none(self):
        done = subprocess.run([PROGRAM, "serve", "--port", "0", "--model", "nothing"], capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertIn("nothing: expected the folder of a model", done.stderr.decode())


class BodyTest(ServerTest):
    ARGUMENTS = ("--max-body", "200000", "--max-megapixels", "1")

    def test_too_large(self):
        answer = self.server.post("explain", b'{"text": "' + b"x" * 300_000 + b'"}')
        self.refuse(answer, 413, "body_too_large", "200000")
        answer = self.server.ask("POST", "/api/v1/image", bytes(300_000), {"Content-Type": "image/png"})
        self.refuse(answer, 413, "body_too_large", "200000")
        self.refuse(self.server.ask("GET", "/api/v1/models", b"x"), 413, "body_too_large")

    def test_encoded(self):
        body = gzip.compress(json.dumps(EXPLAIN).encode())
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = self.server.ask("POST", "/api/v1/explain", body, headers)
        self.refuse(answer, 415, "unsupported_media_type", "Content-Encoding", "gzip")
        plain = json.dumps(EXPLAIN).encode()
        answer = self.server.ask("POST", "/api/v1/explain", plain, headers | {"Content-Encoding": "identity"})
        self.assertEqual(answer.status, 200)

    def test_too_large_and_its_length_not_said(self):
        head = (
            b"POST /api/v1/explain HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" % self.server.port
        )
        answer = self.server.raw(head + (b"8000\r\n" + bytes(0x8000) + b"\r\n") * 10)
        self.assertTrue(answer.startswith(b"HTTP/1.1 413 "), answer)

    def test_chunks_that_are_all_extension(self):
        for path, method in (("/", b"GET"), ("/api/v1/explain", b"POST")):
            for flood in (b"1;" + b"a" * 4_000_000, b"0\r\nX: " + b"a" * 4_000_000):
                with self.subTest(f"{path} {flood[:2]}"):
                    head = b"%s %s HTTP/1.1\r\nHost: localhost:%d\r\n" % (method, path.encode(), self.server.port)
                    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                    try:
                        answer = self.server.raw(head + flood)
                    except ConnectionError:
                        answer = b""  # closed while the rest was being sent
                    self.assertRegex(answer[:13], rb"^(HTTP/1.1 4(13|31) |$)")
        self.assertEqual(self.server.health()["status"], "ok")

    def test_bodies_whose_end_is_in_doubt(self):
        for codings in (b"xchunked", b"chunked, gzip", b"gzip", b"chunked\r\nTransfer-Encoding: chunked"):
            with self.subTest(codings):
                head = b"GET /api/v1/health HTTP/1.1\r\nHost: localhost:%d\r\n" % self.server.port
                answer = self.server.raw(head + b"Transfer-Encoding: " + codings + b"\r\n\r\n" + head + b"\r\n")
                self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer[:100])
                self.assertNotIn(b"HTTP/1.1 200", answer)

    def test_a_bomb_of_pixels(self):
        answer = self.server.ask("POST", "/api/v1/image", png(3000, 2000), {"Content-Type": "image/png"})
        self.refuse(answer, 422, "bad_input", "pixels")

    def test_hostile_json(self):
        """Fields are checked in attnflow/serve/api_options_test.cc."""
        for body in (b"", b"null", b"[" * 100_000, b'{"text":' * 10_000, b'{"text": "\xff\xfe"}', b'{"text": "a"} {}'):
            self.refuse(self.server.post("explain", body), 400, "bad_request")
        answer = self.server.post("explain", EXPLAIN | {"method": "\0"})
        self.refuse(answer, 400, "bad_request", "\\x00'")

    def test_texts_that_are_odd(self):
        for text in ("a\0b", "\u202e\u0627\u0644", "</script><script>", "\r\n\r\nevent: x"):
            answer = self.server.post("explain", EXPLAIN | {"text": text})
            self.assertIn(answer.status, (200, 400, 422), text)
            if answer.status == 200:
                self.assertEqual(answer.json()["input"]["text"], text)
            events = self.server.post("explain", EXPLAIN | {"text": text}, accept="text/event-stream").events()
            self.assertIn(events[-1][0], ("report", "error"))

    def test_what_is_no_http(self):
        for request in (b"\0" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\nHost: x\r\n\r\n"):
            answer = self.server.raw(request + b"\r\n\r\n")
            self.assertTrue(answer.startswith(b"HTTP/1.1 ") and int(answer[9:12]) in (400, 421, 505), answer)

    def test_two_requests_at_once_cannot_be_smuggled(self):
        body = json.dumps(EXPLAIN).encode()
        both = (
            b"POST /api/v1/explain HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n%s" % (self.server.port, len(body), body)
        )
        self.assertTrue(self.server.raw(both).startswith(b"HTTP/1.1 400 "))


class SlowTest(ServerTest):
    def test_half_open_connections_keep_nobody_out(self):
        """More connections than slots, none of which sends a request: one that does is answered at once."""
        for said in (b"", b"POST /api/v1/explain HTTP/1.1\r\nHost: local", b"X\r\n\r\n"):
            slow = []
            try:
                for _ in range(700):
                    slow.append(self.server.socket())
                    if said:
                        slow[-1].sendall(said)
                for _ in range(5):
                    began = time.monotonic()
                    self.assertEqual(self.server.get("/api/v1/health").status, 200)
                    # Half the time after which they would be closed anyway.
                    self.assertLess(time.monotonic() - began, 5)
            finally:
                for connection in slow:
                    connection.close()

    def test_a_byte_at_a_time(self):
        body = json.dumps(EXPLAIN).encode()
        request = (
            b"POST /api/v1/explain HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (self.server.port, len(body), body)
        )
        with self.server.socket() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in request:
                connection.sendall(bytes([byte]))
            self.assertTrue(hear(connection).startswith(b"HTTP/1.1 200 "))

    def test_a_client_that_reads_slowly_gets_all(self):
        ask = EXPLAIN | {"text": "the " * 100, "method": "raw,rollout", "keep_attention": True}
        whole = self.server.post("explain", ask)
        body = json.dumps(ask).encode()
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(60)
            connection.connect(("127.0.0.1", self.server.port))
            connection.sendall(
                b"POST /api/v1/explain HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (self.server.port, len(body), body)
            )
            time.sleep(1)
            answer = hear(connection)
        self.assertEqual(answer.partition(b"\r\n\r\n")[2], whole.body)


if __name__ == "__main__":
    unittest.main()
