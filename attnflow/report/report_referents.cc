#include "attnflow/report/report_referents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"
#include "attnflow/words/wrap.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kReferentGap = 2;  // cells between the layer, and between methods
constexpr std::size_t kShareCells = 4;   // "100%"
constexpr std::size_t kLongestName = 24;

std::string share_text(const std::optional<double>& share) { return share ? percent(*share) : std::string("-"); }

struct Panel {
  const ReferentWeights* weights = nullptr;
  std::size_t first = 0;  // referents [first, end)
  std::size_t end = 0;
  std::size_t cell = 0;  // cells of one column: value, mark, share
  std::vector<std::vector<std::string>> values;
  std::size_t width() const { return (end - first) * (cell + 1) - 1; }
};

// Four decimals if they show something, else two significant digits; the same for all of a method's values.
std::string format_value(double value, double largest) {
  if (!std::isfinite(value)) return "-";
  if (largest >= 1000.0 || (largest > 0.0 && largest < 0.001)) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, largest >= 10.0 ? 2 : 4);
}

std::vector<std::vector<std::string>> format_values(const ReferentWeights& weights) {
  double largest = 0.0;
  for (const auto& layer : weights.layers) {
    for (const ReferentWeight& weight : layer) {
      if (std::isfinite(weight.value)) largest = std::max(largest, weight.value);
    }
  }
  std::vector<std::vector<std::string>> texts;
  for (const auto& layer : weights.layers) {
    texts.emplace_back();
    for (const ReferentWeight& weight : layer) texts.back().push_back(format_value(weight.value, largest));
  }
  return texts;
}

std::string right(const std::string& text, std::size_t cells) {
  return std::string(cells - std::min(cells, display_width(text)), ' ') + text;
}

// Splits methods that are wider than `width`.
std::vector<Panel> make_panels(const std::vector<ReferentWeights>& weights, std::size_t width) {
  std::vector<Panel> panels;
  for (const ReferentWeights& method : weights) {
    const auto values = format_values(method);
    std::size_t value_cells = 6;
    for (const auto& layer : values) {
      for (const std::string& text : layer) value_cells = std::max(value_cells, text.size());
    }
    const std::size_t cell = value_cells + 1 + kShareCells;
    const std::size_t most = std::max<std::size_t>(1, (width + 1) / (cell + 1));
    const std::size_t referents = method.layers.empty() ? 0 : method.layers.front().size();
    for (std::size_t first = 0; first < referents; first += most) {
      panels.push_back({&method, first, std::min(referents, first + most), cell, values});
    }
  }
  return panels;
}

}  // namespace

std::vector<ReferentWeights> referent_weights(const Report& report, std::size_t output_token) {
  std::vector<ReferentWeights> result;
  if (report.referents.empty()) return result;
  const bool pieces = std::any_of(report.referents.begin(), report.referents.end(),
                                  [](const ReportReferent& referent) { return referent.tokens.size() != 1; });
  for (const Method method : methods_present(report)) {
    const MethodValues rows = method_values(report, method);
    const auto row = row_index(*rows.output_tokens, output_token);
    const bool flow = method == Method::kFlow;
    if (!row || (flow && pieces)) continue;
    ReferentWeights weights{.method = method, .layers = {}};
    for (std::size_t layer = 0; layer < report.settings.layers.size(); ++layer) {
      std::vector<ReferentWeight> line;
      double sum = 0.0;
      for (const ReportReferent& referent : report.referents) {
        ReferentWeight weight;
        for (const std::size_t token : referent.tokens) weight.value += (*rows.values)(layer, *row, token);
        if (flow && !report.flow_degenerate.empty()) {
          weight.degenerate = report.flow_degenerate(layer, *row, referent.tokens.front());
        }
        sum += weight.value;
        line.push_back(weight);
      }
      if (sum > 0.0 && std::isfinite(sum)) {
        for (ReferentWeight& weight : line) weight.share = weight.value / sum;
      }
      weights.layers.push_back(std::move(line));
    }
    result.push_back(std::move(weights));
  }
  return result;
}

std::vector<std::string> referent_names(const Report& report) {
  std::vector<std::string> texts;
  for (const ReportReferent& referent : report.referents) texts.push_back(clean_line(referent.text));
  std::vector<std::string> names;
  for (std::size_t r = 0; r < texts.size(); ++r) {
    const std::vector<std::size_t>& tokens = report.referents[r].tokens;
    const std::size_t position = tokens.empty() ? 0 : tokens.front();
    if (texts[r].empty()) {
      names.push_back(fmt::format("{}", position));
    } else {
      names.push_back(std::count(texts.begin(), texts.end(), texts[r]) == 1
                          ? texts[r]
                          : fmt::format("{} ({})", texts[r], position));
    }
  }
  return names;
}

