#!/usr/bin/env python3
"""A server under sustained load: many clients, several models, slow readers and writers, clients that leave.

    ./dev fuzz soak [--requests N] [--clients N] [--seed S]

Responses of status 200 must equal, byte for byte, the first response to that request; a full server may answer 503, and
nothing else. Memory and descriptors are sampled: after the first third of the requests neither may grow. Exits with
status 1 if any of this is violated.
"""

import argparse
import collections
import contextlib
import http.client
import json
import os
import sys
import threading
import time
from pathlib import Path
from random import Random

from running import PROGRAM, ROOT
from samples import DECODER, FASHION, MASKED

sys.path.append(str(ROOT / "tests" / "serve"))
os.environ["ATTNFLOW"] = str(PROGRAM)

# Allocators keep memory that they once had, and threads have their own caches.
GROWTH = 48 << 20
SECONDS = 120


class Soak:
    def __init__(self, server, requests: int, seed: int):
        self.server = server
        self.seed = seed
        self.left = requests
        self.lock = threading.Lock()
        self.statuses: collections.Counter = collections.Counter()
        self.wrong: list[str] = []
        self.samples: list[tuple[int, int, int]] = []  # requests done, memory, descriptors
        self.requests = requests
        picture = (FASHION / "example_bag.png").read_bytes()
        typed = {"Content-Type": "application/json", "Accept": "application/json"}

        def document(path: str, **fields) -> tuple[str, bytes, dict]:
            return f"/api/v1/{path}", json.dumps(fields).encode(), typed

        self.asked = [
            document("explain", text="The key to the cabinets", model="agreement"),
            document("explain", text="the key to the [MASK] is on a table", model=MASKED.name),
            document("explain", text="The author", model=DECODER.name, mixing="attention"),
            document("generate", prompt="The", tokens=2, model=DECODER.name, mixing="attention"),
            document("evaluate", text="The key to the cabinets", model="agreement"),
            ("/api/v1/image?method=rollout", picture, {"Content-Type": "image/png", "Accept": "application/json"}),
        ]
        self.expected: list[bytes] = []

    def memory_and_descriptors(self) -> tuple[int, int]:
        process = Path("/proc", str(self.server.process.pid))
        for line in (process / "status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) << 10, len(list((process / "fd").iterdir()))
        raise RuntimeError("the server is gone")

    def take(self) -> int | None:
        """The number of a request that has not been sent yet."""
        with self.lock:
            if self.left == 0:
                return None
            self.left -= 1
            return self.left

    def say(self, status: str, wrong: str = "") -> None:
        with self.lock:
            self.statuses[status] += 1
            if wrong:
                self.wrong.append(wrong)

    def request_bytes(self, which: int) -> bytes:
        path, body, headers = self.asked[which]
        lines = {"Host": self.server.name, "Content-Length": str(len(body)), "Connection": "close"} | headers
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        return f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body

    def steadily(self, connection: http.client.HTTPConnection, which: int) -> None:
        path, body, headers = self.asked[which]
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        wrong = ""
        if answer.status == 200 and content != self.expected[which]:
            wrong = f"{path}: another answer than before: {content[:200]!r}"
        elif answer.status not in (200, 503):
            wrong = f"{path}: {answer.status} {content[:200]!r}"
        self.say(str(answer.status), wrong)
        if answer.status == 503:
            time.sleep(0.2)

    def slowly(self, random: Random, which: int) -> None:
        """Sends in parts with pauses, and reads in parts, at a rate above the server's minimum."""
        request = self.request_bytes(which)
        step = max(1, len(request) // 8)
        with self.server.socket() as connection:
            connection.settimeout(SECONDS)
            for at in range(0, len(request), step):
                connection.sendall(request[at : at + step])
                time.sleep(0.01)
            heard = b""
            while piece := connection.recv(4096):
                heard += piece
                time.sleep(random.choice((0, 0.002, 0.02)))
        head, _, content = heard.partition(b"\r\n\r\n")
        status = head[9:12].decode()
        wrong = ""
        if status == "200" and content != self.expected[which]:
            wrong = f"{self.asked[which][0]}: a slow client hears another answer: {content[:200]!r}"
        elif status not in ("200", "503"):
            wrong = f"{self.asked[which][0]}: a slow client hears {heard[:200]!r}"
        self.say(f"{status} slow", wrong)

    def leaving(self, random: Random, which: int) -> None:
        request = self.request_bytes(which)
        with self.server.socket() as connection:
            connection.sendall(request[: random.choice((len(request), len(request), random.randrange(len(request))))])
            time.sleep(random.choice((0, 0.001, 0.01, 0.05)))
        self.say("left")

    def client(self, name: int) -> None:
        random = Random(f"{self.seed}/{name}")
        connection = self.server.connection(SECONDS)
        while (number := self.take()) is not None:
            which = random.randrange(len(self.asked))
            kind = random.random()
            try:
                if kind < 0.8:
                    self.steadily(connection, which)
                elif kind < 0.9:
                    self.slowly(random, which)
                else:
                    self.leaving(random, which)
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                self.say(type(error).__name__, f"request {number}: {type(error).__name__}: {error}")
        connection.close()

    def watch(self) -> None:
        """Takes a sample at each hundredth of the requests, until all are sent."""
        at = self.requests
        while self.left > 0:
            if self.left <= at:
                self.samples.append((self.requests - self.left, *self.memory_and_descriptors()))
                at -= max(1, self.requests // 100)
            time.sleep(0.05)

    def run(self, clients: int) -> float:
        for path, body, headers in self.asked:
            answer = self.server.ask("POST", path, body, headers)
            if answer.status != 200:
                raise RuntimeError(f"{path}: {answer.status} {answer.body[:300]!r}")
            self.expected.append(answer.body)
        threads = [threading.Thread(target=self.client, args=(name,)) for name in range(clients)]
        watcher = threading.Thread(target=self.watch)
        begin = time.monotonic()
        for thread in (watcher, *threads):
            thread.start()
        for thread in (*threads, watcher):
            thread.join()
        return time.monotonic() - begin

    def judge(self, idle_before: int, idle_after: int) -> list[str]:
        """The violations."""
        found = self.wrong[:10]
        late = [memory for done, memory, _ in self.samples if done >= self.requests / 3]
        if len(late) < 4:
            found.append("too short to say whether memory grows: ask for more requests")
        else:
            half = len(late) // 2
            growth = min(late[half:]) - max(late[:half])
            if growth > GROWTH:
                found.append(f"memory grows: by {growth >> 20} MB in the last third of the requests")
        if idle_after > idle_before + 4:
            found.append(f"descriptors stay open: {idle_before} before, {idle_after} after")
        if not self.statuses["200"] or not self.statuses["200 slow"] or not self.statuses["left"]:
            found.append(f"not every kind of client was there: {dict(self.statuses)}")
        return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./dev fuzz soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10000, help="(%(default)s)")
    parser.add_argument("--clients", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="(%(default)s)")
    parser.add_argument("--check", action="store_true", help="check these arguments, and end")
    arguments = parser.parse_args()
    if arguments.requests < 1 or not 1 <= arguments.clients <= 400:
        parser.error("expected at least one request, and 1 to 400 clients")
    if arguments.check:
        return 0
    from support import Server

    options = ("--model", MASKED, "--model", DECODER, "--queue", 256, "--max-connections-per-address", 512)
    server = Server(*options)
    soak = Soak(server, arguments.requests, arguments.seed)
    before = soak.memory_and_descriptors()[1]
    try:
        seconds = soak.run(arguments.clients)
        with contextlib.suppress(AssertionError):
            server.wait_until(lambda health: health["running"] + health["waiting"] == 0, SECONDS)
        # The server soon notices the connections that clients have closed.
        end = time.monotonic() + 30
        while (after := soak.memory_and_descriptors()[1]) > before and time.monotonic() < end:
            time.sleep(0.2)
    finally:
        code, said = server.stop()
    found = soak.judge(before, after)
    if code != 0 or said:
        found.append(f"the server ended with {code}: {said[-600:]}")
    memory = [sample[1] >> 20 for sample in soak.samples]
    third = memory[len(memory) // 3 :]
    print(f"{arguments.requests} requests of {arguments.clients} clients in {seconds:.0f} s: {dict(soak.statuses)}")
    print(
        f"memory {memory[0]} MB at first, {third[0]} MB after a third, {memory[-1]} MB at the end, {max(memory)} MB at most"
    )
    print(f"descriptors: at most {max(sample[2] for sample in soak.samples)}, {after} when all clients had left")
    for one in found:
        print(f"wrong: {one}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
