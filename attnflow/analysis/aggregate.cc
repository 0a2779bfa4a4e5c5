#include "attnflow/analysis/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attnflow/analysis/certificates.h"
#include "attnflow/analysis/settings.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

bool wants(const Report& report, const char* method) {
  const auto& methods = report.settings.method;
  return std::find(methods.begin(), methods.end(), method) != methods.end();
}

// What the three methods need to know; shared by the values and by the baseline of receptive-field normalisation.
struct Question {
  std::vector<std::size_t> layers;
  std::size_t to_layer = 0;
  TokenGroups groups;                     // empty: no merging
  std::vector<std::size_t> flow_outputs;  // positions (words when merged) whose flow is wanted
  bool all_flows = true;
  double tolerance = 1e-6;
  const ExplainOptions* options = nullptr;
};

// [layers, n, n] of the original positions -> [layers, words, words].
Tensor<double> merge_pairs(Tensor<double> values, const TokenGroups& groups) {
  if (groups.empty()) return values;
  const std::size_t layers = values.extent(0);
  const std::size_t words = groups.size();
  Tensor<double> merged({layers, words, words});
  for (std::size_t l = 0; l < layers; ++l) {
    const Tensor<double> columns = sum_columns(values[l], groups);
    const Tensor<double> rows = average_rows(columns.view(), groups);
    std::copy_n(rows.data(), words * words, merged.data() + l * words * words);
  }
  return merged;
}

Tensor<double> raw_values(const AttentionGraph& graph, const Question& question) {
  const std::size_t n = graph.tokens();
  Tensor<double> values({question.layers.size(), n, n});
  for (std::size_t w = 0; w < question.layers.size(); ++w) {
    std::copy_n(graph.weights.data() + (question.layers[w] - 1) * n * n, n * n, values.data() + w * n * n);
  }
  return merge_pairs(std::move(values), question.groups);
}

Tensor<double> rollout_values(const AttentionGraph& graph, const Question& question) {
  return merge_pairs(rollout(graph, {question.layers, question.to_layer, question.options->threads}), question.groups);
}

FlowResult flow_values(const AttentionGraph& graph, const Question& question) {
  const ExplainOptions& options = *question.options;
  FlowOptions flow{.layers = question.layers, .to_layer = question.to_layer};
  flow.tolerance = question.tolerance;
  flow.threads = options.threads;
  flow.progress = options.progress;
  flow.stop_token = options.stop_token;
  if (!question.groups.empty()) flow.input_groups = &question.groups;
  if (question.groups.empty()) {
    if (!question.all_flows) flow.output_token = question.flow_outputs.front();
    return attention_flow(graph, flow);
  }

  // Words: columns are merged by the network, rows are averaged here. A word is degenerate as its first degenerate
  // piece is, when all its pieces are.
  const std::size_t words = question.groups.size();
  const std::size_t layers = question.layers.size();
  FlowResult merged{Tensor<double>({layers, question.flow_outputs.size(), words}),
                    Tensor<double>({layers, question.flow_outputs.size(), words}),
                    Tensor<std::uint8_t>({layers, question.flow_outputs.size(), words})};
  const auto add = [&](const FlowResult& pieces, std::size_t piece_row, std::size_t row, std::size_t count,
                       bool first) {
    for (std::size_t l = 0; l < layers; ++l) {
      for (std::size_t j = 0; j < words; ++j) {
        const double low = pieces.flow(l, piece_row, j) / static_cast<double>(count);
        // Each quotient rounds by half a unit in its last place, each of the sums by half a unit in that of the total.
        const double roundings = count > 1 ? static_cast<double>(count) + 4.0 : 0.0;
        const double rounding = roundings * std::numeric_limits<double>::epsilon() * low;
        merged.flow(l, row, j) += low - rounding;
        merged.flow_gap(l, row, j) += pieces.flow_gap(l, piece_row, j) / static_cast<double>(count) + 2.0 * rounding;
        const std::uint8_t kind = pieces.degenerate(l, piece_row, j);
        std::uint8_t& flag = merged.degenerate(l, row, j);
        if (first) {
          flag = kind;
        } else if (kind == 0) {
          flag = 0;
        }
      }
    }
  };
  if (question.all_flows) {
    const FlowResult pieces = attention_flow(graph, flow);
    for (std::size_t w = 0; w < words; ++w) {
      const auto& group = question.groups[w];
      for (std::size_t p = 0; p < group.size(); ++p) add(pieces, group[p], w, group.size(), p == 0);
    }
  } else {
    const auto& group = question.groups[question.flow_outputs.front()];
    for (std::size_t p = 0; p < group.size(); ++p) {
      flow.output_token = group[p];
      add(attention_flow(graph, flow), 0, 0, group.size(), p == 0);
    }
  }
  return merged;
}

