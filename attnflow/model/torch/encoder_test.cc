// Tests run()'s contract, beyond the numbers that golden_test.cc compares.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "attnflow/model/model_files.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::encoder_test {
namespace {

using test::expect_error;
using test::spread_ids;
using test::StackSink;

std::unique_ptr<Encoder> load(const std::string& name) {
  return ModelFiles(test::golden_models() / name).load_encoder();
}

// As wide as real ones, so that products are cut into several blocks in each dimension.
class WideBert {
 public:
  static constexpr std::size_t kPositions = 512;

  explicit WideBert(bool positions_matter) : copy_("bert_base") {
    constexpr std::size_t kHidden = 384;
    constexpr std::size_t kIntermediate = 1536;
    const std::map<std::size_t, std::size_t> wider = {{24, kHidden}, {40, kIntermediate}, {20, kPositions}};
    copy_.edit_config([&](nlohmann::json& config) {
      config["hidden_size"] = kHidden;
      config["intermediate_size"] = kIntermediate;
      config["max_position_embeddings"] = kPositions;
      config["num_attention_heads"] = 12;
      config["num_hidden_layers"] = 2;
    });
    test::widen(copy_, wider, "layer.2.", "LayerNorm.weight", positions_matter ? "" : "position");
  }

  const std::filesystem::path& path() const { return copy_.path(); }

 private:
  test::ModelCopy copy_;
};

void expect_same_bits(const std::filesystem::path& folder, const std::vector<std::size_t>& lengths) {
  for (const std::size_t length : lengths) {
    SCOPED_TRACE(length);
    test::expect_same_bits([&](std::size_t threads) {
      const std::unique_ptr<Encoder> model = ModelFiles(folder).load_encoder({.threads = threads});
      RunOptions run;
      if (model->info().head == ModelHead::kMaskedLm) run.logit_positions = {0, length - 1};
      StackSink sink;
      const ModelOutput output = model->run({spread_ids(length, model->info().vocabulary), {}}, &sink, run);
      return std::pair(sink.values, output.logits);
    });
  }
}

const TextInput kInput = {{2, 9, 30, 12, 7, 3}, {0, 0, 0, 1, 1, 1}};

TEST(Encoder, RefusesInputThatItCannotRun) {
  const std::unique_ptr<Encoder> model = load("bert_masked_lm");
  const auto expect = [&](ErrorKind kind, const std::vector<std::string>& words, const TextInput& input) {
    StackSink sink;
    expect_error(kind, words, [&] { model->run(input, &sink); });
    EXPECT_EQ(sink.layers, 0U);
  };
  expect(ErrorKind::kUsage, {"at least one token"}, {});
  expect(ErrorKind::kInputTooLong, {"at most 20", "found 21"}, {std::vector<std::int64_t>(21, 5), {}});
  expect(ErrorKind::kBadFile, {"found 77"}, {{77}, {}});
  expect(ErrorKind::kBadFile, {"found -1"}, {{-1}, {}});
  expect_error(ErrorKind::kUsage, {"logit positions"}, [&] { model->run(kInput, nullptr, {{6}}); });
}

TEST(Encoder, RobertaCanUseAllOfItsPositions) {
  const std::unique_ptr<Encoder> model = load("roberta_masked_lm");
  StackSink sink;
  model->run({std::vector<std::int64_t>(model->info().max_tokens, 5), {}}, &sink);
  EXPECT_EQ(sink.layers, model->info().layers);
  expect_error(ErrorKind::kInputTooLong, {"found"}, [&] {
    model->run({std::vector<std::int64_t>(model->info().max_tokens + 1, 5), {}}, nullptr);
  });
}

TEST(Encoder, AttentionRowsSumToOne) {
  const std::unique_ptr<Encoder> model = load("albert_two_groups");
  StackSink sink;
  model->run(kInput, &sink);
  const std::size_t n = kInput.ids.size();
  ASSERT_EQ(sink.values.size(), model->info().layers * model->info().heads * n * n);
  sink.expect_rows_sum_to_one();
}

TEST(Encoder, SinkMayBeNullAndChangesNothing) {
  const std::unique_ptr<Encoder> model = load("distilbert_classification");
  StackSink sink;
  EXPECT_EQ(model->run(kInput, nullptr).logits, model->run(kInput, &sink).logits);
}

TEST(Encoder, LogitsComeInTheOrderAsked) {
  const std::unique_ptr<Encoder> model = load("bert_masked_lm");
  const Tensor<float> one = model->run(kInput, nullptr, {{1}}).logits;
  const Tensor<float> two = model->run(kInput, nullptr, {{4, 1}}).logits;
  ASSERT_EQ(two.shape(), (Shape{2, model->info().vocabulary}));
  EXPECT_LE(test::largest_difference(one.span(), two[1].span()), 1e-5);
  EXPECT_EQ(model->run(kInput, nullptr).logits.shape(), (Shape{0, model->info().vocabulary}));
}

TEST(Encoder, TypeIdsMatterOnlyWhereThereAreTypes) {
  const TextInput without = {kInput.ids, {}};
  for (const auto& [name, matter] : {std::pair{"bert_masked_lm", true},
                                     {"roberta_masked_lm", false},
                                     {"distilbert_masked_lm", false},
                                     {"albert_masked_lm", true}}) {
    const std::unique_ptr<Encoder> model = load(name);
    const bool same = model->run(kInput, nullptr, {{2}}).logits == model->run(without, nullptr, {{2}}).logits;
    EXPECT_EQ(same, !matter) << name;
  }
}

TEST(Encoder, SameInputSameBits) {
  expect_same_bits(test::golden_models() / "roberta_classification", {1, 18});
  expect_same_bits(test::golden_models() / "bert_masked_lm", {1, 20});
}

// OpenBLAS cuts products of these sizes differently for other numbers of threads.
TEST(Encoder, SameInputSameBitsInLongInputs) { expect_same_bits(WideBert(true).path(), {33, 342, 382, 454}); }

TEST(Encoder, SameInputSameBitsMiniLm) {
  const char* const folder = std::getenv("ATTNFLOW_MINILM_DIR");
  if (folder == nullptr) GTEST_SKIP() << "ATTNFLOW_MINILM_DIR is not set";
  expect_same_bits(folder, {342, 382, 452});
}

TEST(Encoder, SameInputSameBitsAlbert) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  expect_same_bits(std::filesystem::path(data) / "albert-uspto", {454});
}

