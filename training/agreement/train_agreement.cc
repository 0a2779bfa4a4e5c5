#include "training/agreement/train_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/base/random.h"
#include "attnflow/evaluate/statistics.h"
#include "attnflow/files/atomic_file.h"
#include "training/agreement/agreement_setup.h"
#include "training/agreement/grammar.h"
#include "training/agreement/model_card.h"
#include "training/agreement/prefixes.h"

namespace attnflow {

namespace {

using internal::ProseSetup;

constexpr const char* kAgreementPhase = "agreement";
constexpr std::size_t kMeasuredExamples = 2000;
constexpr std::size_t kStoredPrefixes = 2000;
const std::vector<std::string> kLabels = {"singular", "plural"};

// Prefixes as ids with their labels.
struct LabelledPrefixes {
  std::vector<TokenIds> ids;
  std::vector<std::size_t> labels;
};

LabelledPrefixes encode_prefixes(const ProseSetup& setup, const std::vector<AgreementExample>& examples,
                                 std::size_t threads) {
  std::vector<std::string> texts;
  LabelledPrefixes prefixes;
  for (const AgreementExample& example : examples) {
    texts.push_back(example.text);
    prefixes.labels.push_back(example.plural ? 1 : 0);
  }
  ParallelOptions parallel;
  parallel.threads = threads;
  prefixes.ids = encode_texts(*setup.tokenizer, texts, setup.shape.positions, parallel);
  return prefixes;
}

// The training prefixes of prose and of the grammar.
LabelledPrefixes training_prefixes(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                   const TrainingCallbacks& callbacks) {
  std::vector<AgreementExample> examples = setup.data.train.examples;
  const std::size_t prose = examples.size();
  GrammarOptions grammar;
  grammar.seed = stream_seed(options.seed, "grammar");
  grammar.count = static_cast<std::size_t>(std::llround(options.grammar_share * static_cast<double>(prose)));
  if (grammar.count > 0) {
    for (AgreementExample& example : grammar_examples(setup.data.lexicon, grammar)) {
      examples.push_back(std::move(example));
    }
  }
  LabelledPrefixes prefixes = encode_prefixes(setup, examples, options.threads);
  callbacks.say(fmt::format("agreement: {} prefixes of prose, {} of the grammar", prose, examples.size() - prose));
  return prefixes;
}

// Right answers among held-out prefixes while training.
class Checker {
 public:
  Checker(const ProseSetup& setup, const AgreementTrainingOptions& options) {
    std::vector<AgreementExample> examples = setup.data.validation.examples;
    Random(stream_seed(options.seed, "measured prefixes")).shuffle(examples);
    examples.resize(std::min(examples.size(), kMeasuredExamples));
    const LabelledPrefixes prefixes = encode_prefixes(setup, examples, options.threads);
    const std::vector<std::size_t> lengths = lengths_of(prefixes.ids);
    BatchPlanOptions plan;
    plan.shard_tokens = options.shard_tokens;
    plan.shards_per_step = 1;
    for (const StepShards& step : plan_epoch(lengths, 0, plan)) {
      batches_.push_back(labelled_batch(prefixes.ids, prefixes.labels, step.front()));
      for (const std::size_t i : step.front()) attractor_.push_back(examples[i].attractor);
    }
  }

  Measurement operator()(Trainer& trainer) const {
    const std::vector<Tensor<float>> logits = trainer.classify(batches_);
    std::size_t right = 0;
    std::size_t attractors = 0;
    std::size_t right_attractors = 0;
    std::size_t example = 0;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      for (std::size_t r = 0; r < batches_[b].rows; ++r, ++example) {
        const bool plural = logits[b](r, 1) > logits[b](r, 0);
        const bool is_right = plural == (batches_[b].labels[r] == 1);
        right += is_right ? 1 : 0;
        attractors += attractor_[example] ? 1 : 0;
        right_attractors += is_right && attractor_[example] ? 1 : 0;
      }
    }
    const double accuracy = static_cast<double>(right) / static_cast<double>(std::max<std::size_t>(1, example));
    const double with_attractor =
        static_cast<double>(right_attractors) / static_cast<double>(std::max<std::size_t>(1, attractors));
    return {fmt::format("validation accuracy {:.3f}, with an attractor {:.3f}", accuracy, with_attractor),
            fmt::format("{{\"accuracy\": {}, \"attractor_accuracy\": {}}}", accuracy, with_attractor)};
  }

