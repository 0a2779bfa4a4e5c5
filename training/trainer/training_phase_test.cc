// Tests the loop with a trainer that only counts.
#include "training/trainer/training_phase.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/files/files_for_test.h"
#include "training/trainer/token_sequences.h"

namespace attnflow::training_phase_test {
namespace {

using test::expect_error;

// Its single weight depends on every batch, rate and seed seen so far, in order.
class CountingTrainer : public Trainer {
 public:
  CountingTrainer() {
    state_.weights["w"] = Tensor<float>({1}, {0.0F});
    state_.first_moments = state_.weights;
    state_.second_moments = state_.weights;
  }
  double step(std::span<const TrainingBatch> shards, double rate, std::uint64_t seed) override {
    float& weight = state_.weights["w"].span()[0];
    for (const TrainingBatch& shard : shards) {
      for (const std::int64_t id : shard.ids) weight = std::fmod(weight * 1.1F + static_cast<float>(id), 1000.0F);
    }
    weight += static_cast<float>(rate) + static_cast<float>(seed % 97);
    ++state_.steps;
    if (on_step) on_step(state_.steps);
    return 1.0;
  }
  double cost(std::span<const TrainingBatch> /*shards*/) override { return 1.0; }
  std::vector<Tensor<float>> classify(std::span<const TrainingBatch> /*shards*/) override { return {}; }
  TrainerState state() const override { return state_; }
  void set_state(const TrainerState& state) override { state_ = state; }

  std::function<void(std::uint64_t)> on_step;

 private:
  TrainerState state_;
};

struct PhaseRun {
  test::TempFolder folder;
  std::filesystem::path path = folder / "checkpoint.safetensors";
  std::vector<TokenIds> sequences;
  PhaseOptions options;

  PhaseRun() {
    for (std::int32_t i = 0; i < 40; ++i) sequences.push_back(TokenIds(static_cast<std::size_t>(2 + i % 7), i));
    options.name = "phase";
    options.steps = 30;
    options.batches.shard_tokens = 16;
    options.batches.shards_per_step = 2;
    options.measure_every = 10;
  }

  TrainingCheckpoint go(CountingTrainer& trainer, TrainingCheckpoint checkpoint,
                        const std::stop_token& stop = {}) const {
    const LabelledSequences labelled = {sequences, std::vector<std::size_t>(sequences.size(), 0)};
    const auto make = [&](const Shard& shard, std::size_t, std::size_t) { return labelled_batch(labelled, shard); };
    const auto measure = [](Trainer&, std::size_t step) {
      return Measurement{"measured", "{\"value\": " + std::to_string(step) + "}"};
    };
    run_phase(trainer, lengths_of(sequences), make, measure, options, path, checkpoint, nullptr, stop);
    return checkpoint;
  }
};

TEST(TrainingPhase, RateRisesAndFalls) {
  PhaseOptions options;
  options.steps = 100;
  options.rate = 2.0;
  options.warmup = 0.1;
  EXPECT_DOUBLE_EQ(learning_rate(options, 0), 0.2);
  EXPECT_DOUBLE_EQ(learning_rate(options, 9), 2.0);
  EXPECT_DOUBLE_EQ(learning_rate(options, 55), 1.0);
  EXPECT_GT(learning_rate(options, 99), 0.0);
  EXPECT_LT(learning_rate(options, 99), 0.03);
}

TEST(TrainingPhase, AnInterruptedRunEndsWhereAWholeOneDoes) {
  const PhaseRun whole;
  CountingTrainer reference;
  const TrainingCheckpoint expected = whole.go(reference, {});
  EXPECT_EQ(expected.steps_done, 30U);
  EXPECT_EQ(nlohmann::json::parse(expected.history).size(), 3U);

  const PhaseRun halves;
  std::stop_source stop;
  CountingTrainer first;
  first.on_step = [&](std::uint64_t step) {
    if (step == 13) stop.request_stop();
  };
  EXPECT_THROW(halves.go(first, {}, stop.get_token()), Cancelled);
  std::optional<TrainingCheckpoint> saved = load_checkpoint(halves.path, "");
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->steps_done, 13U);
  CountingTrainer second;
  const TrainingCheckpoint finished = halves.go(second, *saved);
  EXPECT_EQ(second.state().weights, reference.state().weights);
  EXPECT_EQ(second.state().steps, 30U);
  EXPECT_EQ(finished.history, expected.history);

