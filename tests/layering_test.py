#!/usr/bin/env python3
"""Tests of layering.py itself on small trees: what must fail, and what must pass."""

import tempfile
import tomllib
import unittest
from pathlib import Path

import layering

TABLE = Path(__file__).resolve().parent.parent / "tools" / "layering.toml"


class LayeringTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        with TABLE.open("rb") as file:
            self.table = tomllib.load(file)

    def write(self, name: str, text: str, place: str = "attnflow"):
        path = self.root / place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def problems(self) -> list[str]:
        return layering.scan(self.root, self.table)[0]

    def status(self) -> int:
        return layering.main(["--root", str(self.root), "--table", str(TABLE)])

    def test_includes_that_point_up_pass(self):
        self.write("flow/flow.cc", '#include "attnflow/flow/flow.h"\n#include <vector>\n')
        self.write("flow/bounds.cc", '#include "attnflow/graph/mixing.h"\n')
        self.write("flow/flow_test.cc", '#include <gtest/gtest.h>\n#include "attnflow/base/error.h"\n')
        self.write("model/torch/backend.cc", "#include <torch/torch.h>\n")
        self.write("files/npz.cc", "#include <fmt/core.h>\n#include <zip.h>\n")
        self.assertEqual(self.problems(), [])
        self.assertEqual(self.status(), 0)

    def test_upward_include_fails(self):
        self.write("graph/mixing.cc", '#include <vector>\n  #  include "attnflow/flow/flow.h"\n')
        self.assertEqual(len(self.problems()), 1)
        self.assertTrue(self.problems()[0].startswith("attnflow/graph/mixing.cc:2: "), self.problems())
        self.assertEqual(self.status(), 1)

    def test_core_that_includes_a_model_fails(self):
        for module in ("model", "text", "draw", "analysis"):
            self.write("report/report.cc", f'#include "attnflow/{module}/x.h"\n')
            self.assertEqual(len(self.problems()), 1, module)

    def test_backend_headers_outside_their_folder_fail(self):
        for header in ("torch/torch.h", "ATen/ATen.h", "cairo.h", "cairo/cairo.h", "pango/pangocairo.h", "llama.h"):
            self.write("report/report.cc", f"#include <{header}>\n")
            self.assertEqual(len(self.problems()), 1, header)
        self.write("report/report.cc", "#include <vector>\n")
        self.write("model/model.cc", "#include <torch/torch.h>\n")
        self.assertEqual(len(self.problems()), 1)

    def test_test_library_outside_a_test_fails(self):
        self.write("base/error.cc", "#include <gtest/gtest.h>\n")
        self.assertEqual(len(self.problems()), 1)

    def test_a_test_may_use_every_module_above_and_none_below(self):
        self.write("report/report_test.cc", '#include "attnflow/flow/flow.h"\n')
        self.assertEqual(self.problems(), [])
        self.write("report/report_test.cc", '#include "attnflow/analysis/text/explain_text.h"\n')
        self.assertEqual(len(self.problems()), 1)

    def test_other_projects_header_in_a_core_header_fails(self):
        self.write("report/report_json.h", "#include <nlohmann/json.hpp>\n")
        self.assertEqual(len(self.problems()), 1)

    def test_programs_use_modules_and_nothing_uses_programs(self):
        self.write("base/error.h", "#include <string>\n")
        self.write("trainer/step.cc", '#include "training/trainer/step.h"\n#include <torch/torch.h>\n', "training")
        self.write("trainer/step.h", '#include "attnflow/base/error.h"\n', "training")
        self.write("trainer/step_test.cc", '#include "attnflow/serve/server.h"\n', "training")
        self.assertEqual(self.problems(), [])
        self.write("trainer/step.h", '#include "attnflow/serve/server.h"\n', "training")
        self.assertTrue(self.problems()[0].startswith("training/trainer/step.h:1: "), self.problems())
        self.write("trainer/step.h", "#include <cairo.h>\n", "training")
        self.assertEqual(len(self.problems()), 1)
        self.write("trainer/step.h", "#include <string>\n", "training")
        for name in ("cli/main.cc", "base/error.h", "base/error_test.cc"):
            self.write(name, '#include "training/trainer/step.h"\n')
            self.assertEqual(len(self.problems()), 1, name)
            self.assertIn("program of its own", self.problems()[0])
            self.write(name, "#include <string>\n")
        self.table["programs"]["training"] = ["nothing"]
        self.assertIn("layering table: 'training' uses 'nothing', which is no module", self.problems())

    def test_relative_include_fails(self):
        self.write("base/error.cc", '#include "error.h"\n')
        self.assertEqual(len(self.problems()), 1)

    def test_unknown_module_fails(self):
        self.write("base/error.h", "#include <string>\n")
        self.write("misc/helper.h", "#include <string>\n")
        self.assertEqual(len(self.problems()), 1)
        self.write("base/error.h", '#include "attnflow/misc/helper.h"\n')
        self.assertEqual(len(self.problems()), 2)

    def test_file_outside_every_module_fails(self):
        self.write("base/error.h", "#include <string>\n")
        self.write("main.cc", "#include <string>\n")
        self.assertEqual(len(self.problems()), 1)

    def test_empty_scan_fails(self):
        self.assertEqual(len(self.problems()), 1)
        self.assertEqual(self.status(), 1)
        self.write("base/error.h", "int x;\n")
        self.assertEqual(len(self.problems()), 1, "files without any include")

    def test_table_that_points_down_fails(self):
        self.write("base/error.h", "#include <string>\n")
        self.table["modules"]["graph"] = ["base", "flow"]
        self.assertEqual(len(self.problems()), 1)
        self.table["modules"]["graph"] = ["nothing"]
        self.assertEqual(len(self.problems()), 1)
        self.table["modules"]["graph"] = []
        self.table["core"] = ["base", "rollout"]
        self.assertTrue(any("is core and uses" in problem for problem in self.problems()))


if __name__ == "__main__":
    unittest.main()
