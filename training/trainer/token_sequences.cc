#include "training/trainer/token_sequences.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "attnflow/base/random.h"

namespace attnflow {

namespace {

TrainingBatch padded(const std::vector<TokenIds>& rows) {
  TrainingBatch batch;
  batch.rows = rows.size();
  for (const TokenIds& row : rows) batch.length = std::max(batch.length, row.size());
  batch.ids.assign(batch.rows * batch.length, 0);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy(rows[r].begin(), rows[r].end(), batch.ids.begin() + static_cast<std::ptrdiff_t>(r * batch.length));
    batch.lengths.push_back(rows[r].size());
  }
  return batch;
}

struct MaskedRow {
  TokenIds ids;
  std::vector<std::size_t> positions;
  std::vector<std::int32_t> targets;
};

class Masker {
 public:
  Masker(const MaskingOptions& options, std::uint64_t seed) : options_(options), random_(seed) {}

  MaskedRow mask(const TokenIds& sequence) {
    MaskedRow row{sequence, {}, {}};
    const std::size_t end = cut(sequence);
    if (end != 0) row.ids.resize(end);
    std::vector<std::size_t> ordinary;
    for (std::size_t t = 0; t < row.ids.size(); ++t) {
      if (row.ids[t] >= options_.first_ordinary) ordinary.push_back(t);
    }
    for (const std::size_t t : ordinary) {
      const bool last_of_cut = end != 0 && t + 1 == end;
      if (last_of_cut) {
        hide(row, t, static_cast<std::int32_t>(options_.mask_id));
      } else if (random_.uniform() < (is_focus(row.ids[t]) ? options_.focus_share : options_.share)) {
        hide(row, t, replacement(row.ids[t]));
      }
    }
    if (row.targets.empty() && !ordinary.empty()) {
      const std::size_t t = ordinary[random_.below(ordinary.size())];
      hide(row, t, replacement(row.ids[t]));
    }
    return row;
  }

 private:
  bool is_focus(std::int32_t id) const { return options_.focus[static_cast<std::size_t>(id)]; }

  // Returns the position after a focus token; 0: nowhere.
  std::size_t cut(const TokenIds& sequence) {
    if (random_.uniform() >= options_.cut_share) return 0;
    constexpr std::size_t kWordsBefore = 3;  // the class token and two words
    std::vector<std::size_t> places;
    for (std::size_t t = kWordsBefore; t < sequence.size(); ++t) {
      if (is_focus(sequence[t])) places.push_back(t + 1);
    }
    return places.empty() ? 0 : places[random_.below(places.size())];
  }

  std::int32_t replacement(std::int32_t id) {
    const double die = random_.uniform();
    if (die < 0.8) return static_cast<std::int32_t>(options_.mask_id);
    if (die < 0.9) return id;
    const auto count = static_cast<std::uint64_t>(options_.vocabulary - options_.first_ordinary);
    return static_cast<std::int32_t>(options_.first_ordinary + static_cast<std::int64_t>(random_.below(count)));
  }

  static void hide(MaskedRow& row, std::size_t position, std::int32_t by) {
    row.positions.push_back(position);
    row.targets.push_back(row.ids[position]);
    row.ids[position] = by;
  }

  const MaskingOptions& options_;
  Random random_;
};

}  // namespace

std::vector<TokenIds> encode_texts(const Tokenizer& tokenizer, std::span<const std::string> texts,
                                   std::size_t max_tokens, const ParallelOptions& parallel) {
  std::vector<TokenIds> sequences(texts.size());
  EncodeOptions options;
  options.max_tokens = max_tokens;
  constexpr std::size_t kBlock = 256;
  parallel_for((texts.size() + kBlock - 1) / kBlock, parallel, [&](std::size_t block, std::size_t) {
    for (std::size_t i = block * kBlock; i < std::min(texts.size(), (block + 1) * kBlock); ++i) {
      const Encoding encoding = tokenizer.encode(texts[i], std::nullopt, options);
      sequences[i].reserve(encoding.tokens.size());
      for (const EncodedToken& token : encoding.tokens) sequences[i].push_back(static_cast<std::int32_t>(token.id));
    }
  });
  return sequences;
}

std::vector<std::size_t> lengths_of(const std::vector<TokenIds>& sequences) {
  std::vector<std::size_t> lengths;
  lengths.reserve(sequences.size());
  for (const TokenIds& sequence : sequences) lengths.push_back(sequence.size());
  return lengths;
}

std::vector<Shard> shards_of(const std::vector<TokenIds>& sequences, std::size_t shard_tokens) {
  std::vector<Shard> shards;
  for (StepShards& step : plan_epoch(lengths_of(sequences), 0, {.shard_tokens = shard_tokens, .shards_per_step = 1})) {
    shards.push_back(std::move(step.front()));
  }
  return shards;
}

TrainingBatch labelled_batch(const LabelledSequences& sequences, const Shard& shard) {
  std::vector<TokenIds> rows;
  for (const std::size_t i : shard) rows.push_back(sequences.ids[i]);
  TrainingBatch batch = padded(rows);
  for (const std::size_t i : shard) batch.labels.push_back(sequences.labels[i]);
  return batch;
}

TrainingBatch masked_batch(const std::vector<TokenIds>& sequences, const Shard& shard, std::size_t step,
                           const MaskingOptions& options) {
  assert(options.focus.size() == static_cast<std::size_t>(options.vocabulary));
  std::vector<MaskedRow> masked;
  std::vector<TokenIds> rows;
  for (const std::size_t i : shard) {
    Masker masker(options, stream_seed(stream_seed(options.seed, step), i));
    masked.push_back(masker.mask(sequences[i]));
    rows.push_back(masked.back().ids);
  }
  TrainingBatch batch = padded(rows);
  for (std::size_t r = 0; r < masked.size(); ++r) {
    for (const std::size_t position : masked[r].positions) {
      batch.positions.push_back(static_cast<std::int64_t>(r * batch.length + position));
    }
    batch.targets.insert(batch.targets.end(), masked[r].targets.begin(), masked[r].targets.end());
  }
  return batch;
}

}  // namespace attnflow