void normalize(const std::string& how, Tensor<double>& values, const Tensor<double>& baseline, Tensor<double>* gaps,
               std::size_t& flagged) {
  for (std::size_t l = 0; l < values.extent(0); ++l) {
    const std::size_t rows = values.extent(1);
    const std::size_t n = values.extent(2);
    double* gap = gaps == nullptr ? nullptr : gaps->data() + l * rows * n;
    if (how == "row") {
      const std::vector<double> divisors = normalize_rows(values[l]);
      if (gap != nullptr) {
        for (std::size_t e = 0; e < rows * n; ++e) gap[e] /= divisors[e / n];
      }
    } else {
      const ReceptiveField field = normalize_receptive_field(values[l], baseline[l]);
      flagged += field.flagged;
      if (gap != nullptr) {
        for (std::size_t e = 0; e < rows * n; ++e) gap[e] *= field.scale.data()[e];
      }
    }
  }
}

// "4", "4-6", "4-6 and 9"; `layers` is increasing.
std::string layer_ranges(const std::vector<std::size_t>& layers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(last == i ? fmt::format("{}", layers[i]) : fmt::format("{}-{}", layers[i], layers[last]));
    i = last + 1;
  }
  if (ranges.size() == 1) return ranges.front();
  const std::string end = " and " + ranges.back();
  ranges.pop_back();
  return fmt::format("{}", fmt::join(ranges, ", ")) + end;
}

// "7", or "7 to 12".
std::string percent_range(double low, double high) {
  const std::string least = fmt::format("{:.0f}", 100.0 * low);
  const std::string most = fmt::format("{:.0f}", 100.0 * high);
  return least == most ? least + "%" : least + "% to " + most + "%";
}

