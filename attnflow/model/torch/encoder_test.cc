// What Model::run promises, beyond the numbers that golden_test.cc compares.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/model/model.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow {
namespace {

using test::expect_error;
using test::StackSink;

std::unique_ptr<Model> load(const std::string& name) { return load_model(test::golden_models() / name); }

const ModelInput kInput = {{2, 9, 30, 12, 7, 3}, {0, 0, 0, 1, 1, 1}};

TEST(Encoder, RefusesInputThatItCannotRun) {
  const std::unique_ptr<Model> model = load("bert_masked_lm");
  const auto expect = [&](ErrorKind kind, const std::vector<std::string>& words, const ModelInput& input) {
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
  const std::unique_ptr<Model> model = load("roberta_masked_lm");
  StackSink sink;
  model->run({std::vector<std::int64_t>(model->info().max_tokens, 5), {}}, &sink);
  EXPECT_EQ(sink.layers, model->info().layers);
  expect_error(ErrorKind::kInputTooLong, {"found"}, [&] {
    model->run({std::vector<std::int64_t>(model->info().max_tokens + 1, 5), {}}, nullptr);
  });
}

TEST(Encoder, AttentionRowsSumToOne) {
  const std::unique_ptr<Model> model = load("albert_two_groups");
  StackSink sink;
  model->run(kInput, &sink);
  const std::size_t n = kInput.ids.size();
  ASSERT_EQ(sink.values.size(), model->info().layers * model->info().heads * n * n);
  for (std::size_t row = 0; row < sink.values.size() / n; ++row) {
    double sum = 0.0;
    for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(sink.values[row * n + k]);
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST(Encoder, SinkMayBeNullAndChangesNothing) {
  const std::unique_ptr<Model> model = load("distilbert_classification");
  StackSink sink;
  EXPECT_EQ(model->run(kInput, nullptr).logits, model->run(kInput, &sink).logits);
}

TEST(Encoder, LogitsComeInTheOrderAsked) {
  const std::unique_ptr<Model> model = load("bert_masked_lm");
  const Tensor<float> one = model->run(kInput, nullptr, {{1}}).logits;
  const Tensor<float> two = model->run(kInput, nullptr, {{4, 1}}).logits;
  ASSERT_EQ(two.shape(), (Shape{2, model->info().vocabulary}));
  EXPECT_LE(test::largest_difference<float>(one.span(), two[1].span()), 1e-5);
  EXPECT_EQ(model->run(kInput, nullptr).logits.shape(), (Shape{0, model->info().vocabulary}));
}

TEST(Encoder, TypeIdsMatterOnlyWhereThereAreTypes) {
  const ModelInput without = {kInput.ids, {}};
  for (const auto& [name, matter] : {std::pair{"bert_masked_lm", true},
                                     {"roberta_masked_lm", false},
                                     {"distilbert_masked_lm", false},
                                     {"albert_masked_lm", true}}) {
    const std::unique_ptr<Model> model = load(name);
    const bool same = model->run(kInput, nullptr, {{2}}).logits == model->run(without, nullptr, {{2}}).logits;
    EXPECT_EQ(same, !matter) << name;
  }
}

TEST(Encoder, SameInputSameBits) {
  std::vector<float> first;
  for (const std::size_t threads : {1U, 2U, 3U, 1U}) {
    LoadOptions options;
    options.threads = threads;
    const std::unique_ptr<Model> model = load_model(test::golden_models() / "roberta_classification", options);
    StackSink sink;
    model->run({std::vector<std::int64_t>(18, 5), {}}, &sink);
    if (first.empty()) first = sink.values;
    EXPECT_EQ(sink.values, first) << threads << " threads";
  }
}

TEST(Encoder, AModelRunsOnAnotherThread) {
  const std::unique_ptr<Model> model = load("bert_classification");
  const Tensor<float> here = model->run(kInput, nullptr).logits;
  Tensor<float> there;
  std::thread([&] { there = model->run(kInput, nullptr).logits; }).join();
  EXPECT_EQ(here, there);
}

// The mapped file lives as long as the model that computes with it.
TEST(Encoder, TheFolderMayGoAwayAfterLoading) {
  auto copy = std::make_unique<test::ModelCopy>("bert_base");
  const std::unique_ptr<Model> model = load_model(copy->path());
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
  const std::unique_ptr<Model> model = load("bert_base");
  expect_error(ErrorKind::kOther, {"the sink is full"}, [&] { model->run(kInput, &sink); });
}

TEST(Encoder, DamagedFilesAreRefusedBeforeTheBackendSeesThem) {
  const test::ModelCopy copy("bert_base");
  copy.edit_weights([](test::WeightsFile& weights) {
    weights.header["embeddings.position_embeddings.weight"]["shape"] = {24, 20};
  });
  expect_error(ErrorKind::kBadFile, {"embeddings.position_embeddings.weight", "[24, 20]", "expected [20, 24]"},
               [&] { load_model(copy.path()); });
}

TEST(Encoder, DeviceThatIsNotThereIsRefused) {
  LoadOptions options;
  options.device = "cuda:99";  // no machine has it, whatever the libtorch
  expect_error(ErrorKind::kUsage, {"cuda:99", "expected"},
               [&] { load_model(test::golden_models() / "bert_base", options); });
}

}  // namespace
}  // namespace attnflow
