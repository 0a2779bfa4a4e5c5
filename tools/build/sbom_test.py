"""Tests of sbom.py, with a fake cargo and with the real lists of packages."""

import json
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import sbom


def crate(name, licence="MIT"):
    return {"id": f"id-{name}", "name": name, "version": "1.0", "license": licence}


def needs(name, *kinds):
    return {"pkg": f"id-{name}", "dep_kinds": [{"kind": kind} for kind in kinds]}


METADATA = {
    "packages": [crate("ours"), crate("linked", "MIT/Apache-2.0"), crate("deeper"), crate("tests"), crate("builds")],
    "resolve": {
        "root": "id-ours",
        "nodes": [
            {"id": "id-ours", "deps": [needs("linked", None), needs("tests", "dev"), needs("builds", "build")]},
            {"id": "id-linked", "deps": [needs("deeper", None, "dev")]},
            {"id": "id-deeper", "deps": []},
            {"id": "id-tests", "deps": [needs("deeper", None)]},
            {"id": "id-builds", "deps": []},
        ],
    },
}


class SbomTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def cargo(self, metadata=METADATA, status=0):
        (self.folder / "metadata.json").write_text(json.dumps(metadata))
        path = self.folder / "cargo"
        path.write_text(f"#!/bin/sh\ncat {self.folder}/metadata.json\nexit {status}\n")
        path.chmod(0o755)
        return str(path)

    def test_crates_are_those_that_are_linked(self):
        found = {name: licence for _, name, _, licence in sbom.crates(self.cargo())}
        self.assertEqual(found, {"linked": "MIT OR Apache-2.0", "deeper": "MIT"})

    def test_the_document_names_each_part_once_and_as_contained(self):
        document = sbom.document("1.2.3", self.cargo())
        names = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(names), len(set(names)))
        relations = [(one["relationshipType"], one["relatedSpdxElement"]) for one in document["relationships"]]
        self.assertEqual(relations, [("DESCRIBES", names[0]), *(("CONTAINS", name) for name in names[1:])])
        by_name = {package["name"]: package for package in document["packages"]}
        self.assertEqual(by_name["attnflow"]["versionInfo"], "1.2.3")
        self.assertEqual(by_name["linked"]["externalRefs"][0]["referenceLocator"], "pkg:cargo/linked@1.0")
        for part in ("preact", "llama.cpp (in llama-cpp-python)", "attnflow model agreement"):
            self.assertTrue(by_name[part]["licenseConcluded"], part)
        self.assertNotIn("typescript", by_name)  # for development

    def test_a_part_without_a_licence_is_an_error(self):
        metadata = json.loads(json.dumps(METADATA))
        metadata["packages"][2]["license"] = None
        with self.assertRaisesRegex(sbom.SbomError, "licence of cargo package deeper 1.0, found none"):
            sbom.document("1.2.3", self.cargo(metadata))

    def test_a_cargo_that_fails_ends_it_and_leaves_no_file(self):
        output = self.folder / "attnflow.spdx.json"
        with mock.patch("sys.argv", ["sbom.py", "1.2.3", "--cargo", self.cargo(status=3), "-o", str(output)]):
            with self.assertRaisesRegex(SystemExit, "sbom: .*exit status 3"):
                sbom.main()
        self.assertFalse(output.exists())

    def test_the_same_date_gives_the_same_document(self):
        with mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
            first, second = (sbom.document("1.2.3", self.cargo()) for _ in range(2))
        self.assertEqual(first, second)
        self.assertEqual(first["creationInfo"]["created"], "2023-11-14T22:13:20Z")


if __name__ == "__main__":
    unittest.main()
