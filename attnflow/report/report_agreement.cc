#include "attnflow/report/report_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/base/figures.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

bool has_agreement(const Report& report) { return report.agreement && !report.agreement->maps.empty(); }

std::size_t order_level(double rank_correlation) {
  return rank_correlation >= figures::kStrongAgreement ? 0 : rank_correlation >= figures::kWeakAgreement ? 1 : 2;
}

// Index into the arrays of words; nothing if the map or blank-out orders nothing.
std::optional<std::size_t> level_of(const BlankOutAgreement& agreement, const MapAgreement& map) {
  if (!map.rank_correlation) return std::nullopt;
  const std::size_t level = order_level(*map.rank_correlation);
  const bool is_decisive = !map.decisive_token || agreement.value - map.blanked_value >=
                                                      figures::kDecisiveShare * (agreement.value - map.decisive_value);
  return is_decisive ? level : std::min<std::size_t>(level + 1, 2);
}

constexpr std::array kLevels = {"strong", "weak", "none"};
constexpr std::array kVerdicts = {"agrees", "agrees in part", "don't rely on this order"};

std::string with_minus_signs(std::string number) {
  if (number.starts_with('-')) number.replace(0, 1, "\u2212");
  return number;
}

std::string amount(double value) {
  std::string text = fmt::format("{:#.3g}", value);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string summary_of(const Report& report) {
  const BlankOutAgreement& agreement = *report.agreement;
  const auto& tokens = report.input.tokens;
  std::vector<std::string> kept;
  if (std::any_of(tokens.begin(), tokens.end(), [](const auto& token) { return token.special; })) {
    kept.push_back("special tokens");
  }
  if (report.model.causal) kept.push_back("the attention sink");
  std::string text = fmt::format("We removed each {} in turn{} and ran the model again. The {} is {}",
                                 report.input.image ? "patch" : "token",
                                 kept.empty() ? "" : fmt::format(" (not {})", fmt::join(kept, " or ")),
                                 clean_line(agreement.quantity), amount(agreement.value));
  const MapAgreement* least = nullptr;
  for (const MapAgreement& map : agreement.maps) {
    if (map.decisive_token && (least == nullptr || map.decisive_value < least->decisive_value)) least = &map;
  }
  if (least != nullptr && least->decisive_value < agreement.value) {
    text += fmt::format("; without '{}' it falls furthest, to {}",
                        clean_line(display_text(report.input, *least->decisive_token)), amount(least->decisive_value));
  }
  return text + '.';
}

std::string title_of(const Report& report, const MapAgreement& map) {
  const std::optional<std::size_t> layer = map.layer ? layer_index(report, *map.layer) : std::nullopt;
  if (layer) return method_title(report, map.method, *layer);
  return to_text(map.method) + (map.layer ? fmt::format(", layer {}", *map.layer) : "");
}

}  // namespace

AgreementWords agreement_words(const Report& report) {
  AgreementWords words;
  if (!has_agreement(report)) return words;
  words.summary = summary_of(report);
  words.blanked = clean_line(report.agreement->quantity) + " without it";
  words.key = fmt::format(
      "verdict: \"agrees\" from a rank correlation with blank-out of {}, \"agrees in part\" from {}; one step lower "
      "where another {} matters much more than the one ranked first",
      figures::kStrongAgreement, figures::kWeakAgreement, report.input.image ? "patch" : "token");
  for (const MapAgreement& map : report.agreement->maps) {
    const std::optional<std::size_t> level = level_of(*report.agreement, map);
    words.rows.push_back(
        {.map = title_of(report, map),
         .token = clean_line(display_text(report.input, map.first_token)),
         .blanked = amount(map.blanked_value),
         .rank_correlation = map.rank_correlation ? fmt::format("{:.2f}", *map.rank_correlation) : "none",
         .verdict = level ? kVerdicts[*level] : ""});
  }
  return words;
}

MapWords map_words(const Report& report, const BlankOutAgreement& agreement, const MapAgreement& map) {
  const std::optional<std::size_t> level = level_of(agreement, map);
  const auto shown = [](double value) { return with_minus_signs(amount(value)); };
  const auto name = [&](std::size_t token) {
    const std::string label = clean_line(display_text(report.input, token));
    return report.input.image ? "the patch in " + label : "\u201c" + label + "\u201d";
  };
  const std::string quantity = clean_line(agreement.quantity);
  const std::string before = shown(agreement.value);
  const std::string after = shown(map.blanked_value);
  const bool flips = quantity.starts_with("logit difference") && agreement.value > 0.0 && map.blanked_value < 0.0;
  MapWords words;
  words.level = level ? kLevels[*level] : "unknown";
  words.effect = fmt::format("{}: blanking its top {}, {}, ",
                             !level        ? "Only its top token was checked"
                             : *level == 2 ? "Don\u2019t rely on this order"
                                           : fmt::format("Blanking {}", kVerdicts[*level]),
                             report.input.image ? "patch" : "token", name(map.first_token));
  words.effect += before == after ? fmt::format("leaves the {} at {}", quantity, before)
                                  : fmt::format("{}takes the {} from {} to {}",
                                                flips ? "flips the prediction: it " : "", quantity, before, after);
  if (map.decisive_token && *map.decisive_token != map.first_token &&
      map.decisive_value < std::min(agreement.value, map.blanked_value)) {
    words.effect += fmt::format("; blanking {} takes it to {}", name(*map.decisive_token), shown(map.decisive_value));
  }
  words.effect += '.';
  if (!level) {
    words.order = "How the whole order compares with blank-out is not known.";
    return words;
  }
  const double rank = *map.rank_correlation;
  // Order only, wherever the decisive token stands.
  words.order = fmt::format("Agreement of the whole order with blank-out: {} ({}).",
                            rank <= -figures::kWeakAgreement ? "opposite" : kLevels[order_level(rank)],
                            with_minus_signs(fmt::format("{:.2f}", rank)));
  return words;
}

std::string sentence_of(const AgreementRow& row) {
  return fmt::format("By {}, '{}' ranks first (without it: {}); the rank correlation with blank-out is {}{}.", row.map,
                     row.token, row.blanked, row.rank_correlation, row.verdict.empty() ? "" : " (" + row.verdict + ")");
}

std::vector<Note> notes_beside_agreement(const Report& report) {
  std::vector<Note> notes = report.notes;
  if (has_agreement(report)) {
    std::erase_if(notes, [](const Note& note) { return note.code == NoteCode::kBlankOutAgreement; });
  }
  return notes;
}

std::vector<std::string> note_paragraphs(const Report& report) {
  std::vector<std::string> paragraphs = note_texts(notes_beside_agreement(report));
  if (!has_agreement(report)) return paragraphs;
  const AgreementWords words = agreement_words(report);
  std::string checked = words.summary;
  for (const AgreementRow& row : words.rows) checked += ' ' + sentence_of(row);
  paragraphs.insert(paragraphs.begin(), std::move(checked));
  return paragraphs;
}

}  // namespace attnflow::internal
