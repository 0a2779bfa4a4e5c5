"""Runs the program in a separate folder, under limits, and judges how it ended."""

import os
import re
import resource
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.append(str(ROOT / "tools"))  # for tools/reference
PROGRAM = Path(os.environ.get("ATTNFLOW", ROOT / "build" / "release" / "bin" / "attnflow"))
GOLDEN = ROOT / "tests" / "golden"

# As documented by the program (docs/explain.md, "Exit codes").
DONE, OTHER, USAGE, BAD_FILE, UNSUPPORTED, TOO_LONG = range(6)

# A run takes a second or two; a busy machine may need many times that.
SECONDS = 90
# The largest valid run of these campaigns peaks near 0.6 GB (libtorch and a small model).
MEMORY = 2 << 30
# The kernel stops it here before the machine suffers; in address space, since that is what can be limited.
ADDRESS_SPACE = 16 << 30
FILE_SIZE = 1 << 30

# Patterns that occur only in a library's own messages.
LEAKS = re.compile(
    r"terminate called|what\(\)|panicked|RUST_BACKTRACE|Assertion|Sanitizer|Traceback|core dumped"
    r"|basic_string|\bstd::|nlohmann|json\.exception|\w\.(?:cc|cpp|rs|hpp)\b|/cargo/|/registry/"
)
# Every refusal says what was expected and what was found, or states the problem in words like these.
FORM = re.compile(
    r"expected|found|cannot|does not|do not|is not|are not|no option|needs|too |mutually exclusive|requires|more than"
    r"|already|out of|truncated|damaged|missing|unknown|only|would|has no|none|not |interrupted"
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")


class Fallen(Exception):
    """A case that did not end as it should; `kind` is the column of the table: crash, hang or wrong."""

    def __init__(self, kind: str, why: str):
        super().__init__(why)
        self.kind = kind


@dataclass
class Done:
    code: int
    out: bytes
    said: str
    peak: int  # bytes
    seconds: float


def wrong(why: str) -> Fallen:
    return Fallen("wrong", why)


def check_words(said: str) -> None:
    found = LEAKS.search(said)
    if found:
        raise wrong(f"a message shows what is inside ({found[0]!r}): {said[-600:]!r}")
    found = CONTROL.search(said)
    if found:
        raise wrong(f"a message holds the control character {found[0]!r}: {said[-600:]!r}")


def check_end(done: Done, name: str) -> None:
    """Checks that apply to every run, whatever its arguments."""
    if done.code < 0:
        raise Fallen("crash", f"ended by {signal.Signals(-done.code).name}: {done.said[-600:]!r}")
    if done.code not in (DONE, OTHER, USAGE, BAD_FILE, UNSUPPORTED, TOO_LONG):
        raise Fallen("crash", f"exit code {done.code}: {done.said[-600:]!r}")
    if done.peak > MEMORY:
        raise wrong(f"took {done.peak >> 20} MB of memory")
    check_words(done.said)
    if done.code == DONE:
        return
    message = done.said[done.said.rfind(f"{name}: ") :]
    if not message.startswith(f"{name}: "):
        raise wrong(f"exit code {done.code} without a message: {done.said[-600:]!r}")
    if not FORM.search(message):
        raise wrong(f"the message says neither what was expected nor what was found: {message!r}")


def limit() -> None:
    """In the child: no core file, and limits enforced by the kernel."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE, FILE_SIZE))


def wait(process: subprocess.Popen, seconds: float) -> tuple[int, int] | None:
    """Exit code and peak memory in bytes; None on a timeout (after ending the process)."""
    descriptor = os.pidfd_open(process.pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        in_time = bool(poll.poll(seconds * 1000))
    finally:
        os.close(descriptor)
    if not in_time:
        os.kill(process.pid, signal.SIGKILL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return (process.returncode, usage.ru_maxrss << 10) if in_time else None


class Runner:
    """The folder of one case, initially empty, and the commands that were run in it."""

    def __init__(self, folder: Path, program: Path = PROGRAM):
        self.folder = folder
        self.program = program
        self.steps: list[str] = []  # as shell commands
        self.peak = 0
        self.runs = 0

    def path(self, name: str) -> Path:
        return self.folder / name

    def write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        return path

    def copy_model(self, source: Path, name: str = "model") -> Path:
        return Path(shutil.copytree(source, self.folder / name))

    def link(self, source: Path, name: str) -> Path:
        path = self.folder / name
        path.symlink_to(source)
        return path

    def note(self, arguments: list, stdin: str = "") -> None:
        words = " ".join(shlex.quote(os.fsdecode(word) if isinstance(word, bytes) else str(word)) for word in arguments)
        self.steps.append(f'"$ATTNFLOW" {words}' + (f" <{stdin}" if stdin else " </dev/null"))

    def start(self, arguments: list, stdin=subprocess.DEVNULL, **options) -> subprocess.Popen:
        self.runs += 1
        return subprocess.Popen(
            [os.fspath(self.program), *(word if isinstance(word, bytes) else str(word) for word in arguments)],
            cwd=self.folder, stdin=stdin, preexec_fn=limit, **options,
        )  # fmt: skip

    def run(self, *arguments, outputs: tuple = (), stdin: bytes | None = None, seconds: float = SECONDS) -> Done:
        """Runs the program and checks everything that applies to any run. `outputs` are the files that it is told to
        write; existing ones must stay unchanged if it fails."""
        words = list(arguments)
        given = ""
        if stdin is not None:
            given = f"stdin-{len(self.steps)}"
            self.write(given, stdin)
        self.note(words, given)
        before = self.files()
        kept = {name: self.path(name).read_bytes() for name in outputs if self.path(name).is_file()}
        streams = [open(self.folder.parent / f"{self.folder.name}.{name}", "w+b") for name in ("out", "err")]
        source = open(self.path(given), "rb") if given else open(os.devnull, "rb")
        try:
            begin = time.monotonic()
            process = self.start(words, source, stdout=streams[0], stderr=streams[1])
            ended = wait(process, seconds)
            took = time.monotonic() - begin
            for stream in streams:
                stream.seek(0)
            out, err = (stream.read() for stream in streams)
        finally:
            for stream in (*streams, source):
                stream.close()
        if ended is None:
            raise Fallen("hang", f"still running after {seconds} s")
        try:
            said = err.decode()
        except UnicodeDecodeError as error:
            raise wrong(f"standard error is not UTF-8: {err[-600:]!r}") from error
        done = Done(ended[0], out, said, ended[1], took)
        self.peak = max(self.peak, done.peak)
        check_end(done, self.program.name)
        self.check_files(done, before, outputs, kept)
        return done

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}

    def check_files(self, done: Done, before: set[str], outputs: tuple, kept: dict[str, bytes]) -> None:
        left = self.files() - before - set(outputs)
        if left:
            raise wrong(f"left behind: {sorted(left)[:5]}")
        if done.code == DONE:
            for name in outputs:
                results.check_file(self.path(name))
            return
        for name in outputs:
            if name in kept:
                if self.path(name).read_bytes() != kept[name]:
                    raise wrong(f"{name} was changed by a run that failed")
            elif name not in before and self.path(name).exists():
                raise wrong(f"{name} was written by a run that failed")
