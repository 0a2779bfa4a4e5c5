// A small handmade report, for tests of writers.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

#include "attnflow/base/error_for_test.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_json.h"

namespace attnflow::test {

// Four tokens "[CLS] The cats [SEP]" (the third spelled "##cats" as a piece), layers 1 and 2, all three methods. Values
// for layer index l, row i, column j: raw 0.1 (j + 1) + 0.01 i + l, rollout half of it, flow a quarter in the rows of
// tokens 0 and 2 only.
inline Report small_report() {
  Report report;
  report.settings.layers = {1, 2};
  report.model = {"tiny", "bert", 2, 3, false};
  report.input.text = "The cats";
  report.input.tokens = {{"[CLS]", {}, {}, true, {}, 0},
                         {"the", 0, 3, false, 0, 0},
                         {"##cats", 4, 8, false, 1, 0},
                         {"[SEP]", {}, {}, true, {}, 0}};
  report.output_tokens = {0, 1, 2, 3};
  report.flow_output_tokens = {0, 2};
  report.raw = Tensor<double>({2, 4, 4});
  report.rollout = Tensor<double>({2, 4, 4});
  report.flow = Tensor<double>({2, 2, 4});
  report.flow_gap = Tensor<double>({2, 2, 4});
  report.flow_degenerate = Tensor<std::uint8_t>({2, 2, 4});
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) {
        const double value = 0.1 * static_cast<double>(j + 1) + 0.01 * static_cast<double>(i) + static_cast<double>(l);
        report.raw(l, i, j) = value;
        report.rollout(l, i, j) = value / 2;
        if (i % 2 == 0) {
          report.flow(l, i / 2, j) = value / 4;
          report.flow_gap(l, i / 2, j) = 1e-7;
        }
      }
    }
  }
  report.flow_degenerate(1, 0, 3) = 1;
  report.flow_degenerate(1, 1, 0) = 2;
  return report;
}

// Expects a refusal that names `place` for the document with `value` at `pointer`.
inline void expect_field_refused(const Report& report, const char* pointer, const nlohmann::json& value,
                                 const char* place) {
  SCOPED_TRACE(pointer);
  nlohmann::json document = nlohmann::json::parse(report_to_json(report));
  document[nlohmann::json::json_pointer(pointer)] = value;
  expect_error(ErrorKind::kBadFile, {place}, [&] { report_from_json(document.dump()); });
}

}  // namespace attnflow::test