// One sentence when most pairs of a layer are degenerate: which layers, how many pairs, which end, what to do.
void note_degenerate(Report& report) {
  if (report.flow_degenerate.empty()) return;
  struct Counts {
    std::size_t pairs = 0;
    std::size_t by_kind[3] = {0, 0, 0};
    double share(std::size_t count) const { return static_cast<double>(count) / static_cast<double>(pairs); }
    std::size_t degenerate() const { return by_kind[1] + by_kind[2]; }
  };
  std::vector<std::size_t> layers;  // those that are mostly degenerate
  Counts all;                       // of them
  Counts shown;                     // of the output token that views show first, in the last layer
  double least = 1.0;
  double most = 0.0;
  const std::size_t last = report.settings.layers.size() - 1;
  for (std::size_t l = 0; l <= last; ++l) {
    Counts layer;
    for (std::size_t row = 0; row < report.flow_output_tokens.size(); ++row) {
      for (std::size_t j = 0; j < report.flow.extent(2); ++j) {
        if (report.flow(l, row, j) == 0.0) continue;  // no path: not a question of depth
        const std::uint8_t kind = report.flow_degenerate(l, row, j);
        ++layer.pairs;
        ++layer.by_kind[kind];
        if (l != last || report.flow_output_tokens[row] != report.output_token) continue;
        ++shown.pairs;
        ++shown.by_kind[kind];
      }
    }
    if (2 * layer.degenerate() <= layer.pairs) continue;
    layers.push_back(report.settings.layers[l]);
    least = std::min(least, layer.share(layer.degenerate()));
    most = std::max(most, layer.share(layer.degenerate()));
    all.pairs += layer.pairs;
    for (std::size_t kind = 0; kind < 3; ++kind) all.by_kind[kind] += layer.by_kind[kind];
  }
  if (layers.empty()) return;

  const std::string columns = fmt::format("layer {}'s attention to the input token, the same for every output token",
                                          report.settings.to_layer + 1);
  const std::string rows = layers.size() == 1 ? fmt::format("layer {}'s own attention", layers.front())
                                              : std::string("the attention of the layer looked from");
  const double column_share = static_cast<double>(all.by_kind[1]) / static_cast<double>(all.degenerate());
  // An end is named when it is more than an exception.
  constexpr double kFew = 0.05;
  const std::string ends = column_share >= 1.0 - kFew ? "sums over " + columns
                           : column_share <= kFew
                               ? "sums over " + rows
                               : fmt::format("{:.0f}% of these sums over {}, {:.0f}% over {}", 100.0 * column_share,
                                             columns, 100.0 * (1.0 - column_share), rows);
  std::string of_shown;
  if (report.flow_output_tokens.size() > 1 && shown.pairs > 0 && layers.back() == report.settings.layers[last]) {
    of_shown = fmt::format("; of the values shown for one output token, {} of {}", shown.degenerate(), shown.pairs);
  }
  report.notes.push_back(fmt::format(
      "Flow from layer{} {} is mostly degenerate: {} of the pairs equal a cut at an end of the network ({}), "
      "so the layers between do not matter there{}. Fewer layers (--layers, --to-layer), rollout, another "
      "--residual or another mixing (--heads, --discard) say more.",
      layers.size() == 1 ? "" : "s", layer_ranges(layers), percent_range(least, most), ends, of_shown));
}

}  // namespace

TokenGroups word_groups(const std::vector<ReportToken>& tokens) {
  TokenGroups groups;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const bool joins =
        t > 0 && tokens[t].word && tokens[t - 1].word == tokens[t].word && tokens[t - 1].segment == tokens[t].segment;
    if (joins) {
      groups.back().push_back(t);
    } else {
      groups.push_back({t});
    }
  }
  return groups;
}

ReportToken merge_tokens(const Report& report, const std::vector<std::size_t>& pieces) {
  ReportToken merged = report.input.tokens[pieces.front()];
  if (pieces.size() == 1) return merged;
  merged.end = report.input.tokens[pieces.back()].end;
  merged.text = "";
  const std::string& text = merged.segment == 0 ? report.input.text : report.input.text_pair;
  if (merged.begin && merged.end && *merged.begin <= *merged.end && *merged.end <= text.size()) {
    merged.text = text.substr(*merged.begin, *merged.end - *merged.begin);
  } else {
    for (const std::size_t p : pieces) merged.text += report.input.tokens[p].text;
  }
  return merged;
}