  CountingTrainer third;
  third.on_step = [](std::uint64_t) { ADD_FAILURE() << "a step of a finished phase"; };
  halves.go(third, *load_checkpoint(halves.path, ""));
  EXPECT_EQ(third.state().weights, reference.state().weights);
}

TEST(TrainingPhase, TheNextPhaseBeginsAtItsBeginning) {
  PhaseRun run;
  CountingTrainer trainer;
  TrainingCheckpoint checkpoint = run.go(trainer, {});
  run.options.name = "next";
  run.options.steps = 4;
  CountingTrainer fresh;
  checkpoint = run.go(fresh, checkpoint);
  EXPECT_EQ(fresh.state().steps, 4U);
  EXPECT_EQ(checkpoint.phase, "next");
  EXPECT_EQ(checkpoint.steps_done, 4U);
}

TEST(CheckpointFile, KeepsEverything) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  EXPECT_FALSE(load_checkpoint(path, "s"));
  TrainingCheckpoint checkpoint;
  checkpoint.settings = "s";
  checkpoint.phase = "masked";
  checkpoint.steps_done = 12;
  checkpoint.seconds = 3.5;
  checkpoint.history = "[]";
  checkpoint.state.steps = 99;
  checkpoint.state.weights["a.b"] = Tensor<float>({2, 1}, {1.0F, -2.5F});
  checkpoint.state.first_moments["a.b"] = Tensor<float>({2, 1}, {0.1F, 0.2F});
  checkpoint.state.second_moments["a.b"] = Tensor<float>({2, 1}, {0.3F, 0.4F});
  save_checkpoint(path, checkpoint);
  const std::optional<TrainingCheckpoint> loaded = load_checkpoint(path, "s");
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->phase, "masked");
  EXPECT_EQ(loaded->steps_done, 12U);
  EXPECT_EQ(loaded->seconds, 3.5);
  EXPECT_EQ(loaded->history, "[]");
  EXPECT_EQ(loaded->state.steps, 99U);
  EXPECT_EQ(loaded->state.weights, checkpoint.state.weights);
  EXPECT_EQ(loaded->state.first_moments, checkpoint.state.first_moments);
  EXPECT_EQ(loaded->state.second_moments, checkpoint.state.second_moments);
}

TEST(CheckpointFile, RefusesAnotherRunAndDamage) {
  const test::TempFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  TrainingCheckpoint checkpoint;
  checkpoint.settings = "{\"seed\": 1}";
  checkpoint.state.weights["a"] = Tensor<float>({1}, {1.0F});
  save_checkpoint(path, checkpoint);
  expect_error(ErrorKind::kUsage, {"same data and options", "{\"seed\": 2}", "{\"seed\": 1}"},
               [&] { load_checkpoint(path, "{\"seed\": 2}"); });
  write_safetensors(path, {{"a", Array::from(checkpoint.state.weights["a"].view())}});
  expect_error(ErrorKind::kBadFile, {"attnflow-training"}, [&] { load_checkpoint(path, "x"); });
  test::put(path, "short");
  expect_error(ErrorKind::kBadFile, {"a.safetensors"}, [&] { load_checkpoint(path, "x"); });
  // A path that cannot be written leaves no partial file.
  expect_error(ErrorKind::kOther, {"missing"}, [&] { save_checkpoint(folder / "missing" / "b", checkpoint); });
}

}  // namespace
}  // namespace attnflow::training_phase_test