// Without positions, k copies of a sequence, in many blocks, get the attention of one, in one block, divided by k.
TEST(Encoder, ManyBlocksComputeWhatOneDoes) {
  constexpr std::size_t kTokens = 6;
  constexpr std::size_t kCopies = 76;
  constexpr std::size_t n = kTokens * kCopies;
  const WideBert bert(false);
  const std::unique_ptr<Encoder> model = ModelFiles(bert.path()).load_encoder();
  const TextInput once = {spread_ids(kTokens, model->info().vocabulary), {}};
  TextInput repeated;
  for (std::size_t i = 0; i < n; ++i) repeated.ids.push_back(once.ids[i % kTokens]);
  StackSink one_block;
  model->run(once, &one_block);
  StackSink many_blocks;
  model->run(repeated, &many_blocks);
  std::vector<float> expected(many_blocks.values.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::size_t matrix = i / (n * n);  // a head of a layer
    const std::size_t query = i / n % n % kTokens;
    const std::size_t key = i % n % kTokens;
    expected[i] = one_block.values[(matrix * kTokens + query) * kTokens + key];
  }
  std::vector<float> found = many_blocks.values;
  for (float& value : found) value *= static_cast<float>(kCopies);
  EXPECT_LE(test::largest_difference(found, expected), test::kAttentionTolerance);
  // The tokens differ, or the comparison would mean little.
  const auto [least, most] = std::minmax_element(one_block.values.begin(), one_block.values.end());
  EXPECT_GT(*most - *least, 0.05F);
}

TEST(Encoder, ModelsRunAtTheSameTime) {
  const WideBert bert(true);
  const TextInput input = {spread_ids(342, 77), {}};
  StackSink expected;
  ModelFiles(bert.path()).load_encoder()->run(input, &expected);
  std::array<StackSink, 3> sinks;
  {
    std::vector<std::jthread> threads;
    for (StackSink& sink : sinks)
      threads.emplace_back([&] { ModelFiles(bert.path()).load_encoder()->run(input, &sink); });
  }
  for (const StackSink& sink : sinks) EXPECT_TRUE(sink.values == expected.values);
}

TEST(Encoder, AModelRunsOnAnotherThread) {
  const std::unique_ptr<Encoder> model = load("bert_classification");
  const Tensor<float> here = model->run(kInput, nullptr).logits;
  Tensor<float> there;
  std::thread([&] { there = model->run(kInput, nullptr).logits; }).join();
  EXPECT_EQ(here, there);
}

// The mapped file lives as long as the model that computes with it.
TEST(Encoder, TheFolderMayGoAwayAfterLoading) {
  auto copy = std::make_unique<test::ModelCopy>("bert_base");
  const std::unique_ptr<Encoder> model = ModelFiles(copy->path()).load_encoder();
  copy.reset();
  StackSink sink;
  model->run(kInput, &sink);
  StackSink expected;
  load("bert_base")->run(kInput, &expected);
  EXPECT_EQ(sink.values, expected.values);
}

TEST(Encoder, ExceptionsOfTheSinkComeThrough) {
  struct FailingSink : AttentionSink {
    void layer(std::size_t, std::size_t, TensorView<const float>) override {
      throw Error(ErrorKind::kOther, "the sink is full");
    }
  } sink;
  const std::unique_ptr<Encoder> model = load("bert_base");
  expect_error(ErrorKind::kOther, {"the sink is full"}, [&] { model->run(kInput, &sink); });
}

TEST(Encoder, DamagedFilesAreRefusedBeforeTheBackendSeesThem) {
  const test::ModelCopy copy("bert_base");
  copy.edit_weights([](test::WeightsFile& weights) {
    weights.header["embeddings.position_embeddings.weight"]["shape"] = {24, 20};
  });
  expect_error(ErrorKind::kBadFile, {"embeddings.position_embeddings.weight", "[24, 20]", "expected [20, 24]"},
               [&] { ModelFiles(copy.path()).load_encoder(); });
}

TEST(Encoder, DeviceThatIsNotThereIsRefused) {
  // Exists on no machine.
  expect_error(ErrorKind::kUsage, {"cuda:99", "expected"},
               [] { ModelFiles(test::golden_models() / "bert_base").load_encoder({.device = "cuda:99"}); });
}

}  // namespace
}  // namespace attnflow::encoder_test
