#include "attnflow/analysis/aggregate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attnflow/analysis/certificates.h"
#include "attnflow/analysis/degeneracy_note.h"
#include "attnflow/analysis/settings.h"
#include "attnflow/analysis/sink_note.h"
#include "attnflow/analysis/text_words.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

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

void note_degenerate(Report& report) {
  if (report.flow_degenerate.empty()) return;
  DegeneracyQuestion question;
  question.to_layer = report.settings.to_layer;
  question.gradient = has_gradient_mixing(report.settings);
  const std::size_t last = report.settings.layers.size() - 1;
  const auto count = [&](DegeneracyCounts& counts, std::size_t l, std::size_t row) {
    for (std::size_t j = 0; j < report.flow.extent(2); ++j) {
      if (report.flow(l, row, j) == 0.0) continue;  // no path: not a question of depth
      const std::uint8_t kind = report.flow_degenerate(l, row, j);
      ++counts.values;
      if (kind == static_cast<std::uint8_t>(FlowDegeneracy::kFirstLayerColumn)) ++counts.first_layer_column;
      if (kind == static_cast<std::uint8_t>(FlowDegeneracy::kTopRow)) ++counts.top_row;
    }
  };
  // The gradient's other output tokens have nothing but the identity in the layer that the score is read from: all of
  // their values would count as degenerate.
  const std::optional<std::size_t> only =
      question.gradient ? row_index(report.flow_output_tokens, report.output_token) : std::nullopt;
  if (only) question.values = fmt::format("values of output token {}", report.output_token);
  for (std::size_t l = 0; l <= last; ++l) {
    DegeneracyCounts layer{report.settings.layers[l], 0, 0, 0};
    for (std::size_t row = 0; row < report.flow_output_tokens.size(); ++row) {
      if (!only || row == *only) count(layer, l, row);
    }
    question.layers.push_back(layer);
  }
  if (report.flow_output_tokens.size() > 1 && !only) {
    if (const auto row = row_index(report.flow_output_tokens, report.output_token)) count(question.shown, last, *row);
  }
  if (std::string note = degeneracy_note(question); !note.empty()) report.notes.push_back(std::move(note));
}

// The rule for flow, whose capacities are to be shares.
ResidualRule rule_for_flow(ResidualRule rule) {
  return rule == ResidualRule::kAdded ? ResidualRule::kAddedNormalized : rule;
}

void note_sink(Report& report, const AttentionGraph& graph, std::size_t output) {
  if (!report.model.causal || output == 0 || report.settings.set_aside != "none" ||
      graph.residual_rule != ResidualRule::kConvex) {
    return;
  }
  double sum = 0.0;
  for (std::size_t l = 0; l < graph.layers(); ++l) sum += graph.weights(l, output, 0);
  const double mean = sum / static_cast<double>(graph.layers());
  if (mean < 2.0 / static_cast<double>(output + 1)) return;  // of few tokens each has much
  std::string note = sink_note(mean, "the output token's attention", display_text(report, 0),
                               "--set-aside first sets that token aside.");
  if (!note.empty()) report.notes.push_back(std::move(note));
}

// Before words are put together and values are normalised.
void note_next_sink(Report& report, const AttentionGraph& graph, std::size_t output) {
  const ReportSettings& settings = report.settings;
  if (!report.model.causal || output < 2 || settings.set_aside != "first" || settings.normalize != "none" ||
      graph.residual_rule != ResidualRule::kConvex || settings.to_layer != 0 || !wants(settings, "rollout")) {
    return;
  }
  const double share = rollout_row(graph, output, settings.layers.back())[1];
  std::string note = next_sink_note(share, "what the output token draws on", display_text(report, 1));
  if (!note.empty()) report.notes.push_back(std::move(note));
}

