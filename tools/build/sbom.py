#!/usr/bin/env python3
"""The contents of the packages, with licenses: an SPDX 2.3 document.

    tools/build/sbom.py VERSION [--cargo CARGO] [-o FILE]

Lists attnflow itself, the linked Rust crates (cargo metadata), the npm packages in the page (package-lock.json, without
development dependencies), libllama, and the built-in models. Debian dependencies are not included: dpkg knows them. A
part without a license is an error.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class SbomError(Exception):
    pass


def crates(cargo):
    """Linked crates: our crate's dependencies and theirs, except those for tests or for building."""
    words = [
        cargo,
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--manifest-path",
        str(ROOT / "rust" / "Cargo.toml"),
    ]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    nodes = {node["id"]: node for node in found["resolve"]["nodes"]}
    root, wanted = found["resolve"]["root"], set()
    todo = [root]
    while todo:
        for dependency in nodes[todo.pop()]["deps"]:
            linked = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if linked and dependency["pkg"] not in wanted:
                wanted.add(dependency["pkg"])
                todo.append(dependency["pkg"])
    for package in found["packages"]:
        if package["id"] in wanted:
            yield "cargo", package["name"], package["version"], re.sub(r" */ *", " OR ", package["license"] or "")


def npm_packages():
    lock = json.loads((ROOT / "viewer" / "package-lock.json").read_text(encoding="utf-8"))
    for path, package in lock["packages"].items():
        if path and not package.get("dev") and not package.get("devOptional"):
            yield "npm", path.rpartition("node_modules/")[2], package["version"], package.get("license", "")


def others():
    version = re.search(r'^VERSION = "(.*)"', (ROOT / "tools" / "build" / "llama").read_text(encoding="utf-8"), re.M)
    yield "generic", "llama.cpp (in llama-cpp-python)", version[1], "MIT"
    yield "generic", "attnflow model agreement", "1", "CC-BY-4.0 AND CC0-1.0"
    yield "generic", "attnflow model fashion", "1", "MIT"


def document(version, cargo):
    def package(kind, name, number, licence):
        if not licence:
            raise SbomError(f"expected a licence of {kind} package {name} {number}, found none")
        identifier = re.sub(r"[^A-Za-z0-9.-]", "-", f"SPDXRef-{kind}-{name}-{number}")
        entry = {"SPDXID": identifier, "name": name, "versionInfo": number, "downloadLocation": "NOASSERTION"}
        entry |= {"filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence}
        entry["copyrightText"] = "NOASSERTION"
        if kind in ("cargo", "npm"):
            locator = f"pkg:{kind}/{name.replace('@', '%40')}@{number}"
            reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
            entry["externalRefs"] = [reference]
        return entry

    parts = [package(*part) for source in (crates(cargo), npm_packages(), others()) for part in source]
    own = package("generic", "attnflow", version, "Apache-2.0")
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or datetime.datetime.now().timestamp())
    created = datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", own["SPDXID"])]
    relations += [(own["SPDXID"], "CONTAINS", part["SPDXID"]) for part in parts]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"attnflow-{version}",
        "documentNamespace": f"urn:attnflow:spdx:{version}:{seconds}",
        "creationInfo": {"created": created, "creators": ["Tool: attnflow-sbom"]},
        "packages": [own, *parts],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b} for a, kind, b in relations
        ],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--cargo", default="cargo")
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    try:
        text = json.dumps(document(arguments.version, arguments.cargo), indent=1) + "\n"
    except (SbomError, subprocess.CalledProcessError) as error:
        sys.exit(f"sbom: {error}")
    if arguments.output:
        arguments.output.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
