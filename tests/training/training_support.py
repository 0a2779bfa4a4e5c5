"""Shared by the tests of attnflow-train: the program, and the helpers of the command line's tests (tests/cli)."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "cli"))

import support  # noqa: E402

BAD_FILE, OTHER, UNSUPPORTED, USAGE = support.BAD_FILE, support.OTHER, support.UNSUPPORTED, support.USAGE
MODELS = support.MODELS

TRAIN = os.environ.get("ATTNFLOW_TRAIN", str(ROOT / "build" / "release" / "bin" / "attnflow-train"))


class TrainTest(support.CommandTest):
    """Runs attnflow-train; run_attnflow() runs the program that uses its results."""

    program = TRAIN

    def run_attnflow(self, *arguments, code=0):
        return self.run_program(*arguments, program=support.PROGRAM, code=code)
