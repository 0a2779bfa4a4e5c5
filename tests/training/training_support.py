"""What the tests of attnflow-train share: the program, and what the tests of the command line have (tests/cli)."""

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
    """Runs attnflow-train; run_attnflow() the program that uses what it made."""

    program = TRAIN

    def run_attnflow(self, *arguments, code=0):
        return self.run_program(*arguments, program=support.PROGRAM, code=code)
