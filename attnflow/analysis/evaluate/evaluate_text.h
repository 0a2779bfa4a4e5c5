// How well do raw attention, rollout and flow agree with importance scores on one text?
//
// Does for a single text what evaluate_correlations() does for many samples, with any model that predicts: a
// classifier, a masked language model whose text holds a mask, a decoder. The target is the probability of the
// prediction: the class, the likeliest token at the explained mask (by default the first), the likeliest next token.
//
// Scores: blank-out (each token in turn is replaced by the unknown token, else the mask; |change of the target|), and
// the L2 norm of the gradient (of the difference between the two likeliest classes, of the next token's logit) if the
// model has gradients and is not a masked one. A decoder has no neutral token, so it has only gradients. Relevance: the
// report's output token (evaluate/relevance.h). Correlation: Spearman's, over all and over non-special tokens; flow
// values closer than their gaps are ties (evaluate/rank_correlation.h). One text says nothing about the average.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_scores.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/attribution/note.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct TextEvaluationOptions {
  ExplainOptions explain;      // of one output token, in tokens: not words, and nothing blanked
  std::string blank = "auto";  // unk, mask, pad; auto: unk, else mask
  PhaseStart progress = {};
};

struct TextScore {
  std::string name;    // blank-out, gradient
  std::string target;  // "probability of plural"
  std::vector<double> values;
};

struct TextCorrelation {
  std::string method;
  std::size_t layer = 0;
  std::string score;
  std::string tokens;              // all, without-special
  std::size_t count = 0;           // tokens that were ranked
  std::optional<double> spearman;  // nothing where all values are tied, or there are fewer than two
};

struct TextEvaluation {
  Report report;        // explain_text()'s
  ReportChoice target;  // what the model predicts
  std::string blank;    // the piece that stood in for blanked tokens; "" without blank-out
  std::vector<TextScore> scores;
  // Relevance of the output token, [method][layer][token], methods as report.settings.methods.
  std::vector<std::vector<std::vector<double>>> relevance;
  std::vector<TextCorrelation> correlations;  // by score, tokens, method, layer, the last fastest
  std::vector<Note> notes;                    // beside the report's
};

// Throws what explain_text() throws; Error(kUsage) for unusable options and for a masked language model without a mask;
// Error(kUnsupportedModel) for a model without a head, or with classes that do not exclude each other; Cancelled.
TextEvaluation evaluate_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                             const std::optional<std::string>& pair, const TextEvaluationOptions& options);

}  // namespace attnflow
