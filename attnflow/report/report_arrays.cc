#include "attnflow/report/report_arrays.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

Array integers(const auto& values) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(values.size());
  for (const auto value : values) numbers.push_back(static_cast<std::int64_t>(value));
  return Array::from(TensorView<const std::int64_t>(numbers.data(), {numbers.size()}));
}

// Converts [layer, ..] to a generation's order, [.., layer].
template <typename T>
Tensor<T> layers_last(const Tensor<T>& values) {
  const std::size_t layers = values.extent(0);
  const std::size_t rest = values.size() / layers;
  Shape shape(values.shape().begin() + 1, values.shape().end());
  shape.push_back(layers);
  Tensor<T> turned(shape);
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t i = 0; i < rest; ++i) turned.data()[i * layers + l] = values.data()[l * rest + i];
  }
  return turned;
}

template <typename Token>
void add_tokens(std::vector<NamedArray>& arrays, const std::string& prefix, const std::vector<Token>& tokens) {
  std::vector<std::string> texts;
  std::vector<bool> special;
  for (const Token& token : tokens) {
    texts.push_back(token.text);
    special.push_back(token.special);
  }
  arrays.push_back({prefix + "tokens", Array::from_strings(std::move(texts))});
  arrays.push_back({prefix + "special", Array::from_bools(special)});
}

void add_generation(std::vector<NamedArray>& arrays, const Report& report) {
  const Generation& generation = *report.generation;
  add_tokens(arrays, "generated_", generation.tokens);
  std::vector<std::int64_t> ids;
  std::vector<double> probability;
  for (const GeneratedToken& token : generation.tokens) {
    ids.push_back(token.id);
    probability.push_back(token.probability);
  }
  arrays.push_back({"generated_ids", integers(ids)});
  arrays.push_back({"probability", Array::from(TensorView<const double>(probability.data(), {probability.size()}))});
  std::vector<bool> excluded;
  for (const std::string& rule : excluded_by(report)) excluded.push_back(!rule.empty());
  arrays.push_back({"excluded", Array::from_bools(excluded)});
  if (report.flow.empty()) return;
  std::vector<std::size_t> tokens;
  for (const std::size_t position : report.flow_output_tokens) tokens.push_back(chosen_token(report, position));
  arrays.push_back({"flow_tokens", integers(tokens)});
  arrays.push_back({"flow_layers", integers(*method_values(report, Method::kFlow).layers)});
}

void add_check(std::vector<NamedArray>& arrays, const Report& report) {
  if (!report.check) return;
  std::vector<std::size_t> tokens;
  std::vector<double> drops;
  std::vector<double> spreads;
  for (const CheckedToken& one : report.check->tokens) {
    tokens.push_back(one.token);
    drops.push_back(one.drop);
    spreads.push_back(one.spread);
  }
  arrays.push_back({"check_tokens", integers(tokens)});
  arrays.push_back({"check", Array::from(TensorView<const double>(drops.data(), {drops.size()}))});
  arrays.push_back({"check_spread", Array::from(TensorView<const double>(spreads.data(), {spreads.size()}))});
}

}  // namespace

std::vector<NamedArray> report_arrays(const Report& report) {
  std::vector<NamedArray> arrays;
  add_tokens(arrays, report.generation ? "prompt_" : "", report.input.tokens);
  arrays.push_back({"layers", integers(report.settings.layers)});
  if (report.generation) {
    add_generation(arrays, report);
  } else {
    arrays.push_back({"output_tokens", integers(report.output_tokens)});
    if (!report.flow.empty() && report.flow_output_tokens != report.output_tokens)
      arrays.push_back({"flow_output_tokens", integers(report.flow_output_tokens)});
  }
  internal::for_each_array(report, [&](const std::string& name, const auto& values, const auto& place) {
    if (values.empty() || name == "graph") return;
    if (report.generation && place.rows != internal::ArrayPlace::Rows::kExact) {
      arrays.push_back({name, Array::from(layers_last(values).view())});
    } else {
      arrays.push_back({name, Array::from(values.view())});
    }
  });
  add_check(arrays, report);
  return arrays;
}

void write_report_npz(const std::filesystem::path& path, const Report& report) {
  write_npz(path, report_arrays(report));
}

void write_report_safetensors(const std::filesystem::path& path, const Report& report) {
  // The format has no text type, so text goes into the metadata as JSON lists.
  std::vector<NamedArray> arrays;
  std::vector<std::pair<std::string, std::string>> texts;
  for (NamedArray& named : report_arrays(report)) {
    if (named.array.dtype != DType::kUnicode) {
      arrays.push_back(std::move(named));
    } else {
      texts.emplace_back(
          named.name,
          nlohmann::json(named.array.strings).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
  }
  write_safetensors(path, arrays, texts);
}

}  // namespace attnflow
