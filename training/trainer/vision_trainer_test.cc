// Trains image classifiers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/torch/vision_for_test.h"
#include "training/trainer/new_model.h"
#include "training/trainer/trainer.h"

namespace attnflow::vision_trainer_test {
namespace {

using test::expect_error;
using test::golden_vision;
using test::NewVision;

constexpr std::size_t kClasses = 4;
constexpr std::size_t kSide = 12;  // 3 x 3 patches

nlohmann::json small_config(const std::string& model_type = "vit") {
  return {{"architectures", {"ViTForImageClassification"}},
          {"model_type", model_type},
          {"hidden_size", 24},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 2},
          {"intermediate_size", 48},
          {"image_size", kSide},
          {"patch_size", 4},
          {"num_channels", 1},
          {"num_register_tokens", 2}};
}

std::unique_ptr<Trainer> make(const std::filesystem::path& folder, double dropout = 0.0, std::size_t threads = 1) {
  TrainerOptions options;
  options.dropout = dropout;
  options.threads = threads;
  return make_trainer(find_weights(folder), options);
}

// Returns noise with, at a random position, a cross, a frame, two bars or nothing: the label.
TrainingBatch shapes(Random& random, std::size_t rows) {
  TrainingBatch batch;
  batch.rows = rows;
  batch.pixels = test::random_pixels(random, {rows, 1, kSide, kSide});
  for (float& pixel : batch.pixels.span()) pixel *= 0.3F;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t label = random.below(kClasses);
    const std::size_t top = random.below(kSide - 4);
    const std::size_t left = random.below(kSide - 4);
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        const bool cross = i == j || i + j == 4;
        const bool frame = i % 4 == 0 || j % 4 == 0;
        const bool bars = i == 1 || i == 3;
        if (label == 0 ? cross : label == 1 ? frame : label == 2 && bars) batch.pixels(r, 0, top + i, left + j) += 2.0F;
      }
    }
    batch.labels.push_back(label);
  }
  return batch;
}

PixelInput picture_of(const TrainingBatch& batch, std::size_t row) {
  const TensorView<const float> pixels = batch.pixels[row];
  PixelInput input;
  input.pixels = Tensor<float>(pixels.shape(), {pixels.span().begin(), pixels.span().end()});
  return input;
}

