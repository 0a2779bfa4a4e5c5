"""A running server, and clients that are malicious or broken."""

import contextlib
import json
import os
import socket
import sys
import time
from pathlib import Path
from random import Random

import results
from mutations import ODD_TEXTS, damage, damage_json, odd_value
from running import PROGRAM, ROOT, Fallen, Runner, check_words, wrong
from samples import DECODER, MASKED, PICTURES

sys.path.append(str(ROOT / "tests" / "serve"))
os.environ["ATTNFLOW"] = str(PROGRAM)

STATUSES = {200, 304, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 417, 421, 422, 431, 501, 503, 505}
PATHS = ("models", "explain", "image", "generate", "stop", "evaluate", "health", "openapi.json")
METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "CONNECT", "get", "G\0T", "A" * 500, "")
HOSTS = (
    "attacker.example", "127.0.0.1", "127.0.0.1:1", "localhost.attacker.example", "localhost:99999", "", "[::1", "[]", "a b",
    "127.0.0.1:{port}@attacker.example", "attacker.example:{port}", "0x7f.1:{port}", "127.0.0.1.:{port}",
)  # fmt: skip
FOREIGN = (
    "http://attacker.example", "https://127.0.0.1:{port}.attacker.example", "null", "file://", "http://127.0.0.1:1", "",
    "http://localhost", "javascript:1", "http://127.0.0.1:{port}/x",
)  # fmt: skip
SECONDS = 90
MEMORY = 2 << 30
DESCRIPTORS = 80

server = None


def begin():
    """The server of this campaign, started by the first case."""
    global server
    if server is None:
        from support import Server

        # A short limit on work, so that a hostile request cannot delay a case for a minute.
        server = Server("--model", MASKED, "--model", DECODER, "--timeout", 20, "--threads", 1)
    return server


def status_of(name: str) -> int:
    for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    raise wrong("the server is gone")


def descriptors() -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def hear(connection: socket.socket, limit: int = 1 << 24) -> bytes:
    """Everything received until the other side closes; silence beyond the server's time limits counts as a hang."""
    connection.settimeout(SECONDS)
    heard = b""
    try:
        while len(heard) < limit:
            piece = connection.recv(65536)
            if not piece:
                break
            heard += piece
    except TimeoutError as error:
        raise Fallen("hang", f"no answer for {SECONDS} s, after {heard[:200]!r}") from error
    except ConnectionError:
        pass
    return heard


