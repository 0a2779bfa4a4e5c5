"""Tests of what `./dev package --release` refuses, in repositories made on the spot."""

import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "package.sh"
TOLD = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n"


class ReleaseTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.git("init", "--quiet")

    def git(self, *words):
        options = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *options, *words], cwd=self.folder, check=True)

    def commit(self, changelog):
        (self.folder / "CHANGELOG.md").write_text(changelog)
        self.git("add", "CHANGELOG.md")
        self.git("commit", "--quiet", "--message", "Change it")

    def check(self, release, version="1.2.3"):
        """Exit status and output."""
        tell = 'die() { echo "$*"; exit 1; }; say() { echo "$*"; }'
        command = f'set -euo pipefail; {tell}; source "{SCRIPT}"; check_release {version} {release}'
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return done.returncode, done.stdout.strip()

    def test_a_version_that_the_changelog_tells_of_passes(self):
        self.commit(TOLD)
        self.assertEqual(self.check(1), (0, ""))
        self.assertEqual(self.check(0), (0, ""))

    def test_a_version_that_it_does_not_tell_of_is_refused(self):
        self.commit(TOLD)
        for version in ("1.2.4", "1.2"):
            said = f"CHANGELOG.md has no section [{version}]"
            self.assertEqual(self.check(1, version), (1, f"package --release: {said}"))
            self.assertEqual(self.check(0, version), (0, f"not a release: {said}"))

    def test_changes_that_are_not_committed_are_refused(self):
        self.commit(TOLD)
        (self.folder / "new.cc").touch()
        self.assertEqual(self.check(1), (1, "package --release: changes are not committed"))


if __name__ == "__main__":
    unittest.main()
