#include "attnflow/report/report_arrays.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attnflow {
namespace {

Array positions(const std::vector<std::size_t>& values) {
  std::vector<std::int64_t> integers;
  integers.reserve(values.size());
  for (const std::size_t value : values) integers.push_back(static_cast<std::int64_t>(value));
  return Array::from(TensorView<const std::int64_t>(integers.data(), {integers.size()}));
}

}  // namespace

std::vector<NamedArray> report_arrays(const Report& report) {
  std::vector<std::string> tokens;
  std::vector<bool> special;
  for (const InputToken& token : report.input.tokens) {
    tokens.push_back(token.text);
    special.push_back(token.special);
  }
  std::vector<NamedArray> arrays;
  arrays.push_back({"tokens", Array::from_strings(std::move(tokens))});
  arrays.push_back({"special", Array::from_bools(special)});
  arrays.push_back({"layers", positions(report.settings.layers)});
  arrays.push_back({"output_tokens", positions(report.output_tokens)});
  const auto add = [&](const char* name, const auto& tensor) {
    if (!tensor.empty()) arrays.push_back({name, Array::from(tensor.view())});
  };
  add("raw", report.raw);
  add("rollout", report.rollout);
  add("flow", report.flow);
  add("flow_gap", report.flow_gap);
  add("flow_degenerate", report.flow_degenerate);
  if (!report.flow.empty() && report.flow_output_tokens != report.output_tokens)
    arrays.push_back({"flow_output_tokens", positions(report.flow_output_tokens)});
  add("attention", report.attention);
  return arrays;
}

void write_report_npz(const std::filesystem::path& path, const Report& report) {
  write_npz(path, report_arrays(report));
}

void write_report_safetensors(const std::filesystem::path& path, const Report& report) {
  std::vector<NamedArray> arrays = report_arrays(report);
  const auto tokens =
      std::find_if(arrays.begin(), arrays.end(), [](const NamedArray& named) { return named.name == "tokens"; });
  const std::string json =
      nlohmann::json(tokens->array.strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  arrays.erase(tokens);
  write_safetensors(path, arrays, {{"tokens", json}});
}

}  // namespace attnflow
