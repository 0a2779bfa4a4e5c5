#include "training/trainer/token_sequences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attnflow::token_sequences_test {
namespace {

constexpr std::int64_t kMask = 4;
constexpr std::int64_t kFirstOrdinary = 5;
constexpr std::int64_t kVocabulary = 100;
constexpr std::int32_t kFocusToken = 42;

MaskingOptions masking() {
  MaskingOptions options;
  options.mask_id = kMask;
  options.first_ordinary = kFirstOrdinary;
  options.vocabulary = kVocabulary;
  options.focus.assign(kVocabulary, false);
  options.focus[kFocusToken] = true;
  return options;
}

// [CLS] (2), then 10 to 29 ordinary tokens, with a focus token in the middle of every other sequence.
std::vector<TokenIds> sequences() {
  std::vector<TokenIds> all;
  for (std::int32_t i = 0; i < 200; ++i) {
    TokenIds ids = {2};
    for (std::int32_t t = 0; t < 10 + i % 20; ++t) ids.push_back(5 + (i * 7 + t * 3) % 30);
    if (i % 2 == 0) ids[6] = kFocusToken;
    all.push_back(ids);
  }
  return all;
}

Shard everything(const std::vector<TokenIds>& all) {
  Shard shard;
  for (std::size_t i = 0; i < all.size(); ++i) shard.push_back(i);
  return shard;
}

TEST(TokenSequences, LabelledBatchIsPadded) {
  const LabelledSequences all = {{{2, 5}, {2, 6, 7, 8}, {2, 9, 9}}, {1, 0, 1}};
  const TrainingBatch batch = labelled_batch(all, {2, 1});
  EXPECT_EQ(batch.rows, 2U);
  EXPECT_EQ(batch.length, 4U);
  EXPECT_EQ(batch.ids, (std::vector<std::int64_t>{2, 9, 9, 0, 2, 6, 7, 8}));
  EXPECT_EQ(batch.lengths, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(batch.labels, (std::vector<std::size_t>{1, 0}));
}

TEST(TokenSequences, MaskedBatchRemembersWhatStoodThere) {
  const std::vector<TokenIds> all = sequences();
  const TrainingBatch batch = masked_batch(all, everything(all), 3, masking());
  ASSERT_EQ(batch.positions.size(), batch.targets.size());
  std::vector<std::size_t> masks_of(all.size(), 0);
  std::size_t hidden = 0;
  std::size_t kept = 0;
  std::vector<bool> chosen(batch.ids.size(), false);
  for (std::size_t m = 0; m < batch.positions.size(); ++m) {
    const auto place = static_cast<std::size_t>(batch.positions[m]);
    const std::size_t row = place / batch.length;
    const std::size_t position = place % batch.length;
    ASSERT_LT(position, batch.lengths[row]);
    EXPECT_EQ(batch.targets[m], all[row][position]);
    EXPECT_GE(batch.targets[m], kFirstOrdinary);
    EXPECT_FALSE(chosen[place]);
    chosen[place] = true;
    ++masks_of[row];
    hidden += batch.ids[place] == kMask ? 1 : 0;
    kept += batch.ids[place] == batch.targets[m] ? 1 : 0;
  }
  for (std::size_t row = 0; row < all.size(); ++row) {
    EXPECT_GE(masks_of[row], 1U);
    for (std::size_t t = 0; t < batch.lengths[row]; ++t) {
      if (!chosen[row * batch.length + t]) {
        EXPECT_EQ(batch.ids[row * batch.length + t], all[row][t]);
      }
    }
  }
  const auto count = static_cast<double>(batch.positions.size());
  EXPECT_NEAR(static_cast<double>(hidden) / count, 0.82, 0.06);
  EXPECT_NEAR(static_cast<double>(kept) / count, 0.1, 0.05);
}

TEST(TokenSequences, CutsBehindFocusTokens) {
  const std::vector<TokenIds> all = sequences();
  MaskingOptions options = masking();
  options.cut_share = 1.0;
  const TrainingBatch batch = masked_batch(all, everything(all), 0, options);
  for (std::size_t row = 0; row < all.size(); ++row) {
    const bool has_focus = row % 2 == 0;
    EXPECT_EQ(batch.lengths[row], has_focus ? 7U : all[row].size());
    if (has_focus) {
      EXPECT_EQ(batch.ids[row * batch.length + 6], kMask);
    }
  }
  options.cut_share = 0.0;
  options.focus_share = 1.0;
  const TrainingBatch whole = masked_batch(all, everything(all), 0, options);
  const auto focus = std::count(whole.targets.begin(), whole.targets.end(), kFocusToken);
  EXPECT_EQ(focus, 100);
}

TEST(TokenSequences, MasksFollowFromSeedAndStep) {
  const std::vector<TokenIds> all = sequences();
  MaskingOptions options = masking();
  const auto ids = [&](std::size_t step) { return masked_batch(all, everything(all), step, options).ids; };
  EXPECT_EQ(ids(1), ids(1));
  EXPECT_NE(ids(1), ids(2));
  const TrainingBatch alone = masked_batch(all, {17}, 1, options);
  const TrainingBatch among = masked_batch(all, everything(all), 1, options);
  for (std::size_t t = 0; t < alone.lengths[0]; ++t) EXPECT_EQ(alone.ids[t], among.ids[17 * among.length + t]);
}

}  // namespace
}  // namespace attnflow::token_sequences_test