void aggregate(Report& report, AttentionGraph graph, const ExplainOptions& options) {
  ReportSettings& settings = report.settings;
  Question question;
  question.layers = resolve_layers(settings.layers, settings.to_layer, graph.layers());
  question.to_layer = settings.to_layer;
  question.tolerance = settings.flow_tolerance;
  question.options = &options;
  settings.layers = question.layers;

  std::size_t output =
      resolve_output_token(settings.output_token, report.input.tokens, report.model.causal, report.notes);
  report.all_output_tokens = settings.output_token == "all";
  const std::vector<CertifiedPair> certified = certified_pairs(options, report.input.tokens, report.model.causal);
  if (settings.words) {
    TokenGroups groups = word_groups(report.input.tokens);
    std::vector<ReportToken> words;
    words.reserve(groups.size());
    for (const auto& group : groups) words.push_back(merge_tokens(report, group));
    const auto word_of = [&](std::size_t piece) {
      const auto holds = [&](const std::vector<std::size_t>& group) {
        return std::find(group.begin(), group.end(), piece) != group.end();
      };
      return static_cast<std::size_t>(std::find_if(groups.begin(), groups.end(), holds) - groups.begin());
    };
    output = word_of(output);
    for (ReportPrediction& prediction : report.predictions) {
      if (prediction.position) prediction.position = word_of(*prediction.position);
    }
    for (ReportReferent& referent : report.referents) referent.tokens = {word_of(referent.tokens.front())};
    report.input.tokens = std::move(words);
    question.groups = std::move(groups);
  }
  const std::size_t n = report.input.tokens.size();
  report.output_token = output;
  report.output_tokens.resize(n);
  std::iota(report.output_tokens.begin(), report.output_tokens.end(), std::size_t{0});
  question.all_flows = report.all_output_tokens || graph.tokens() <= kMostTokensForAllFlows;
  question.flow_outputs = question.all_flows ? report.output_tokens : std::vector<std::size_t>{output};

  if (wants(report, "raw")) report.raw = raw_values(graph, question);
  if (wants(report, "rollout")) report.rollout = rollout_values(graph, question);
  if (wants(report, "flow")) {
    FlowResult flow = flow_values(graph, question);
    report.flow = std::move(flow.flow);
    report.flow_gap = std::move(flow.flow_gap);
    report.flow_degenerate = std::move(flow.degenerate);
    report.flow_output_tokens = question.flow_outputs;
    note_degenerate(report);
  }
  add_certificates(report, graph, certified, options);

  if (settings.normalize != "none") {
    const bool by_field = settings.normalize == "receptive-field";
    const AttentionGraph uniform =
        by_field ? uniform_graph(graph.layers(), graph.tokens(), report.model.causal, settings.residual)
                 : AttentionGraph{};
    std::size_t flagged = 0;
    if (!report.raw.empty()) {
      const Tensor<double> baseline = by_field ? raw_values(uniform, question) : Tensor<double>{};
      normalize(settings.normalize, report.raw, baseline, nullptr, flagged);
    }
    if (!report.rollout.empty()) {
      const Tensor<double> baseline = by_field ? rollout_values(uniform, question) : Tensor<double>{};
      normalize(settings.normalize, report.rollout, baseline, nullptr, flagged);
    }
    if (!report.flow.empty()) {
      const Tensor<double> baseline = by_field ? flow_values(uniform, question).flow : Tensor<double>{};
      normalize(settings.normalize, report.flow, baseline, &report.flow_gap, flagged);
    }
    if (flagged > 0) {
      report.notes.push_back(
          fmt::format("Receptive-field normalisation: {} values have a baseline under uniform attention below {} and "
                      "are shown as 0.",
                      flagged, kSmallestBaseline));
    }
  }

  for (const auto& [name, values] : {std::pair<const char*, const Tensor<double>*>{"raw", &report.raw},
                                     {"rollout", &report.rollout},
                                     {"flow", &report.flow}}) {
    if (!std::all_of(values->span().begin(), values->span().end(), [](double v) { return std::isfinite(v); })) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("{}: expected finite values, found some that overflow float64: the rows of the attention sum "
                      "to far more than 1; pass --renormalize instead of --any-weights",
                      name));
    }
  }
  // Not refused: each value says how wide its enclosure is, and that width does not depend on the tolerance.
  if (!report.flow_gap.empty() && settings.normalize == "none") {
    const double widest = *std::max_element(report.flow_gap.span().begin(), report.flow_gap.span().end());
    if (widest > settings.flow_tolerance) {
      report.notes.push_back(
          fmt::format("The widest enclosure of a flow is {:.1e}, more than --flow-tolerance {:g}; "
                      "fewer tokens or layers, or rows that sum to 1, make it narrower.",
                      widest, settings.flow_tolerance));
    }
  }

  // What the pictures of the graph draw: with one head, that head in the top layer and the mean below it.
  Tensor<double> drawn = std::move(graph.weights);
  if (graph.one_head()) {
    const std::size_t size = graph.weights_below.extent(1) * graph.weights_below.extent(2);
    const std::size_t top = question.layers.back() - 1;
    for (std::size_t l = 0; l < top; ++l) {
      std::copy_n(graph.weights_below.data() + l * size, size, drawn.data() + l * size);
    }
  }
  report.graph = merge_pairs(std::move(drawn), question.groups);
}

}  // namespace attnflow
