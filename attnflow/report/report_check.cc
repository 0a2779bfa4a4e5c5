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

enum class Top { kRight, kUnsure, kWrong, kUnknown };
enum class Order { kStrong, kWeak, kNone, kOpposite, kFewTokens, kUnreliable, kUnknown };

constexpr std::size_t kFewestForOrder = 6;
constexpr double kLeastReliability = 0.3;
constexpr double kClearErrors = 2.0;  // standard errors

struct Verdict {
  Top top = Top::kUnknown;
  Order order = Order::kUnknown;
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

Order order_of(const ReportCheck& check, const MapCheck& map) {
  // Older reports do not say how many were compared.
  if (map.compared > 0 && map.compared < kFewestForOrder) return Order::kFewTokens;
  if (!map.rank_correlation) return Order::kUnknown;
  if (check.reliability && *check.reliability < kLeastReliability) return Order::kUnreliable;
  const double ceiling = check.reliability ? std::sqrt(*check.reliability) : 1.0;
  const double relative = *map.rank_correlation / ceiling;
  if (relative >= figures::kStrongAgreement) return Order::kStrong;
  if (relative >= figures::kWeakAgreement) return Order::kWeak;
  return relative <= -figures::kWeakAgreement ? Order::kOpposite : Order::kNone;
}

Verdict verdict_of(const ReportCheck& check, const MapCheck& map) { return {top_of(check, map), order_of(check, map)}; }

const char* level_of(Top top) {
  switch (top) {
    case Top::kRight:
      return "strong";
    case Top::kUnsure:
      return "weak";
    case Top::kWrong:
      return "none";
    case Top::kUnknown:
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
      return with_number("agrees in part");
    case Order::kNone:
      return with_number("differs");
    case Order::kOpposite:
      return with_number("opposite");
    case Order::kFewTokens:
      return "few tokens";
    case Order::kUnreliable:
      return "unreliable";
    case Order::kUnknown:
      break;
  }
  return "unknown";
}

const char* unit_of(const Report& report) { return report.input.image ? "patch" : "token"; }

// "1 token", "3 patches"
std::string count_of(const Report& report, std::size_t count) {
  const char* const many = report.input.image ? "patches" : "tokens";
  return fmt::format("{} {}", count, count == 1 ? unit_of(report) : many);
}

std::string name_of(const Report& report, std::size_t token) { return clean_line(display_text(report.input, token)); }

std::string how_checked(const Report& report, const ReportCheck& check) {
  std::string whom = fmt::format("each {}", unit_of(report));
  if (check.left_out > 0) {
    whom = fmt::format("{} of {}", check.tokens.size(), count_of(report, check.tokens.size() + check.left_out));
  }
  const std::string verb = check.left_out > 0 && check.tokens.size() != 1 ? "were" : "was";
  if (!check.blank.empty()) return fmt::format("{} {} blanked ({})", whom, verb, clean_line(check.blank));
  std::size_t most = 0;
  std::size_t least = check.tokens.empty() ? 0 : check.tokens.front().replacements.size();
  for (const CheckedToken& one : check.tokens) {
    most = std::max(most, one.replacements.size());
    least = std::min(least, one.replacements.size());
  }
  if (most == 0) return fmt::format("{} {} blanked", whom, verb);
  const std::string count = least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  return fmt::format("{} {} replaced by {} others", whom, verb, count);
}

// By falling drop.
std::vector<CheckedToken> by_drop(const ReportCheck& check) {
  std::vector<CheckedToken> sorted = check.tokens;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const CheckedToken& a, const CheckedToken& b) { return a.drop > b.drop; });
  return sorted;
}

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
  const std::string other = map.decisive_token ? name_of(report, *map.decisive_token) : "";
  switch (top) {
    case Top::kRight:
      return "right";
    case Top::kUnsure:
      return fmt::format("maybe \u201c{}\u201d", other);
    case Top::kWrong:
      return fmt::format("\u201c{}\u201d decides", other);
    case Top::kUnknown:
      break;
  }
  return "";
}

}  // namespace

