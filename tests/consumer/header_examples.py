"""The examples in the leading comments of public headers, combined into one program that runs them all.

An example ends its header's leading comment:

    // Example:
    //
    //     const AttentionGraph graph = attention_graph(stack);
    //     ...
    #ifndef ...

Anything it does not declare (`stack`) is a member of `Given` in given.h, which is created anew for each example.
Results are stated with `assert`, and checked.
"""

import re
from dataclasses import dataclass

MARK = "// Example:"
INDENT = "//     "


@dataclass
class HeaderExample:
    header: str
    line: int  # line of the header, from 1, where the code starts
    code: str

    @property
    def name(self) -> str:
        return re.sub(r"\W", "_", self.header)


def listed_headers(markdown: str) -> list[str]:
    """The headers in the first table of docs/versioning.md."""
    _, _, section = markdown.partition("\n## Public headers\n")
    table = re.search(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return re.findall(r"^\| `([\w/]+\.h)` \|", table[0], re.MULTILINE) if table else []


def header_example(header: str, text: str) -> HeaderExample | None:
    """The example of a header, or None. An example not of the form above is an error."""
    lines = text.split("\n")
    comment = lines[: next((at for at, line in enumerate(lines) if not line.startswith("//")), len(lines))]
    marks = [at for at, line in enumerate(lines) if re.match(r"\s*//\s*Example\b", line)]
    if not marks:
        return None
    begin = marks[0] + 2
    code = comment[begin:]
    if len(marks) > 1 or lines[marks[0]] != MARK or comment[marks[0] + 1 : begin] != ["//"] or not code:
        raise ValueError(f"{header}: expected one '{MARK}' in the leading comment, then a line '//', then the code")
    for line in code:
        if line != "//" and not line.startswith(INDENT):
            raise ValueError(f"{header}: expected code behind '{INDENT}' up to the comment's end, found '{line}'")
    code = ["" if line == "//" else line.removeprefix(INDENT) for line in code]
    return HeaderExample(header, begin + 1, "\n".join(code) + "\n")


def program(examples: list[HeaderExample]) -> dict[str, str]:
    """Sources by file name: one for each module, with its headers and its examples, and one with main()."""
    modules: dict[str, list[HeaderExample]] = {}
    for example in examples:
        modules.setdefault(example.header.split("/")[-2], []).append(example)
    sources = {}
    for module, members in modules.items():
        includes = "".join(f'#include "{example.header}"\n' for example in members)
        functions = "".join(
            f"struct Of_{example.name} : Given {{ void run(); }};\n"
            f"void {example.name}() {{ Of_{example.name}().run(); }}\n"
            f"void Of_{example.name}::run() {{\n"
            f'#line {example.line} "{example.header}"\n{example.code}}}\n'
            for example in members
        )
        sources[f"{module}_examples.cc"] = f'{includes}#include "given.h"\nnamespace attnflow {{\n{functions}}}\n'
    declarations = "".join(f"void {example.name}();\n" for example in examples)
    calls = "".join(f'  run("{example.header}", attnflow::{example.name});\n' for example in examples)
    sources["main.cc"] = (
        "#include <cstdio>\n#include <cstdlib>\n#include <exception>\n"
        f"namespace attnflow {{\n{declarations}}}\n"
        "static void run(const char* header, void (*example)()) {\n"
        "  try {\n    example();\n  } catch (const std::exception& error) {\n"
        '    std::fprintf(stderr, "%s: the example throws: %s\\n", header, error.what());\n    std::exit(1);\n  }\n}\n'
        f"int main() {{\n{calls}}}\n"
    )
    return sources
