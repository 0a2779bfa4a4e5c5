#include "attnflow/model/generation_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

constexpr float kRuledOut = -std::numeric_limits<float>::infinity();

using Ids = std::span<const std::int64_t>;

void rule_out(std::vector<float>& logits, std::int64_t id) {
  if (id >= 0 && static_cast<std::size_t>(id) < logits.size()) logits[static_cast<std::size_t>(id)] = kRuledOut;
}

// Penalizes each token once, regardless of how often it occurs in `ids`.
void penalize(std::vector<float>& logits, Ids ids, double penalty) {
  if (penalty == 1.0) return;
  const auto factor = static_cast<float>(penalty);
  for (const std::int64_t id : std::set<std::int64_t>(ids.begin(), ids.end())) {
    if (id < 0 || static_cast<std::size_t>(id) >= logits.size()) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit < 0.0F ? logit * factor : logit / factor;
  }
}

bool ends_with(Ids ids, Ids ending) {
  return ending.size() <= ids.size() &&
         std::equal(ending.begin(), ending.end(), ids.end() - static_cast<std::ptrdiff_t>(ending.size()));
}

// Rules out every token that would complete, at the end of `ids`, n tokens that already occur in `seen`.
void rule_out_repeats(std::vector<float>& logits, Ids seen, Ids ids, std::size_t n) {
  if (n == 0 || ids.size() + 1 < n || seen.size() < n) return;
  const Ids last = ids.last(n - 1);
  for (std::size_t at = 0; at + n <= seen.size(); ++at) {
    if (std::equal(last.begin(), last.end(), seen.begin() + static_cast<std::ptrdiff_t>(at))) {
      rule_out(logits, seen[at + n - 1]);
    }
  }
}

void add_bias(std::vector<float>& logits, Ids ids, Ids sequence, float bias) {
  if (sequence.empty() || !ends_with(ids, sequence.first(sequence.size() - 1))) return;
  logits[static_cast<std::size_t>(sequence.back())] += bias;
}

bool is_end_word(const GenerationRules::Ids& word, Ids ends) {
  return word.size() == 1 && std::find(ends.begin(), ends.end(), word.front()) != ends.end();
}

void prefer_end(std::vector<float>& logits, const std::pair<std::size_t, double>& decay, const GenerationPlace& place) {
  const std::size_t written = place.ids.size() - place.prompt;
  if (written <= decay.first) return;
  const double factor = std::pow(decay.second, static_cast<double>(written - decay.first)) - 1.0;
  for (const std::int64_t id : place.ends) {
    float& logit = logits[static_cast<std::size_t>(id)];
    if (std::isfinite(logit)) logit += std::abs(logit) * static_cast<float>(factor);
  }
}

}  // namespace

std::vector<float> ruled_logits(const GenerationRules& rules, std::span<const float> logits,
                                const GenerationPlace& place) {
  std::vector<float> ruled(logits.begin(), logits.end());
  const std::size_t length = place.ids.size();
  for (const auto& [sequence, bias] : rules.sequence_bias) add_bias(ruled, place.ids, sequence, bias);
  penalize(ruled, place.source, 1.0 / rules.encoder_repetition_penalty);
  penalize(ruled, place.ids, rules.repetition_penalty);
  rule_out_repeats(ruled, place.ids, place.ids, rules.no_repeat_ngram_size);
  rule_out_repeats(ruled, place.source, place.ids, rules.encoder_no_repeat_ngram_size);
  for (const GenerationRules::Ids& word : rules.bad_words) {
    if (!is_end_word(word, place.ends)) add_bias(ruled, place.ids, word, kRuledOut);
  }
  if (length < rules.min_length || length < place.prompt + rules.min_new_tokens) {
    for (const std::int64_t id : place.ends) rule_out(ruled, id);
  }
  if (rules.forced_begin && length == 1) {
    std::fill(ruled.begin(), ruled.end(), kRuledOut);
    ruled[static_cast<std::size_t>(*rules.forced_begin)] = 0.0F;
  }
  if (rules.exponential_decay) prefer_end(ruled, *rules.exponential_decay, place);
  for (const std::int64_t id : rules.suppressed) rule_out(ruled, id);
  const std::size_t begin = place.prompt + (place.prompt <= 1 && rules.forced_begin ? 1 : 0);
  if (length == begin) {
    for (const std::int64_t id : rules.suppressed_at_begin) rule_out(ruled, id);
  }
  if (std::none_of(ruled.begin(), ruled.end(), [](float logit) { return logit != kRuledOut; })) {
    internal::fail(ErrorKind::kBadFile,
                   "{}: expected settings that leave a token to choose, found that {} "
                   "rule out all; change them",
                   rules.file, fmt::join(rules.followed, ", "));
  }
  return ruled;
}

RuledSampler::RuledSampler(const SamplingOptions& options, GenerationRules rules, std::vector<std::int64_t> prompt,
                           std::vector<std::int64_t> source, std::vector<std::int64_t> ends)
    : options_(options),
      sampler_(options),
      rules_(std::move(rules)),
      ids_(std::move(prompt)),
      prompt_(ids_.size()),
      source_(std::move(source)),
      ends_(std::move(ends)) {}

std::size_t RuledSampler::choose(std::span<const float> logits) {
  changed_to_.reset();
  if (rules_.followed.empty()) return sampler_.choose(logits);
  const std::vector<float> ruled =
      ruled_logits(rules_, logits, {.ids = ids_, .prompt = prompt_, .source = source_, .ends = ends_});
  Sampler without_rules = sampler_;  // uses the same random number
  const std::size_t id = sampler_.choose(ruled);
  if (without_rules.choose(logits) != id) changed_to_ = id;
  return id;
}

void RuledSampler::keep(std::size_t id) {
  if (changed_to_ == id) ++changed_;
  ids_.push_back(static_cast<std::int64_t>(id));
}

std::vector<Note> RuledSampler::notes(std::size_t generated, bool ended_by_n) const {
  std::vector<Note> notes;
  const bool sampled = options_.temperature > 0.0;
  if (changed_ > 0) {
    notes.push_back({NoteCode::kGenerationRules,
                     {{"file", rules_.file}, {"settings", rules_.followed}, {"changed", changed_}, {"of", generated}}});
  }
  std::vector<std::string> left;
  for (const GenerationRules::Left& row : rules_.not_followed) {
    using LeftWhen = GenerationRules::Left::When;
    const std::size_t length = generated + (row.with_prompt ? prompt_ : 0);
    const bool counts = row.when == LeftWhen::kAlways || (row.when == LeftWhen::kGreedy && !sampled) ||
                        (row.when == LeftWhen::kEnds && ended_by_n) ||
                        (row.when == LeftWhen::kBeyond && length > row.most);
    if (counts) left.push_back(row.text);
  }
  if (!left.empty()) {
    notes.push_back(
        {NoteCode::kGenerationSettingsLeft,
         {{"file", rules_.file}, {"settings", std::move(left)}, {"sampled", std::size_t{sampled ? 1U : 0U}}}});
  }
  return notes;
}

}  // namespace attnflow
