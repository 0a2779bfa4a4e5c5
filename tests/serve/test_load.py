"""Many clients, clients that vanish, limits of queue and time, and shutdown during work: nothing is lost."""

import collections
import concurrent.futures
import json
import signal
import threading
import time
import unittest

from support import GGUF, LLAMA, MASKED, MASKED_TEXT, MINILM, TEXT, Server, ServerTest, parse_events

EXPLAIN = {"text": TEXT, "model": "agreement"}
# Every flow between 362 tokens: many seconds of work on any machine, which polls its stop token all the while.
LONG = {"text": "the key to the cabinets " * 90, "model": MINILM.name, "method": "flow", "output_token": "all"}


def request(port: int, path: str, document: dict, accept: str = "application/json") -> bytes:
    body = json.dumps(document).encode()
    return (
        b"POST /api/v1/%s HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json\r\nAccept: %s\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (path.encode(), port, accept.encode(), len(body), body)
    )


class ManyTest(ServerTest):
    ARGUMENTS = ("--model", MASKED, "--model", LLAMA)

    def test_fifty_clients_at_once(self):
        asked = [
            ("explain", EXPLAIN),
            ("explain", {"text": MASKED_TEXT, "model": MASKED.name}),
            ("evaluate", EXPLAIN),
            ("generate", {"prompt": "The author", "tokens": 3, "model": LLAMA.name}),
            ("explain", {"text": "The author", "model": LLAMA.name}),
        ]
        expected = [self.server.post(path, document).body for path, document in asked]

        def client(number: int) -> list[bool]:
            right = []
            for i in range(4):
                which = (number + i) % len(asked)
                answer = self.server.post(*asked[which])
                right.append(answer.status == 200 and answer.body == expected[which])
            return right

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            results = list(pool.map(client, range(50)))
        self.assertEqual(collections.Counter(right for one in results for right in one), {True: 200})

    def test_one_connection_asks_again_and_again(self):
        connection = self.server.connection()
        for _ in range(20):
            connection.request("POST", "/api/v1/explain", json.dumps(EXPLAIN), {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().read()[:2], b"{\n")
        connection.close()


class VanishedTest(ServerTest):
    ARGUMENTS = ("--workers", 1, "--queue", 3, "--model", LLAMA, "--model", GGUF, "--model", MINILM)

    def setUp(self):
        super().setUp()
        # Work continues for a moment after its answer.
        self.server.wait_until(lambda health: health["running"] + health["waiting"] == 0)

    def test_work_stops_when_its_client_leaves(self):
        for path, document, accept in (
            ("explain", LONG, "application/json"),
            ("explain", LONG, "text/event-stream"),
            (
                "generate",
                {"prompt": "a", "tokens": 60, "method": "flow", "model": LLAMA.name, "ignore_end": True},
                "*/*",
            ),
        ):
            with self.subTest(path):
                connection = self.server.socket()
                connection.sendall(request(self.server.port, path, document, accept))
                self.server.wait_until(lambda health: health["running"] == 1)
                connection.close()
                began = time.monotonic()
                self.server.wait_until(lambda health: health["running"] == 0)
                # The whole work takes longer than noticing; on a busy machine either takes a while.
                self.assertLess(time.monotonic() - began, 15)

    def test_what_waits_is_never_begun(self):
        first = self.server.socket()
        first.sendall(request(self.server.port, "explain", LONG))
        self.server.wait_until(lambda health: health["running"] == 1)
        waiting = [self.server.socket() for _ in range(3)]
        for connection in waiting:
            connection.sendall(request(self.server.port, "explain", LONG))
        self.server.wait_until(lambda health: health["waiting"] == 3)
        answer = self.server.post("explain", EXPLAIN)
        self.refuse(answer, 503, "queue_full")
        self.assertEqual(answer.headers["Retry-After"], "1")
        for connection in waiting:
            connection.close()
        time.sleep(0.2)
        # Their slots are free for others, who wait only for the first.
        self.server.wait_until(lambda health: health["running"] <= 1)
        first.close()
        self.assertEqual(self.server.post("explain", EXPLAIN).status, 200)
        self.server.wait_until(lambda health: health["running"] + health["waiting"] == 0)

    def test_places_in_the_queue_are_said(self):
        first = self.server.socket()
        first.sendall(request(self.server.port, "explain", LONG))
        self.server.wait_until(lambda health: health["running"] == 1)
        heard = {}

        def ask(name: str) -> None:
            heard[name] = self.server.post("explain", EXPLAIN, accept="text/event-stream").events()

        threads = []
        for number, name in enumerate(("second", "third")):
            threads.append(threading.Thread(target=ask, args=(name,)))
            threads[-1].start()
            self.server.wait_until(lambda health, n=number: health["waiting"] == n + 1)
        first.close()
        for thread in threads:
            thread.join()
        places = {
            name: [data["position"] for kind, data in events if kind == "queued"] for name, events in heard.items()
        }
        self.assertEqual(places, {"second": [0], "third": [1, 0]})
        self.assertEqual([events[-1][0] for events in heard.values()], ["report", "report"])


class TimeTest(ServerTest):
    ARGUMENTS = ("--timeout", 1, "--workers", 1, "--model", MINILM)

    def test_work_that_takes_too_long(self):
        self.server.post("explain", EXPLAIN)
        self.refuse(self.server.post("explain", LONG), 503, "time_limit", "--timeout")
        events = self.server.post("explain", LONG, accept="text/event-stream").events()
        self.assertEqual((events[-1][0], events[-1][1]["error"]["kind"]), ("error", "time_limit"))
        self.server.wait_until(lambda health: health["running"] == 0)
        self.assertEqual(self.server.post("explain", EXPLAIN).status, 200)


class MemoryTest(ServerTest):
    ARGUMENTS = ("--max-memory", 2)

    def test_what_would_not_fit_is_refused(self):
        answer = self.server.post(
            "explain", {"text": "the key to the cabinets " * 20, "model": "agreement", "method": "raw"}
        )
        self.refuse(answer, 413, "too_large", "limit of 2 MiB", "layers needs less")
        self.assertEqual(self.server.post("explain", EXPLAIN).status, 200)


class EndTest(unittest.TestCase):
    def answers(self, how: int, document: dict, count: int) -> tuple[list[bytes], int, str]:
        """The responses to `count` clients when the server is told to exit while it works for them."""
        server = Server("--workers", 1, "--model", MINILM)
        server.post("explain", EXPLAIN)
        connections = [server.socket() for _ in range(count)]
        for connection in connections:
            connection.sendall(request(server.port, "explain", document))
        if document is not EXPLAIN:
            server.wait_until(lambda health: health["running"] + health["waiting"] == count)
        else:
            time.sleep(0.05)
        heard: list[bytes] = []
        with concurrent.futures.ThreadPoolExecutor(count + 1) as pool:
            ended = pool.submit(server.stop, how)
            for connection in connections:
                connection.settimeout(90)

            def hear_all(connection) -> bytes:
                text = b""
                while piece := connection.recv(65536):
                    text += piece
                return text

            heard = list(pool.map(hear_all, connections))
            code, said = ended.result()
        for connection in connections:
            connection.close()
        return heard, code, said

    def test_every_request_is_answered(self):
        for how in (signal.SIGTERM, signal.SIGINT):
            heard, code, said = self.answers(how, EXPLAIN, 20)
            self.assertEqual((code, said), (0, ""))
            for answer in heard:
                self.assertRegex(answer[:12], rb"HTTP/1.1 (200|503)")
                head, _, body = answer.partition(b"\r\n\r\n")
                document = json.loads(body)  # complete
                if answer.startswith(b"HTTP/1.1 503"):
                    self.assertEqual(document["error"]["kind"], "shutting_down")
                else:
                    self.assertEqual(document["format"], "attnflow-report")

    def test_long_work_is_given_up(self):
        began = time.monotonic()
        heard, code, said = self.answers(signal.SIGTERM, LONG, 5)
        self.assertEqual((code, said), (0, ""))
        for answer in heard:
            self.assertRegex(answer[:12], rb"HTTP/1.1 (200|503)")
            json.loads(answer.partition(b"\r\n\r\n")[2])
        self.assertLess(time.monotonic() - began, 60)

    def test_streams_say_why_they_end(self):
        server = Server("--workers", 1, "--model", MINILM)
        connection = server.socket()
        connection.sendall(request(server.port, "explain", LONG, "text/event-stream"))
        server.wait_until(lambda health: health["running"] == 1)
        self.assertEqual(server.stop()[0], 0)
        text = b""
        while piece := connection.recv(65536):
            text += piece
        connection.close()
        self.assertTrue(text.endswith(b"0\r\n\r\n"), text[-200:])
        events = [line for line in text.split(b"\n") if line.startswith(b"event: ")]
        self.assertIn(events[-1], (b"event: error", b"event: report"))

    def test_idle_connections_do_not_keep_it(self):
        server = Server()
        connection = server.connection()
        connection.request("GET", "/api/v1/health")
        connection.getresponse().read()
        idle = server.socket()
        began = time.monotonic()
        self.assertEqual(server.stop(), (0, ""))
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(idle.recv(100), b"")
        idle.close()
        connection.close()


class EventsTest(unittest.TestCase):
    def test_the_reader_of_these_tests(self):
        self.assertEqual(parse_events('event: a\ndata: {\ndata: "b": 1}\n\n'), [("a", {"b": 1})])


if __name__ == "__main__":
    unittest.main()