double accuracy(Trainer& trainer, const TrainingBatch& batch) {
  const Tensor<float> logits = trainer.classify({&batch, 1}).at(0);
  std::size_t right = 0;
  for (std::size_t r = 0; r < batch.rows; ++r) {
    const auto row = logits[r].span();
    const auto best = static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    right += best == batch.labels[r] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(batch.rows);
}

TEST(VisionTrainer, CostIsThatOfTheModelsOwnPredictions) {
  for (const nlohmann::json& golden : test::vision_index()) {
    if (golden.at("head") != "classification") continue;
    const auto name = golden.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const std::unique_ptr<VisionModel> model = load_trained_vision(golden_vision() / name);
    Random random(1);
    std::vector<TrainingBatch> shards(2);
    double cost = 0.0;
    for (TrainingBatch& shard : shards) {
      shard.rows = 3;
      shard.pixels = test::random_pixels(random, {3, 3, 20, &shard == shards.data() ? 20U : 28U});
      for (std::size_t r = 0; r < 3; ++r) {
        shard.labels.push_back(random.below(3));
        cost -= std::log(softmax(model->run(picture_of(shard, r), nullptr).logits.span())[shard.labels[r]]);
      }
    }
    constexpr double kCostTolerance = 1e-5;
    EXPECT_NEAR(make(golden_vision() / name)->cost(shards), cost / 6.0, kCostTolerance);
  }
}

TEST(VisionTrainer, EveryWeightLearns) {
  for (const nlohmann::json& golden : test::vision_index()) {
    if (golden.at("head") != "classification") continue;
    const auto name = golden.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const std::unique_ptr<Trainer> trainer = make(golden_vision() / name);
    Random random(2);
    TrainingBatch batch;
    batch.rows = 4;
    batch.pixels = test::random_pixels(random, {4, 3, 20, 20});
    batch.labels = {0, 1, 2, 1};
    trainer->step({&batch, 1}, 1e-4, 1);
    for (const auto& [tensor, moments] : trainer->state().first_moments) {
      const auto values = moments.span();
      const bool moved = std::any_of(values.begin(), values.end(), [](float value) { return value != 0.0F; });
      // A number that all keys have in common does not change attention.
      EXPECT_TRUE(moved) << tensor;
    }
  }
}

TEST(VisionTrainer, LearnsShapesAndTheFolderLoadsAgain) {
  const NewVision vision(small_config(), kClasses, 3);
  const std::unique_ptr<Trainer> trainer = make(vision.path(), 0.05);
  Random random(4);
  Random other(5);
  const TrainingBatch unseen = shapes(other, 200);
  EXPECT_LT(accuracy(*trainer, unseen), 0.6);
  for (std::uint64_t step = 0; step < 300; ++step) {
    const std::vector<TrainingBatch> shards = {shapes(random, 32), shapes(random, 32)};
    trainer->step(shards, 3e-3, step);
  }
  EXPECT_GT(accuracy(*trainer, unseen), 0.95);

  const test::TempFolder folder;
  vision.write(folder.path(), trainer->state().weights);
  const std::unique_ptr<VisionModel> model = load_trained_vision(folder.path());
  EXPECT_EQ(model->info().labels.size(), kClasses);
  const Tensor<float> logits = trainer->classify({&unseen, 1}).at(0);
  std::vector<PixelInput> inputs;
  for (std::size_t r = 0; r < unseen.rows; ++r) inputs.push_back(picture_of(unseen, r));
  const std::vector<Tensor<float>> found = model->classify(inputs);
  double largest = 0.0;
  for (std::size_t r = 0; r < unseen.rows; ++r) {
    largest = std::max(largest, test::largest_difference<float>(found[r].span(), logits[r].span()));
  }
  EXPECT_LT(largest, 1e-5);
}

TEST(VisionTrainer, SameBitsForAnyNumberOfThreads) {
  const NewVision vision(small_config("dinov2_with_registers"), kClasses, 3);
  Random random(6);
  const std::vector<TrainingBatch> shards = {shapes(random, 5), shapes(random, 7), shapes(random, 6)};
  const std::unique_ptr<Trainer> one = make(vision.path(), 0.1, 1);
  const std::unique_ptr<Trainer> many = make(vision.path(), 0.1, 3);
  for (std::uint64_t step = 0; step < 3; ++step) {
    EXPECT_EQ(one->step(shards, 1e-3, step), many->step(shards, 1e-3, step));
  }
  EXPECT_EQ(one->state().weights, many->state().weights);
}

TEST(VisionTrainer, RefusesWhatDoesNotFit) {
  const NewVision vision(small_config(), kClasses, 3);
  const std::unique_ptr<Trainer> trainer = make(vision.path());
  Random random(7);
  const TrainingBatch good = shapes(random, 3);
  const auto cost = [&](const TrainingBatch& batch) { trainer->cost({&batch, 1}); };
  EXPECT_NO_THROW(cost(good));
  TrainingBatch bad = good;
  bad.rows = 2;
  expect_error(ErrorKind::kUsage, {"[rows, channels, height, width]", "2 rows", "[3, 1, 12, 12]"}, [&] { cost(bad); });
  bad = good;
  bad.pixels = Tensor<float>({3, 3, 12, 12});
  expect_error(ErrorKind::kUsage, {"1 channels", "[3, 12, 12]"}, [&] { cost(bad); });
  bad.pixels = Tensor<float>({3, 1, 12, 13});
  expect_error(ErrorKind::kUsage, {"multiples", "12 x 13"}, [&] { cost(bad); });
  bad = good;
  bad.labels[1] = kClasses;
  expect_error(ErrorKind::kUsage, {"label below 4", "found 4"}, [&] { cost(bad); });
  bad = good;
  bad.labels.pop_back();
  expect_error(ErrorKind::kUsage, {"an answer for each of 3", "found 2"}, [&] { cost(bad); });
  bad = good;
  bad.pixels = {};
  bad.length = 2;
  bad.lengths = {2, 2, 2};
  bad.ids = {1, 2, 3, 4, 5, 6};
  expect_error(ErrorKind::kUsage, {"expected pixels", "6 ids"}, [&] { cost(bad); });

  const std::unique_ptr<Trainer> text = make(test::golden_models() / "bert_classification");
  expect_error(ErrorKind::kUsage, {"sequences of tokens", "bert_classification", "[3, 1, 12, 12]"}, [&] {
    text->cost({&good, 1});
  });
}

}  // namespace
}  // namespace attnflow::vision_trainer_test
