#include "attnflow/report/report_arrays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/report/report_for_test.h"

namespace attnflow::report_arrays_test {
namespace {

using test::get;
using test::small_report;
using test::TempFolder;

using Names = std::vector<std::string>;

Names names_of(const std::vector<NamedArray>& arrays) {
  Names names;
  for (const NamedArray& named : arrays) names.push_back(named.name);
  return names;
}

const Array& array_of(const std::vector<NamedArray>& arrays, std::string_view name) {
  return std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& named) { return named.name == name; })->array;
}

TEST(ReportArrays, KeysTypesAndValues) {
  Report report = small_report();
  report.attention = Tensor<float>({2, 3, 4, 4}, std::vector<float>(96, 0.25F));
  const std::vector<NamedArray> arrays = report_arrays(report);
  EXPECT_EQ(names_of(arrays), (Names{"tokens", "special", "layers", "output_tokens", "flow_output_tokens", "raw",
                                     "rollout", "flow", "flow_gap", "flow_degenerate", "attention"}));
  EXPECT_EQ(array_of(arrays, "tokens").strings, (Names{"[CLS]", "the", "##cats", "[SEP]"}));
  EXPECT_EQ(array_of(arrays, "tokens").dtype, DType::kUnicode);
  EXPECT_EQ(array_of(arrays, "special").dtype, DType::kBool);
  EXPECT_EQ(array_of(arrays, "special").to_int64(""), (Tensor<std::int64_t>({4}, {1, 0, 0, 1})));
  EXPECT_EQ(array_of(arrays, "layers").to_int64(""), (Tensor<std::int64_t>({2}, {1, 2})));
  EXPECT_EQ(array_of(arrays, "output_tokens").to_int64(""), (Tensor<std::int64_t>({4}, {0, 1, 2, 3})));
  EXPECT_EQ(array_of(arrays, "flow_output_tokens").to_int64(""), (Tensor<std::int64_t>({2}, {0, 2})));
  for (const char* const name : {"raw", "rollout", "flow", "flow_gap"})
    EXPECT_EQ(array_of(arrays, name).dtype, DType::kF64) << name;
  EXPECT_EQ(array_of(arrays, "raw").to_double(""), report.raw);
  EXPECT_EQ(array_of(arrays, "flow").to_double(""), report.flow);
  EXPECT_EQ(array_of(arrays, "flow_degenerate").dtype, DType::kU8);
  EXPECT_EQ(array_of(arrays, "attention").dtype, DType::kF32);
  EXPECT_EQ(array_of(arrays, "attention").shape, (Shape{2, 3, 4, 4}));
}

TEST(ReportArrays, WhatIsNotThereIsAbsent) {
  Report report = small_report();
  report.raw = {};
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  report.flow_output_tokens = {};
  EXPECT_EQ(names_of(report_arrays(report)), (Names{"tokens", "special", "layers", "output_tokens", "rollout"}));
  report = small_report();
  report.output_tokens = report.flow_output_tokens;
  report.raw = report.rollout = {};
  EXPECT_EQ(names_of(report_arrays(report)),
            (Names{"tokens", "special", "layers", "output_tokens", "flow", "flow_gap", "flow_degenerate"}));
}

TEST(ReportArrays, NpzReadsBack) {
  const TempFolder folder;
  const Report report = small_report();
  write_report_npz(folder / "a.npz", report);
  EXPECT_EQ(list_npz(folder / "a.npz"), names_of(report_arrays(report)));
  EXPECT_EQ(read_npz(folder / "a.npz", "rollout").to_double(""), report.rollout);
  EXPECT_EQ(read_npz(folder / "a.npz", "tokens").strings[2], "##cats");
  write_report_npz(folder / "b.npz", report);
  EXPECT_EQ(get(folder / "a.npz"), get(folder / "b.npz"));
}

TEST(ReportArrays, SafetensorsReadsBack) {
  const TempFolder folder;
  Report report = small_report();
  report.input.tokens[1].text = "\"\n\xE4\xB8\xAD";
  write_report_safetensors(folder / "a.safetensors", report);
  const SafetensorsFile file(folder / "a.safetensors");
  Names names;
  for (const auto& entry : file.entries()) names.push_back(entry.first);
  EXPECT_EQ(names, (Names{"flow", "flow_degenerate", "flow_gap", "flow_output_tokens", "layers", "output_tokens", "raw",
                          "rollout", "special"}));
  EXPECT_EQ(file.read("flow").to_double(""), report.flow);
  EXPECT_EQ(file.read("special").dtype, DType::kBool);
  EXPECT_EQ(nlohmann::json::parse(file.metadata().at("tokens")),
            nlohmann::json({"[CLS]", "\"\n\xE4\xB8\xAD", "##cats", "[SEP]"}));
}

TEST(ReportArrays, PathsThatCannotBeWritten) {
  const TempFolder folder;
  for (const char* const name : {"none/a.npz", "none/a.safetensors"}) {
    test::expect_error(ErrorKind::kOther, {name, "there is no folder"}, [&] {
      std::string_view(name).ends_with("npz") ? write_report_npz(folder / name, small_report())
                                              : write_report_safetensors(folder / name, small_report());
    });
  }
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace attnflow::report_arrays_test
