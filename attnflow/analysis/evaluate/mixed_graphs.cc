#include "attnflow/analysis/evaluate/mixed_graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "attnflow/analysis/text/model_graph.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/model/decoder.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

// The logits at a position, [vocabulary], or of classes; attention goes to `sink`.
Tensor<float> run_for_logits(TextModel& model, const TextInput& input, std::size_t position, AttentionSink* sink,
                             const std::stop_token& stop_token) {
  if (model.info().head == ModelHead::kClassification) return model.run(input, sink).logits;
  if (Decoder* const decoder = model.decoder()) {
    decoder->clear();
    return decoder->append(input.ids, sink, stop_token);
  }
  const ModelOutput output = model.run(input, sink, {.logit_positions = {position}});
  const auto row = output.logits[0].span();
  return Tensor<float>({row.size()}, {row.begin(), row.end()});
}

Tensor<float> run_for_logits(VisionModel& model, const PixelInput& input, std::size_t, AttentionSink* sink,
                             const std::stop_token&) {
  return model.run(input, sink).logits;
}

// Decoders pass on their attention in chunks of queries, this number of tokens in all.
std::size_t tokens_in_chunks(const ModelInfo& info, const TextInput& input) {
  return info.causal ? input.ids.size() : 0;
}
std::size_t tokens_in_chunks(const ModelInfo&, const PixelInput&) { return 0; }

// Only attention has a choice of heads.
ResolvedMixing mixing_of(Settings choice, const std::vector<InputToken>& tokens, std::size_t heads) {
  if (choice.mixing != Mixing::kAttention) choice.heads = {};
  return resolve_mixing(choice, tokens, heads);
}

template <typename ModelType, typename Input>
MixedGraphs graphs_of(ModelType& model, std::span<const Settings> choices,
                      const MixedGraphsQuestionOf<Input>& question) {
  const ModelInfo& info = model.info();
  const std::size_t in_chunks = tokens_in_chunks(info, question.input);
  std::vector<MixingGraph> graphs;
  std::vector<AttentionSink*> forward;
  std::map<BackwardRule, std::vector<AttentionGradientSink*>> back;
  for (const Settings& choice : choices) {
    const ResolvedMixing mixing = mixing_of(choice, question.tokens, info.heads);
    if (mixing.kind == Mixing::kAuto) {
      throw internal::usage_error("--mixing: expected a specific mixing, found auto");
    }
    const MixingGraph& graph = graphs.emplace_back(info.layers, mixing, in_chunks, question.threads);
    if (graph.forward() != nullptr) {
      forward.push_back(graph.forward());
    } else {
      back[graph.rule()].push_back(graph.backward());
    }
  }
  MixedGraphs result;
  const bool looks = !forward.empty();
  StopSink tee(std::move(forward), question.stop_token);
  result.logits = run_for_logits(model, question.input, question.position, looks ? &tee : nullptr, question.stop_token);
  for (const auto& [rule, sinks] : back) {
    StopGradientSink together(sinks, question.stop_token);
    const ScoreTarget& target =
        rule == BackwardRule::kGradient && question.gradient_target ? *question.gradient_target : question.target;
    gradients_of(model).attention_gradients(question.input, target, together, rule);
  }
  for (MixingGraph& graph : graphs) result.graphs.push_back(graph.take());
  return result;
}

}  // namespace

MixedGraphs mixed_graphs(TextModel& model, std::span<const Settings> choices, const MixedGraphsQuestion& question) {
  return graphs_of(model, choices, question);
}
MixedGraphs mixed_graphs(VisionModel& model, std::span<const Settings> choices, const PictureGraphsQuestion& question) {
  return graphs_of(model, choices, question);
}

Tensor<float> token_logits(TextModel& model, const TextInput& input, std::size_t position,
                           const std::stop_token& stop_token) {
  return run_for_logits(model, input, position, nullptr, stop_token);
}

std::vector<Settings> settings_of_mixings(const Settings& settings, std::span<const Mixing> mixings) {
  std::vector<Settings> result;
  for (const Mixing mixing : mixings) {
    result.push_back(settings);
    result.back().mixing = mixing;
  }
  return result;
}

std::vector<Mixing> parse_mixings(const std::vector<std::string>& names) {
  std::vector<Mixing> mixings;
  if (names == std::vector<std::string>{"all"}) return mixings;
  for (const std::string& name : names) mixings.push_back(parse_mixing(name));
  return mixings;
}

void check_mixings(std::span<const Mixing> mixings) {
  for (const Mixing mixing : mixings) {
    if (mixing == Mixing::kAuto) {
      throw internal::usage_error("--mixing: expected names of mixings, or all, found auto among them");
    }
    if (std::count(mixings.begin(), mixings.end(), mixing) != 1) {
      throw internal::usage_error("--mixing: expected each once, found {} again", to_text(mixing));
    }
  }
}

bool leaves_heads_or_residual(const Settings& settings, std::span<const Mixing> mixings) {
  const Settings usual;
  return std::any_of(mixings.begin(), mixings.end(), [&](Mixing mixing) {
    return (settings.heads != usual.heads && mixing != Mixing::kAttention) ||
           (settings.residual != usual.residual && !mixing_info(mixing).takes_residual());
  });
}

std::pair<std::vector<Mixing>, std::map<std::string, std::string>> possible_mixings(
    const std::function<void(Mixing)>& attempt, std::span<const Mixing> tried) {
  std::vector<Mixing> all;
  for (const MixingInfo& info : all_mixings()) {
    if (info.mixing != Mixing::kAuto) all.push_back(info.mixing);
  }
  if (tried.empty()) tried = all;
  std::vector<Mixing> possible;
  std::map<std::string, std::string> impossible;
  for (const Mixing mixing : tried) {
    try {
      attempt(mixing);
      possible.push_back(mixing);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kUnsupportedModel) throw;
      impossible[to_text(mixing)] = error.what();
    }
  }
  return {possible, impossible};
}

std::string mixed_name(const std::string& method, const std::optional<Mixing>& mixing,
                       std::span<const Mixing> compared) {
  const bool plain = !mixing || (compared.size() == 1 && compared.front() == Mixing::kAttention);
  return plain ? method : method + " over " + to_text(*mixing);
}

}  // namespace attnflow
