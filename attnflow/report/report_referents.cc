#include "attnflow/report/report_referents.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kLongestName = 24;

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

TextTable referent_table(const Report& report, const ReferentMarks& marks) {
  TextTable table{{{"layer"}}};
  for (const std::size_t layer : report.settings.layers) table.rows.push_back({std::to_string(layer)});
  const std::vector<std::string> names = referent_names(report);
  for (const ReferentWeights& method : referent_weights(report, report.output_token)) {
    for (std::size_t r = 0; r < names.size(); ++r) {
      const std::string shown = shorten(names[r], kLongestName, marks.ellipsis);
      const std::string name = marks.isolates ? isolated(shown) : shown;
      table.columns.push_back({fmt::format("{}: {}", to_text(method.method), name)});
      for (std::size_t layer = 0; layer < method.layers.size(); ++layer) {
        const ReferentWeight& weight = method.layers[layer][r];
        table.rows[layer].push_back(
            !std::isfinite(weight.value)
                ? "-"
                : fmt::format("{:#.4g}{}{}", weight.value, weight.degenerate != 0 ? marks.degenerate : "",
                              weight.share ? fmt::format(" ({})", percent(*weight.share, 1)) : ""));
      }
    }
  }
  return table;
}

std::string referents_legend(const Report& report, const ReferentMarks& marks) {
  bool degenerate = false;
  for (const ReferentWeights& method : referent_weights(report, report.output_token)) {
    for (const auto& layer : method.layers) {
      for (const ReferentWeight& weight : layer) degenerate = degenerate || weight.degenerate != 0;
    }
  }
  return "each weight with its share of the sum over the referents" +
         (degenerate ? fmt::format("; {} set by the first or last layer alone", marks.degenerate) : "");
}

}  // namespace attnflow::internal
