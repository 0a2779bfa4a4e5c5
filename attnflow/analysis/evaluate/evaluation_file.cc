#include "attnflow/analysis/evaluate/evaluation_file.h"

#include <fmt/format.h>

#include "attnflow/analysis/write_report.h"
#include "attnflow/base/format_error.h"
#include "attnflow/files/output_target.h"
#include "attnflow/words/numbers.h"

namespace attnflow {

void check_evaluation_output(const std::filesystem::path& path) {
  const std::string ending = internal::output_ending(path);
  if (ending != ".json" && ending != ".csv" && ending != ".md") {
    throw internal::usage_error("-o: expected a file name ending in .json, .csv or .md, found '{}'{}", path.string(),
                                ending_suggestion(ending, {".json", ".csv", ".md"}));
  }
  check_output(path);
}

nlohmann::ordered_json mixing_json(const std::optional<Mixing>& mixing) {
  return mixing ? nlohmann::ordered_json(to_text(*mixing)) : nlohmann::ordered_json();
}
std::string mixing_text(const std::optional<Mixing>& mixing) { return mixing ? to_text(*mixing) : ""; }

std::string interval_words(const Summary& summary) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", summary.mean, summary.low, summary.high);
}
std::string difference_words(const Summary& summary) {
  return fmt::format("{:+.3f} ({:+.3f} to {:+.3f})", summary.mean, summary.low, summary.high);
}

std::string part_words(std::size_t part, std::size_t whole) {
  return fmt::format("{} of {} ({})", part, whole, internal::percent_of(part, whole));
}

std::string document_text(const nlohmann::ordered_json& document) {
  return document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace attnflow
