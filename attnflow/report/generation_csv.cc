#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/files/atomic_file.h"
#include "attnflow/report/csv_field.h"
#include "attnflow/report/generation_output.h"

namespace attnflow {
namespace {

constexpr std::size_t kGenerationFlushBytes = 1 << 16;

std::optional<std::size_t> index_of(const std::vector<std::size_t>& values, std::size_t value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

// The layers of any method, increasing.
std::vector<std::size_t> all_layers(const GenerationReport& report) {
  std::vector<std::size_t> layers;
  for (const Method method : methods_present(report)) {
    const GenerationMethod found = generation_method(report, method);
    layers.insert(layers.end(), found.layers.begin(), found.layers.end());
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

}  // namespace

void generation_to_csv(const GenerationReport& report, const std::function<void(std::string_view)>& sink) {
  struct Column {
    GenerationMethod method;
    const Tensor<double>* values;
  };
  std::vector<Column> columns;
  std::string buffer = "token,token_text,layer,input_token,input_text,input_special,dropped";
  for (const Method asked : methods_present(report)) {
    const std::string name = to_text(asked);
    const GenerationMethod method = generation_method(report, asked);
    const auto add = [&](const std::string& title, const Tensor<double>& values) {
      if (values.empty()) return;
      columns.push_back({method, &values});
      buffer += "," + title;
    };
    add(name, method.values->prompt);
    add(name + "_normalized", method.values->normalized);
    if (asked == Method::kFlow) add("flow_gap", report.flow_gap);
  }
  const bool has_flow = !report.flow_degenerate.empty();
  if (has_flow) buffer += ",flow_degenerate";
  buffer += "\n";
  const auto out = std::back_inserter(buffer);

  const std::vector<std::string> rules = dropped_by(report);
  std::vector<std::string> texts;
  for (std::size_t j = 0; j < report.prompt_tokens.size(); ++j) {
    texts.push_back(internal::csv_field(prompt_text(report, j)));
  }
  for (std::size_t t = 0; t < report.tokens.size(); ++t) {
    const std::string text = internal::csv_field(generated_text(report, t));
    for (const std::size_t layer : all_layers(report)) {
      for (std::size_t j = 0; j < texts.size(); ++j) {
        fmt::format_to(out, "{},{},{},{},{},{},{}", t, text, layer, j, texts[j],
                       report.prompt_tokens[j].special ? 1 : 0, rules[j].empty() ? 0 : 1);
        for (const Column& column : columns) {
          buffer += ',';
          const auto row = index_of(column.method.tokens, t);
          const auto at = index_of(column.method.layers, layer);
          if (row && at) fmt::format_to(out, "{}", (*column.values)(*row, j, *at));
        }
        if (has_flow) {
          buffer += ',';
          const auto row = index_of(report.flow_tokens, t);
          const auto at = index_of(report.flow_layers, layer);
          if (row && at) fmt::format_to(out, "{}", report.flow_degenerate(*row, j, *at));
        }
        buffer += '\n';
      }
      if (buffer.size() >= kGenerationFlushBytes) {
        sink(buffer);
        buffer.clear();
      }
    }
  }
  if (!buffer.empty()) sink(buffer);
}

void write_generation_csv(const std::filesystem::path& path, const GenerationReport& report) {
  AtomicFile file(path);
  generation_to_csv(report, [&](std::string_view text) { file.write(text); });
  file.commit();
}

}  // namespace attnflow
