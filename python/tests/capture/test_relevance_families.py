"""Relevance and contributions of every family of transformers: right, or refused."""

from __future__ import annotations

import unittest

import relevance_families
from architectures import FAMILIES
from loading import ROOT, PackageTest


class RelevanceFamilies(PackageTest):
    def test_families(self) -> None:
        """Each is right, or refused with a reason; the documentation has the table."""
        outcomes = {}
        for family in FAMILIES:
            name = family.label or family.name
            with self.subTest(name):
                outcomes[name] = relevance_families.outcome_of(family)
                self.assertTrue(outcomes[name].how == "found" or outcomes[name].reason)
        self.assertGreaterEqual(sum(one.how == "found" for one in outcomes.values()), 90)
        text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
        self.assertIn(relevance_families.table(outcomes), text, "python/tests/capture/relevance_families.py prints it")


if __name__ == "__main__":
    unittest.main()
