// Converts texts to the token ids that a model is trained on, and to batches of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/text/tokenizer.h"
#include "training/trainer/batch_plan.h"
#include "training/trainer/trainer.h"

namespace attnflow {

using TokenIds = std::vector<std::int32_t>;

// Uses the tokenizer's template and all threads; truncates to `max_tokens`.
std::vector<TokenIds> encode_texts(const Tokenizer& tokenizer, std::span<const std::string> texts,
                                   std::size_t max_tokens, const ParallelOptions& parallel = {});

std::vector<std::size_t> lengths_of(const std::vector<TokenIds>& sequences);

// Returns all sequences, each in one shard, for measurements.
std::vector<Shard> shards_of(const std::vector<TokenIds>& sequences, std::size_t shard_tokens);

struct LabelledSequences {
  std::vector<TokenIds> ids;
  std::vector<std::size_t> labels;
};

TrainingBatch labelled_batch(const LabelledSequences& sequences, const Shard& shard);

// Masked language modeling (Devlin et al. 2019): a share of a sequence's ordinary tokens, at least one, is chosen; 80%
// of those become the mask, 10% a random ordinary token, and 10% stay; the model has to predict the original tokens.
//
// Focus tokens (verbs that are marked for number, pronouns) are chosen more often, because the models are evaluated on
// them. With probability `cut_share`, a sequence with one after its first two words is cut directly after it, with it
// masked: the model must guess it from the tokens before it.
struct MaskingOptions {
  std::uint64_t seed = 1;
  double share = 0.15;
  double focus_share = 0.5;
  double cut_share = 0.25;
  std::int64_t mask_id = 0;
  std::int64_t first_ordinary = 0;  // ids from here to `vocabulary` may be chosen and inserted; the others are special
  std::int64_t vocabulary = 0;
  std::vector<bool> focus;  // [vocabulary]
};

// The masks of a sequence depend only on the seed, the step and the sequence's index.
TrainingBatch masked_batch(const std::vector<TokenIds>& sequences, const Shard& shard, std::size_t step,
                           const MaskingOptions& options);

}  // namespace attnflow
