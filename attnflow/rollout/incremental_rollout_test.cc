#include "attnflow/rollout/incremental_rollout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/graph/stack_replay_for_test.h"
#include "attnflow/rollout/replay_rollout.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::incremental_rollout_test {
namespace {

constexpr double kTolerance = 1e-12;

// Rows [begin, end) of a layer with the keys up to the last of them, as passed by decoders.
Tensor<float> chunk_of(const AttentionStack& stack, std::size_t layer, std::size_t begin, std::size_t end,
                       std::size_t more_keys = 0) {
  const std::size_t keys = std::min(stack.tokens(), end + more_keys);
  Tensor<float> chunk({stack.heads(), end - begin, keys});
  for (std::size_t h = 0; h < stack.heads(); ++h) {
    for (std::size_t q = begin; q < end; ++q) {
      for (std::size_t k = 0; k < keys; ++k) chunk(h, q - begin, k) = stack.weights()(layer - 1, h, q, k);
    }
  }
  return chunk;
}

void feed(const AttentionStack& stack, const std::vector<std::size_t>& chunk_ends, AttentionSink& sink) {
  std::size_t begin = 0;
  for (const std::size_t end : chunk_ends) {
    for (std::size_t l = 1; l <= stack.layers(); ++l) {
      const Tensor<float> chunk = chunk_of(stack, l, begin, end);
      sink.layer(l, begin, chunk.view());
    }
    begin = end;
  }
}

std::vector<std::size_t> one_by_one(std::size_t prompt, std::size_t tokens) {
  std::vector<std::size_t> ends = {prompt};
  for (std::size_t end = prompt + 1; end <= tokens; ++end) ends.push_back(end);
  return ends;
}

TEST(IncrementalRollout, EqualsTheProductOfTheWholeMatrices) {
  constexpr std::size_t kTokens = 150;  // more than two blocks of stored rows
  for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kMin}) {
    for (const std::vector<std::size_t>& aside : {std::vector<std::size_t>{}, std::vector<std::size_t>{0, 70}}) {
      const AttentionStack stack =
          random_stack({.layers = 5, .heads = 3, .tokens = kTokens, .causal = true, .sink = true, .seed = 11});
      MixingOptions mixing{.heads = fusion, .residual = 0.4, .mask_columns = aside};
      const Tensor<double> expected = rollout(attention_graph(stack, mixing));
      for (const std::size_t columns : {std::size_t{0}, std::size_t{1}, std::size_t{67}}) {
        const std::size_t first_row = columns == 0 ? 0 : columns - 1;
        IncrementalRollout found({.layers = 5, .columns = columns, .first_row = first_row, .mixing = mixing});
        feed(stack, one_by_one(67, kTokens), found);
        ASSERT_EQ(found.tokens(), kTokens);
        for (std::size_t l = 1; l <= 5; ++l) {
          for (std::size_t p = l == 5 ? first_row : 0; p < kTokens; ++p) {
            const auto row = found.row(l, p);
            ASSERT_EQ(row.size(), columns == 0 ? p + 1 : std::min(columns, p + 1));
            for (std::size_t j = 0; j < row.size(); ++j) ASSERT_NEAR(row[j], expected(l - 1, p, j), kTolerance);
          }
        }
      }
    }
  }
}

TEST(IncrementalRollout, ChunksAndThreadsChangeNoBit) {
  const AttentionStack stack = random_stack({.layers = 4, .heads = 2, .tokens = 140, .causal = true, .seed = 5});
  IncrementalRollout whole({.layers = 4, .columns = 100, .first_row = 99});
  feed(stack, {140}, whole);
  for (const std::vector<std::size_t>& ends :
       {std::vector<std::size_t>{100, 140}, {1, 64, 65, 130, 140}, one_by_one(7, 140)}) {
    IncrementalRollout chunked({.layers = 4, .columns = 100, .first_row = 99, .mixing = {}, .threads = 3});
    feed(stack, ends, chunked);
    for (std::size_t p = 99; p < 140; ++p) {
      for (std::size_t l = 1; l <= 4; ++l) {
        const auto a = whole.row(l, p);
        const auto b = chunked.row(l, p);
        ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "layer " << l << ", position " << p;
      }
    }
  }
}

