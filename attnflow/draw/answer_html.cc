#include "attnflow/draw/answer_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/base/figures.h"
#include "attnflow/draw/markup.h"
#include "attnflow/report/painted_tokens.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/report/report_check.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

using internal::PaintedToken;
using internal::xml_escaped;

constexpr std::size_t kMostTokens = 160;              // shown of a text
constexpr std::size_t kMostPictureBytes = 64 * 1024;  // the frame has larger ones
constexpr std::string_view kJoiner = "\u200d";

std::string quiet(const std::string& text) {
  return text.empty() ? "" : "<div style=\"font-size: 85%; opacity: 0.8\">" + text + "</div>\n";
}

// A tint of the page around, light or dark, on which its text keeps a contrast of 4.5 to 1: blue, or red below 0; gray
// for values above the scale. Empty for values that show no color.
std::string tint(double position) {
  constexpr double kMostOpaque = 0.85;
  constexpr double kLeastSeen = 0.02;
  const double size = std::abs(position);
  if (!(size >= kLeastSeen)) return "";  // NaN too
  if (size > 1.0 + kLeastSeen) return "background: rgba(128, 128, 128, 0.4)";
  const char* const color = position > 0.0 ? "58, 143, 208" : "214, 96, 77";
  return fmt::format("background: rgba({}, {:.2f})", color, kMostOpaque * std::min(size, 1.0));
}

// Whether the token's value is at least half of the largest one that is not set aside.
std::vector<bool> leading_tokens(const Report& report, const AnswerRow& row) {
  std::vector<bool> leads(row.values.size(), false);
  double largest = 0.0;
  const auto counts = [&](std::size_t j) {
    return !report.input.tokens[j].special && !(j == 0 && row.first_aside) && std::isfinite(row.values[j]);
  };
  for (std::size_t j = 0; j < leads.size(); ++j) {
    if (counts(j)) largest = std::max(largest, std::abs(row.values[j]));
  }
  for (std::size_t j = 0; j < leads.size(); ++j) {
    leads[j] = largest > 0.0 && counts(j) && std::abs(row.values[j]) >= internal::figures::kDecisiveShare * largest;
  }
  return leads;
}

// The tokens that are shown of a long text: those that matter most, and their neighbors.
std::vector<bool> shown_tokens(const AnswerRow& row, const ReportCheck* check) {
  const std::size_t n = row.values.size();
  std::vector<bool> shown(n, n <= kMostTokens);
  if (n <= kMostTokens) return shown;
  constexpr std::size_t kSeeds = 12;
  constexpr std::size_t kAround = 6;
  const auto show_largest = [&](const auto& size) {
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
    for (std::size_t s = 0; s < kSeeds / 2; ++s) {
      const std::size_t begin = order[s] - std::min(order[s], kAround);
      for (std::size_t j = begin; j < std::min(n, order[s] + kAround + 1); ++j) shown[j] = true;
    }
  };
  const auto finite = [](double value) { return std::isfinite(value) ? std::abs(value) : 0.0; };
  show_largest([&](std::size_t j) { return finite(row.values[j]); });
  if (check != nullptr) {
    show_largest([&](std::size_t j) {
      const CheckedToken* const found = check->find(j);
      return found == nullptr ? 0.0 : finite(found->drop);
    });
  }
  return shown;
}

// Letters of joined scripts keep their form at the border of two pieces.
std::string joined_label(const std::vector<PaintedToken>& tokens, std::size_t j) {
  const auto joins = [&](std::size_t second) {
    return second < tokens.size() && tokens[second].touches && runs_right_to_left(tokens[second - 1].label) &&
           runs_right_to_left(tokens[second].label);
  };
  std::string label;
  if (j > 0 && joins(j)) label += kJoiner;
  label += xml_escaped(tokens[j].label);
  if (joins(j + 1)) label += kJoiner;
  return label;
}

// The token on its color, and below it the drop on another.
std::string token_html(const PaintedToken& token, const std::string& label, bool leads, bool has_drops) {
  // A mark has colors of its own where the page around sets no others.
  const std::string style = "padding: 0 2px; color: inherit; " + tint(token.position);
  const char* const element = leads ? "mark" : "span";
  std::string text = fmt::format("<{} style=\"{}\">{}</{}>", element, style, label, element);
  if (!has_drops) return text;
  std::string below;
  if (!token.below.empty()) {
    const bool rises = token.below.starts_with('-');
    below =
        fmt::format("<sub style=\"display: block; font-size: 75%; line-height: 1.4; padding: 0 2px; {}\">{}{}</sub>",
                    tint(token.position_below), rises ? "\u2212" : "", token.below.substr(rises ? 1 : 0));
  }
  return "<span style=\"display: inline-block; vertical-align: top; text-align: center\">" + text + below + "</span>";
}

