// Describes a trained model: results on held-out text, the card for people, training.json for programs.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/text/tokenizer.h"
#include "training/agreement/agreement_data.h"
#include "training/agreement/train_agreement.h"
#include "training/tokenizer/word_piece.h"
#include "training/trainer/checkpoint_file.h"
#include "training/trainer/results.h"

namespace attnflow {

struct ProseSetup {
  std::vector<ProseDocument> documents;
  AgreementData data;
  VocabularyUse vocabulary_use;  // on the training documents
  TokenizerFiles tokenizer_files;
  std::optional<Tokenizer> tokenizer;
  EncoderShape shape;    // with the vocabulary's real size
  std::string settings;  // JSON: options and data, which identify a checkpoint
};

struct AgreementResults {
  Score all;
  Score attractor;     // the last noun differs in number from the verb
  Score no_attractor;  // all others
  Score singular;
  Score plural;
  std::map<std::string, Score> by_source;
  std::map<std::size_t, Score> by_words;  // keyed by the first word count of a range of 10: 1, 11, 21, ...
};

// Summarizes a model's answers for held-out prefixes: logits of singular and plural for each.
AgreementResults summarize_answers(const std::vector<AgreementExample>& examples,
                                   const std::vector<Tensor<float>>& logits);

// Returns a model card in Markdown, with the header that model collections read. Numbers have 95% intervals (Wilson).
std::string agreement_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           const TrainingCheckpoint& checkpoint, const AgreementResults& results);
std::string masked_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                        const TrainingCheckpoint& checkpoint);

std::string agreement_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                    const TrainingCheckpoint& checkpoint, const AgreementResults& results);
std::string masked_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                 const TrainingCheckpoint& checkpoint);

}  // namespace attnflow
