#include "attnflow/analysis/evaluate/evaluation_file.h"

#include <fmt/format.h>

#include <cmath>

#include "attnflow/analysis/write_report.h"
#include "attnflow/base/format_error.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

std::string line_of(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string csv_value(const Json& record, const char* name) {
  const auto found = record.find(name);
  if (found == record.end()) return "";
  const Json& value = found->is_object() ? found->at("mean") : *found;
  if (value.is_string()) return csv_field(value.get<std::string>());
  if (!value.is_number_float()) return value.is_null() ? "" : line_of(value);
  const auto number = value.get<double>();
  return std::isfinite(number) ? fmt::format("{}", number) : "";
}

}  // namespace

void check_evaluation_output(const std::filesystem::path& path) {
  const std::string ending = internal::output_ending(path);
  if (ending != ".json" && ending != ".csv" && ending != ".md") {
    throw internal::usage_error("-o: expected a file name ending in .json, .csv or .md, found '{}'{}", path.string(),
                                ending_suggestion(ending, {".json", ".csv", ".md"}));
  }
  check_output(path);
}

Json mixing_json(const std::optional<Mixing>& mixing) { return mixing ? Json(to_text(*mixing)) : Json(); }

Json summary_json(const Summary& summary) {
  return {{"mean", summary.mean}, {"std", summary.std},     {"median", summary.median},    {"low", summary.low},
          {"high", summary.high}, {"count", summary.count}, {"left_out", summary.left_out}};
}

std::string document_text(const Json& document) {
  std::string text;
  for (const auto& [key, value] : document.items()) {
    text += (text.empty() ? "{\n" : ",\n") + line_of(key) + ": ";
    if (!value.is_array() || value.empty() || !value.front().is_object()) {
      text += line_of(value);
      continue;
    }
    std::string lines;
    for (const Json& one : value) lines += (lines.empty() ? "[\n" : ",\n") + line_of(one);
    text += lines + "\n]";
  }
  return text + "\n}\n";
}

std::string records_csv(const Json& records, std::initializer_list<const char*> names) {
  std::string text = fmt::format("{}\n", fmt::join(names, ","));
  for (const Json& record : records) {
    for (const char* const name : names) text += (name == *names.begin() ? "" : ",") + csv_value(record, name);
    text += '\n';
  }
  return text;
}

void drop_intervals(const std::vector<Summary*>& summaries, std::vector<Note>& notes) {
  bool had_one = false;
  for (Summary* const summary : summaries) {
    if (summary->count >= kFewestForInterval) continue;
    had_one = had_one || !std::isnan(summary->low);
    summary->low = kMissing;
    summary->high = kMissing;
  }
  if (had_one) notes.push_back({NoteCode::kNoIntervals, {{"fewest", kFewestForInterval}}});
}

std::string interval_words(const Summary& summary) {
  if (summary.count == 0) return "";
  if (std::isnan(summary.low)) return fmt::format("{:.3f}", summary.mean);
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", summary.mean, summary.low, summary.high);
}
std::string difference_words(const Summary& summary) {
  if (summary.count == 0) return "";
  if (std::isnan(summary.low)) return fmt::format("{:+.3f}", summary.mean);
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", summary.mean, summary.low, summary.high);
}

std::string part_words(std::size_t part, std::size_t whole) {
  return fmt::format("{} of {} ({})", part, whole, internal::percent_of(part, whole));
}

std::vector<std::string> remarks(const std::map<std::string, std::string>& impossible, const std::vector<Note>& notes) {
  std::vector<std::string> lines;
  for (const auto& [mixing, reason] : impossible) {
    lines.push_back(fmt::format("Left out --mixing {}: {}.", mixing, clean_line(reason)));
  }
  for (const std::string& text : note_texts(notes)) lines.push_back(clean_line(text));
  return lines;
}

}  // namespace attnflow
