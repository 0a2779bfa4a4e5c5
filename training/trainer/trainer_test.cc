// Tests Trainer's costs against the model's own predictions, its gradients against finite differences, and its
// guarantees about shards, threads, padding and state.
#include "training/trainer/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/torch/golden_for_test.h"
#include "training/trainer/new_model.h"

namespace attnflow::trainer_test {
namespace {

using test::expect_error;

// Classification heads, with a layer norm after or before each half of a layer.
const std::vector<std::string> kClassifiers = {"bert_classification", "distilbert_classification",
                                               "megatron_bert_classification"};
constexpr std::size_t kVocabulary = 70;  // all small models have slightly larger vocabularies
constexpr double kCostTolerance = 1e-5;

std::unique_ptr<Trainer> make(const std::string& name, double dropout = 0.0, std::size_t threads = 1) {
  TrainerOptions options;
  options.dropout = dropout;
  options.threads = threads;
  return make_trainer(find_weights(test::golden_models() / name), options);
}

TrainingBatch random_batch(Random& random, std::size_t rows, std::size_t length, std::size_t labels) {
  TrainingBatch batch;
  batch.rows = rows;
  batch.length = length;
  for (std::size_t r = 0; r < rows; ++r) {
    batch.lengths.push_back(r == 0 ? length : 2 + random.below(length - 1));
    for (std::size_t t = 0; t < length; ++t) {
      batch.ids.push_back(static_cast<std::int64_t>(random.below(kVocabulary)));
    }
    batch.labels.push_back(random.below(labels));
    batch.positions.push_back(static_cast<std::int64_t>(r * length + random.below(batch.lengths.back())));
    batch.targets.push_back(static_cast<std::int64_t>(random.below(kVocabulary)));
  }
  return batch;
}

TextInput row_of(const TrainingBatch& batch, std::size_t row) {
  const auto begin = batch.ids.begin() + static_cast<std::ptrdiff_t>(row * batch.length);
  return {{begin, begin + static_cast<std::ptrdiff_t>(batch.lengths[row])}, {}};
}

TEST(Trainer, CostIsThatOfTheModelsOwnPredictions) {
  for (const std::string& name : kClassifiers) {
    SCOPED_TRACE(name);
    Random random(1);
    const std::vector<TrainingBatch> shards = {random_batch(random, 5, 9, 3), random_batch(random, 3, 12, 3)};
    const std::unique_ptr<Encoder> model = load_trained(test::golden_models() / name);
    double cost = 0.0;
    for (const TrainingBatch& shard : shards) {
      for (std::size_t r = 0; r < shard.rows; ++r) {
        const ModelOutput output = model->run(row_of(shard, r), nullptr);
        cost -= std::log(softmax(output.logits.span())[shard.labels[r]]);
      }
    }
    EXPECT_NEAR(make(name)->cost(shards), cost / 8.0, kCostTolerance);
  }
}

TEST(Trainer, CostOfMaskedWords) {
  for (const std::string name : {"bert_masked_lm_tied", "megatron_bert_masked_lm"}) {
    SCOPED_TRACE(name);
    Random random(2);
    const std::vector<TrainingBatch> shards = {random_batch(random, 4, 10, 2)};
    const std::unique_ptr<Encoder> model = load_trained(test::golden_models() / name);
    double cost = 0.0;
    for (std::size_t r = 0; r < 4; ++r) {
      RunOptions options;
      options.logit_positions = {static_cast<std::size_t>(shards[0].positions[r]) % shards[0].length};
      const ModelOutput output = model->run(row_of(shards[0], r), nullptr, options);
      cost -= std::log(softmax(output.logits[0].span())[static_cast<std::size_t>(shards[0].targets[r])]);
    }
    EXPECT_NEAR(make(name)->cost(shards), cost / 4.0, kCostTolerance);
  }
}

// AdamW's first step moves each weight by the rate against the sign of its gradient (and decays matrices), so a
// weight's movement and a finite difference of the cost along it have opposite signs.
TEST(Trainer, StepsGoDownhill) {
  std::size_t checked = 0;
  for (const std::string& name : kClassifiers) {
    SCOPED_TRACE(name);
    Random random(3);
    const std::vector<TrainingBatch> shards = {random_batch(random, 6, 8, 3)};
    const std::unique_ptr<Trainer> trainer = make(name);
    const TrainerState before = trainer->state();
    constexpr double kRate = 1e-4;
    trainer->step(shards, kRate, 1);
    const TrainerState after = trainer->state();
    for (const auto& [tensor, values] : before.weights) {
      // The first moment after one step is (1 - beta1) times the (clipped) gradient.
      const Tensor<float>& moments = after.first_moments.at(tensor);
      const auto largest = std::max_element(moments.span().begin(), moments.span().end(),
                                            [](float a, float b) { return std::abs(a) < std::abs(b); });
      const auto at = static_cast<std::size_t>(largest - moments.span().begin());
      constexpr float kTooFlat = 1e-4F;
      if (std::abs(*largest) < kTooFlat) continue;
      const double moved = static_cast<double>(after.weights.at(tensor).span()[at]) - values.span()[at];
      EXPECT_NEAR(moved, *largest > 0 ? -kRate : kRate, kRate * 0.05) << tensor;

      constexpr float kNudge = 1e-2F;
      const auto cost_at = [&](float nudge) {
        TrainerState state = before;
        state.weights.at(tensor).span()[at] += nudge;
        trainer->set_state(state);
        return trainer->cost(shards);
      };
      EXPECT_GT((cost_at(kNudge) - cost_at(-kNudge)) * static_cast<double>(*largest), 0.0) << tensor;
      ++checked;
    }
  }
  EXPECT_GT(checked, 40U);
}

TEST(Trainer, SameBitsForAnyNumberOfThreads) {
  Random random(4);
  std::vector<TrainingBatch> shards;
  for (std::size_t s = 0; s < 5; ++s) shards.push_back(random_batch(random, 3, 6 + s, 3));
  const std::unique_ptr<Trainer> one = make("megatron_bert_classification", 0.1, 1);
  const std::unique_ptr<Trainer> many = make("megatron_bert_classification", 0.1, 3);
  for (std::uint64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(one->step(shards, 1e-3, step), many->step(shards, 1e-3, step));
  }
  EXPECT_EQ(one->state().weights, many->state().weights);
  EXPECT_EQ(one->state().second_moments, many->state().second_moments);
}

TEST(Trainer, WhatStandsInThePaddingChangesNothing) {
  Random random(5);
  std::vector<TrainingBatch> shards = {random_batch(random, 6, 11, 3)};
  const std::unique_ptr<Trainer> trainer = make("megatron_bert_classification");
  const double cost = trainer->cost(shards);
  for (std::size_t r = 0; r < 6; ++r) {
    for (std::size_t t = shards[0].lengths[r]; t < 11; ++t) shards[0].ids[r * 11 + t] = 1;
  }
  EXPECT_EQ(trainer->cost(shards), cost);
}

TEST(Trainer, LearnsWhatItIsShown) {
  Random random(6);
  std::vector<TrainingBatch> shards = {random_batch(random, 8, 8, 3), random_batch(random, 8, 10, 3)};
  const std::unique_ptr<Trainer> trainer = make("megatron_bert_classification");
  for (std::uint64_t step = 0; step < 150; ++step) trainer->step(shards, 3e-3, step);
  EXPECT_LT(trainer->cost(shards), 0.05);
  const std::vector<Tensor<float>> logits = trainer->classify(shards);
  for (std::size_t s = 0; s < 2; ++s) {
    for (std::size_t r = 0; r < 8; ++r) {
      const auto row = logits[s][r].span();
      EXPECT_EQ(static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin()), shards[s].labels[r]);
    }
  }
}

TEST(Trainer, GoesOnFromAState) {
  Random random(7);
  const std::vector<TrainingBatch> shards = {random_batch(random, 4, 8, 3)};
  const std::unique_ptr<Trainer> whole = make("bert_classification", 0.1);
  const std::unique_ptr<Trainer> halves = make("bert_classification", 0.1);
  for (std::uint64_t step = 0; step < 3; ++step) whole->step(shards, 1e-3, step);
  const TrainerState middle = whole->state();
  EXPECT_EQ(middle.steps, 3U);
  for (std::uint64_t step = 3; step < 6; ++step) whole->step(shards, 1e-3, step);
  halves->set_state(middle);
  for (std::uint64_t step = 3; step < 6; ++step) halves->step(shards, 1e-3, step);
  EXPECT_EQ(whole->state().weights, halves->state().weights);
}

TEST(Trainer, RefusesWhatDoesNotFit) {
  Random random(8);
  const std::unique_ptr<Trainer> trainer = make("bert_classification");
  const TrainingBatch good = random_batch(random, 3, 6, 3);
  const auto cost = [&](const TrainingBatch& batch) { return trainer->cost(std::vector{batch}); };
  TrainingBatch bad = good;
  bad.labels.pop_back();
  expect_error(ErrorKind::kUsage, {"answer for each of 3 sequences", "found 2"}, [&] { cost(bad); });
  bad = good;
  bad.ids.pop_back();
  expect_error(ErrorKind::kUsage, {"3 rows, length 6, 17 ids"}, [&] { cost(bad); });
  bad = good;
  bad.labels[0] = 3;
  expect_error(ErrorKind::kUsage, {"label below 3", "found 3"}, [&] { cost(bad); });
  bad = good;
  bad.ids[0] = 1'000'000;
  expect_error(ErrorKind::kUsage, {"token ids", "1000000"}, [&] { cost(bad); });
  bad = good;
  bad.lengths[0] = 7;
  expect_error(ErrorKind::kUsage, {"from 1 to 6 tokens", "found 7"}, [&] { cost(bad); });
  expect_error(ErrorKind::kUsage, {"at least one shard"}, [&] { trainer->cost({}); });
  // Questions need no answers, but must be sequences that suit the model.
  const auto classify = [&](const TrainingBatch& batch) { trainer->classify({&batch, 1}); };
  bad = good;
  bad.labels.clear();
  EXPECT_NO_THROW(classify(bad));
  bad.ids.pop_back();
  expect_error(ErrorKind::kUsage, {"3 rows, length 6, 17 ids"}, [&] { classify(bad); });
  bad = good;
  bad.ids[0] = 1'000'000;
  expect_error(ErrorKind::kUsage, {"token ids", "1000000"}, [&] { classify(bad); });
  bad = good;
  bad.lengths[0] = 7;
  expect_error(ErrorKind::kUsage, {"from 1 to 6 tokens", "found 7"}, [&] { classify(bad); });
  expect_error(ErrorKind::kUsage, {"classification head"}, [&] { make("bert_masked_lm")->classify({&good, 1}); });
  expect_error(ErrorKind::kUnsupportedModel, {"head to train"}, [&] { make("bert_base"); });

  TrainerState state = trainer->state();
  state.weights.erase("classifier.bias");
  expect_error(ErrorKind::kBadFile, {"classifier.bias"}, [&] { trainer->set_state(state); });
}

TEST(Trainer, StopsBeforeWeightsAreNoNumbers) {
  Random random(9);
  const std::vector<TrainingBatch> shards = {random_batch(random, 3, 6, 3)};
  const std::unique_ptr<Trainer> trainer = make("bert_classification");
  TrainerState state = trainer->state();
  state.weights.at("classifier.bias").span()[0] = std::numeric_limits<float>::infinity();
  trainer->set_state(state);
  expect_error(ErrorKind::kOther, {"finite cost", "--rate"}, [&] { trainer->step(shards, 1e-3, 1); });
  EXPECT_EQ(trainer->state().weights, state.weights);
}

}  // namespace
}  // namespace attnflow::trainer_test
