"""Tests of unused_libraries.py on small libraries built on the fly."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import unused_libraries

COMPILER = os.environ.get("CC", "cc")


class UnusedLibrariesTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.links = self.folder / "skipped"

    def library(self, name: str, code: str, *needs: str, rpath: str = "$ORIGIN/skipped:$ORIGIN") -> Path:
        source = self.folder / f"{name}.c"
        source.write_text(code)
        path = self.folder / f"{name}.so.1"
        linked = ["-Wl,--no-as-needed", *(str(self.folder / f"{need}.so.1") for need in needs)]
        options = ["-shared", "-fPIC", f"-Wl,-soname,{path.name}", "-Wl,--disable-new-dtags", f"-Wl,-rpath,{rpath}"]
        subprocess.run([COMPILER, *options, "-o", path, source, *linked], check=True)
        return path

    def skipped(self, target: Path) -> list[str]:
        nothing = self.library("nothing", "")
        unused_libraries.main(str(target), str(nothing), str(self.links))
        links = sorted(path.name for path in self.links.iterdir() if path.is_symlink())
        for name in links:
            self.assertEqual(os.readlink(self.links / name), "nothing.so")
        return links

    def test_what_is_used_stays(self):
        self.library("libgdal", "int gdal(void) { return 1; }")
        self.library("libopencv_core", "int core(void) { return 1; }", "libgdal")
        self.library("libopencv_dnn", "int dnn(void) { return 1; }", "libopencv_core")
        self.library("libzmq", "int zmq(void) { return 1; }")
        self.library("libleveldb", "int level(void) { return 1; }")
        self.library("libnuma", "int numa(void) { return 1; }")
        # Uses zmq, and leveldb if there is one; depends on both opencv libraries and numa without using them.
        code = "int zmq(void); __attribute__((weak)) int level(void); int top(void) { return zmq() + (level ? 1 : 0); }"
        needs = ("libopencv_core", "libopencv_dnn", "libzmq", "libleveldb", "libnuma")
        target = self.library("libtop", code, *needs)
        # numa is in no family known to do nothing on loading.
        self.assertEqual(self.skipped(target), ["libopencv_core.so.1", "libopencv_dnn.so.1"])
        loaded = unused_libraries.output("ldd", str(target))
        self.assertNotIn("libgdal", loaded)
        self.assertIn("libnuma", loaded)
        # Its own links from the last run do not confuse it.
        self.assertEqual(self.skipped(target), ["libopencv_core.so.1", "libopencv_dnn.so.1"])

    def test_what_another_library_uses_stays(self):
        self.library("libavutil", "int util(void) { return 1; }")
        self.library("libavcodec", "int util(void); int codec(void) { return util(); }", "libavutil")
        self.library("libplayer", "int codec(void); int player(void) { return codec(); }", "libavcodec")
        target = self.library("libtop", "", "libplayer", "libavutil", "libavcodec")
        self.assertEqual(self.skipped(target), [])

    def test_nothing_to_skip(self):
        self.library("libother", "int other(void) { return 1; }")
        target = self.library("libtop", "", "libother")
        self.assertEqual(self.skipped(target), [])
        self.assertEqual(list(self.links.iterdir()), [])

    def test_an_object_that_does_not_open_gets_no_links(self):
        self.library("libopencv_core", "int core(void) { return 1; }")
        target = self.library("libtop", "int nowhere(void); int top(void) { return nowhere(); }", "libopencv_core")
        self.assertEqual(self.skipped(target), [])


if __name__ == "__main__":
    unittest.main()
