// A classifier of sentences, trained from labelled ones: `attnflow-train sentiment`.
//
// The encoder is DistilBERT's (layer norms after each half of a layer, classification head with relu), small, with
// weights drawn at random: no pre-trained one is needed. The vocabulary is learnt from the training sentences. Or it
// starts from every other layer of a BERT (training/sentiment/every_other_layer.h), with BERT's size and vocabulary. It
// is made for experiments on attention (Table 3 of Abnar & Zuidema, ACL 2020), not to compete with classifiers that
// have read more text.
//
// What is kept is the weights after the epoch with the best accuracy on the validation sentences.
#ifndef ATTNFLOW_TRAINING_SENTIMENT_TRAIN_CLASSIFIER_H_
#define ATTNFLOW_TRAINING_SENTIMENT_TRAIN_CLASSIFIER_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "training/agreement/train_agreement.h"
#include "training/trainer/new_model.h"

namespace attnflow {

// At least one.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::size_t> labels;  // as many, numbers of options.labels
};

struct ClassifierTrainingOptions {
  std::filesystem::path output;
  std::vector<std::string> labels = {"negative", "positive"};
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  EncoderShape shape = {.model_type = "distilbert",
                        .class_prefix = "DistilBert",
                        .layers = 6,
                        .heads = 8,
                        .hidden = 128,
                        .intermediate = 512,
                        .positions = 128,
                        .vocabulary = 8'000,
                        .activation = "gelu"};
  std::size_t epochs = 8;
  double rate = 5e-4;
  double dropout = 0.3;
  std::filesystem::path
      init_from_bert;         // the folder of a BERT to start from; empty: none. `shape` is then not looked at
  double masked_words = 0.1;  // of the words of a training sentence, this share is replaced by [MASK], anew each time
  std::size_t shard_tokens = 512;
  std::size_t shards_per_step = 2;
  std::string command;  // for the card
};

// Writes config.json, model.safetensors (half precision), tokenizer.json and tokenizer_config.json (or the tokenizer
// files of the BERT that it starts from), README.md and training.json into options.output; checkpoints lie in its
// "training/" meanwhile, as in train_agreement. Throws as train_agreement does.
void train_classifier(const LabelledTexts& train, const LabelledTexts& validation, const LabelledTexts& test,
                      const ClassifierTrainingOptions& options, const TrainingCallbacks& callbacks,
                      const std::stop_token& stop_token);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_SENTIMENT_TRAIN_CLASSIFIER_H_
