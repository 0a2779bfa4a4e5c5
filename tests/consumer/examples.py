"""The C++ examples in the documents, extracted so that they are what is tested.

In a Markdown file an example is a program and its output, each in a code fence after a comment that names it:

    <!-- example: NAME -->
    ```cpp
    ...
    ```
    <!-- output: NAME -->
    ```text
    ...
    ```
"""

import re
from dataclasses import dataclass

BLOCK = re.compile(r"<!-- (example|output): (\w+) -->\n+```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass
class Example:
    name: str
    source: str
    output: str


def examples(markdown: str) -> list[Example]:
    """All examples of a document. A mark without its fence, or without its counterpart, is an error."""
    found = {"example": {}, "output": {}}
    for kind, name, language, text in BLOCK.findall(markdown):
        if kind == "example" and language != "cpp":
            raise ValueError(f"example '{name}': expected a fence of language cpp, found '{language}'")
        if name in found[kind]:
            raise ValueError(f"{kind} '{name}' is there twice")
        found[kind][name] = text
    marks = len(re.findall(r"<!-- (?:example|output): ", markdown))
    if marks != len(found["example"]) + len(found["output"]):
        raise ValueError("a mark <!-- example: NAME --> or <!-- output: NAME --> is not followed by a code fence")
    if found["example"].keys() != found["output"].keys():
        raise ValueError(f"examples {sorted(found['example'])} and outputs {sorted(found['output'])} do not match")
    return [Example(name, source, found["output"][name]) for name, source in found["example"].items()]