TEST(IncrementalRollout, WhenRowsAreAskedForChangesNoBit) {
  constexpr std::size_t kTokens = 120;
  const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = kTokens, .causal = true, .seed = 17});
  IncrementalRollout at_the_end({.layers = 3, .columns = 30, .first_row = 29});
  feed(stack, one_by_one(30, kTokens), at_the_end);
  for (const std::size_t every : {std::size_t{1}, std::size_t{5}, IncrementalRollout::kBatchRows, std::size_t{50}}) {
    IncrementalRollout asked({.layers = 3, .columns = 30, .first_row = 29});
    std::vector<std::vector<double>> kept;
    for (std::size_t begin = 0, end = 30; begin < kTokens; begin = end++) {
      for (std::size_t l = 1; l <= 3; ++l) {
        asked.layer(l, begin, chunk_of(stack, l, begin, end).view());
        // Also between the layers of a token.
        if (end % every == 0) asked.row(l, end - 1);
      }
      EXPECT_EQ(asked.tokens(), end);
    }
    for (std::size_t p = 29; p < kTokens; ++p) {
      for (std::size_t l = 1; l <= 3; ++l) {
        const auto a = at_the_end.row(l, p);
        const auto b = asked.row(l, p);
        ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()))
            << "every " << every << ", layer " << l << ", position " << p;
      }
    }
  }
}

TEST(IncrementalRollout, LongChunksFollowRowsThatWait) {
  constexpr std::size_t kBatch = IncrementalRollout::kBatchRows;
  const AttentionStack stack =
      random_stack({.layers = 3, .heads = 2, .tokens = 4 * kBatch, .causal = true, .seed = 18});
  IncrementalRollout whole({.layers = 3});
  feed(stack, {4 * kBatch}, whole);
  IncrementalRollout cut({.layers = 3});
  feed(stack, {3, 5, 5 + kBatch, 6 + kBatch, 5 + 2 * kBatch, 6 + 2 * kBatch, 4 * kBatch}, cut);
  for (std::size_t p = 0; p < 4 * kBatch; ++p) {
    for (std::size_t l = 1; l <= 3; ++l) {
      const auto a = whole.row(l, p);
      const auto b = cut.row(l, p);
      ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "layer " << l << ", position " << p;
    }
  }
}

