// A sentence whose deciding word is marked, as tokens, for `evaluate evidence`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/input.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EvidenceQuestion {
  TextInput input;
  std::vector<InputToken> tokens;
  std::size_t position = 0;         // whose output is in question: the last, the mask's, a classifier's first
  TokenGroups words;                // all positions, special tokens as words of their own
  std::vector<std::size_t> ranked;  // of words: those that are ranked
  std::size_t evidence = 0;         // of ranked
  AskedTarget asked;                // the right word or what the model predicts, and what it is compared with
  std::optional<std::size_t> bad;   // the wrong word's token or class, where there is one

  TextInput swapped = {};  // the text with EvidenceSample::swap in the evidence's place; no ids: not asked
  std::size_t swapped_position = 0;

  const std::vector<std::size_t>& evidence_tokens() const { return words[ranked[evidence]]; }
};

// A sample's question, after the text `begin`, or why there is none. `asked`: what is explained where the sample names
// no right word, and compared with where it names no wrong one, or, if `before_wrong`, in any case.
std::optional<EvidenceQuestion> make_question(const EvidenceSample& sample, const TextCodec& codec,
                                              const ModelInfo& info, const std::string& begin, const AskedTarget& asked,
                                              bool before_wrong, std::string& reason);

}  // namespace attnflow
