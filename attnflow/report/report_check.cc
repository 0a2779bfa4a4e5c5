#include "attnflow/report/report_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/base/figures.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::internal {
namespace {

enum class Top { kRight, kUnsure, kWrong, kUnknown, kNothingRanked };
enum class Order { kStrong, kWeak, kNone, kOpposite, kFewTokens, kUnreliable, kUnknown, kNothingRanked };

constexpr std::size_t kFewestForOrder = 6;
constexpr double kLeastReliability = 0.3;
constexpr double kClearErrors = 2.0;  // standard errors

struct Verdict {
  Top top = Top::kUnknown;
  Order order = Order::kUnknown;
  std::string why_not = {};  // where nothing is ranked, and so nothing is judged
};

Top top_of(const ReportCheck& check, const MapCheck& map) {
  const CheckedToken* const first = check.find(map.first_token);
  const CheckedToken* const largest = map.decisive_token ? check.find(*map.decisive_token) : nullptr;
  if (first == nullptr || largest == nullptr || !(largest->drop > largest->spread)) return Top::kUnknown;
  // One replacement among several may make the whole fall.
  const bool is_clear = largest->drop > kClearErrors * largest->spread;
  if (first->drop >= figures::kDecisiveShare * largest->drop) return is_clear ? Top::kRight : Top::kUnsure;
  const bool may_be = first->drop + first->spread >= figures::kDecisiveShare * (largest->drop - largest->spread);
  return may_be ? Top::kUnsure : Top::kWrong;
}

// The most that a rank correlation with the check's drops can be.
double ceiling_of(const ReportCheck& check) { return check.reliability ? std::sqrt(*check.reliability) : 1.0; }

Order order_of(const ReportCheck& check, const MapCheck& map) {
  // Older reports do not say how many were compared.
  if (map.compared > 0 && map.compared < kFewestForOrder) return Order::kFewTokens;
  if (!map.rank_correlation) return Order::kUnknown;
  if (check.reliability && *check.reliability < kLeastReliability) return Order::kUnreliable;
  const double relative = *map.rank_correlation / ceiling_of(check);
  if (relative >= figures::kStrongAgreement) return Order::kStrong;
  if (relative >= figures::kWeakAgreement) return Order::kWeak;
  return relative <= -figures::kWeakAgreement ? Order::kOpposite : Order::kNone;
}

Verdict verdict_of(const Report& report, const ReportCheck& check, const MapCheck& map, std::size_t output_token) {
  std::vector<std::size_t> layers;
  if (map.layer) layers.push_back(*map.layer);
  std::string why_not = why_nothing_ranked(report, map.method, output_token, layers);
  if (!why_not.empty()) return {Top::kNothingRanked, Order::kNothingRanked, std::move(why_not)};
  const Top top = top_of(check, map);
  return {top == Top::kRight && map.unchecked_token ? Top::kUnsure : top, order_of(check, map)};
}

const char* level_of(Top top) {
  switch (top) {
    case Top::kRight:
      return "strong";
    case Top::kUnsure:
      return "weak";
    case Top::kWrong:
      return "none";
    case Top::kUnknown:
    case Top::kNothingRanked:
      break;
  }
  return "unknown";
}

const char* level_of(Order order) {
  switch (order) {
    case Order::kStrong:
      return "strong";
    case Order::kWeak:
      return "weak";
    case Order::kNone:
    case Order::kOpposite:
      return "none";
    case Order::kFewTokens:
    case Order::kUnreliable:
    case Order::kUnknown:
    case Order::kNothingRanked:
      break;
  }
  return "unknown";
}

const char* level_of(const Verdict& verdict) {
  const bool doubted =
      verdict.order == Order::kWeak || verdict.order == Order::kNone || verdict.order == Order::kOpposite;
  return verdict.top == Top::kRight && doubted ? "weak" : level_of(verdict.top);
}

std::string with_minus_signs(std::string number) {
  if (number.starts_with('-')) number.replace(0, 1, "\u2212");
  return number;
}

std::string amount(double value) {
  std::string text = fmt::format("{:#.3g}", value);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string order_words(const MapCheck& map, Order order) {
  const auto with_number = [&](const char* words) {
    return fmt::format("{} ({})", words, with_minus_signs(fmt::format("{:.2f}", map.rank_correlation.value_or(0.0))));
  };
  switch (order) {
    case Order::kStrong:
      return with_number("agrees");
    case Order::kWeak:
      return with_number("partly agrees");
    case Order::kNone:
      return with_number("differs");
    case Order::kOpposite:
      return with_number("opposite");
    case Order::kFewTokens:
      return "too few to judge";
    case Order::kUnreliable:
      return "unreliable";
    case Order::kNothingRanked:
      return "not judged";
    case Order::kUnknown:
      break;
  }
  return "unknown";
}

const char* units_of(const Report& report) {
  return report.input.image ? "patches" : report.settings.words ? "words" : "tokens";
}

// "1 token", "3 patches"
std::string count_of(const Report& report, std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? unit_of(report) : units_of(report));
}

// How many of the tokens that count were checked: "each token", "12 of 40 tokens".
std::string who_was_checked(const Report& report, const ReportCheck& check) {
  const std::size_t others = check.left_out + check.irreplaceable.size();
  const std::size_t checked = check.tokens.size();
  if (others == 0) return fmt::format("each {} was", unit_of(report));
  return fmt::format("{} of {} {}", checked, count_of(report, checked + others), checked == 1 ? "was" : "were");
}

// "; nothing fits in place of the other 2", or "" if all others were left out to save time.
std::string irreplaceable_words(const ReportCheck& check) {
  const std::size_t count = check.irreplaceable.size();
  if (count == 0) return "";
  if (check.left_out > 0) return fmt::format("; nothing fits in place of {} of the others", count);
  return "; nothing fits in place of the other " + (count == 1 ? std::string("one") : std::to_string(count));
}

std::string how_checked(const Report& report, const ReportCheck& check) {
  const std::string whom = who_was_checked(report, check);
  if (!check.blank.empty()) return fmt::format("{} blanked ({})", whom, clean_line(check.blank));
  std::size_t most = 0;
  std::size_t least = check.tokens.empty() ? 0 : check.tokens.front().replacements.size();
  for (const CheckedToken& one : check.tokens) {
    most = std::max(most, one.replacements.size());
    least = std::min(least, one.replacements.size());
  }
  if (most == 0) return fmt::format("{} blanked", whom);
  const std::string count = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  return fmt::format("{} replaced by {} {}{}", whom, count, most == 1 ? "other" : "others", irreplaceable_words(check));
}

const char* verb_of(const CheckedToken& token) { return token.drop > 0.0 ? "falls" : "rises"; }

// A fall or a rise, and its standard error if known.
std::string size_of(const CheckedToken& token) {
  return amount(std::abs(token.drop)) + (token.spread > 0.0 ? fmt::format(" \u00b1 {:.2g}", token.spread) : "");
}

std::string title_of(const Report& report, const MapCheck& map) {
  const std::optional<std::size_t> layer = map.layer ? layer_index(report, *map.layer) : std::nullopt;
  if (layer) return method_title(report, map.method, *layer);
  return to_text(map.method) + (map.layer ? fmt::format(", layer {}", *map.layer) : "");
}

std::string top_words(const Report& report, const MapCheck& map, Top top) {
  const std::string other = map.decisive_token ? quoted_token(report, *map.decisive_token) : "";
  switch (top) {
    case Top::kRight:
      return "right";
    case Top::kUnsure:
      return fmt::format("maybe {}", other);
    case Top::kWrong:
      return fmt::format("{} decides", other);
    case Top::kNothingRanked:
      return "not judged";
    case Top::kUnknown:
      break;
  }
  return "";
}

CheckRow row_of(const Report& report, const ReportCheck& check, const MapCheck& map, const Verdict& verdict) {
  const CheckedToken* const first = check.find(map.first_token);
  CheckRow row{.map = title_of(report, map),
               .token = numbered_token(report, map.first_token),
               .quoted = quoted_token(report, map.first_token),
               .verb = "",
               .size = "",
               .top = top_words(report, map, verdict.top),
               .order = order_words(map, verdict.order)};
  if (first == nullptr) return row;
  row.verb = first->drop == 0.0 ? "stays" : verb_of(*first);
  if (first->drop != 0.0) row.size = amount(std::abs(first->drop));
  return row;
}

// The correlations from which the order agrees, as far as orders are judged here.
std::string order_key(const Report& report, const ReportCheck& check) {
  const auto has_few = [](const MapCheck& map) { return map.compared > 0 && map.compared < kFewestForOrder; };
  const std::string few = fmt::format("not judged with fewer than {} {}", kFewestForOrder, units_of(report));
  if (std::all_of(check.maps.begin(), check.maps.end(), has_few)) return fmt::format("The order is {}.", few);
  if (check.reliability && *check.reliability < kLeastReliability) {
    return fmt::format("The order is not judged, because the check\u2019s own reliability is {:.2f}, below {}.",
                       *check.reliability, kLeastReliability);
  }
  const double ceiling = ceiling_of(check);
  std::string text =
      fmt::format("The order agrees with the check from a rank correlation of {:.2f}, and partly from {:.2f}",
                  figures::kStrongAgreement * ceiling, figures::kWeakAgreement * ceiling);
  if (check.reliability) {
    text +=
        fmt::format(" (the check\u2019s own reliability, {:.2f}, allows at most {:.2f})", *check.reliability, ceiling);
  }
  if (std::any_of(check.maps.begin(), check.maps.end(), has_few)) text += fmt::format("; it is {}", few);
  return text + '.';
}

// How the verdicts are reached, in sentences.
std::string key_words(const Report& report, const ReportCheck& check, bool judges_all) {
  const char* const unit = unit_of(report);
  std::string text = fmt::format(
      "A map\u2019s top {} is right if the {} falls at least half as far without it as without any other; otherwise "
      "the {} that decides is named. ",
      unit, clean_line(check.quantity), unit);
  text += order_key(report, check);
  if (!judges_all) {
    text += " A map is not judged where an attention sink holds nearly all of it, or where all of its values are 0.";
  }
  return text;
}

}  // namespace

