// Applies a model's rules for generation, from generation_config.json (in older folders config.json) or a GGUF file.
//
// Settings that change logits before a token is chosen are applied as in transformers, in the same order
// (sequence_bias, encoder_repetition_penalty, repetition_penalty, no_repeat_ngram_size, encoder_no_repeat_ngram_size,
// bad_words_ids, min_length, min_new_tokens, forced_bos_token_id, exponential_decay_length_penalty, suppress_tokens,
// begin_suppress_tokens), so greedy texts match model.generate(do_sample=False, num_beams=1). Beams, sampling and
// similar settings are not applied: a note names those that would have changed the text. Settings for speed, memory and
// output are ignored.
#pragma once

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

// Reads the defaults kept in ModelInfo: the text of generation_config.json or, in a folder without that file, the text
// of config.json. Throws Error(kBadFile) if that file cannot be read.
GenerationDefaults read_generation_defaults(const Folder& folder);

struct GenerationRules {
  using Ids = std::vector<std::int64_t>;

  // A key that is not applied and would change the text, such as "num_beams 4".
  struct Left {
    enum class When : std::uint8_t {
      kAlways,
      kGreedy,  // only if tokens are chosen greedily: the setting asks for sampling
      kEnds,    // forced_eos_token_id: only if the token limit ended the text
      kBeyond,  // max_new_tokens, max_length: only if the text is longer
    };
    std::string text;
    When when = When::kAlways;
    std::size_t most = 0;      // kBeyond: tokens
    bool with_prompt = false;  // kBeyond: the prompt's tokens count
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
  std::optional<std::pair<std::size_t, double>> exponential_decay;  // tokens before it starts, factor
  Ids suppressed;
  Ids suppressed_at_begin;

  std::vector<std::string> followed;  // "repetition_penalty 1.1"
  std::vector<Left> not_followed;
};

// Throws Error(kBadFile) for an invalid value. `has_target`: the forced first token belongs to TargetInfo::begin.
GenerationRules read_generation_rules(const GenerationDefaults& defaults, std::size_t vocabulary, bool has_target);

// The sequence so far, when the next token is chosen. For an encoder-decoder, `ids` are those of the target.
struct GenerationPlace {
  std::span<const std::int64_t> ids;
  std::size_t prompt = 0;                // of `ids`
  std::span<const std::int64_t> source;  // the encoder's; for a decoder, its prompt
  std::span<const std::int64_t> ends;    // tokens that end a text
};

// Returns the logits to choose the next token from. O(vocabulary + tokens). Throws Error(kBadFile) if none is left.
std::vector<float> ruled_logits(const GenerationRules& rules, std::span<const float> logits,
                                const GenerationPlace& place);

// A Sampler that applies rules. `prompt` and `source` as in GenerationPlace.
class RuledSampler {
 public:
  RuledSampler(const SamplingOptions& options, GenerationRules rules, std::vector<std::int64_t> prompt,
               std::vector<std::int64_t> source, std::vector<std::int64_t> ends);

  // Chooses the next token; keep() then records the token actually used, which may be another.
  std::size_t choose(std::span<const float> logits);
  void keep(std::size_t id);

  // Returns notes for a text of `generated` tokens: the applied rules that changed a choice (when sampling, for the
  // same random number) and those not applied. `ended_by_n`: the token limit ended the text.
  std::vector<Note> notes(std::size_t generated, bool ended_by_n) const;

 private:
  SamplingOptions options_;
  Sampler sampler_;
  GenerationRules rules_;
  std::vector<std::int64_t> ids_;
  std::size_t prompt_ = 0;
  std::vector<std::int64_t> source_;
  std::vector<std::int64_t> ends_;
  std::optional<std::size_t> changed_to_;  // the last choice, if rules changed it
  std::size_t changed_ = 0;
};

}  // namespace attnflow
