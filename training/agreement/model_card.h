// What a trained model says about itself: results on held-out text, the card for people, training.json for programs.
#ifndef ATTNFLOW_TRAINING_AGREEMENT_MODEL_CARD_H_
#define ATTNFLOW_TRAINING_AGREEMENT_MODEL_CARD_H_

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

// What a training on prose begins with.
struct ProseSetup {
  std::vector<ProseDocument> documents;
  AgreementData data;
  VocabularyUse vocabulary_use;  // on the training documents
  TokenizerFiles tokenizer_files;
  std::optional<Tokenizer> tokenizer;
  EncoderShape shape;    // with the vocabulary's real size
  std::string settings;  // JSON: options and data, by which a checkpoint is recognised
};

struct AgreementResults {
  Score all;
  Score attractor;     // the last noun has the other number than the verb
  Score no_attractor;  // all others
  Score singular;
  Score plural;
  std::map<std::string, Score> by_source;
  std::map<std::size_t, Score> by_words;  // first number of words of a range of 10: 1, 11, 21, ...
};

// What a model says to held-out prefixes: logits of singular and plural for each.
AgreementResults summarize_answers(const std::vector<AgreementExample>& examples,
                                   const std::vector<Tensor<float>>& logits);

// A model card in Markdown, with the header that model collections read. Numbers come with 95% intervals (Wilson).
std::string agreement_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           const TrainingCheckpoint& checkpoint, const AgreementResults& results);
std::string masked_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                        const TrainingCheckpoint& checkpoint);

// Recipe, sources, counts, history and results as JSON.
std::string agreement_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                    const TrainingCheckpoint& checkpoint, const AgreementResults& results);
std::string masked_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                 const TrainingCheckpoint& checkpoint);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_AGREEMENT_MODEL_CARD_H_