TEST(IncrementalRollout, KeysBehindTheLastQueryAreIgnored) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 2, .tokens = 9, .causal = true, .seed = 2});
  IncrementalRollout exact({.layers = 2});
  IncrementalRollout padded({.layers = 2});
  for (std::size_t begin = 0; begin < 9; begin += 3) {
    for (std::size_t l = 1; l <= 2; ++l) {
      exact.layer(l, begin, chunk_of(stack, l, begin, begin + 3).view());
      padded.layer(l, begin, chunk_of(stack, l, begin, begin + 3, 4).view());
    }
  }
  for (std::size_t p = 0; p < 9; ++p) {
    const auto a = exact.row(2, p);
    const auto b = padded.row(2, p);
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

// In the first layers source tokens attend to each other, and target tokens to earlier ones.
TEST(IncrementalRollout, SourceTokensSeeOneAnother) {
  for (const std::size_t source : {std::size_t{5}, std::size_t{70}}) {  // fewer than wait, and more than a block
    const std::size_t tokens = source + 30;
    const AttentionStack whole = random_stack({.layers = 4, .heads = 2, .tokens = tokens, .seed = 23});
    Tensor<float> weights({4, 2, tokens, tokens});
    for (std::size_t l = 0; l < 4; ++l) {
      for (std::size_t h = 0; h < 2; ++h) {
        for (std::size_t q = 0; q < tokens; ++q) {
          const bool attends = (l < 2) == (q < source);
          const std::size_t seen = q < source ? source : q + 1;
          float sum = 0.0F;
          for (std::size_t k = 0; k < seen; ++k) sum += whole.weights()(l, h, q, k);
          for (std::size_t k = 0; k < seen && attends; ++k) weights(l, h, q, k) = whole.weights()(l, h, q, k) / sum;
          if (!attends) weights(l, h, q, q) = 1.0F;
        }
      }
    }
    const AttentionStack stack(std::move(weights));
    const Tensor<double> expected = rollout(attention_graph(stack));
    for (const std::size_t columns : {std::size_t{0}, source + 1}) {
      IncrementalRollout found({.layers = 4, .columns = columns, .first_row = 0, .source = source});
      feed(stack, one_by_one(source + 1, tokens), found);
      for (std::size_t l = 1; l <= 4; ++l) {
        for (std::size_t p = 0; p < tokens; ++p) {
          const auto row = found.row(l, p);
          ASSERT_GE(row.size(), std::min(p + 1, source + 1));
          for (std::size_t j = 0; j < row.size(); ++j) ASSERT_NEAR(row[j], expected(l - 1, p, j), kTolerance);
        }
      }
    }
    IncrementalRollout cut({.layers = 4, .columns = 0, .first_row = 0, .source = source});
    EXPECT_THROW(cut.layer(1, 0, chunk_of(stack, 1, 0, source - 1).view()), Error);  // a source must come whole
  }
}

TEST(IncrementalRollout, SaysItsMemoryBeforehand) {
  const IncrementalRolloutOptions options{.layers = 30, .columns = 4096, .first_row = 4095};
  // L m^2 / 2 numbers, plus the unused parts of their blocks.
  const double expected = 29.0 * 4096.0 * 4096.0 / 2.0 * sizeof(double);
  EXPECT_NEAR(static_cast<double>(IncrementalRollout::bytes(options, 4096, 0)), expected, 0.03 * expected);
}

TEST(IncrementalRollout, RefusesWhatItCannotDo) {
  EXPECT_THROW(IncrementalRollout({.layers = 0}), Error);
  MixingOptions single{.heads = HeadFusion::kSingle};
  EXPECT_THROW(IncrementalRollout({.layers = 2, .columns = 0, .first_row = 0, .mixing = single}), Error);
  MixingOptions discard{.discard = 0.5};
  EXPECT_THROW(IncrementalRollout({.layers = 2, .columns = 0, .first_row = 0, .mixing = discard}), Error);
  MixingOptions residual{.residual = std::nan("")};
  EXPECT_THROW(IncrementalRollout({.layers = 2, .columns = 0, .first_row = 0, .mixing = residual}), Error);

  const AttentionStack stack = random_stack({.layers = 2, .heads = 1, .tokens = 6, .causal = true, .seed = 1});
  IncrementalRollout rows({.layers = 2, .columns = 0, .first_row = 3});
  EXPECT_THROW(rows.layer(2, 0, chunk_of(stack, 2, 0, 3).view()), Error);  // layer 1 must come first
  EXPECT_THROW(rows.layer(1, 1, chunk_of(stack, 1, 1, 3).view()), Error);  // row 0 must come first
  feed(stack, {6}, rows);
  EXPECT_NO_THROW(rows.row(2, 3));
  EXPECT_THROW(rows.row(2, 2), Error);
  EXPECT_THROW(rows.row(2, 6), Error);
  EXPECT_THROW(rows.row(0, 1), Error);
  EXPECT_THROW(rows.row(3, 1), Error);
}

TEST(ReplayRollout, EqualsTheRowOfTheGraphForEveryTileAndSpan) {
  const AttentionStack stack = random_stack({.layers = 4, .heads = 3, .tokens = 33, .causal = true, .seed = 21});
  for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kSingle}) {
    MixingOptions mixing{.heads = fusion, .head = 1, .mask_columns = {0}};
    const AttentionGraph graph = attention_graph(stack, mixing);
    StackReplay replay(stack);
    for (const std::size_t output : {std::size_t{0}, std::size_t{20}, std::size_t{32}}) {
      for (std::size_t to = 0; to < 4; ++to) {
        const std::vector<double> expected = rollout_row(graph, output, 4, to);
        std::vector<double> first;
        for (const std::size_t tile :
             {std::size_t{1}, std::size_t{5 * 3 * 33 * sizeof(float)}, std::size_t{1} << 20U}) {
          const auto found = replay_rollout(
              replay, {.output_token = output, .layer = 4, .start_layer = to, .mixing = mixing, .tile_bytes = tile});
          for (std::size_t j = 0; j < 33; ++j) EXPECT_NEAR(found[j], expected[j], kTolerance);
          if (first.empty()) first = found;
          EXPECT_EQ(found, first);
        }
      }
    }
  }
}

