#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "attnflow/report/generation_output.h"

namespace attnflow {
namespace {

Array integers(const std::vector<std::size_t>& values) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(values.size());
  for (const std::size_t value : values) numbers.push_back(static_cast<std::int64_t>(value));
  return Array::from(TensorView<const std::int64_t>(numbers.data(), {numbers.size()}));
}

void add_values(std::vector<NamedArray>& arrays, const std::string& name, const GenerationValues& values) {
  const auto add = [&](const std::string& key, const Tensor<double>& tensor) {
    if (!tensor.empty()) arrays.push_back({key, Array::from(tensor.view())});
  };
  add(name, values.prompt);
  add(name + "_generated", values.generated);
  add(name + "_normalized", values.normalized);
}

}  // namespace

std::vector<NamedArray> generation_arrays(const GenerationReport& report) {
  std::vector<std::string> prompt;
  std::vector<bool> prompt_special;
  for (const InputToken& token : report.prompt_tokens) {
    prompt.push_back(token.text);
    prompt_special.push_back(token.special);
  }
  std::vector<std::string> generated;
  std::vector<bool> generated_special;
  std::vector<std::int64_t> ids;
  std::vector<double> probability;
  for (const GeneratedToken& token : report.tokens) {
    generated.push_back(token.text);
    generated_special.push_back(token.special);
    ids.push_back(token.id);
    probability.push_back(token.probability);
  }
  std::vector<bool> dropped;
  for (const std::string& rule : dropped_by(report)) dropped.push_back(!rule.empty());

  std::vector<NamedArray> arrays;
  arrays.push_back({"prompt_tokens", Array::from_strings(std::move(prompt))});
  arrays.push_back({"generated_tokens", Array::from_strings(std::move(generated))});
  arrays.push_back({"prompt_special", Array::from_bools(prompt_special)});
  arrays.push_back({"generated_special", Array::from_bools(generated_special)});
  arrays.push_back({"generated_ids", Array::from(TensorView<const std::int64_t>(ids.data(), {ids.size()}))});
  arrays.push_back({"probability", Array::from(TensorView<const double>(probability.data(), {probability.size()}))});
  arrays.push_back({"layers", integers(report.settings.layers)});
  add_values(arrays, "raw", report.raw);
  add_values(arrays, "rollout", report.rollout);
  if (!report.sink_share.empty()) arrays.push_back({"sink_share", Array::from(report.sink_share.view())});
  if (!report.flow.prompt.empty()) {
    add_values(arrays, "flow", report.flow);
    arrays.push_back({"flow_gap", Array::from(report.flow_gap.view())});
    arrays.push_back({"flow_degenerate", Array::from(report.flow_degenerate.view())});
    arrays.push_back({"flow_tokens", integers(report.flow_tokens)});
    arrays.push_back({"flow_layers", integers(report.flow_layers)});
  }
  arrays.push_back({"dropped", Array::from_bools(dropped)});
  return arrays;
}

void write_generation_npz(const std::filesystem::path& path, const GenerationReport& report) {
  write_npz(path, generation_arrays(report));
}

void write_generation_safetensors(const std::filesystem::path& path, const GenerationReport& report) {
  // Text, which the format has no type for, stands in the metadata as JSON lists.
  std::vector<NamedArray> arrays = generation_arrays(report);
  std::vector<std::pair<std::string, std::string>> texts;
  for (const char* name : {"prompt_tokens", "generated_tokens"}) {
    const auto found =
        std::find_if(arrays.begin(), arrays.end(), [&](const NamedArray& named) { return named.name == name; });
    texts.emplace_back(
        name, nlohmann::json(found->array.strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    arrays.erase(found);
  }
  write_safetensors(path, arrays, {texts.begin(), texts.end()});
}

}  // namespace attnflow
