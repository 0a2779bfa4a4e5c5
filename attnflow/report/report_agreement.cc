#include "attnflow/report/report_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "attnflow/base/figures.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

// The page says the same (viewer/src/report/agreement.ts), from the same numbers.
std::string verdict_of(const BlankOutAgreement& agreement, const MapAgreement& map) {
  if (!map.rank_correlation) return "";
  const double rank = *map.rank_correlation;
  std::size_t level = rank >= figures::kStrongAgreement ? 0 : rank >= figures::kWeakAgreement ? 1 : 2;
  const bool is_decisive = !map.decisive_token || agreement.value - map.blanked_value >=
                                                      figures::kDecisiveShare * (agreement.value - map.decisive_value);
  if (!is_decisive && level < 2) ++level;
  return std::array{"agrees", "agrees in part", "don't rely on this order"}[level];
}

std::string amount(double value) { return fmt::format("{:.3g}", value); }

std::string summary_of(const Report& report) {
  const BlankOutAgreement& agreement = *report.agreement;
  const auto& tokens = report.input.tokens;
  const bool special = std::any_of(tokens.begin(), tokens.end(), [](const auto& token) { return token.special; });
  std::string text =
      fmt::format("Blanking one {} at a time (blank-out){}: the {} is {}", report.input.image ? "patch" : "token",
                  special ? ", special tokens aside" : "", clean_line(agreement.quantity), amount(agreement.value));
  const MapAgreement* least = nullptr;
  for (const MapAgreement& map : agreement.maps) {
    if (map.decisive_token && (least == nullptr || map.decisive_value < least->decisive_value)) least = &map;
  }
  if (least != nullptr && least->decisive_value < agreement.value) {
    text += fmt::format("; it is lowest without '{}', {}",
                        clean_line(display_text(report.input, *least->decisive_token)), amount(least->decisive_value));
  }
  return text + '.';
}

}  // namespace

AgreementWords agreement_words(const Report& report) {
  AgreementWords words;
  if (!report.agreement || report.agreement->maps.empty()) return words;
  words.summary = summary_of(report);
  for (const MapAgreement& map : report.agreement->maps) {
    words.rows.push_back(
        {.map = to_text(map.method) + (map.layer ? fmt::format(", layer {}", *map.layer) : ""),
         .token = clean_line(display_text(report.input, map.first_token)),
         .without = amount(map.blanked_value),
         .rank_correlation = map.rank_correlation ? fmt::format("{:.2f}", *map.rank_correlation) : "none",
         .verdict = verdict_of(*report.agreement, map)});
  }
  return words;
}

std::string sentence_of(const AgreementRow& row) {
  return fmt::format("By {}, '{}' ranks first: {} without it; rank correlation with blank-out {}{}.", row.map,
                     row.token, row.without, row.rank_correlation, row.verdict.empty() ? "" : " (" + row.verdict + ")");
}

std::vector<Note> notes_beside_agreement(const Report& report) {
  std::vector<Note> notes = report.notes;
  if (!agreement_words(report).rows.empty()) {
    std::erase_if(notes, [](const Note& note) { return note.code == NoteCode::kBlankOutAgreement; });
  }
  return notes;
}

std::vector<std::string> note_paragraphs(const Report& report) {
  std::vector<std::string> paragraphs = note_texts(notes_beside_agreement(report));
  const AgreementWords words = agreement_words(report);
  if (words.rows.empty()) return paragraphs;
  std::string checked = words.summary;
  for (const AgreementRow& row : words.rows) checked += ' ' + sentence_of(row);
  paragraphs.insert(paragraphs.begin(), std::move(checked));
  return paragraphs;
}

}  // namespace attnflow::internal