// What has to be known of values that gradients made.
void note_gradients(Report& report, const AttentionGraph& graph) {
  if (graph.residual_rule == ResidualRule::kConvex) return;
  if (std::all_of(graph.weights.span().begin(), graph.weights.span().end(), [](double w) { return w == 0.0; })) {
    report.notes.emplace_back(
        "No attention weight speaks for the target: its gradient is 0 or negative wherever there is attention, so each "
        "token draws on itself alone.");
  } else if (graph.residual_rule == ResidualRule::kAdded && !report.rollout.empty() &&
             report.settings.normalize == "none") {
    const std::size_t last = report.settings.layers.size() - 1;
    double sum = 0.0;
    for (std::size_t j = 0; j < report.rollout.extent(2); ++j) sum += report.rollout(last, report.output_token, j);
    report.notes.push_back(
        fmt::format("Rollout multiplies I + G as published, so its values are no shares: those of output token {} sum "
                    "to {:.3g} at layer {}. --mixing gradient-renormalized or --normalize row makes them shares.",
                    report.output_token, sum, report.settings.layers.back()));
  }
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
  for (const std::size_t p : pieces) merged.unknown = merged.unknown || report.input.tokens[p].unknown;
  merged.text = "";
  const std::string& text = merged.segment == 0 ? report.input.text : report.input.text_pair;
  if (merged.begin && merged.end && *merged.begin <= *merged.end && *merged.end <= text.size()) {
    merged.text = text.substr(*merged.begin, *merged.end - *merged.begin);
  } else {
    for (const std::size_t p : pieces) merged.text += report.input.tokens[p].text;
  }
  return merged;
}

TokenGroups merge_words(Report& report, std::size_t& output) {
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
  return groups;
}

std::string flagged_note(std::size_t flagged) {
  return fmt::format(
      "Receptive-field normalisation: {} values have a baseline under uniform attention below {} and are shown as 0.",
      flagged, kSmallestBaseline);
}

void aggregate(Report& report, AttentionGraph graph, const ExplainOptions& options) {
  ReportSettings& settings = report.settings;
  Question question;
  question.layers = resolve_layers(settings.layers, settings.to_layer, graph.layers());
  question.to_layer = settings.to_layer;
  question.tolerance = settings.flow_tolerance;
  question.options = &options;
  settings.layers = question.layers;

  std::size_t output = resolve_output_token(report, report.notes);
  report.all_output_tokens = settings.output_token == "all";
  const std::vector<CertifiedPair> certified = certified_pairs(options, report.input.tokens, report.model.causal);
  note_sink(report, graph, output);
  note_next_sink(report, graph, output);
  if (settings.words) {
    question.groups = merge_words(report, output);
  }
  const std::size_t n = report.input.tokens.size();
  report.output_token = output;
  report.output_tokens.resize(n);
  std::iota(report.output_tokens.begin(), report.output_tokens.end(), std::size_t{0});
  question.all_flows = report.all_output_tokens || graph.tokens() <= kMostTokensForAllFlows;
  question.flow_outputs = question.all_flows ? report.output_tokens : std::vector<std::size_t>{output};

  if (wants(report.settings, "raw")) report.raw = raw_values(graph, question);
  if (wants(report.settings, "rollout")) report.rollout = rollout_values(graph, question);
  note_gradients(report, graph);
  const ResidualRule rollout_rule = graph.residual_rule;
  graph.residual_rule = rule_for_flow(rollout_rule);
  if (wants(report.settings, "flow")) {
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
    AttentionGraph uniform;
    if (by_field) {
      uniform = graph.residual_rule == ResidualRule::kConvex
                    ? uniform_graph(graph.layers(), graph.tokens(), report.model.causal, settings.residual)
                    : spread_evenly(graph, report.model.causal);
    }
    std::size_t flagged = 0;
    if (!report.raw.empty()) {
      const Tensor<double> baseline = by_field ? raw_values(uniform, question) : Tensor<double>{};
      normalize(settings.normalize, report.raw, baseline, nullptr, flagged);
    }
    if (!report.rollout.empty()) {
      uniform.residual_rule = rollout_rule;
      const Tensor<double> baseline = by_field ? rollout_values(uniform, question) : Tensor<double>{};
      normalize(settings.normalize, report.rollout, baseline, nullptr, flagged);
    }
    if (!report.flow.empty()) {
      uniform.residual_rule = graph.residual_rule;
      const Tensor<double> baseline = by_field ? flow_values(uniform, question).flow : Tensor<double>{};
      normalize(settings.normalize, report.flow, baseline, &report.flow_gap, flagged);
    }
    if (flagged > 0) report.notes.push_back(flagged_note(flagged));
  }

  for (const auto& [name, values] : {std::pair<const char*, const Tensor<double>*>{"raw", &report.raw},
                                     {"rollout", &report.rollout},
                                     {"flow", &report.flow}}) {
    if (!std::all_of(values->span().begin(), values->span().end(), [](double v) { return std::isfinite(v); })) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("{}: expected finite values, found some that overflow float64: the rows of the attention sum "
                      "to far more than 1; pass {}",
                      name,
                      has_gradient_mixing(settings) ? "--mixing gradient-renormalized"
                                                    : "--renormalize instead of --any-weights"));
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
