#include "attnflow/analysis/explain_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "attnflow/analysis/aggregate.h"
#include "attnflow/analysis/settings.h"
#include "attnflow/analysis/text_words.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/rollout/replay_rollout.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// Takes the one row that a replay hands over.
class RowSink : public AttentionSink {
 public:
  explicit RowSink(const MixingOptions& mixing) : mixing_(mixing) {}
  void layer(std::size_t, std::size_t, TensorView<const float> attention) override {
    const Tensor<double> rows = fused_rows(attention, mixing_);
    row.assign(rows.span().begin(), rows.span().end());
  }
  std::vector<double> row;

 private:
  const MixingOptions& mixing_;
};

// Adds the share of each of the groups' positions; keys behind the last one that the position sees have none.
void add(TensorView<double> sums, const std::vector<double>& row, const TokenGroups& groups, double share) {
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (const std::size_t j : groups[g]) {
      if (j < row.size()) sums(g) += share * row[j];
    }
  }
}

void normalize_row(const std::string& how, Tensor<double>& values, const Tensor<double>& baseline,
                   std::size_t& flagged) {
  for (std::size_t l = 0; l < values.extent(0); ++l) {
    if (how == "row") normalize_rows(values[l]);
    if (how == "receptive-field") flagged += normalize_receptive_field(values[l], baseline[l]).flagged;
  }
}

}  // namespace

void check_row_options(const ExplainOptions& options, const ModelInfo& info) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorKind::kUsage, fmt::format("--only-output-token: expected {}", what));
  };
  const ReportSettings& settings = options.settings;
  if (!info.causal) {
    refuse(fmt::format("a decoder, whose queries and keys are kept, found {}; leave it out", info.name));
  }
  if (has_gradient_mixing(settings)) refuse("--mixing attention, whose rows can be made again, found gradients");
  if (wants(settings, "flow")) refuse("--method raw,rollout, found flow, which needs the matrices of all layers");
  if (!options.certificates.empty()) refuse("no --certificate, which needs the matrices of all layers, found one");
  if (options.keep_attention) refuse("no --keep-attention, which is what it saves, found both");
  if (settings.discard > 0.0) refuse("no --discard, whose smallest weights are those of whole layers, found both");
  if (settings.output_token == "all") refuse("one --output-token, found all");
}

void aggregate_row(Report& report, AttentionReplay& attention, const MixingOptions& mixing,
                   const ExplainOptions& options) {
  ReportSettings& settings = report.settings;
  std::vector<std::size_t> asked = settings.layers;
  if (asked.empty()) asked = {attention.layers()};
  settings.layers = resolve_layers(asked, settings.to_layer, attention.layers());
  const std::size_t n = report.input.tokens.size();

  std::size_t output = resolve_output_token(report, report.notes);
  std::vector<std::size_t> rows = {output};
  TokenGroups groups;
  if (settings.words) {
    groups = merge_words(report, output);
    rows = groups[output];
  } else {
    for (std::size_t t = 0; t < n; ++t) groups.push_back({t});
  }
  report.output_token = output;
  report.output_tokens = {output};

  const Shape shape{settings.layers.size(), 1, groups.size()};
  const double share = 1.0 / static_cast<double>(rows.size());
  const bool by_field = settings.normalize == "receptive-field";
  std::size_t flagged = 0;
  if (wants(settings, "raw")) {
    report.raw = Tensor<double>(shape);
    Tensor<double> baseline(by_field ? shape : Shape{0, 0, 0});
    RowSink sink(mixing);
    for (std::size_t l = 0; l < settings.layers.size(); ++l) {
      for (const std::size_t row : rows) {
        attention.rows(settings.layers[l], row, row + 1, sink);
        add(report.raw[l][0], sink.row, groups, share);
        if (!by_field) continue;
        add(baseline[l][0], std::vector<double>(row + 1, 1.0 / static_cast<double>(row + 1)), groups, share);
      }
    }
    normalize_row(settings.normalize, report.raw, baseline, flagged);
  }
  if (wants(settings, "rollout")) {
    report.rollout = Tensor<double>(shape);
    Tensor<double> baseline(by_field ? shape : Shape{0, 0, 0});
    const std::size_t passes = settings.layers.size() * rows.size();
    std::size_t done = 0;
    for (const std::size_t row : rows) {
      Tensor<double> uniform;
      if (by_field) {
        uniform = uniform_rollout_rows(row + 1, settings.layers.back() - settings.to_layer, settings.residual);
      }
      for (std::size_t l = 0; l < settings.layers.size(); ++l) {
        ReplayRolloutOptions ask;
        ask.output_token = row;
        ask.layer = settings.layers[l];
        ask.to_layer = settings.to_layer;
        ask.mixing = mixing;
        ask.stop_token = options.stop_token;
        add(report.rollout[l][0], replay_rollout(attention, ask), groups, share);
        if (by_field) {
          const auto line = std::as_const(uniform)[settings.layers[l] - settings.to_layer - 1].span();
          add(baseline[l][0], {line.begin(), line.end()}, groups, share);
        }
        if (options.progress) options.progress(++done, passes);
      }
    }
    normalize_row(settings.normalize, report.rollout, baseline, flagged);
  }
  if (flagged > 0) report.notes.push_back(flagged_note(flagged));
}

}  // namespace attnflow