const char* unit_of(const Report& report) {
  return report.input.image ? "patch" : report.settings.words ? "word" : "token";
}

CheckWords check_words(const Report& report) {
  CheckWords words;
  if (!report.check || report.check->maps.empty() || report.check->tokens.empty()) return words;
  const ReportCheck& check = *report.check;
  words.summary = fmt::format("Check: {}.", how_checked(report, check));
  bool judges_all = true;
  for (const MapCheck& map : check.maps) {
    const Verdict verdict = verdict_of(report, check, map, report.output_token);
    judges_all = judges_all && verdict.why_not.empty();
    words.rows.push_back(row_of(report, check, map, verdict));
  }
  words.key = key_words(report, check, judges_all);
  return words;
}

MapWords map_words(const Report& report, const ReportCheck& check, const MapCheck& map, std::size_t output_token) {
  const Verdict verdict = verdict_of(report, check, map, output_token);
  const CheckedToken* const first = check.find(map.first_token);
  const CheckedToken* const largest = map.decisive_token ? check.find(*map.decisive_token) : nullptr;
  const auto name = [&](std::size_t token) {
    return report.input.image ? "the patch in " + numbered_token(report, token) : quoted_token(report, token);
  };
  const char* const unit = unit_of(report);
  const std::string quantity = clean_line(check.quantity);
  const std::string before = with_minus_signs(amount(check.value));
  const auto change = [&](const CheckedToken& token, const std::string& from) {
    const std::string after = with_minus_signs(amount(check.value - token.drop));
    if (token.drop == 0.0) return "stays at " + before;
    // A value so large, or a change so small, that its digits hide the change.
    if (after == before) return fmt::format("{}{} by {}", verb_of(token), from, size_of(token));
    const std::string error = token.spread > 0.0 ? fmt::format(" \u00b1 {:.2g}", token.spread) : "";
    return fmt::format("{}{} to {}{}", verb_of(token), from, after, error);
  };
  // "without “key”, the logit difference falls from 6.75 to 4.95 ± 1.7", and then "without “to”, it falls to 5.5 ± 1"
  const auto first_change = [&](const char* without, const CheckedToken& token) {
    return fmt::format("{} {}, the {} {}", without, name(token.token), quantity, change(token, " from " + before));
  };
  const auto other_change = [&](const CheckedToken& token) { return "it " + change(token, ""); };
  MapWords words;
  words.level = level_of(verdict);
  words.top_level = level_of(verdict.top);
  words.order_level = level_of(verdict.order);
  switch (verdict.top) {
    case Top::kRight:
      words.effect = fmt::format("The top-ranked {} is right: {}", unit, first_change("without", *first));
      if (largest != first)
        words.effect += fmt::format("; without {}, {}", name(largest->token), other_change(*largest));
      break;
    case Top::kUnsure:
      words.effect = fmt::format("The top-ranked {} may be right: {}", unit, first_change("without", *first));
      if (largest != first) {
        words.effect += fmt::format("; without {}, {}", name(largest->token), other_change(*largest));
      }
      break;
    case Top::kWrong:
      words.effect = fmt::format("Another {} decides: {}; without {}, which this map ranks first, {}", unit,
                                 first_change("without", *largest), name(map.first_token), other_change(*first));
      break;
    case Top::kNothingRanked:
      words.ranks_nothing = true;
      words.effect = fmt::format("This map ranks nothing, so it is not judged: {}.", verdict.why_not);
      return words;
    case Top::kUnknown:
      if (largest == nullptr) {  // an older report
        words.effect = first == nullptr ? "" : first_change("Without", *first);
        break;
      }
      words.effect = fmt::format("No single {} decides: the {} ({}) does not clearly fall without any of them", unit,
                                 quantity, before);
      break;
  }
  words.effect += '.';
  if (map.unchecked_token) {
    words.effect += fmt::format(" The map ranks {} above {}; nothing fits in its place, so it was not checked.",
                                name(*map.unchecked_token), name(map.first_token));
  }
  const double rank = map.rank_correlation.value_or(0.0);
  const std::string number = with_minus_signs(fmt::format("{:.2f}", rank));
  switch (verdict.order) {
    case Order::kStrong:
      words.order =
          fmt::format("The order of the {} agrees with the check (rank correlation {}).", units_of(report), number);
      break;
    case Order::kWeak:
      words.order = fmt::format("The order of the {} partly agrees with the check (rank correlation {}).",
                                units_of(report), number);
      break;
    case Order::kNone:
      words.order = fmt::format("Don\u2019t rely on the order of the other {} (rank correlation with the check {}).",
                                units_of(report), number);
      break;
    case Order::kOpposite:
      words.order = fmt::format("The order of the {} is nearly the opposite of the check\u2019s (rank correlation {}).",
                                units_of(report), number);
      break;
    case Order::kFewTokens:
      words.order = fmt::format("The order is not judged: {} {} too few.", count_of(report, map.compared),
                                map.compared == 1 ? "is" : "are");
      break;
    case Order::kUnreliable:
      words.order =
          fmt::format("The order is not judged: the check does not agree with itself here (reliability {:.2f}).",
                      check.reliability.value_or(0.0));
      break;
    case Order::kUnknown:
      words.order = "How the order compares with the check is not known.";
      break;
    case Order::kNothingRanked:
      break;
  }
  return words;
}

