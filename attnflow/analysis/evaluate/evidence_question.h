// A sentence whose deciding word is marked, as tokens, for `evaluate evidence`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/attribution/input.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EvidenceQuestion {
  TextInput input;
  std::vector<InputToken> tokens;
  std::size_t position = 0;         // whose output is the word in question: the last, or that of the mask
  TokenGroups words;                // all positions, special tokens as words of their own
  std::vector<std::size_t> ranked;  // of words: those that are ranked
  std::size_t evidence = 0;         // of ranked
  std::size_t good = 0;             // token ids
  std::size_t bad = 0;

  TextInput swapped = {};  // the text with EvidenceSample::swap in the evidence's place; no ids: not asked
  std::size_t swapped_position = 0;

  const std::vector<std::size_t>& evidence_tokens() const { return words[ranked[evidence]]; }
};

// A sample's question, after the text `begin`, or why there is none.
std::optional<EvidenceQuestion> make_question(const EvidenceSample& sample, const TextCodec& codec,
                                              const ModelInfo& info, const std::string& begin, std::string& reason);

}  // namespace attnflow
