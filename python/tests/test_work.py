"""Long work: other threads run, Ctrl-C ends it, a bar shows progress; importing costs little."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
import unittest

from support import PackageTest

# Slow flow: all pairs, with attention spread over many tokens.
LONG = """
import numpy as np, attnflow
weights = np.random.default_rng(0).random((10, 1, 400, 400), np.float32) ** 8
weights /= weights.sum(axis=-1, keepdims=True)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)


class Work(PackageTest):
    def test_control_c_ends_it(self) -> None:
        # Background jobs ignore interrupts, and children inherit that.
        heeds = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        work = "print('begins', flush=True)\nattnflow.flow(weights, output_token='all', threads=1)\nprint('ends')"
        code = heeds + LONG + work
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as child:
            assert child.stdout is not None
            self.assertEqual(child.stdout.readline().strip(), "begins")
            time.sleep(0.7)
            self.assertIsNone(child.poll(), "it is done too soon for this test")
            child.send_signal(signal.SIGINT)
            output, errors = child.communicate(timeout=120)
        self.assertNotIn("ends", output)
        self.assertIn("KeyboardInterrupt", errors)

    def test_an_exception_out_of_a_bar_ends_it(self) -> None:
        code = LONG + (
            "from attnflow import _core\n"
            "def stop(done, total):\n"
            "    assert 0 < done <= total == 400, (done, total)\n"
            "    raise ZeroDivisionError\n"
            "try:\n"
            "    _core.explain_arrays(list(weights), [], _core.Tokens([], [], '', False), {'method': 'flow', 'output_token': 'all'}, stop)\n"
            "except ZeroDivisionError:\n"
            "    print('ended')\n"
        )
        done = run(code)
        self.assertEqual((done.stdout, done.returncode), ("ended\n", 0), done.stderr)

    def test_other_threads_run(self) -> None:
        import numpy as np

        import attnflow

        weights = np.random.default_rng(0).random((6, 1, 200, 200), np.float32) ** 8
        weights /= weights.sum(axis=-1, keepdims=True)
        ended = threading.Event()

        def work() -> None:
            attnflow.flow(weights, output_token="all", threads=1)
            ended.set()

        worker = threading.Thread(target=work, daemon=True)
        worker.start()
        longest = 0.0
        last = began = time.monotonic()
        while not ended.is_set():
            time.sleep(0.001)
            now = time.monotonic()
            longest, last = max(longest, now - last), now
        worker.join()
        self.assertLess(longest, 0.5 * (time.monotonic() - began))  # with the lock held it would be all of the work

    def test_a_bar_where_tqdm_is(self) -> None:
        done = run(LONG + "attnflow.flow(weights[:8, :, :300, :300], output_token='all', any_weights=True)")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("flow:", done.stderr)

    def test_no_bar_for_short_work(self) -> None:
        done = run(LONG + "attnflow.flow(weights[:2, :, :20, :20], any_weights=True)")
        self.assertEqual((done.stderr, done.returncode), ("", 0))


class Import(PackageTest):
    def test_is_light(self) -> None:
        code = (
            "import json, sys\n"
            "before = set(sys.modules)\n"
            "import attnflow\n"
            "loaded = sorted({name.split('.')[0] for name in set(sys.modules) - before})\n"
            "libraries = open('/proc/self/maps').read()\n"
            "heavy = [name for name in ('cairo', 'pango', 'torch', 'tokenizers') if 'lib' + name in libraries]\n"
            "print(json.dumps([loaded, heavy]))\n"
        )
        loaded, heavy = json.loads(run(code).stdout)
        self.assertEqual(heavy, [])
        for name in ("numpy", "torch", "transformers", "pandas", "pyarrow", "IPython", "tqdm"):
            self.assertNotIn(name, loaded)


if __name__ == "__main__":
    unittest.main()
