"""Uses the library as an engine's author would: installed, found by CMake, linked without a model backend.

Installs the core-only build into a temporary folder and builds the project next to this file against it.
"""

import re
import shutil
import subprocess
import unittest
from pathlib import Path

import examples
import header_examples

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = Path(__file__).resolve().parent


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class ExampleMarksTest(unittest.TestCase):
    """What examples.py must refuse."""

    GOOD = "<!-- example: a -->\n```cpp\nint x;\n```\n\n<!-- output: a -->\n```text\n1\n```\n"

    def test_example_with_output(self):
        self.assertEqual(examples.examples("text\n\n" + self.GOOD), [examples.Example("a", "int x;\n", "1\n")])

    def test_half_an_example_is_an_error(self):
        for broken in (
            self.GOOD.replace("output: a", "output: b"),
            self.GOOD.replace("```text\n1\n```\n", "1\n"),
            self.GOOD.replace("```cpp", "```python"),
            self.GOOD + self.GOOD,
        ):
            with self.assertRaises(ValueError):
                examples.examples(broken)


class HeaderExamplesTest(unittest.TestCase):
    """What header_examples.py must find and refuse."""

    GOOD = "// About.\n//\n// Example:\n//\n//     int x;\n//\n//     // One.\n//     x = 1;\n#ifndef A_H_\n// int y;\n"

    def test_example_is_found_with_its_line(self):
        found = header_examples.header_example("a/a.h", self.GOOD)
        self.assertEqual(found, header_examples.HeaderExample("a/a.h", 5, "int x;\n\n// One.\nx = 1;\n"))
        self.assertIsNone(header_examples.header_example("a/a.h", "// About.\n#ifndef A_H_\n"))

    def test_another_form_is_an_error(self):
        for broken in (
            self.GOOD.replace("Example:\n//\n", "Example:\n"),
            self.GOOD.replace("//     x", "//   x"),
            self.GOOD.replace("#ifndef", "// More.\n#ifndef"),
            self.GOOD.replace("// About.", "// Example:"),
            self.GOOD.replace("Example:", "Example"),
            "#ifndef A_H_\n" + self.GOOD,
            "// Example:\n//\n#ifndef A_H_\n",
        ):
            with self.assertRaises(ValueError, msg=broken):
                header_examples.header_example("a/a.h", broken)

    def test_headers_are_those_of_the_first_table(self):
        table = "| header | contents |\n| --- | --- |\n| `{}` | x |\n\n"
        text = "| `a/z.h` | x |\n\n## Public headers\n\nText.\n\n" + table.format("a/a.h") + table.format("a/b.h")
        self.assertEqual(header_examples.listed_headers(text), ["a/a.h"])


class ConsumerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # The same folder each time, so that the compiler cache knows what includes nothing that changed.
        cls.folder = ROOT / "build" / "consumer-test"
        shutil.rmtree(cls.folder, ignore_errors=True)
        cls.folder.mkdir(parents=True)
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cache = shutil.which("ccache")
        cls.prefix = cls.folder / "prefix"
        # With exactly the options of the release build, so that the compiler cache knows the objects.
        run("cmake", "--preset", "consumer", "-DATTNFLOW_WERROR=ON")
        run("cmake", "--build", ROOT / "build" / "consumer", "--parallel", "2")
        run("cmake", "--install", ROOT / "build" / "consumer", "--prefix", cls.prefix)

        cls.examples = examples.examples((ROOT / "README.md").read_text(encoding="utf-8"))
        sources = []
        for example in cls.examples:
            source = cls.folder / f"{example.name}.cc"
            source.write_text(example.source, encoding="utf-8")
            sources.append(str(source))
        include = cls.prefix / "include"
        cls.headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
        versioning = (ROOT / "docs" / "versioning.md").read_text(encoding="utf-8")
        cls.listed_headers = header_examples.listed_headers(versioning)
        found = (header_examples.header_example(name, (include / name).read_text("utf-8")) for name in cls.headers)
        cls.header_examples = [example for example in found if example]
        program = cls.folder / "header_examples"
        program.mkdir()
        for name, source in header_examples.program(cls.header_examples).items():
            (program / name).write_text(source, encoding="utf-8")
        cls.build = cls.folder / "build"
        run(
            *("cmake", "-G", "Ninja", "-S", HERE, "-B", cls.build, "-DCMAKE_BUILD_TYPE=Release"),
            *(f"-DCMAKE_PREFIX_PATH={cls.prefix}", f"-DEXAMPLES={';'.join(sources)}"),
            f"-DHEADERS={';'.join(cls.headers)}",
            *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={cache}"] if cache else []),
            f"-DHEADER_EXAMPLES={';'.join(str(path) for path in sorted(program.iterdir()))}",
        )

    def test_readme_examples_print_what_the_readme_says(self):
        self.assertTrue(self.examples, "README.md has no <!-- example: NAME -->")
        for example in self.examples:
            with self.subTest(example.name):
                run("cmake", "--build", self.build, "--target", example.name)
                self.assertEqual(run(self.build / example.name), example.output)

    def test_every_public_header_compiles_alone(self):
        self.assertIn("attnflow/base/version.h", self.headers)
        self.assertIn("attnflow/rollout/rollout.h", self.headers)
        run("cmake", "--build", self.build, "--target", "headers", "--parallel", "2")

    def test_every_public_header_has_an_example_that_runs(self):
        self.assertIn("attnflow/rollout/rollout.h", self.listed_headers)
        self.assertEqual(set(self.listed_headers) - {example.header for example in self.header_examples}, set())
        # -k0: reports all failures, not only the first.
        run("cmake", "--build", self.build, "--target", "header_examples", "--parallel", "2", "--", "-k0")
        folder = self.folder / "written"  # written by the examples
        folder.mkdir()
        run(self.build / "header_examples", cwd=folder)

    def test_no_test_helper_is_installed(self):
        self.assertEqual([header for header in self.headers if "_for_test" in header], [])

    def test_program_needs_no_model_backend_and_no_pictures(self):
        self.assertTrue(self.examples, "README.md has no <!-- example: NAME -->")
        run("cmake", "--build", self.build, "--target", self.examples[0].name)
        # Names and paths without load addresses: hexadecimal digits can spell c10.
        libraries = re.sub(r"\(0x[0-9a-f]+\)", "", run("ldd", self.build / self.examples[0].name))
        self.assertIn("libc.so", libraries)
        self.assertNotRegex(libraries, r"torch|c10|cairo|pango|onig|llama")

    def test_package_does_not_name_the_folder_it_was_built_in(self):
        files = list((self.prefix / "lib").rglob("*.cmake"))
        self.assertTrue(files)
        for file in files:
            self.assertNotIn(str(ROOT), file.read_text(encoding="utf-8"), file.name)

    def test_another_version_is_refused(self):
        version = re.search(r"project\(attnflow VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        project = self.folder / "version"
        project.mkdir()
        for asked, found in ((version, True), ("999.0", False)):
            (project / "CMakeLists.txt").write_text(
                "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES CXX)\n"
                f'find_package(attnflow {asked} QUIET)\nmessage(STATUS "found=${{attnflow_FOUND}}")\n'
            )
            said = run(
                "cmake", "-G", "Ninja", "-S", project, "-B", project / asked, f"-DCMAKE_PREFIX_PATH={self.prefix}"
            )
            self.assertIn(f"found={1 if found else 0}", said)

    def test_sources_can_be_a_folder_of_another_project(self):
        project = self.folder / "subfolder"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES CXX)\nset(ATTNFLOW_CORE_ONLY ON)\n"
            f'add_subdirectory("{ROOT}" attnflow)\nadd_library(user STATIC user.cc)\n'
            "target_link_libraries(user PRIVATE attnflow::core)\n"
        )
        (project / "user.cc").write_text('#include "attnflow/rollout/rollout.h"\n#include "attnflow/base/version.h"\n')
        run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build")
        run("ninja", "-C", project / "build", "CMakeFiles/user.dir/user.cc.o")


if __name__ == "__main__":
    unittest.main()