CheckWords check_words(const Report& report) {
  CheckWords words;
  if (!report.check || report.check->maps.empty() || report.check->tokens.empty()) return words;
  const ReportCheck& check = *report.check;
  words.summary = fmt::format("Check: {}.", how_checked(report, check));
  words.key = fmt::format(
      "top {0}: \u201cright\u201d from half of the largest fall, else the {0} that decides. Order: "
      "\u201cagrees\u201d from a rank correlation with the falls of {1}, \u201cagrees in part\u201d from {2}",
      unit_of(report), figures::kStrongAgreement, figures::kWeakAgreement);
  if (check.reliability) {
    words.key += fmt::format(", of the most that the check's reliability ({:.2f}) allows", *check.reliability);
  }
  const auto has_few = [](const MapCheck& map) { return map.compared > 0 && map.compared < kFewestForOrder; };
  if (std::any_of(check.maps.begin(), check.maps.end(), has_few)) {
    words.key += fmt::format("; not judged with fewer than {}", kFewestForOrder);
  }
  for (const MapCheck& map : check.maps) {
    const Verdict verdict = verdict_of(check, map);
    const CheckedToken* const first = check.find(map.first_token);
    words.rows.push_back({.map = title_of(report, map),
                          .token = name_of(report, map.first_token),
                          .drop = first == nullptr ? "" : with_minus_signs(amount(first->drop)),
                          .top = top_words(report, map, verdict.top),
                          .order = order_words(map, verdict.order)});
  }
  return words;
}

MapWords map_words(const Report& report, const ReportCheck& check, const MapCheck& map) {
  const Verdict verdict = verdict_of(check, map);
  const CheckedToken* const first = check.find(map.first_token);
  const CheckedToken* const largest = map.decisive_token ? check.find(*map.decisive_token) : nullptr;
  const auto name = [&](std::size_t token) {
    const std::string label = name_of(report, token);
    return report.input.image ? "the patch in " + label : "\u201c" + label + "\u201d";
  };
  const char* const unit = unit_of(report);
  const std::string quantity = clean_line(check.quantity);
  const std::string before = with_minus_signs(amount(check.value));
  const auto change = [&](const CheckedToken& token, const std::string& from) {
    const std::string after = with_minus_signs(amount(check.value - token.drop));
    if (token.drop == 0.0) return "stays at " + before;
    // A value so large, or a change so small, that its digits hide the change.
    if (after == before) return fmt::format("{}{} by {}", token.drop > 0.0 ? "falls" : "rises", from, size_of(token));
    const std::string error = token.spread > 0.0 ? fmt::format(" \u00b1 {:.2g}", token.spread) : "";
    return fmt::format("{}{} to {}{}", token.drop > 0.0 ? "falls" : "rises", from, after, error);
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
  const double rank = map.rank_correlation.value_or(0.0);
  const std::string number = with_minus_signs(fmt::format("{:.2f}", rank));
  switch (verdict.order) {
    case Order::kStrong:
      words.order = fmt::format("The whole order agrees with the check (rank correlation {}).", number);
      break;
    case Order::kWeak:
      words.order = fmt::format("The whole order agrees with the check in part (rank correlation {}).", number);
      break;
    case Order::kNone:
      words.order =
          fmt::format("Don\u2019t rely on the order of the others (rank correlation with the check {}).", number);
      break;
    case Order::kOpposite:
      words.order = fmt::format("The order is nearly opposite to the check\u2019s (rank correlation {}).", number);
      break;
    case Order::kFewTokens:
      words.order = fmt::format("With {}, the order is not judged.", count_of(report, map.compared));
      break;
    case Order::kUnreliable:
      words.order =
          fmt::format("The order is not judged: the check does not agree with itself here (reliability {:.2f}).",
                      check.reliability.value_or(0.0));
      break;
    case Order::kUnknown:
      words.order = "How the whole order compares with the check is not known.";
      break;
  }
  return words;
}

std::string sentence_of(const CheckRow& row) {
  return fmt::format("By {}, \u201c{}\u201d ranks first (falls by {}{}); order: {}.", row.map, row.token, row.drop,
                     row.top.empty() ? "" : "; " + row.top, row.order);
}

std::string drops_title(const Report& report, const ReportCheck& check) {
  return fmt::format("how far the {} ({}) falls without each {}", clean_line(check.quantity),
                     with_minus_signs(amount(check.value)), unit_of(report));
}

std::string drops_line(const Report& report, const ReportCheck& check) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> shown;
  for (const CheckedToken& one : by_drop(check)) {
    if (shown.size() == kMost) break;
    shown.push_back(fmt::format("\u201c{}\u201d {}", name_of(report, one.token), with_minus_signs(amount(one.drop))));
  }
  return fmt::format("Without each {}, the {} ({}) falls by: {}{}", unit_of(report), clean_line(check.quantity),
                     with_minus_signs(amount(check.value)), fmt::join(shown, ", "),
                     check.tokens.size() > kMost ? ", ..." : ".");
}

}  // namespace attnflow::internal
