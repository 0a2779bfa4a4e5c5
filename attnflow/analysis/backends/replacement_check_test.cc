// The check by replacement on the small random decoders of tests/golden, against running every replaced text as a
// whole.
#include "attnflow/analysis/check/replacement_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/analysis/generate/decoder_for_test.h"
#include "attnflow/model/model_files.h"

namespace attnflow::replacement_check_test {
namespace {

std::unique_ptr<Decoder> load(const std::string& name) {
  return ModelFiles(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "decoders" / name).load_decoder();
}

std::vector<float> logits_after(Decoder& decoder, const std::vector<std::int64_t>& ids) {
  const ModelOutput output = decoder.run({ids, {}}, nullptr, {.logit_positions = {ids.size() - 1}});
  const auto row = output.logits[0].span();
  return {row.begin(), row.end()};
}

std::vector<std::size_t> by_logit(const std::vector<float>& logits) {
  std::vector<std::size_t> order(logits.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  return order;
}

double value_of(const ScoreTarget& target, const std::vector<float>& logits) {
  double mean = 0.0;
  for (const std::size_t other : target.others)
    mean += double{logits[other]} / static_cast<double>(target.others.size());
  return double{logits[target.label]} - mean;
}

const std::vector<std::int64_t> kIds = {104, 101, 32, 107, 101, 121, 32, 105, 115};
const TokenGroups kGroups = {{0}, {1}, {2}, {3, 4, 5}, {6}, {7, 8}};
const ScoreTarget kTarget = {ScoreTarget::Kind::kLogitDifference, 97, {98, 99, 100}};

ReplacementCheck check(Decoder& decoder, const std::vector<std::int64_t>& ids, const TokenGroups& groups,
                       const std::vector<bool>& wanted, const ReplacementOptions& options) {
  const ByteCodec codec;
  const TextInput input = {ids, {}};
  return check_by_replacement({decoder, codec, input, kTarget, groups}, wanted, options);
}

double share_of(const std::vector<std::size_t>& chosen, const std::vector<float>& logits) {
  double all = 0.0;
  for (const float logit : logits) all += std::exp(double{logit});
  double share = 0.0;
  for (const std::size_t id : chosen) share += std::exp(double{logits[id]}) / all;
  return share;
}

// The definition, word for word: each text runs as a whole.
PlaceDrop expected_drop(Decoder& decoder, std::size_t begin, std::size_t end, std::size_t count, double value) {
  const std::vector<float> before_any = logits_after(decoder, kIds);
  std::vector<std::size_t> likely = by_logit(before_any);
  likely.resize(11);
  const double own_weight = 0.06 * share_of({97, 98, 99, 100}, before_any);  // what kTarget compares
  const ByteCodec codec;
  const std::vector<std::int64_t> before =
      begin == 0 ? std::vector<std::int64_t>{ByteCodec::kEnd}
                 : std::vector<std::int64_t>(kIds.begin(), kIds.begin() + static_cast<std::ptrdiff_t>(begin));
  PlaceDrop place;
  double weights = 0.0;
  for (const std::size_t candidate : by_logit(logits_after(decoder, before))) {
    const auto id = static_cast<std::int64_t>(candidate);
    if (place.tried.size() == count) break;
    if (id == kIds[begin] || codec.is_special(id)) continue;
    std::vector<std::int64_t> text(kIds.begin(), kIds.begin() + static_cast<std::ptrdiff_t>(begin));
    text.push_back(id);
    text.insert(text.end(), kIds.begin() + static_cast<std::ptrdiff_t>(end), kIds.end());
    const std::vector<float> logits = logits_after(decoder, text);
    const double fit = std::min(1.0, share_of(likely, logits) / share_of(likely, before_any));
    place.tried.push_back({codec.readable(id), fit, value_of(kTarget, logits)});
    weights += fit + own_weight;
  }
  for (const TriedReplacement& one : place.tried) place.drop += one.fit * (value - one.value) / weights;
  return place;
}

TEST(ReplacementCheck, IsWhatReplacedTextsSayAsAWhole) {
  for (const char* name : {"llama_grouped", "gpt2_tied"}) {
    SCOPED_TRACE(name);
    const auto decoder = load(name);
    const std::vector<bool> wanted = {true, true, false, true, true, true};
    std::vector<std::size_t> progress;
    const ReplacementCheck found =
        check(*decoder, kIds, kGroups, wanted,
              {.replacements = 5, .progress = [&](std::size_t done, std::size_t) { progress.push_back(done); }});
    ASSERT_FALSE(progress.empty());
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
    EXPECT_NEAR(found.value, value_of(kTarget, logits_after(*decoder, kIds)), 1e-5);
    ASSERT_EQ(found.places.size(), kGroups.size());
    for (std::size_t g = 0; g < kGroups.size(); ++g) {
      SCOPED_TRACE(g);
      const PlaceDrop& place = found.places[g];
      if (!wanted[g]) {
        EXPECT_TRUE(place.tried.empty());
        continue;
      }
      ASSERT_TRUE(place.tried.size() == 3 || place.tried.size() == 5) << place.tried.size();
      const PlaceDrop expected =
          expected_drop(*decoder, kGroups[g].front(), kGroups[g].back() + 1, place.tried.size(), found.value);
      ASSERT_EQ(place.tried.size(), expected.tried.size());
      for (std::size_t c = 0; c < place.tried.size(); ++c) {
        EXPECT_EQ(place.tried[c].text, expected.tried[c].text);
        EXPECT_NEAR(place.tried[c].fit, expected.tried[c].fit, 1e-5);
        EXPECT_NEAR(place.tried[c].value, expected.tried[c].value, 1e-4);
      }
      EXPECT_NEAR(place.drop, expected.drop, 1e-4);
      EXPECT_GT(place.spread, 0.0);
    }
    ASSERT_TRUE(found.reliability);
    EXPECT_GE(*found.reliability, 0.0);
    EXPECT_LE(*found.reliability, 1.0);
  }
}

// Beyond 100 texts, only places that may decide try more than half of the candidates, and the place with the largest
// drop is one.
TEST(ReplacementCheck, TriesMoreWhereItMatters) {
  const auto decoder = load("llama_grouped");
  const ReplacementCheck found = check(*decoder, kIds, kGroups, std::vector<bool>(6, true), {.replacements = 20});
  const ReplacementCheck half = check(*decoder, kIds, kGroups, std::vector<bool>(6, true), {.replacements = 10});
  double largest = 0.0;
  for (const PlaceDrop& place : found.places) largest = std::max(largest, place.drop);
  std::size_t few = 0;
  for (const PlaceDrop& place : found.places) {
    if (place.drop == largest) {
      EXPECT_EQ(place.tried.size(), 20U);
    } else if (place.tried.size() == 10) {
      ++few;
      EXPECT_LT(place.drop, largest / 2);
    }
  }
  EXPECT_GT(few, 0U);
  for (std::size_t g = 0; g < kGroups.size(); ++g) EXPECT_GE(found.places[g].tried.size(), half.places[g].tried.size());
}

TEST(ReplacementCheck, ShortTextsTryAllEverywhere) {
  const auto decoder = load("llama_grouped");
  const ReplacementCheck found = check(*decoder, kIds, kGroups, std::vector<bool>(6, true), {.replacements = 8});
  for (const PlaceDrop& place : found.places) EXPECT_EQ(place.tried.size(), 8U);
}

TEST(ReplacementCheck, StopsWhereItIsTold) {
  const auto decoder = load("gpt2_tied");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(check(*decoder, kIds, kGroups, std::vector<bool>(6, true), {.stop_token = stop.get_token()}), Cancelled);
}

TEST(ReplacementCheck, FewTokensHaveNoReliability) {
  const auto decoder = load("gpt2_tied");
  const ReplacementCheck found = check(*decoder, {104, 101}, {{0}, {1}}, {true, true}, {.replacements = 4});
  EXPECT_FALSE(found.reliability);
  EXPECT_GE(found.places[1].tried.size(), 2U);
}

}  // namespace
}  // namespace attnflow::replacement_check_test
