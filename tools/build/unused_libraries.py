"""Keeps libraries that a shared object pulls in but does not use from being loaded with it.

Debian's libtorch is linked to OpenCV, FFmpeg and LevelDB but calls none of their functions. They bring 250 further
libraries (GDAL, GStreamer, ...), and loading all of those takes longer than the rest of a small model's run.

A library counts as unused if it belongs to one of the families in SKIPPABLE, no remaining library needs any symbol that
it defines, and none depends on it by name. (Only those families: a library may also be needed for what it does when it
is loaded, like libtorch_cuda.) In FOLDER each unused library gets a link with its name to NOTHING, an empty library. If
the shared object's run path (DT_RPATH, which also applies to what it loads in turn) names that folder first, the
dynamic linker opens NOTHING instead of those libraries. Finally the object is opened with every symbol bound; if that
fails, all links are removed.

    unused_libraries.py OBJECT NOTHING FOLDER
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SKIPPABLE = re.compile(r"lib(opencv_\w+|av(codec|format|util)|sw(scale|resample)|leveldb|lmdb|snappy|zmq)\.so(\.|$)")


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"LC_ALL": "C"}).stdout


def needed(path: str) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "--dynamic", "--wide", path))


def symbols(path: str, which: str) -> set[str]:
    # "address type name@@VERSION", or without the address; ignoring versions can only find more uses, not fewer.
    return {line.split()[-1].split("@")[0] for line in output("nm", "--dynamic", which, path).splitlines() if line}


class Libraries:
    """The libraries loaded with an object, by the names under which they depend on each other."""

    def __init__(self, target: str):
        self.target = target
        self.where = dict(re.findall(r"^\s*(\S+) => (/.*) \(0x", output("ldd", target), re.MULTILINE))
        self.needs: dict[str, list[str]] = {}

    def needs_of(self, path: str) -> list[str]:
        if path not in self.needs:
            self.needs[path] = [name for name in needed(path) if name in self.where]
        return self.needs[path]

    def loaded_without(self, skipped: set[str]) -> set[str]:
        """Paths of everything that is still loaded."""
        loaded, waiting = {self.target}, [self.target]
        while waiting:
            for name in self.needs_of(waiting.pop()):
                path = self.where[name]
                if name not in skipped and path not in loaded:
                    loaded.add(path)
                    waiting.append(path)
        return loaded

    def unused(self) -> list[str]:
        names = {name for path in self.loaded_without(set()) for name in self.needs_of(path)}
        skipped = {name for name in names if SKIPPABLE.match(name)}
        while True:
            # Dependencies of skipped libraries are skipped with them; only remaining libraries' dependencies count.
            stay = self.loaded_without(skipped)
            wanted = set().union(*(symbols(path, "--undefined-only") for path in stay))
            used = {name for name in skipped if symbols(self.where[name], "--defined-only") & wanted}
            if not used:
                return sorted(name for name in skipped if any(name in self.needs_of(path) for path in stay))
            skipped -= used


def opens(target: str) -> bool:
    program = "import ctypes, os, sys; ctypes.CDLL(sys.argv[1], os.RTLD_NOW | os.RTLD_LOCAL); os._exit(0)"
    return subprocess.run([sys.executable, "-c", program, target], check=False, capture_output=True).returncode == 0


def main(target: str, nothing: str, folder: str) -> None:
    links = Path(folder)
    shutil.rmtree(links, ignore_errors=True)  # otherwise the last run's links would be taken for the libraries
    unused = Libraries(target).unused()
    links.mkdir(parents=True)
    if not unused:
        return
    shutil.copy(nothing, links / "nothing.so")
    for name in unused:
        (links / name).symlink_to("nothing.so")
    if not opens(target):
        shutil.rmtree(links)
        links.mkdir()
        print(f"{target} does not open without the libraries that seem unused; all of them will be loaded")


if __name__ == "__main__":
    main(*sys.argv[1:])
