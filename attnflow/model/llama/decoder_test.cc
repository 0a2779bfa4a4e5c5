// Tests the llama backend on small random models, against transformers (tests/golden/gguf) and against itself.
#include <gtest/gtest.h>

#include <numeric>

#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::decoder_test {
namespace {

using test::expect_error;
using test::gguf_tolerance;
using test::golden_ids;
using test::Ids;
using test::KeptRows;
using test::load_small;

class SmallModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Llama, SmallModel, testing::Values("llama", "olmo3", "gemma2"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(SmallModel, SaysWhatItIs) {
  const auto decoder = load_small(GetParam());
  const ModelInfo& info = decoder->info();
  const nlohmann::json models = test::models_of(test::golden_gguf());
  const auto golden =
      std::find_if(models.begin(), models.end(), [&](const auto& one) { return one.at("name") == GetParam(); });
  ASSERT_NE(golden, models.end());
  test::expect_sizes(info, *golden);
  EXPECT_EQ(info.max_tokens, 512U);
  EXPECT_TRUE(info.causal);
  EXPECT_EQ(info.head, ModelHead::kCausalLm);
  EXPECT_EQ(decoder->length(), 0U);
}

TEST_P(SmallModel, AttentionAndLogitsAreThoseOfTransformers) {
  test::expect_golden(*load_small(GetParam()), GetParam());
}

// Several chunks; the first tokens are far outside the window of layers with a sliding window.
TEST_P(SmallModel, RowsOfALongTextAreThoseOfTransformers) {
  const Ids ids = golden_ids(GetParam());
  ASSERT_GT(ids.size(), 256U);
  test::expect_golden(*load_small(GetParam()), GetParam(), ids, test::golden_positions(GetParam(), "rows"),
                      test::golden_positions(GetParam(), "logit_rows"), "row_");
}

TEST_P(SmallModel, ChunksChangeRoundingOnly) {
  const auto decoder = load_small(GetParam());
  Ids ids = golden_ids(GetParam());
  test::expect_parts_agree(*decoder, ids, {{1, 1, 1, 197, 1, 99}, {150}, {127, 1, 1, 171}}, gguf_tolerance(GetParam()));
  ids.resize(40);
  test::expect_parts_agree(*decoder, ids, {{1}}, gguf_tolerance(GetParam()));
}

TEST_P(SmallModel, ThreadsChangeNothing) {
  Ids ids = golden_ids(GetParam());
  ids.resize(150);  // two chunks; threads that share a core wait long for each other
  const auto pass = [&](std::size_t threads) {
    KeptRows rows;
    const auto decoder = load_small(GetParam(), {.threads = threads});
    const Tensor<float> logits = test::append_in_parts(*decoder, ids, {140, 1, 9}, &rows);
    return std::pair(rows, logits);
  };
  test::expect_same_bits(
      pass, std::string(GetParam()) == "llama" ? std::vector<std::size_t>{2, 3} : std::vector<std::size_t>{2});
}

TEST_P(SmallModel, Rewinds) {
  Ids ids = golden_ids(GetParam());
  ids.resize(60);  // more than a window
  test::expect_rewinds(*load_small(GetParam()), ids, gguf_tolerance(GetParam()));
}

TEST_P(SmallModel, LookingChangesNothing) {
  test::expect_looking_changes_nothing(*load_small(GetParam()), golden_ids(GetParam()));
}

TEST_P(SmallModel, RoomThatGrowsChangesNothing) {
  Ids ids = golden_ids(GetParam());
  ids.resize(270);
  // libllama rounds 1 up to 256.
  test::expect_room_changes_nothing([&](std::size_t room) { return load_small(GetParam(), {.context = room}); }, 1, 512,
                                    ids, {250, 5, 1});
}

TEST_P(SmallModel, RunGivesTheLogitsThatAreAskedFor) {
  test::expect_logits_where_asked(*load_small(GetParam()), golden_ids(GetParam()), gguf_tolerance(GetParam()).logits);
}

TEST_P(SmallModel, ReplaysItsRows) {
  const auto decoder = load_small(GetParam());
  const Ids ids = golden_ids(GetParam());
  test::expect_replay_agrees(*decoder, ids, 2e-6);
  const auto replay = decoder->run_for_replay(ids, nullptr);
  KeptRows sink;
  expect_error(ErrorKind::kUsage, {"layer 0"}, [&] { replay->rows(0, 0, 1, sink); });
  expect_error(ErrorKind::kUsage, {"rows 0 to 301"}, [&] { replay->rows(1, 0, 301, sink); });
  expect_error(ErrorKind::kUsage, {"rows 5 to 5"}, [&] { replay->rows(1, 5, 5, sink); });
  decoder->append(Ids{3}, nullptr);
  expect_error(ErrorKind::kUsage, {"used since"}, [&] { replay->rows(1, 0, 1, sink); });
}

// A sink takes what the tokens do not get, in replays as well; attention itself is compared in tests/families.
TEST(LlamaDecoder, LearnedSinksAreNoTokens) {
  const auto decoder = load_small("gpt_oss");
  Ids ids(40);  // more than the window
  for (std::size_t t = 0; t < ids.size(); ++t) ids[t] = static_cast<std::int64_t>(5 + t * 7 % 60);
  KeptRows rows;
  decoder->append(ids, &rows);
  for (std::size_t head = 0; head < rows.heads(); ++head) {
    for (const std::size_t query : {0U, 7U, 39U}) {
      const auto row = rows.row(1, head, query);
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      EXPECT_GT(sum, 0.1);
      EXPECT_LT(sum, 0.99);
    }
  }
  test::expect_replay_agrees(*decoder, ids, 2e-6);
}

TEST(LlamaDecoder, AReplayKnowsThatItsDecoderIsGone) {
  auto decoder = load_small("llama");
  const auto replay = decoder->run_for_replay(Ids{1, 2, 3}, nullptr);
  decoder.reset();
  KeptRows sink;
  expect_error(ErrorKind::kUsage, {"used since"}, [&] { replay->rows(1, 0, 1, sink); });
}

TEST(LlamaDecoder, InputThatCannotBe) {
  const auto decoder = load_small("llama");
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->append(Ids{}, nullptr); });
  expect_error(ErrorKind::kBadFile, {"298", "5000"}, [&] { decoder->append(Ids{1, 5000}, nullptr); });
  expect_error(ErrorKind::kBadFile, {"-1"}, [&] { decoder->append(Ids{-1}, nullptr); });
  expect_error(ErrorKind::kInputTooLong, {"512"}, [&] { decoder->append(Ids(513, 1), nullptr); });
  decoder->append(Ids(510, 1), nullptr);
  expect_error(ErrorKind::kInputTooLong, {"512"}, [&] { decoder->append(Ids(3, 1), nullptr); });
  EXPECT_EQ(decoder->length(), 510U);  // a rejected call changes nothing
  decoder->append(Ids(2, 1), nullptr);
  EXPECT_EQ(decoder->length(), 512U);
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->run({}, nullptr); });
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->run({{1, 2}, {}}, nullptr, {{2}}); });
}

// Gradients are those of the model's dequantized weights (tests/cli/test_gradient_mixing.py).
TEST(LlamaDecoder, GradientsAreThereAndClassesAreNot) {
  const auto decoder = load_small("llama");
  EXPECT_EQ(decoder->encoder(), nullptr);
  EXPECT_NE(decoder->gradients(), nullptr);
  EXPECT_EQ(&gradients_of(*decoder), decoder->gradients());
}

TEST(LlamaDecoder, StopsAndForgets) { test::expect_stops_and_forgets(*load_small("llama"), golden_ids("llama")); }

TEST(LlamaDecoder, TheDeviceMustBeOneThatIsThere) {
  expect_error(ErrorKind::kUsage, {"cpu", "cuda"}, [] { load_small("llama", {.device = "cuda"}); });
}

}  // namespace
}  // namespace attnflow::decoder_test
