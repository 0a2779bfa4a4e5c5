// The logit shared out: what each token's attention writes into a prediction, directly.
//
// Problem. In a model whose norms come before its blocks (GPT-2, Llama, T5, ViT) the residual stream is the sum of the
// embedding and of what each layer's attention and feed-forward block add. Except for the last norm, the target, a
// logit or a difference of two, is a linear function of that sum. How much of it did each position write?
//
// Definition (Ferrando et al. 2023). With u_i the target's gradient at the stream x^L_i after the last layer, taking
// the last norm's scale as constant, T^l_ij what position j writes into position i in layer l (graph/layer_terms.h) and
// F the target's value,
//
//     s_j = sum_l sum_i u_i . T^l_ij,
//     F = sum_j s_j + u . x^0 + sum_l u . FF^l + sum_l u . b^l + c,
//
// where FF^l is what layer l's feed-forward block adds, b^l the bias of its attention, and c what the last norm's shift
// and the head's bias add. All are named as parts, so scores and parts add up to F (MethodScores::error()). Only direct
// writes into the positions that the head reads count: what a token wrote elsewhere, and attention carried on later, is
// credited to the position that carried it.
//
// Through the layers (ALTI-Logit). A position writes what it has from others. With M^l the contributions of layer l by
// ALTI (graph/alti_contributions.h), whose rows sum to 1, each write of layer l is traced to its positions' inputs:
//
//     s'_j = sum_i u_i . x^0_i d_ij + sum_l [ sum_i,k u_i . T^l_ik (M^(l-1) ... M^1)_kj
//                                           + sum_i u_i . FF^l_i (M^l ... M^1)_ij ].
//
// So embedding and feed-forward blocks belong to tokens, too; scores and biases, the only parts left, again add up to
// F.
//
// Encoder-decoders. The stream that the head reads is the decoder's: its layers are two each in the joint graph
// (TargetInfo of model/model.h), the embedding is the target's, and the feed-forward block stands behind attention to
// the source. So s_j of a source token is what attention to the source writes from the encoder's output at j. The
// encoder's layers write nothing into that stream; s' goes down them, since each leaves the other text's positions
// alone, and M^l has rows of the identity there.
//
// Cost: two forward passes, one of them for u; in addition O(L n H d) for each position that the head reads, and for s'
// the cost of ALTI, O(L n^2) memory. Deterministic.
//
// References:
//   J. Ferrando, G. I. Gallego, I. Tsiamas and M. R. Costa-jussa, Explaining How Transformers Use Context to Build
//     Predictions, ACL 2023: https://aclanthology.org/2023.acl-long.301
//   J. Ferrando, G. I. Gallego, B. Alastruey, C. Escolano and M. R. Costa-jussa, Towards Opening the Black Box of
//     Neural Machine Translation: Source and Target Interpretations of the Transformer, EMNLP 2022:
//     https://aclanthology.org/2022.emnlp-main.599
#pragma once

#include <vector>

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/report/report_scores.h"

namespace attnflow {

struct LogitScores {
  std::vector<double> scores;    // one a group
  std::vector<ScorePart> parts;  // of s: embedding, feed-forward layers; of both: attention biases, last norm and head
  double value = 0.0;            // F
};

// Throws Error(kUnsupportedModel) for a model whose norms come after its blocks (BERT, BART).
void check_logit_scores(const ModelInfo& info, Method method);

// s, or s' for Method::kAltiLogit. Throw Error(kUsage) for a target that is a probability; Error(kUnsupportedModel) as
// check_logit_scores(), and for a model that does not give terms and gradients; Cancelled.
LogitScores logit_scores(const TextQuestion& question, Method method = Method::kLogit);
LogitScores logit_scores(const ImageQuestion& question, Method method = Method::kLogit);

}  // namespace attnflow
