// The graph of gradient-adjusted attention (graph/gradient_mixing.h) of a model, an input and a target.
//
// The score is a logit, as published: of a class, or of the token that follows a decoder's text. Probabilities would
// not do: their gradient vanishes where the model is sure, and A = I + G would then be the identity whatever it looked
// at.
//
// In order: gradient_mixing_options() and the target that is asked for, which say what is wrong before the model runs;
// the model's output; class_target() or token_target(); gradient_graph().
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_GRADIENT_GRAPH_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_GRADIENT_GRAPH_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Throws Error(kUnsupportedModel) unless the model has an output to take the gradient of: classes, or the next token.
void check_gradient_head(const ModelInfo& info);

// The class that `asked` (--target) names: its label, exactly or in other letters' case, its number,
// or id:N where labels are numbers; nothing for auto. Throws Error(kUsage) for none of these.
std::optional<std::size_t> asked_class(const std::string& asked, const ModelInfo& info);

// The token that `asked` names, a word of one token as it would follow a space, or id:N; nothing for auto. Throws
// Error(kUsage) for words of no or several tokens, and ids that are not there.
std::optional<std::size_t> asked_token(const std::string& asked, const TextCodec& codec, std::size_t vocabulary);

// The target with its logit; `asked` absent: the one with the largest logit (the first of equal ones). Throws
// Error(kBadFile) for logits that are not finite.
ReportTarget class_target(const ModelInfo& info, std::span<const float> logits, std::optional<std::size_t> asked);
ReportTarget token_target(const TextCodec& codec, std::span<const float> logits, std::optional<std::size_t> asked);

// G_l of every layer for the logit of class or token `target`: one pass forward and one back. Memory: O(L n^2), and
// what the model takes. Throws as Gradients::attention_gradients(), gradients_of() and gradient_weights() do.
template <typename Input>
AttentionGraph gradient_graph(ModelOf<Input>& model, const Input& input, std::size_t target,
                              const GradientMixingOptions& options = {}) {
  GradientGraphSink sink(model.info().layers, options);
  gradients_of(model).attention_gradients(input, ScoreTarget{ScoreTarget::Kind::kLogit, target, 0}, sink);
  return sink.take();
}

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_GRADIENT_GRAPH_H_
