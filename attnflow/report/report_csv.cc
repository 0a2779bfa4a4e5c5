#include "attnflow/report/report_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/atomic_file.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

constexpr std::size_t kFlushBytes = 1 << 16;

// Whether any prediction was checked, so that there are columns of the check.
bool has_check(const Report& report) {
  if (!report.generation) return report.check.has_value();
  const std::vector<GeneratedToken>& tokens = report.generation->tokens;
  return std::any_of(tokens.begin(), tokens.end(), [](const GeneratedToken& one) { return one.check.has_value(); });
}

// The check of the prediction at an output token; null if there is none.
const ReportCheck* check_at(const Report& report, std::size_t output) {
  const std::optional<ReportCheck>* check = &report.check;
  if (report.generation) {
    check = &report.generation->tokens[chosen_token(report, output)].check;
  } else if (output != report.output_token) {
    return nullptr;
  }
  return check->has_value() ? &**check : nullptr;
}

// A token's cells in the columns of the check, empty if it was not checked.
std::string check_cells(const ReportCheck* check, std::size_t input) {
  const CheckedToken* const found = check == nullptr ? nullptr : check->find(input);
  return found == nullptr ? ",," : fmt::format(",{},{}", found->drop, found->spread);
}

}  // namespace

std::string csv_field(const std::string& text) {
  const bool plain = text.find_first_of(",\"\r\n") == std::string::npos &&
                     (text.empty() || (text.front() != ' ' && text.back() != ' '));
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

void report_to_csv(const Report& report, const std::function<void(std::string_view)>& sink) {
  struct Column {
    MethodValues method;
    std::function<double(std::size_t layer, std::size_t row, std::size_t input)> value;
  };
  std::vector<Column> columns;
  std::string buffer = "layer,output_token,output_text,input_token,input_text,input_special";
  const std::vector<std::string> rules = excluded_by(report);
  if (report.generation) buffer += ",excluded";
  std::set<std::size_t> layers;
  std::set<std::size_t> outputs;
  for (const Method method : kAggregations) {
    const MethodValues found = method_values(report, method);
    if (found.values->empty()) continue;
    const auto add = [&](const std::string& title, const auto& values) {
      if (values.empty()) return;
      buffer += "," + title;
      columns.push_back({found, [&values](std::size_t l, std::size_t row, std::size_t input) {
                           return static_cast<double>(values(l, row, input));
                         }});
    };
    add(to_text(method), *found.values);
    add(to_text(method) + "_normalized", found.beside->normalized);
    if (method == Method::kFlow) {
      add("flow_gap", report.flow_gap);
      add("flow_degenerate", report.flow_degenerate);
    }
    layers.insert(found.layers->begin(), found.layers->end());
    outputs.insert(found.output_tokens->begin(), found.output_tokens->end());
  }
  for (const MethodScores& scores : report.scores) {
    if (!scores.values.empty()) buffer += std::string(",") + method_info(scores.method).array;
  }
  const bool checked = has_check(report);
  if (checked) buffer += ",drop,drop_spread";
  buffer += "\n";
  std::vector<std::string> texts;
  for (std::size_t token = 0; token < report.input.tokens.size(); ++token) {
    const InputToken& piece = report.input.tokens[token];
    // Patches count from 0 in data.
    texts.push_back(csv_field(piece.role == "patch" ? piece.text : display_text(report.input, token)));
  }

  const auto scores = static_cast<std::size_t>(std::count_if(
      report.scores.begin(), report.scores.end(), [](const MethodScores& one) { return !one.values.empty(); }));
  if (!report.generation && !report.all_output_tokens) outputs = {report.output_token};
  for (const std::size_t layer : layers) {
    for (const std::size_t output : outputs) {
      const std::size_t number = report.generation ? chosen_token(report, output) : output;
      const std::string text =
          report.generation ? csv_field(generated_text(*report.generation, number)) : texts[output];
      std::vector<std::optional<std::pair<std::size_t, std::size_t>>> places;
      for (const Column& column : columns) {
        const auto at = row_index(*column.method.layers, layer);
        const auto row = row_index(*column.method.output_tokens, output);
        places.push_back(at && row ? std::optional(std::pair(*at, *row)) : std::nullopt);
      }
      for (std::size_t input = 0; input < texts.size(); ++input) {
        buffer += fmt::format("{},{},{},{},{},{}", layer, number, text, input, texts[input],
                              report.input.tokens[input].special ? 1 : 0);
        if (report.generation) buffer += rules[input].empty() ? ",0" : ",1";
        for (std::size_t c = 0; c < columns.size(); ++c) {
          buffer += ',';
          if (places[c]) buffer += fmt::format("{}", columns[c].value(places[c]->first, places[c]->second, input));
        }
        buffer.append(scores, ',');
        if (checked) buffer += check_cells(check_at(report, output), input);
        buffer += '\n';
      }
      if (buffer.size() >= kFlushBytes) {
        sink(buffer);
        buffer.clear();
      }
    }
  }
  // Scores belong to a prediction, not to a layer.
  const std::size_t predictions = scores == 0 ? 0 : report.generation ? report.generation->tokens.size() : 1;
  for (std::size_t prediction = 0; prediction < predictions; ++prediction) {
    const std::string output =
        report.generation ? fmt::format("{},{}", prediction, csv_field(generated_text(*report.generation, prediction)))
                          : ",";
    for (std::size_t input = 0; input < texts.size(); ++input) {
      buffer += fmt::format(",{},{},{},{}", output, input, texts[input], report.input.tokens[input].special ? 1 : 0);
      if (report.generation) buffer += rules[input].empty() ? ",0" : ",1";
      buffer.append(columns.size(), ',');
      for (const MethodScores& one : report.scores) {
        if (!one.values.empty()) buffer += fmt::format(",{}", one.values(prediction, input));
      }
      if (checked) {
        const std::size_t position = report.generation ? report.output_tokens[prediction] : report.output_token;
        buffer += check_cells(check_at(report, position), input);
      }
      buffer += '\n';
    }
  }
  if (!buffer.empty()) sink(buffer);
}

void write_report_csv(const std::filesystem::path& path, const Report& report) {
  AtomicFile file(path);
  report_to_csv(report, [&](std::string_view text) { file.write(text); });
  file.commit();
}

}  // namespace attnflow
