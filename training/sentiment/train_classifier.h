// Trains a sentence classifier on labeled sentences: `attnflow-train sentiment`.
//
// The encoder is a small DistilBERT (layer norms after each half of a layer, classification head with relu) with random
// initial weights, so no pre-trained one is needed, and a vocabulary learned from the training sentences. Alternatively
// it starts from every other layer of a BERT (every_other_layer.h), with BERT's size and vocabulary. It is meant for
// experiments on attention (Table 3 of Abnar & Zuidema, ACL 2020), not to compete with classifiers trained on more
// text. The weights kept are those after the epoch with the best validation accuracy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "training/agreement/train_agreement.h"
#include "training/trainer/new_model.h"

namespace attnflow {

// At least one text.
struct LabelledTexts {
  std::vector<std::string> texts;
  std::vector<std::size_t> labels;  // same number, as indices into options.labels
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
  std::filesystem::path init_from_bert;  // the folder of a BERT to start from; empty: none. If set, `shape` is ignored
  double masked_words = 0.1;  // share of the words of a training sentence that [MASK] replaces, chosen anew each time
  std::size_t shard_tokens = 512;
  std::size_t shards_per_step = 2;
  std::string command;  // for the card
};

// Writes config.json, model.safetensors (half precision), tokenizer.json and tokenizer_config.json (or the tokenizer
// files of the BERT that it starts from), README.md and training.json to options.output, with checkpoints in its
// "training/". Throws as train_agreement does.
void train_classifier(const LabelledTexts& train, const LabelledTexts& validation, const LabelledTexts& test,
                      const ClassifierTrainingOptions& options, const TrainingCallbacks& callbacks,
                      const std::stop_token& stop_token);

}  // namespace attnflow