std::string text_html(const Report& report, const AnswerRow& row, const ReportCheck* check) {
  const std::vector<PaintedToken> tokens = internal::painted_tokens(report, row, check, "\u2026");
  const std::vector<bool> leads = leading_tokens(report, row);
  const std::vector<bool> shown = shown_tokens(row, check);
  std::string html = "<div dir=\"auto\" style=\"line-height: 1.6\">";
  bool skipped = false;
  bool begins_text = false;
  for (std::size_t j = 0; j < tokens.size(); ++j) {
    begins_text = begins_text || tokens[j].begins_text;  // or a token before it that is not shown
    if (!shown[j]) {
      skipped = true;
      continue;
    }
    if (skipped) html += " \u2026";
    if (begins_text) html += "<br>";
    if (j > 0 && !tokens[j].touches) html += '\n';
    skipped = begins_text = false;
    html += token_html(tokens[j], joined_label(tokens, j), leads[j], check != nullptr);
  }
  return html + (skipped ? " \u2026" : "") + "</div>\n";
}

// The patches as a grid of squares, beside the picture where it is small. Notebooks stripe the rows of tables.
std::string picture_html(const Report& report, const AnswerRow& row) {
  const ReportImage& image = *report.input.image;
  const std::vector<PaintedToken> tokens = internal::painted_tokens(report, row, nullptr, "\u2026");
  constexpr std::size_t kLongest = 224;
  const std::size_t side = std::max<std::size_t>(4, kLongest / std::max(image.rows, image.columns));
  std::string html = "<div style=\"white-space: nowrap\">";
  if (!image.png.empty() && image.png.size() <= kMostPictureBytes) {
    html += fmt::format(
        "<img alt=\"\" style=\"vertical-align: top\" width=\"{}\" height=\"{}\" src=\"data:image/png;base64,",
        side * image.columns, side * image.rows);
    base64_append(html, std::as_bytes(std::span(image.png)));
    html += "\"> ";
  }
  html += "<span style=\"display: inline-block; line-height: 0\">";
  for (std::size_t r = 0; r < image.rows; ++r) {
    for (std::size_t c = 0; c < image.columns; ++c) {
      const PaintedToken& token = tokens.at(image.first_patch + r * image.columns + c);
      html += fmt::format("<span style=\"display: inline-block; width: {}px; height: {}px; {}\"></span>", side, side,
                          tint(token.position));
    }
    html += "<br>";
  }
  return html + "</span></div>\n";
}

std::string map_html(const Report& report, const AnswerRow& row, const ReportCheck* check) {
  return report.input.image ? picture_html(report, row) : text_html(report, row, check);
}

const char* mark_of(const std::string& level) {
  if (level == "strong") return "\u2713";
  if (level == "weak") return "\u2248";
  return level == "none" ? "\u2717" : "?";
}

std::string verdicts_html(const ReportAnswer& answer) {
  std::string html;
  for (const AnswerVerdict& verdict : answer.verdicts) {
    html += fmt::format("<div><b>{}</b> {}</div>\n", mark_of(verdict.level), xml_escaped(verdict.text));
  }
  return html;
}

std::string legend(const Report& report, const AnswerRow& row, const ReportCheck* check) {
  std::string text = "Highlighted: " + xml_escaped(row.title);
  if (row.has_signs) text += " (red: argues against)";
  if (check != nullptr && !report.input.image) {
    text += "; below: " + xml_escaped(internal::drops_title(report, *check));
    if (check->has_rises()) text += " (red: it rises)";
  }
  return text;
}

// A generation's answer is about one of its tokens.
std::string generated_html(const Report& report) {
  if (!report.generation) return "";
  const Generation& generation = *report.generation;
  const std::size_t chosen = chosen_token(report, report.output_token);
  std::string text;
  for (std::size_t t = 0; t < std::min(generation.tokens.size(), kMostTokens); ++t) {
    const GeneratedToken& token = generation.tokens[t];
    const bool touches = t > 0 && generation.tokens[t - 1].end == token.begin;
    const std::string label = xml_escaped(clean_line(generated_text(generation, t)));
    text += (touches ? "" : " ") + (t == chosen ? "<b><u>" + label + "</u></b>" : label);
  }
  return quiet("Generated:") + "<div dir=\"auto\">" + text + "</div>\n";
}

}  // namespace

std::string answer_html(const Report& report) {
  const ReportAnswer answer = report_answer(report);
  std::string html = "<div dir=\"auto\" style=\"font-size: 115%\"><b>" + xml_escaped(answer.headline) + "</b></div>\n";
  const AnswerRow row = answer.method ? answer_row(report, *answer.method) : AnswerRow{};
  const ReportCheck* const check = answer_check(report);
  if (!row.values.empty()) html += map_html(report, row, check) + quiet(legend(report, row, check));
  html += generated_html(report) + verdicts_html(answer);
  if (const std::optional<AnswerRow> attention = attention_row(report)) {
    html += holds_nearly_all(*attention)
                ? quiet(xml_escaped(top_tokens_line(report, *attention)))
                : quiet(xml_escaped(attention->title) + ":") + map_html(report, *attention, nullptr);
  }
  return html;
}

}  // namespace attnflow
