#include "training/fashion/train_fashion.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/files/atomic_file.h"
#include "training/fashion/fashion_card.h"
#include "training/fashion/fashion_data.h"

namespace attnflow {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFashionPhase = "fashion";

void check_options(const FashionTrainingOptions& options) {
  check_shape(options.shape);
  check_recipe(options.rate, options.dropout);
  if (options.shape.picture != kFashionEdge || options.shape.channels != 1) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a model of grayscale images of {0} x {0} pixels, found {1} channels of {2} x {2}",
                            kFashionEdge, options.shape.channels, options.shape.picture));
  }
  if (options.epochs == 0) throw Error(ErrorKind::kUsage, "--epochs: expected at least 1, found 0");
  if (options.shift >= kFashionEdge) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--shift: expected a number of pixels below {}, found {}", kFashionEdge, options.shift));
  }
  for (const auto& [option, value] : {std::pair{"--augment", options.augment}, {"--mirror", options.mirror}}) {
    if (value >= 0.0 && value <= 1.0) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{}: expected a probability from 0 to 1, found {}", option, value));
  }
  check_training_output(options.output);
}

// Identifies the data: another image or label gives another number.
std::uint64_t digest_of(const LabelledPictures& pictures) {
  const auto values = pictures.pixels.span();
  std::uint64_t digest = name_hash({reinterpret_cast<const char*>(values.data()), values.size()});
  for (const std::size_t label : pictures.labels) digest = stream_seed(digest, label);
  return digest;
}

std::string describe_settings(const FashionTrainingOptions& options, const FashionData& data) {
  std::uint64_t digest = 0;
  for (const LabelledPictures* part : {&data.train, &data.validation, &data.test}) {
    digest = stream_seed(digest, digest_of(*part));
  }
  const VitShape& shape = options.shape;
  return Json{{"task", "fashion"},
              {"seed", options.seed},
              {"data", fmt::format("{:016x}", digest)},
              {"pictures", {data.train.count(), data.validation.count(), data.test.count()}},
              {"shape", {shape.layers, shape.heads, shape.hidden, shape.intermediate, shape.picture, shape.patch}},
              {"epochs", options.epochs},
              {"rate", options.rate},
              {"dropout", options.dropout},
              {"augment", options.augment},
              {"shift", options.shift},
              {"mirror", options.mirror},
              {"step_pictures", {options.shard_pictures, options.shards_per_step}}}
      .dump();
}

BatchPlanOptions plan_of(const FashionTrainingOptions& options) {
  return {stream_seed(options.seed, "order"), options.shard_pictures * options.shape.tokens(), options.shards_per_step};
}

FashionSetup prepare(const FashionTrainingOptions& options) {
  FashionSetup setup;
  FashionDataOptions data;
  data.seed = options.seed;
  setup.data = read_fashion(options.data, data);
  setup.scale = measure_scale(setup.data.train);
  setup.settings = describe_settings(options, setup.data);
  return setup;
}

std::vector<TrainingBatch> questions_of(const LabelledPictures& pictures, const PixelScale& scale,
                                        std::size_t shard_pictures) {
  std::vector<TrainingBatch> batches;
  for (std::size_t begin = 0; begin < pictures.count(); begin += shard_pictures) {
    Shard shard(std::min(shard_pictures, pictures.count() - begin));
    std::iota(shard.begin(), shard.end(), begin);
    batches.push_back(picture_batch(pictures, shard, scale));
  }
  return batches;
}

Measurement validation_accuracy(Trainer& trainer, const std::vector<TrainingBatch>& questions) {
  Score score;
  for (const bool right : right_answers(trainer, questions)) score.add(right);
  return {fmt::format("validation accuracy {:.4f}", score.share()), Json{{"accuracy", score.share()}}.dump()};
}

}  // namespace

void train_fashion(const FashionTrainingOptions& options, const TrainingCallbacks& callbacks,
                   const std::stop_token& stop_token) {
  check_options(options);
  FashionSetup setup = prepare(options);
  const std::vector<std::size_t> lengths(setup.data.train.count(), options.shape.tokens());
  const std::size_t steps_an_epoch = plan_epoch(lengths, 0, plan_of(options)).size();
  setup.steps = options.epochs * steps_an_epoch;
  callbacks.say(fmt::format("{} training, {} validation and {} test images; {} steps per epoch",
                            setup.data.train.count(), setup.data.validation.count(), setup.data.test.count(),
                            steps_an_epoch));

  const std::filesystem::path work = options.output / "training";
  const std::filesystem::path checkpoint_path = work / "checkpoint.safetensors";
  const std::string config = new_vit_config(options.shape, fashion_labels());
  const WeightMap weights = first_weights(parse_model_config(config, "new model"), ModelHead::kClassification,
                                          fashion_labels().size(), options.seed);
  for (const auto& [name, tensor] : weights) setup.parameters += tensor.size();
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path, setup.settings, false, callbacks.say);
  const auto trainer = start_trainer(work / "start", config, weights, options.dropout, options.threads);
  const std::vector<TrainingBatch> questions =
      questions_of(setup.data.validation, setup.scale, options.shard_pictures * options.shards_per_step);
  PhaseOptions phase;
  phase.name = kFashionPhase;
  phase.steps = setup.steps;
  phase.rate = options.rate;
  phase.batches = plan_of(options);
  phase.measure_every = steps_an_epoch;
  const Augmentation augmentation = {stream_seed(options.seed, "augmentation"), options.augment, options.shift,
                                     options.mirror};
  run_phase(
      *trainer, lengths,
      [&](const Shard& shard, std::size_t step, std::size_t) {
        return picture_batch(setup.data.train, shard, setup.scale, augmentation, step);
      },
      [&](Trainer& current, std::size_t) { return validation_accuracy(current, questions); }, phase, checkpoint_path,
      checkpoint, callbacks.progress, stop_token);

  write_model(options.output, config, trainer->state().weights, DType::kF16);
  write_file(options.output / "preprocessor_config.json",
             new_preprocessor_config(options.shape, {setup.scale.mean}, {setup.scale.deviation}));
  const FashionResults results = measure_fashion(options.output, setup.data.test, options.threads, stop_token);
  callbacks.say(fmt::format("test accuracy {:.4f} of {}", results.all().share(), results.all().count));
  write_file(options.output / "training.json", fashion_training_json(setup, options, checkpoint, results));
  write_file(options.output / "README.md", fashion_card(setup, options, checkpoint, results));
  remove_training_files(options.output);
}

}  // namespace attnflow
