// The rules that a model's files set for a generation: generation_config.json, in older folders config.json, and the
// sampling keys of a GGUF file.
//
// A setting that changes logits before a token is chosen from them is followed as transformers follows it, in the same
// order (sequence_bias, encoder_repetition_penalty, repetition_penalty, no_repeat_ngram_size,
// encoder_no_repeat_ngram_size, bad_words_ids, min_length, min_new_tokens, forced_bos_token_id,
// exponential_decay_length_penalty, suppress_tokens, begin_suppress_tokens), so greedy texts are those of
// model.generate(do_sample=False, num_beams=1). Beams, sampling and the like are not followed: a note names
// those that would have changed the text. Settings of speed, memory and output change none and are passed over.
#ifndef ATTNFLOW_MODEL_GENERATION_RULES_H_
#define ATTNFLOW_MODEL_GENERATION_RULES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"
#include "attnflow/model/sampling.h"

namespace attnflow {

// As ModelInfo keeps it: the text of generation_config.json; where there is none, of config.json, if the folder has
// one.
GenerationDefaults read_generation_defaults(const Folder& folder);

struct GenerationRules {
  using Ids = std::vector<std::int64_t>;

  // One key that would change the text, as "num_beams 4".
  struct Left {
    enum class When : std::uint8_t {
      kAlways,
      kGreedy,  // where tokens are not drawn, as the setting asks
      kEnds,    // forced_eos_token_id: where the number of tokens ended the text
      kBeyond,  // max_new_tokens, max_length: where the text is longer
    };
    std::string text;
    When when = When::kAlways;
    std::size_t most = 0;  // kBeyond: tokens
    bool with_prompt = false;
  };

  std::string file;
  std::vector<std::pair<Ids, float>> sequence_bias;
  double encoder_repetition_penalty = 1.0;
  double repetition_penalty = 1.0;
  std::size_t no_repeat_ngram_size = 0;
  std::size_t encoder_no_repeat_ngram_size = 0;
  std::vector<Ids> bad_words;
  std::size_t min_length = 0;
  std::size_t min_new_tokens = 0;
  std::optional<std::int64_t> forced_begin;
  std::optional<std::pair<std::size_t, double>> exponential_decay;  // tokens before it, factor
  Ids suppressed;
  Ids suppressed_at_begin;

  std::vector<std::string> followed;  // "repetition_penalty 1.1"
  std::vector<Left> not_followed;
};

// Throws Error(kBadFile) where a value is not what its key takes. `has_target`: of an encoder-decoder, whose forced
// begin belongs to TargetInfo::begin.
GenerationRules read_generation_rules(const GenerationDefaults& defaults, std::size_t vocabulary, bool has_target);

// The sequence so far, when the next token is chosen. For an encoder-decoder, `ids` are those of the target.
struct GenerationPlace {
  std::span<const std::int64_t> ids;
  std::size_t prompt = 0;                // of `ids`
  std::span<const std::int64_t> source;  // the encoder's; of a decoder its prompt
  std::span<const std::int64_t> ends;    // tokens that end a text
};

// The logits from which the next token is chosen. O(vocabulary + tokens). Throws Error(kBadFile) when the rules leave
// no token to choose.
std::vector<float> ruled_logits(const GenerationRules& rules, std::span<const float> logits,
                                const GenerationPlace& place);

// A Sampler under rules.
class RuledSampler {
 public:
  // `prompt` and `source` as in GenerationPlace.
  RuledSampler(const SamplingOptions& options, GenerationRules rules, std::vector<std::int64_t> prompt,
               std::vector<std::int64_t> source, std::vector<std::int64_t> ends);

  // The next token; keep() says which one was taken, that or another.
  std::size_t choose(std::span<const float> logits);
  void keep(std::size_t id);

  // Notes of a text of so many tokens: what was followed and changed a choice, where tokens are drawn that of the same
  // random number, and what was not followed. `ended_by_n`: their number ended it.
  std::vector<Note> notes(std::size_t generated, bool ended_by_n) const;

 private:
  SamplingOptions options_;
  Sampler sampler_;
  GenerationRules rules_;
  std::vector<std::int64_t> ids_;
  std::size_t prompt_ = 0;
  std::vector<std::int64_t> source_;
  std::vector<std::int64_t> ends_;
  std::optional<std::size_t> changed_to_;  // by rules, the last choice
  std::size_t changed_ = 0;
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_GENERATION_RULES_H_
