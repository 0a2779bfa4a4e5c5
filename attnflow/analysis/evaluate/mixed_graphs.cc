#include "attnflow/analysis/evaluate/mixed_graphs.h"

#include <map>
#include <memory>
#include <utility>

#include "attnflow/analysis/explain/stop_sink.h"
#include "attnflow/analysis/explain/target_graph.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/model/decoder.h"

namespace attnflow {
namespace {

class GradientTee : public AttentionGradientSink {
 public:
  GradientTee(std::vector<AttentionGradientSink*> sinks, std::stop_token stop_token)
      : sinks_(std::move(sinks)), stop_token_(std::move(stop_token)) {}
  void layer(const LayerGradients& gradients) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionGradientSink* sink : sinks_) sink->layer(gradients);
  }

 private:
  std::vector<AttentionGradientSink*> sinks_;
  std::stop_token stop_token_;
};

// The logits at a position, [vocabulary], attention going to `sink`.
Tensor<float> run_for_logits(TextModel& model, const TextInput& input, std::size_t position, AttentionSink* sink,
                             const std::stop_token& stop_token) {
  if (Decoder* const decoder = model.decoder()) {
    decoder->clear();
    return decoder->append(input.ids, sink, stop_token);
  }
  const ModelOutput output = model.run(input, sink, {.logit_positions = {position}});
  const auto row = output.logits[0].span();
  return Tensor<float>({row.size()}, {row.begin(), row.end()});
}

// Heads are those of attention; other mixings have no choice of them.
ResolvedMixing mixing_of(Settings choice, const MixedGraphsQuestion& question, std::size_t heads) {
  if (choice.mixing != Mixing::kAttention) choice.heads = {};
  return resolve_mixing(choice, question.tokens, heads);
}

}  // namespace

MixedGraphs mixed_graphs(TextModel& model, std::span<const Settings> choices, const MixedGraphsQuestion& question) {
  const ModelInfo& info = model.info();
  // Decoders hand their attention over in chunks of queries.
  const std::size_t in_chunks = info.causal ? question.input.ids.size() : 0;
  std::vector<std::unique_ptr<GraphSink>> attention(choices.size());
  std::vector<std::unique_ptr<ContributionGraphSink>> contributions(choices.size());
  std::vector<std::unique_ptr<GraphOfGradientsSink>> gradients(choices.size());
  std::vector<AttentionSink*> forward;
  std::map<BackwardRule, std::vector<AttentionGradientSink*>> back;
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const ResolvedMixing mixing = mixing_of(choices[c], question, info.heads);
    if (mixing.kind == Mixing::kAuto) {
      throw Error(ErrorKind::kUsage, "--mixing: expected one that says what a layer's matrix is, found auto");
    }
    switch (mixing_info(mixing.kind).needs) {
      case MixingNeeds::kAttention:
        attention[c] = std::make_unique<GraphSink>(info.layers, mixing.mixing, in_chunks);
        forward.push_back(attention[c].get());
        break;
      case MixingNeeds::kTerms:
        contributions[c] =
            std::make_unique<ContributionGraphSink>(info.layers, mixing.contributions(question.threads), in_chunks);
        forward.push_back(contributions[c].get());
        break;
      case MixingNeeds::kGradients:
        gradients[c] = gradients_sink(info.layers, mixing);
        back[backward_rule(mixing.kind)].push_back(gradients[c].get());
        break;
    }
  }
  MixedGraphs result;
  const bool looks = !forward.empty();
  StopSink tee(std::move(forward), question.stop_token);
  result.logits = run_for_logits(model, question.input, question.position, looks ? &tee : nullptr, question.stop_token);
  for (const auto& [rule, sinks] : back) {
    GradientTee gradient_tee(sinks, question.stop_token);
    gradients_of(model).attention_gradients(question.input, question.target, gradient_tee, rule);
  }
  for (std::size_t c = 0; c < choices.size(); ++c) {
    result.graphs.push_back(attention[c]       ? attention[c]->take()
                            : contributions[c] ? contributions[c]->take()
                                               : gradients[c]->take());
  }
  return result;
}

Tensor<float> token_logits(TextModel& model, const TextInput& input, std::size_t position,
                           const std::stop_token& stop_token) {
  return run_for_logits(model, input, position, nullptr, stop_token);
}

}  // namespace attnflow
