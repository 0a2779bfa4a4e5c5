"""Every command that writes, killed at a random moment: each file is the old one or the new one, never a partial one,
and the next run leaves nothing of the killed one."""

import subprocess
import time
from random import Random

from running import DONE, SECONDS, Fallen, Runner, wait, wrong
from samples import CLASSIFIER, DECODER, FASHION, LLAMA, npy_bytes, npz_bytes, stack

OLD = b"what was here before\n" * 50
# Output bytes and duration in seconds of a complete run, by command: same input, same bytes.
WHOLE: dict[tuple, tuple[dict[str, bytes], float]] = {}

# For each run to be killed, whether it was still running.
STOPPED: list[bool] = []


def commands(random: Random) -> tuple[list, list[str]]:
    """Arguments, and the files that they write."""
    ending = random.choice((".npz", ".npz", ".safetensors", ".json", ".csv", ".html", ".svg", ".pdf", ".png"))
    name = "out" + ending
    attention = ["explain", "--attention", "a.npz", "--method", "raw,rollout", "--threads", 1]
    keep = ["--keep-attention"] if ending in (".npz", ".safetensors", ".json") else []
    return random.choice((
        ([*attention, *keep, "-o", name], [name]),
        ([*attention, *keep, "-o", name], [name]),
        ([*attention, "-o", "one.json", "-o", "two.npz", "-o", "three.csv"], ["one.json", "two.npz", "three.csv"]),
        (["explain", "the key", "--model", "classifier", "--threads", 1, "-o", name], [name]),
        (["image", "p.png", "--method", "raw,rollout", "--threads", 1, "-o", name], [name]),
        (["generate", "The", "-n", 2, "--model", "decoder", "--threads", 1, "-o", name], [name]),
        (["evaluate", "sentences", "d.csv", "--model", "classifier", "--threads", 1, "-o", "out.csv"], ["out.csv"]),
        (["model", "m.gguf", "-o", "folder"], ["folder"]),
    ))  # fmt: skip


def inputs(runner: Runner) -> None:
    array = stack(Random(7), layers=3, heads=2, tokens=90)
    runner.write("a.npz", npz_bytes({"attention.npy": npy_bytes(array)}, False))
    runner.write("d.csv", b"text,label\nthe key,0\na key,1\n")
    runner.link(FASHION / "example_bag.png", "p.png")
    runner.link(CLASSIFIER, "classifier")
    runner.link(DECODER, "decoder")
    runner.link(LLAMA, "m.gguf")


def content(runner: Runner, names: list[str]) -> dict[str, bytes | None]:
    """The content of each file, including a folder's files; None for those that do not exist."""
    found: dict[str, bytes | None] = {}
    for name in names:
        path = runner.path(name)
        if path.is_dir():
            found |= {
                f"{name}/{inner.relative_to(path)}": inner.read_bytes() for inner in path.rglob("*") if inner.is_file()
            }
        else:
            found[name] = path.read_bytes() if path.exists() else None
    return found


def clear(runner: Runner, names: list[str]) -> None:
    for name in names:
        path = runner.path(name)
        if path.is_dir():
            for inner in path.rglob("*"):
                inner.unlink()
            path.rmdir()
        else:
            path.unlink(missing_ok=True)


def whole(runner: Runner, arguments: list, names: list[str]) -> tuple[dict[str, bytes], float]:
    key = tuple(map(str, arguments))
    if key not in WHOLE:
        process = runner.start(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        begin = time.monotonic()
        said = process.communicate(timeout=SECONDS)[1]
        if process.returncode != DONE:
            raise wrong(f"the whole run failed: {said.decode()[-600:]}")
        WHOLE[key] = (content(runner, names), time.monotonic() - begin)
        clear(runner, names)
    return WHOLE[key]


def kill(random: Random, runner: Runner, process: subprocess.Popen, seconds: float) -> bool:
    """Kills at a random moment of the whole run or, in half of the cases, soon after it began to write. Returns whether
    it was running."""
    end = time.monotonic() + random.random() * seconds * 1.1
    if random.random() < 0.5:
        end = time.monotonic() + SECONDS
        while process.poll() is None and not list(runner.folder.glob(".attnflow-*")) and time.monotonic() < end:
            time.sleep(0.0002)
        end = time.monotonic() + random.choice((0, 0.0005, 0.002, 0.01))
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.0005)
    ran = process.poll() is None
    process.kill()
    process.wait()
    return ran


def case(random: Random, runner: Runner) -> None:
    inputs(runner)
    arguments, names = commands(random)
    new, seconds = whole(runner, arguments, names)
    is_folder = names == ["folder"]
    old: dict[str, bytes | None] = {name: None for name in new}
    if not is_folder and random.random() < 0.6:
        for name in names:
            runner.write(name, OLD)
            old[name] = OLD
    runner.note(["# killed:", *arguments])
    for _ in range(random.choice((1, 1, 2))):
        process = runner.start(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        STOPPED.append(kill(random, runner, process, seconds))
        found = content(runner, names)
        if is_folder and runner.path("folder").exists() and found != new:
            raise wrong(f"half a folder: {sorted(found)}")
        for name in () if is_folder else names:
            if found[name] not in (old[name], new[name]):
                size = "no file" if found[name] is None else f"{len(found[name])} bytes"
                raise wrong(f"{name} is neither the old file nor the new one: {size}, whole {len(new[name])}")
            old[name] = found[name]
        if is_folder:
            clear(runner, names)
    process = runner.start(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = b""
    ended = wait(process, SECONDS)
    if process.stderr is not None:
        said = process.stderr.read()
        process.stderr.close()
    if ended is None:
        raise Fallen("hang", f"still running after {SECONDS} s, after a run that was killed")
    runner.peak = max(runner.peak, ended[1])
    if ended[0] != DONE:
        raise wrong(f"after a run that was killed: {said.decode()[-600:]}")
    if content(runner, names) != new:
        raise wrong("after a run that was killed, the next one writes something else")
    left = [path.name for path in runner.folder.iterdir() if path.name.startswith(".attnflow-")]
    if left:
        raise wrong(f"left behind by a run that was killed, and by the next one: {left}")


def finish(tally) -> str:
    """A campaign whose runs all ended by themselves has shown nothing."""
    return "no run was killed before it ended" if tally.cases >= 10 and not any(STOPPED) else ""
