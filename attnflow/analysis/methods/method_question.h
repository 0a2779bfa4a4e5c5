// The question that methods outside the graph answer: one prediction of one model for one input.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/base/progress.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

template <typename ModelType, typename Input>
struct MethodQuestion {
  ModelType& model;
  const Input& input;
  ScoreTarget target;
  // The positions of each score: {0}, {1}, ... or those of words; together all positions, each once.
  TokenGroups groups;
  // The input with these positions blanked, and the blank's name: "[UNK]", "mean color".
  std::function<Input(const std::vector<std::size_t>& positions)> blanked;
  std::string blank;
  // The positions with content, all blanked in the blank input: no special tokens, and not the predicted mask.
  std::vector<std::size_t> content;
  std::string quantity = {};              // what the target's value is called; empty: by its kind
  std::size_t steps = kIntegrationSteps;  // integrated gradients
  std::size_t threads = 0;                // of what is not the model's; 0: one per hardware thread
  CheckWhen check = CheckWhen::kIfCheap;  // of the maps in the report
  bool is_explained = true;               // the maps are meant to explain the target, so that more checks are worth it
  double reserved_work = 0.0;             // operations that the check leaves to others of those that it may take
  const TextCodec* codec = nullptr;       // of a text: to replace its tokens by others, for the check
  const ReportImage* grid = nullptr;      // of a picture: to replace its patches, for the check
  std::size_t replacements = kReplacements;  // of each token or patch; 0: it is blanked
  PhaseStart phases = {};                    // blank-out and integrated gradients
  std::stop_token stop_token = {};
};

using TextQuestion = MethodQuestion<TextModel, TextInput>;
using ImageQuestion = MethodQuestion<VisionModel, PixelInput>;

// Without `blank` there is no `blanked`, and methods that need it throw. Leaves `content` empty. `input` must outlive
// it.
TextQuestion text_question(TextModel& model, const TextInput& input, const ScoreTarget& target, TokenGroups groups,
                           const std::optional<BlankToken>& blank);

std::vector<double> sums_of_groups(const std::vector<double>& values, const TokenGroups& groups);

}  // namespace attnflow
