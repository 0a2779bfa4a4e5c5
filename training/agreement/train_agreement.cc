#include "training/agreement/train_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/base/random.h"
#include "attnflow/files/atomic_file.h"
#include "training/agreement/agreement_setup.h"
#include "training/agreement/grammar.h"
#include "training/agreement/model_card.h"
#include "training/agreement/prefixes.h"
#include "training/trainer/results.h"

namespace attnflow {

namespace {

using internal::ProseSetup;

constexpr const char* kAgreementPhase = "agreement";
constexpr std::size_t kMeasuredExamples = 2000;
constexpr std::size_t kStoredPrefixes = 2000;
const std::vector<std::string> kLabels = {"singular", "plural"};

// Prefixes as ids with their labels.
LabelledSequences encode_prefixes(const ProseSetup& setup, const std::vector<AgreementExample>& examples,
                                  std::size_t threads) {
  std::vector<std::string> texts;
  LabelledSequences prefixes;
  for (const AgreementExample& example : examples) {
    texts.push_back(example.text);
    prefixes.labels.push_back(example.plural ? 1 : 0);
  }
  prefixes.ids = encode_texts(*setup.tokenizer, texts, setup.shape.positions, {.threads = threads});
  return prefixes;
}

// The training prefixes of prose and of the grammar.
LabelledSequences training_prefixes(const ProseSetup& setup, const AgreementTrainingOptions& options,
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
  LabelledSequences prefixes = encode_prefixes(setup, examples, options.threads);
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
    const LabelledSequences prefixes = encode_prefixes(setup, examples, options.threads);
    for (const Shard& shard : shards_of(prefixes.ids, options.shard_tokens)) {
      batches_.push_back(labelled_batch(prefixes, shard));
      for (const std::size_t i : shard) attractor_.push_back(examples[i].attractor);
    }
  }

  Measurement operator()(Trainer& trainer) const {
    const std::vector<bool> right = right_answers(trainer, batches_);
    Score all;
    Score attractors;
    for (std::size_t example = 0; example < right.size(); ++example) {
      all.add(right[example]);
      if (attractor_[example]) attractors.add(right[example]);
    }
    return {fmt::format("validation accuracy {:.3f}, with an attractor {:.3f}", all.share(), attractors.share()),
            fmt::format("{{\"accuracy\": {}, \"attractor_accuracy\": {}}}", all.share(), attractors.share())};
  }

 private:
  std::vector<TrainingBatch> batches_;
  std::vector<bool> attractor_;
};

std::filesystem::path checkpoint_path(const AgreementTrainingOptions& options) {
  return options.output / "training" / "checkpoint.safetensors";
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

}  // namespace

void train_agreement(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                     const std::stop_token& stop_token) {
  const ProseSetup setup = internal::prepare_prose(options, "agreement", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path(options), setup.settings, true, callbacks.say);
  check_masked_output(options, checkpoint);
  const std::string config = new_model_config(setup.shape, ModelHead::kClassification, kLabels);
  WeightMap weights =
      first_weights(parse_model_config(config, "new model"), ModelHead::kClassification, kLabels.size(), options.seed);
  if (checkpoint.phase != kAgreementPhase) {
    const WeightMap masked = internal::run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
    if (!options.masked_output.empty()) write_masked(options.masked_output, setup, options, checkpoint, masked);
    take_weights(weights, masked);
  }

  const LabelledSequences prefixes = training_prefixes(setup, options, callbacks);
  const Checker checker(setup, options);
  const auto trainer =
      start_trainer(options.output / "training" / "start", config, weights, options.dropout, options.threads);
  PhaseOptions phase;
  phase.name = kAgreementPhase;
  phase.steps = options.steps;
  phase.rate = options.rate;
  phase.batches = {stream_seed(options.seed, "agreement order"), options.shard_tokens, options.shards_per_step};
  phase.measure_every = 250;
  run_phase(
      *trainer, lengths_of(prefixes.ids),
      [&](const Shard& shard, std::size_t, std::size_t) { return labelled_batch(prefixes, shard); },
      [&](Trainer& current, std::size_t) { return checker(current); }, phase, checkpoint_path(options), checkpoint,
      callbacks.progress, stop_token);

  write_trained(options.output, setup, config, trainer->state().weights);
  write_file(options.output / "prefixes.tsv",
             prefixes_tsv(draw_prefixes(setup.data.test.examples, kStoredPrefixes, options.seed)));
  const std::vector<AgreementExample>& tests = setup.data.test.examples;
  const LabelledSequences held_out = encode_prefixes(setup, tests, options.threads);
  const AgreementResults results =
      summarize_answers(tests, classify_trained(options.output, held_out.ids, options.threads));
  callbacks.say(fmt::format("test accuracy {:.3f} of {}; with an attractor {:.3f} of {}", results.all.share(),
                            results.all.count, results.attractor.share(), results.attractor.count));
  write_file(options.output / "training.json", agreement_training_json(setup, options, checkpoint, results));
  write_file(options.output / "README.md", agreement_card(setup, options, checkpoint, results));
  remove_training_files(options.output);
}

void train_masked(const AgreementTrainingOptions& options, const TrainingCallbacks& callbacks,
                  const std::stop_token& stop_token) {
  const ProseSetup setup = internal::prepare_prose(options, "masked", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path(options), setup.settings, true, callbacks.say);
  const WeightMap weights = internal::run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
  write_masked(options.output, setup, options, checkpoint, weights);
  remove_training_files(options.output);
}

}  // namespace attnflow
