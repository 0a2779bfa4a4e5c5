// Which mixings and methods a model has, and what Mixing::kAuto stands for: edges that answer the question, if they
// take at most about a minute.
//
// In a decoder, rollout and flow over attention, as in Abnar and Zuidema, rank the deciding word no better than chance;
// in encoders, relevance agrees better with blank-out (docs/edges.md). The first possible mixing applies:
//
//     relevance    if the output token is one where the model predicts something (a class, a masked word, the next
//                  token), and it has gradients; always if --target or --against names something that nothing else
//                  explains;
//     alti         for an embedding, unless --target names another text: contributions agree with the check better than
//                  relevance does; if the model has no gradients or relevance would take longer; and while a text is
//                  generated;
//     attention    if that would take longer, too; where nothing is predicted; and for options meaningful for
//                  attention only: one head, max or min over heads, a given residual, one row without matrices.
//
// The limits count operations, not time, so that the same input gives the same edges everywhere.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Floating-point operations, 2 per parameter and token of a run. For one prediction, or contributions, about a minute
// on two processors; for the predictions of a generation about ten seconds, since contributions serve there.
inline constexpr double kWorkOfOne = 6e12;
inline constexpr double kWorkOfMany = 1e12;

// Whether the model predicts something at the requested output token; at any other, only the token's state can be
// explained. `last`: the position where a decoder predicts the text's class or the next token. Throws Error(kUsage) for
// a token that the input does not have.
bool is_predicted_at(const ModelInfo& info, const Settings& settings, const InputText& input, std::size_t last);

struct DefaultQuestion {
  std::size_t tokens = 0;       // in the longest input
  std::size_t predictions = 1;  // number explained
  bool predicts = true;         // the model predicts something at the output token
  bool only_row = false;        // no matrices, only one output token's rows
  bool as_it_runs = false;      // compute values while the model runs
};

// Replaces kAuto, with a note if a prediction is explained; a named mixing stays. Asks the model for gradients only if
// relevance would be the answer.
template <typename Model>
void choose_mixing(Settings& settings, Model& model, const DefaultQuestion& given, std::vector<Note>& notes);

// The choices that a model's description allows, in the order of every list; `auto` is not among them. A GGUF file of
// an unknown family may refuse some of them.
std::vector<Mixing> mixings_of(const ModelInfo& info);
std::vector<Method> methods_of(const ModelInfo& info);

}  // namespace attnflow
