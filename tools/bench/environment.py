"""The private Python of the benchmarks: the packages of requirements.txt in .cache/bench/venv.

    from environment import python
    subprocess.run([python(), SCRIPT, ...])

Needs Python 3.11 or newer with venv (Debian: python3-venv).
"""

import fcntl
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENV = ROOT / ".cache" / "bench" / "venv"
REQUIREMENTS = HERE / "requirements.txt"


class EnvironmentProblem(Exception):
    pass


def runs(interpreter):
    """Whether pip works: false without an environment, or in one whose Python is gone after an upgrade."""
    try:
        result = subprocess.run([interpreter, "-m", "pip", "--version"], stdin=subprocess.DEVNULL, capture_output=True)
    except OSError:
        return False
    return result.returncode == 0


def check(command, failure):
    """Runs `command`, with its standard output sent to standard error."""
    try:
        code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr).returncode
    except OSError as error:
        raise EnvironmentProblem(f"{failure}: {error}") from error
    if code != 0:
        raise EnvironmentProblem(f"{failure} (exit code {code}); see its message above")


def python():
    """Returns the environment's interpreter, after installing if requirements.txt has changed."""
    interpreter = VENV / "bin" / "python"
    installed = VENV / "installed-requirements.txt"  # written last: its presence says that the rest succeeded
    VENV.parent.mkdir(parents=True, exist_ok=True)
    with (VENV.parent / "venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two scripts that start together install once
        wanted = REQUIREMENTS.read_text()
        if installed.is_file() and installed.read_text() == wanted and runs(interpreter):
            return interpreter
        print(f"bench: installing {REQUIREMENTS.name} into {VENV}", file=sys.stderr)
        installed.unlink(missing_ok=True)
        if not runs(interpreter):
            make = [sys.executable, "-m", "venv", "--clear", VENV]
            check(make, "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)")
        # Existing packages stay: a script may be running with them.
        install = [interpreter, "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check"]
        check([*install, "--only-binary=:all:", "-r", REQUIREMENTS], f"pip could not install {REQUIREMENTS}")
        installed.write_text(wanted)
        return interpreter


def main():
    try:
        print(python())
    except (EnvironmentProblem, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