def check_answer(heard: bytes, head_only: bool = False) -> int:
    """The status; 0 if the connection was closed without an answer."""
    if not heard:
        return 0
    head, _, body = heard.partition(b"\r\n\r\n")
    words = head.split(b"\r\n")[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise wrong(f"no HTTP answer: {heard[:200]!r}")
    status = int(words[1])
    if status not in STATUSES:
        raise wrong(f"status {status}: {heard[:600]!r}")
    headers = {
        line.partition(b":")[0].strip().lower(): line.partition(b":")[2].strip() for line in head.split(b"\r\n")[1:]
    }
    if any(name.startswith(b"access-control-") for name in headers):
        raise wrong("an answer has a header that lets other pages read it")
    if b"chunked" in headers.get(b"transfer-encoding", b""):
        plain = b""
        while body:
            size, _, body = body.partition(b"\r\n")
            count = int(size or b"0", 16)
            plain, body = plain + body[:count], body[count + 2 :]
        body = plain
    elif b"content-length" in headers and not head_only:
        body = body[: int(headers[b"content-length"])]
    if headers.get(b"content-type", b"").startswith(b"application/json") and not head_only:
        document = results.check_json(body)
        if status >= 400:
            if set(document) != {"error"} or not {"kind", "message"} <= set(document["error"]):
                raise wrong(f"an error of another form: {body[:300]!r}")
            check_words(document["error"]["message"])
            if document["error"]["kind"] == "internal":
                raise wrong(f"an internal error: {body[:300]!r}")
    return status


def ask(request: bytes, close_sending: bool = False) -> bytes:
    with server.socket() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(request)
            if close_sending:
                connection.shutdown(socket.SHUT_WR)
        return hear(connection)


def shaped(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    lines = {"Host": f"127.0.0.1:{server.port}", "Connection": "close"}
    if body or method == "POST":
        lines |= {"Content-Type": "application/json", "Accept": "application/json", "Content-Length": str(len(body))}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode("utf-8", "surrogatepass") + body


HONEST = (
    ("explain", {"text": "The key to the cabinets", "model": "agreement"}),
    ("explain", {"text": "the [MASK] is", "model": MASKED.name, "method": ["raw", "flow"], "top_k": 3}),
    ("explain", {"text": "The author", "model": DECODER.name, "mixing": "attention", "layers": "1-2"}),
    ("evaluate", {"text": "The key", "model": "agreement"}),
    ("generate", {"prompt": "The", "tokens": 2, "model": DECODER.name}),
    ("stop", {"stop_id": "x"}),
)


def bytes_of_a_request(random: Random) -> bytes:
    path, document = random.choice(HONEST)
    request = shaped("POST", f"/api/v1/{path}", json.dumps(document).encode())
    check_answer(ask(damage(random, request), close_sending=True))
    return request


def fields(random: Random) -> bytes:
    path, document = random.choice(HONEST)
    document = json.loads(json.dumps(document))
    for _ in range(random.choice((1, 1, 2))):
        names = (
            *document, "residual", "layers", "method", "output_token", "top_k", "heads", "discard", "blank", "pair", "words",
            "normalize", "flow_tolerance", "mask_columns", "start_layer", "seed", "temperature", "top_p", "compact", "x",
            "mixing", "target", "against", "chat", "system", "stop_id", "threads", "tokens",
        )  # fmt: skip
        document[random.choice(names)] = odd_value(random)
    body = json.dumps(document, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
    if random.random() < 0.3:
        body = damage_json(random, json.dumps(document).encode())
    accept = random.choice(("application/json", "text/event-stream", "*/*", "x"))
    request = shaped("POST", f"/api/v1/{path}", body, Accept=accept)
    check_answer(ask(request))
    return request


def picture(random: Random) -> bytes:
    source = random.choice(PICTURES)
    body = source.read_bytes()
    if random.random() < 0.7:
        body = damage(random, body)
    kind = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}[source.suffix]
    if random.random() < 0.2:
        kind = random.choice(("image/gif", "text/html", "image/png; charset=x", "", "image/webp"))
    query = random.choice(
        ("", "?method=rollout", "?method=%00", "?layers=%", "?x", "?" + "a=1&" * 500, "?residual=2", "?a[]=1")
    )
    request = shaped("POST", f"/api/v1/image{query}", body, Content_Type=kind)
    check_answer(ask(request))
    return request


def strangers(random: Random) -> bytes:
    """Other pages and other names for this server: they never get an answer."""
    method, path, body = random.choice((
        ("GET", "/api/v1/models", b""), ("GET", "/", b""), ("POST", "/api/v1/explain", b'{"text": "a", "model": "agreement"}'),
    ))  # fmt: skip
    port = str(server.port)
    match random.randrange(5 if body else 2):
        case 0 | 1:
            headers = {"Host": random.choice(HOSTS).replace("{port}", port)}
        case 2:
            headers = {"Origin": random.choice(FOREIGN).replace("{port}", port)}
        case 3:
            headers = {"Sec_Fetch_Site": random.choice(("cross-site", "same-site", "x"))}
        case _:
            headers = random.choice((
                {"Content_Type": "text/plain"}, {"Content_Type": "application/x-www-form-urlencoded"}, {"Content_Encoding": "gzip"},
            ))  # fmt: skip
    request = shaped(method, path, body, **headers)
    if check_answer(ask(request)) == 200:
        raise wrong(f"a stranger is answered: {headers}")
    return request


def shapes(random: Random) -> bytes:
    """Methods, paths and framings outside the API."""
    path = random.choice((
        *(f"/api/v1/{name}" for name in PATHS), "/", "//", "/api", "/api/v1/", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
        "*", "http://127.0.0.1/", "/api/v1/models/" + "a" * 5000, "/\udcff", "/index.html", "/api/v1/models%00",
    ))  # fmt: skip
    method = random.choice(METHODS)
    body = random.choice((b"", b"{}", b"x" * 2000, b"[" * 5000))
    more = random.choice((
        {}, {}, {"Content_Length": "-1"}, {"Content_Length": "99999999999999999999"}, {"Content_Length": "1, 2"},
        {"Transfer_Encoding": "chunked"}, {"Transfer_Encoding": "gzip, chunked"}, {"Expect": "100-continue"}, {"Expect": "x"},
        {"X": "a" * 20000}, {"Upgrade": "h2c", "Connection": "Upgrade"}, {"Range": "bytes=0-1"}, {"Authorization": "Bearer x"},
        {"Accept_Encoding": "gzip"}, {"Cookie": "a" * 4000}, {"Accept": random.choice(ODD_TEXTS[4:])},
    ))  # fmt: skip
    request = shaped(method, path, body, **more)
    if random.random() < 0.2:
        request = request.replace(b"HTTP/1.1", random.choice((b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTX/1.1", b"")))
    # A request that announces more than it sends must not wait for the rest: the client has closed its side.
    check_answer(ask(request, close_sending=True), head_only=method == "HEAD")
    return request


def half_open(random: Random) -> bytes:
    """Connections that send nothing, or half of something, next to an honest one."""
    path, document = random.choice(HONEST[:3])
    request = shaped("POST", f"/api/v1/{path}", json.dumps(document).encode())
    with contextlib.ExitStack() as stack:
        for _ in range(random.choice((1, 20, 60))):
            connection = stack.enter_context(server.socket())
            with contextlib.suppress(ConnectionError):
                connection.sendall(request[: random.randrange(len(request))])
        if check_answer(ask(request)) != 200:
            raise wrong("beside connections that are half open, nobody is answered")
    return request


def cancels(random: Random) -> bytes:
    """Clients that leave early, with and without closing properly."""
    request = b""
    for _ in range(random.choice((1, 4, 12))):
        path, document = random.choice(HONEST[:5])
        accept = random.choice(("application/json", "text/event-stream"))
        request = shaped("POST", f"/api/v1/{path}", json.dumps(document).encode(), Accept=accept)
        with server.socket() as connection:
            connection.sendall(request)
            time.sleep(random.choice((0, 0, 0.001, 0.02, 0.1)))
            if random.random() < 0.3:
                with contextlib.suppress(OSError):
                    connection.recv(random.choice((1, 100)))
    server.wait_until(lambda health: health["running"] + health["waiting"] == 0, SECONDS)
    return request


def slowly(random: Random) -> bytes:
    """Requests sent byte by byte, responses read in small parts."""
    request = shaped("POST", "/api/v1/explain", json.dumps(HONEST[0][1]).encode())
    with server.socket() as connection:
        for at in range(0, len(request), 16):
            connection.sendall(request[at : at + 16])
            time.sleep(0.002)
        heard = b""
        connection.settimeout(SECONDS)
        while piece := connection.recv(random.choice((512, 4096))):
            heard += piece
        if check_answer(heard) != 200:
            raise wrong(f"a slow client hears {heard[:100]!r}")
    return request


KINDS = (
    (bytes_of_a_request, 6), (fields, 6), (picture, 3), (strangers, 4), (shapes, 5), (half_open, 1), (cancels, 2), (slowly, 1)
)  # fmt: skip


def case(random: Random, runner: Runner) -> None:
    global server
    begin()
    kind = random.choices([kind for kind, _ in KINDS], [weight for _, weight in KINDS])[0]
    try:
        request = kind(random)
        runner.write("request", request)
        if server.get("/api/v1/health").status != 200:
            raise wrong("the server is not well")
        runner.peak = status_of("VmHWM")
        if runner.peak > MEMORY:
            raise wrong(f"the server took {runner.peak >> 20} MB of memory")
    except Fallen:
        raise
    except OSError as error:
        code = server.process.poll()
        if code is None:
            raise wrong(f"{kind.__name__}: {type(error).__name__}: {error}") from error
        said = server.process.stderr.read().decode(errors="replace")
        server = None
        raise Fallen("crash", f"{kind.__name__}: the server ended with {code}: {said[-600:]}") from error


def finish(_) -> str:
    """Ends the server; returns what was wrong with that."""
    if server is None:
        return ""
    server.wait_until(lambda health: health["running"] + health["waiting"] == 0, SECONDS)
    open_at_end = descriptors()
    code, said = server.stop()
    if code != 0 or said:
        return f"the server ended with {code}: {said[-600:]}"
    return f"{open_at_end} descriptors were open at the end" if open_at_end > DESCRIPTORS else ""
