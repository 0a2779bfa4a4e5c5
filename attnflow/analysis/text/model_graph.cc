#include "attnflow/analysis/text/model_graph.h"

#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {
namespace {

// A row of rollout over attention, [position].
void keep_attention_row(Report& report, const std::vector<double>& row, const TokenGroups& groups) {
  if (row.empty()) return;
  Tensor<double> values({1, groups.size()});
  for (std::size_t j = 0; j < groups.size(); ++j) {
    for (const std::size_t position : groups[j]) values(0, j) += row[position];
  }
  report.attention_rollout = std::move(values);
}

}  // namespace

MixingGraph::MixingGraph(std::size_t layers, const ResolvedMixing& mixing, std::size_t in_chunks, std::size_t threads) {
  const MixingInfo& info = mixing_info(mixing.kind);
  switch (info.needs) {
    case MixingNeeds::kAttention:
      attention_ = std::make_unique<GraphSink>(layers, mixing.mixing, in_chunks);
      break;
    case MixingNeeds::kTerms:
      contributions_ = std::make_unique<ContributionGraphSink>(layers, mixing.contributions(threads), in_chunks);
      break;
    case MixingNeeds::kGradients:
      gradients_ = std::make_unique<GradientGraphSink>(layers, GradientMixingOptions{info.rule, mixing.removal()});
      break;
    case MixingNeeds::kRelevance:
      gradients_ = std::make_unique<RelevanceGraphSink>(
          layers, mixing.removal(), info.by_head ? RelevanceParts::kByHead : RelevanceParts::kTogether);
      rule_ = BackwardRule::kAttnLrp;
      break;
  }
}

AttentionSink* MixingGraph::forward() const {
  if (attention_) return attention_.get();
  return contributions_.get();
}

AttentionGraph MixingGraph::take() {
  return attention_ ? attention_->take() : contributions_ ? contributions_->take() : gradients_->take();
}

void fill_report_of_model(Report& report, ModelGraph made, const TokenGroups& groups, const ReportQuestion& question,
                          const ExplainOptions& options) {
  report.attention = std::move(made.attention);
  keep_attention_row(report, made.attention_row, groups);
  report.feed_forward = feed_forward_shares(made.feed_forward, groups);
  note_negative_share(report.notes, made.negative_share, report.target);
  fill_report(report, GraphSource(std::move(made.graph), made.mask), question, options);
}

}  // namespace attnflow
