// Trains the verb-number model of Abnar & Zuidema (ACL 2020) on prose: `attnflow-train agreement`, and the masked
// language model that it starts from: `attnflow-train masked`.
//
// The paper gives the architecture (6 layers of GPT-2's blocks without causal mask, 8 heads, 128 hidden, a leading
// class token, two classes) and an accuracy of 0.96, but neither weights nor recipe. Here:
//
//   1. prose is split into training, validation and test by whole documents (agreement_data.h);
//   2. a vocabulary is learned from the training documents (tokenizer/word_piece.h);
//   3. the encoder is trained as a masked language model on their sentences;
//   4. a classification head is added, and the whole model is trained on sentence prefixes, singular or plural, with
//      sentences of a small grammar mixed in (grammar.h);
//   5. the output is evaluated: the folder is loaded again, with weights rounded to half precision, and classifies the
//      held-out prefixes.
//
// The output folder, in Hugging Face format: config.json, model.safetensors, tokenizer.json, tokenizer_config.json,
// README.md (the model card), training.json (recipe, sources, counts, history, results), and prefixes.tsv (prefixes.h),
// for attnflow evaluate agreement. The checkpoint is in its "training/" until the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "training/agreement/agreement_data.h"
#include "training/trainer/new_model.h"
#include "training/trainer/training_phase.h"

namespace attnflow {

struct AgreementTrainingOptions {
  std::vector<std::filesystem::path> prose;  // text files, or folders of them
  std::filesystem::path output;
  std::filesystem::path masked_output;  // for train_agreement: a folder for the model of step 3 too; empty: none
  std::uint64_t seed = 1;
  std::size_t threads = 0;
  EncoderShape shape;         // `vocabulary` is the maximum
  AgreementDataOptions data;  // uses `seed` as its seed
  std::size_t masked_steps = 4000;
  double masked_rate = 1.5e-3;
  std::size_t steps = 3000;
  double rate = 7e-4;
  double dropout = 0.1;        // for the second phase; the first has none, because it rarely sees anything twice
  double grammar_share = 0.1;  // grammar sentences per prefix of prose
  std::size_t shard_tokens = 1024;
  std::size_t shards_per_step = 4;
  std::string command;      // for the card: the command as typed
  std::string license;      // for the card, as an SPDX identifier; empty: none named
  std::string attribution;  // for the card: Markdown that names the texts' authors and licenses
};

// Both throw as their parts do: Error(kBadFile) for prose without usable sentences, Error(kUsage) for invalid options
// or another run's checkpoint, Error(kOther) when the disk is full, Cancelled when the token was set (the checkpoint is
// then saved, and the same call resumes from it).
void train_agreement(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                     const std::stop_token& stop_token);
// Steps 1 to 3 and a masked-LM head; ignores the options of step 4.
void train_masked(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                  const std::stop_token& stop_token);

}  // namespace attnflow