TEST(ReplayRollout, AsksOneRowOfTheTopLayer) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 1, .tokens = 10, .causal = true, .seed = 1});
  StackReplay replay(stack);
  replay_rollout(replay, {.output_token = 9, .layer = 3, .start_layer = 2});
  EXPECT_EQ(replay.rows_asked, 1U);
}

TEST(ReplayRollout, RefusesWhatIsOutOfRange) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 1, .tokens = 4, .causal = true, .seed = 1});
  StackReplay replay(stack);
  EXPECT_THROW(replay_rollout(replay, {.output_token = 4}), Error);
  EXPECT_THROW(replay_rollout(replay, {.output_token = 0, .layer = 3}), Error);
  EXPECT_THROW(replay_rollout(replay, {.output_token = 0, .layer = 1, .start_layer = 1}), Error);
  std::stop_source stop;
  stop.request_stop();
  ReplayRolloutOptions cancelled{.stop_token = stop.get_token()};
  EXPECT_THROW(replay_rollout(replay, cancelled), Cancelled);
}

TEST(UniformRolloutRows, EqualRolloutOfTheUniformGraph) {
  for (const AttentionMask& mask : {AttentionMask(true), AttentionMask::joint(/*source=*/9, /*encoder_layers=*/2)}) {
    const AttentionGraph graph = uniform_graph(6, 40, mask, 0.3);
    for (const std::size_t position : {std::size_t{9}, std::size_t{17}, std::size_t{39}}) {
      for (const std::size_t start : {std::size_t{0}, std::size_t{1}, std::size_t{4}}) {
        const Tensor<double> found = uniform_rollout_rows(mask, position, 6, start, 0.3);
        ASSERT_EQ(found.shape(), (Shape{6 - start, position + 1}));
        for (std::size_t l = start + 1; l <= 6; ++l) {
          const std::vector<double> expected = rollout_row(graph, position, l, start);
          for (std::size_t j = 0; j <= position; ++j) EXPECT_NEAR(found(l - start - 1, j), expected[j], kTolerance);
        }
      }
    }
  }
}

TEST(GraphSink, TakesChunksWhenItKnowsTheNumberOfTokens) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = 12, .causal = true, .seed = 8});
  for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kSingle}) {
    MixingOptions mixing{.heads = fusion, .mask_columns = {0, 11}};
    const AttentionGraph expected = attention_graph(stack, mixing);
    GraphSink sink(3, mixing, 12);
    feed(stack, {5, 6, 12}, sink);
    const AttentionGraph found = sink.take();
    EXPECT_EQ(found.weights, expected.weights);
    EXPECT_EQ(found.weights_below, expected.weights_below);
  }
  GraphSink without({3, {}});
  EXPECT_THROW(without.layer(1, 5, chunk_of(stack, 1, 5, 6).view()), Error);
  MixingOptions discard{.discard = 0.5};
  GraphSink discarding(3, discard, 12);
  EXPECT_THROW(discarding.layer(1, 0, chunk_of(stack, 1, 0, 5).view()), Error);
}

}  // namespace
}  // namespace attnflow::incremental_rollout_test