std::string sentence_of(const CheckRow& row) {
  std::vector<std::string> facts;
  if (!row.verb.empty()) facts.push_back("without it: " + row.change());
  if (!row.top.empty()) facts.push_back(row.top);
  const std::string known = facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, "; "));
  return fmt::format("By {}, {} ranks first{}; order: {}.", row.map, row.quoted, known, row.order);
}

std::string drops_title(const Report& report, const ReportCheck& check) {
  return fmt::format("how far the {} ({}) falls without each {}", clean_line(check.quantity),
                     with_minus_signs(amount(check.value)), unit_of(report));
}

std::string drops_line(const Report& report, const ReportCheck& check) {
  constexpr std::size_t kMost = 8;
  std::vector<CheckedToken> falls;
  std::vector<CheckedToken> rises;
  for (const CheckedToken& one : check.tokens) {
    if (one.drop != 0.0) (one.drop < 0.0 ? rises : falls).push_back(one);
  }
  const std::size_t moved = falls.size() + rises.size();
  const auto list = [&](std::vector<CheckedToken>& tokens, std::size_t most) {
    std::ranges::stable_sort(tokens, std::ranges::greater{},
                             [](const CheckedToken& one) { return std::abs(one.drop); });
    if (tokens.size() > most) tokens.resize(most);
    std::vector<std::string> named;
    for (const CheckedToken& one : tokens) {
      named.push_back(fmt::format("{} {}", quoted_token(report, one.token), amount(std::abs(one.drop))));
    }
    return fmt::format("{}", fmt::join(named, ", "));
  };
  std::string text = fmt::format("Without each {}, the {} ({})", unit_of(report), clean_line(check.quantity),
                                 with_minus_signs(amount(check.value)));
  if (moved == 0) return text + " stays.";
  if (!falls.empty()) text += " falls by: " + list(falls, rises.empty() ? kMost : kMost - 1);
  if (!rises.empty()) text += (falls.empty() ? "" : "; it") + (" rises by: " + list(rises, kMost - falls.size()));
  return text + (moved > kMost ? ", ..." : ".");
}

}  // namespace attnflow::internal