 private:
  std::vector<TrainingBatch> batches_;
  std::vector<bool> attractor_;
};

TrainingCheckpoint find_checkpoint(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                   const TrainingCallbacks& callbacks) {
  const auto path = internal::work_folder(options) / "checkpoint.safetensors";
  std::optional<TrainingCheckpoint> found = load_checkpoint(path, setup.settings);
  if (found) {
    callbacks.say(
        fmt::format("resuming from the checkpoint in {}: {}, step {}", path.string(), found->phase, found->steps_done));
    return std::move(*found);
  }
  TrainingCheckpoint checkpoint;
  checkpoint.settings = setup.settings;
  return checkpoint;
}

// Writes everything but the card into the folder.
void write_trained(const std::filesystem::path& folder, const ProseSetup& setup, const std::string& config,
                   const WeightMap& weights) {
  write_model(folder, config, weights, DType::kF16);
  write_file(folder / "tokenizer.json", setup.tokenizer_files.tokenizer);
  write_file(folder / "tokenizer_config.json", setup.tokenizer_files.config);
}

// The model as the masked phase leaves it, with its card.
void write_masked(const std::filesystem::path& folder, const ProseSetup& setup, const AgreementTrainingOptions& options,
                  const TrainingCheckpoint& checkpoint, const WeightMap& weights) {
  write_trained(folder, setup, new_model_config(setup.shape, ModelHead::kMaskedLm), weights);
  write_file(folder / "training.json", masked_training_json(setup, options, checkpoint));
  write_file(folder / "README.md", masked_card(setup, options, checkpoint));
}

// Before hours of work: can the masked model be written?
void check_masked_output(const AgreementTrainingOptions& options, const TrainingCheckpoint& checkpoint) {
  if (options.masked_output.empty()) return;
  if (options.masked_steps == 0) {
    throw Error(ErrorKind::kUsage, "--masked-model: expected at least one masked step, found --masked-steps 0");
  }
  std::error_code ignored;
  if (options.masked_output == options.output ||
      std::filesystem::equivalent(options.masked_output, options.output, ignored)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--masked-model: expected a folder other than the model's, found {} for both",
                            options.output.string()));
  }
  if (checkpoint.phase.empty()) {
    check_training_output(options.masked_output);
  } else if (checkpoint.phase == kAgreementPhase &&
             !std::filesystem::exists(options.masked_output / "model.safetensors", ignored)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--masked-model: expected a training in its first phase, found one beyond it, whose masked "
                            "model was not kept; remove the option, or start again in a folder other than {}",
                            options.output.string()));
  }
}

// What the written model says to held-out prefixes.
std::vector<AgreementAnswer> answers_of(const AgreementTrainingOptions& options, const ProseSetup& setup,
                                        const std::vector<AgreementExample>& examples) {
  const std::unique_ptr<Encoder> model = load_trained(options.output, options.threads);
  const LabelledPrefixes prefixes = encode_prefixes(setup, examples, options.threads);
  std::vector<TextInput> inputs;
  for (const TokenIds& ids : prefixes.ids) inputs.push_back({{ids.begin(), ids.end()}, {}});
  const std::vector<Tensor<float>> logits = model->classify(inputs);
  std::vector<AgreementAnswer> answers;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    answers.push_back({&examples[i], logits[i](1) > logits[i](0)});
  }
  return answers;
}

}  // namespace

void train_agreement(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                     const std::stop_token& stop_token) {
  const ProseSetup setup = internal::prepare_prose(options, "agreement", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(setup, options, callbacks);
  check_masked_output(options, checkpoint);
  const std::string config = new_model_config(setup.shape, ModelHead::kClassification, kLabels);
  WeightMap weights =
      first_weights(parse_model_config(config, "new model"), ModelHead::kClassification, kLabels.size(), options.seed);
  if (checkpoint.phase != kAgreementPhase) {
    const WeightMap masked = internal::run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
    if (!options.masked_output.empty()) write_masked(options.masked_output, setup, options, checkpoint, masked);
    take_weights(weights, masked);
  }

  const LabelledPrefixes prefixes = training_prefixes(setup, options, callbacks);
  const Checker checker(setup, options);
  const auto trainer =
      start_trainer(internal::work_folder(options) / "start", config, weights, options.dropout, options.threads);
  PhaseOptions phase;
  phase.name = kAgreementPhase;
  phase.steps = options.steps;
  phase.rate = options.rate;
  phase.batches = {stream_seed(options.seed, "agreement order"), options.shard_tokens, options.shards_per_step};
  phase.measure_every = 250;
  run_phase(
      *trainer, lengths_of(prefixes.ids),
      [&](const StepShards& shards, std::size_t) {
        std::vector<TrainingBatch> batches;
        for (const Shard& shard : shards) batches.push_back(labelled_batch(prefixes.ids, prefixes.labels, shard));
        return batches;
      },
      [&](Trainer& current, std::size_t) { return checker(current); }, phase,
      internal::work_folder(options) / "checkpoint.safetensors", checkpoint, callbacks.progress, stop_token);

  write_trained(options.output, setup, config, trainer->state().weights);
  write_file(options.output / "prefixes.tsv",
             prefixes_tsv(draw_prefixes(setup.data.test.examples, kStoredPrefixes, options.seed)));
  const AgreementResults results = summarize_answers(answers_of(options, setup, setup.data.test.examples));
  callbacks.say(fmt::format("test accuracy {:.3f} of {}; with an attractor {:.3f} of {}", results.all.share(),
                            results.all.count, results.attractor.share(), results.attractor.count));
  write_file(options.output / "training.json", agreement_training_json(setup, options, checkpoint, results));
  write_file(options.output / "README.md", agreement_card(setup, options, checkpoint, results));
  remove_training_files(options.output);
}

void train_masked(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                  const std::stop_token& stop_token) {
  const ProseSetup setup = internal::prepare_prose(options, "masked", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(setup, options, callbacks);
  const WeightMap weights = internal::run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
  write_masked(options.output, setup, options, checkpoint, weights);
  remove_training_files(options.output);
}

}  // namespace attnflow