const ReportPrediction* candidates_at(const Report& report, std::size_t output_token) {
  for (const ReportPrediction& prediction : report.predictions) {
    if (prediction.position == output_token && !prediction.candidates.empty()) return &prediction;
  }
  return nullptr;
}

std::vector<double> candidate_shares(const ReportPrediction& prediction) {
  double sum = 0.0;
  for (const ReportChoice& candidate : prediction.candidates) sum += candidate.probability;
  std::vector<double> shares;
  if (!(sum > 0.0) || !std::isfinite(sum)) return shares;
  for (const ReportChoice& candidate : prediction.candidates) shares.push_back(candidate.probability / sum);
  return shares;
}

std::string referents_title(const Report& report, std::string_view ellipsis) {
  const std::string text = shorten(clean_line(display_text(report.input, report.output_token)), kLongestName, ellipsis);
  return text.empty() ? fmt::format("Weights of output token {} on the referents", report.output_token)
                      : fmt::format("Weights of \"{}\" (position {}) on the referents", text, report.output_token);
}

std::string candidate_shares_line(const Report& report) {
  const ReportPrediction* prediction = candidates_at(report, report.output_token);
  if (prediction == nullptr) return "";
  const std::vector<double> shares = candidate_shares(*prediction);
  std::string line;
  for (std::size_t c = 0; c < shares.size(); ++c) {
    line += fmt::format("{}{} {}", c == 0 ? "Among the candidates: " : ", ",
                        clean_line(prediction->candidates[c].label), percent(shares[c], 1));
  }
  return line;
}

std::vector<std::string> referent_lines(const Report& report, std::size_t width, const ReferentMarks& marks) {
  const std::vector<ReferentWeights> weights = referent_weights(report, report.output_token);
  const std::vector<std::string> names = referent_names(report);
  constexpr std::string_view kLayer = "layer";
  const std::size_t room = std::max<std::size_t>(width, 40) - kLayer.size() - kReferentGap;
  const std::vector<Panel> panels = make_panels(weights, room);
  std::vector<std::string> lines;
  for (std::size_t first = 0; first < panels.size();) {
    std::size_t end = first;
    std::size_t used = 0;
    while (end < panels.size() && (end == first || used + kReferentGap + panels[end].width() <= room)) {
      used += (end == first ? 0 : kReferentGap) + panels[end].width();
      ++end;
    }
    if (first != 0) lines.emplace_back();
    const auto line_of = [&](std::string line, auto&& part) {
      for (std::size_t p = first; p < end; ++p) {
        line += std::string(kReferentGap, ' ');
        line += part(panels[p]);
      }
      return without_trailing_spaces(line);
    };
    // Repeats the method's name over each continued panel.
    lines.push_back(line_of(std::string(kLayer.size(), ' '), [&](const Panel& panel) {
      const std::string title = shorten(to_text(panel.weights->method), panel.width(), marks.ellipsis);
      return title + std::string(panel.width() - display_width(title), ' ');
    }));
    lines.push_back(line_of(std::string(kLayer), [&](const Panel& panel) {
      std::string text;
      for (std::size_t r = panel.first; r < panel.end; ++r) {
        if (r != panel.first) text += ' ';
        const std::string name = shorten(names[r], panel.cell, marks.ellipsis);
        text += std::string(panel.cell - display_width(name), ' ') + fit_to_cells(name, display_width(name), "");
      }
      return text;
    }));
    for (std::size_t layer = 0; layer < report.settings.layers.size(); ++layer) {
      lines.push_back(
          line_of(right(fmt::format("{}", report.settings.layers[layer]), kLayer.size()), [&](const Panel& panel) {
            std::string text;
            for (std::size_t r = panel.first; r < panel.end; ++r) {
              const ReferentWeight& weight = panel.weights->layers[layer][r];
              if (r != panel.first) text += ' ';
              text += right(panel.values[layer][r], panel.cell - 1 - kShareCells);
              text += weight.degenerate != 0 ? std::string(marks.degenerate) : " ";
              text += right(share_text(weight.share), kShareCells);
            }
            return text;
          }));
    }
    first = end;
  }
  return lines;
}

}  // namespace attnflow::internal
