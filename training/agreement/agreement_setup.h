// What both commands that train on prose begin with: documents, split, vocabulary, tokenizer, sequences.
#ifndef ATTNFLOW_TRAINING_AGREEMENT_AGREEMENT_SETUP_H_
#define ATTNFLOW_TRAINING_AGREEMENT_AGREEMENT_SETUP_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/text/tokenizer.h"
#include "training/agreement/train_agreement.h"
#include "training/tokenizer/word_piece.h"
#include "training/trainer/token_sequences.h"

namespace attnflow::internal {

struct ProseSetup {
  std::vector<ProseDocument> documents;
  AgreementData data;
  VocabularyUse vocabulary_use;  // on the training documents
  TokenizerFiles tokenizer_files;
  std::optional<Tokenizer> tokenizer;
  EncoderShape shape;    // with the vocabulary's real size
  std::string settings;  // JSON: options and data, by which a checkpoint is recognised
};

ProseSetup prepare_prose(const AgreementTrainingOptions& options, const std::string& task,
                         const TrainingCallbacks& callbacks);

// The masked-LM phase, from `checkpoint` where it is of it; returns the trained weights.
WeightMap run_masked_phase(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           TrainingCheckpoint& checkpoint, const TrainingCallbacks& callbacks,
                           const std::stop_token& stop_token);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TRAINING_AGREEMENT_AGREEMENT_SETUP_H_
