#include "training/sentiment/train_classifier.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "attnflow/base/random.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/folder.h"
#include "attnflow/metrics/statistics.h"
#include "attnflow/model/model_weights.h"
#include "training/sentiment/every_other_layer.h"
#include "training/tokenizer/word_piece.h"
#include "training/trainer/results.h"
#include "training/trainer/token_sequences.h"

namespace attnflow {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kPhase = "classifier";

struct Setup {
  std::map<std::string, std::string> files;  // the tokenizer's, by name
  std::optional<ModelWeights> bert;          // to start from
  std::optional<Tokenizer> tokenizer;
  EncoderShape shape;
  std::size_t steps = 0;
  std::string settings;
};

LabelledSequences encode(const Setup& setup, const LabelledTexts& texts, std::size_t threads) {
  return {encode_texts(*setup.tokenizer, texts.texts, setup.shape.positions, {.threads = threads}), texts.labels};
}

Setup prepare(const LabelledTexts& train, const ClassifierTrainingOptions& options) {
  Setup setup;
  if (!options.init_from_bert.empty()) {
    const Folder folder(options.init_from_bert);
    setup.bert = find_weights(folder);
    setup.shape = every_other_layer_shape(*setup.bert);
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"}) {
      if (folder.has(name)) setup.files[name] = folder.read(name);
    }
    setup.tokenizer = Tokenizer::load(folder, setup.bert->info.architecture);
    return setup;
  }
  WordPieceOptions vocabulary;
  vocabulary.pieces = options.shape.vocabulary;
  vocabulary.min_character_count = 1;
  vocabulary.token_template = TokenTemplate::kClsTextSep;
  vocabulary.max_tokens = options.shape.positions;
  const TokenizerFiles files = learn_word_piece({train.texts.begin(), train.texts.end()}, vocabulary);
  setup.files = {{"tokenizer.json", files.tokenizer}, {"tokenizer_config.json", files.config}};
  setup.tokenizer = open_tokenizer(files);
  setup.shape = options.shape;
  setup.shape.vocabulary = setup.tokenizer->vocabulary_size();
  return setup;
}

WeightMap weights_to_start_from(const Setup& setup, const ClassifierTrainingOptions& options, const std::string& config,
                                const std::filesystem::path& folder) {
  WeightMap weights = first_weights(parse_model_config(config, "new model"), ModelHead::kClassification,
                                    options.labels.size(), options.seed);
  if (!setup.bert) return weights;
  write_model(folder, config, weights, DType::kF32);
  take_every_other_layer(weights, find_weights(Folder(folder)), *setup.bert);
  return weights;
}

std::string first_file(const Setup& setup) {
  const auto found = setup.files.find("tokenizer.json");
  return found != setup.files.end() ? found->second : setup.files.at("vocab.txt");
}

// Identifies the data: other sentences, labels or a vocabulary give another number.
std::string digest_of(const std::vector<const LabelledSequences*>& splits, const std::string& tokenizer) {
  std::uint64_t digest = name_hash(tokenizer);
  const auto add = [&](std::uint64_t value) { digest = stream_seed(digest, value); };
  for (const LabelledSequences* split : splits) {
    for (const TokenIds& ids : split->ids) {
      add(ids.size());
      for (const std::int32_t id : ids) add(static_cast<std::uint64_t>(id));
    }
    for (const std::size_t label : split->labels) add(label);
  }
  return fmt::format("{:016x}", digest);
}

// Masks a share of the words, so that no single one decides.
void hide_words(TrainingBatch& batch, const Setup& setup, double share, std::uint64_t seed) {
  Random random(seed);
  for (std::int64_t& id : batch.ids) {
    if (id >= kSpecialTokens && random.uniform() < share) id = *setup.tokenizer->mask_id();
  }
}

std::string card(const Setup& setup, const ClassifierTrainingOptions& options, const LabelledTexts& train,
                 const TrainingCheckpoint& checkpoint, const Score& test) {
  const Interval interval = wilson_interval(test.right, test.count);
  return fmt::format(
      "---\nlanguage: en\ntags:\n- attnflow\n- text-classification\n---\n\n# A small sentence "
      "classifier\n\nDistilBERT's architecture ({} layers, {} heads, hidden size {}, a vocabulary of {} tokens), "
      "{} on {} sentences with the labels {}. Meant for studying attention.\n\nAccuracy on {} "
      "held-out sentences, measured with the weights as stored: {:.3f} (95% interval {:.3f} to {:.3f}).\n\nAt most {} "
      "epochs of AdamW, peak learning rate {}, dropout {}, {:.0f}% of the words masked; the epoch with the best "
      "validation accuracy is kept. Trained on CPU in {:.0f} minutes.\n\n```\n{}\n```\n",
      setup.shape.layers, setup.shape.heads, setup.shape.hidden, setup.shape.vocabulary,
      setup.bert ? fmt::format("begun from every other layer of {} and fine-tuned", setup.bert->info.name)
                 : std::string("trained from scratch"),
      train.texts.size(), fmt::join(options.labels, ", "), test.count, test.share(), interval.low, interval.high,
      options.epochs, options.rate, options.dropout, 100.0 * options.masked_words, minutes_of(checkpoint),
      options.command);
}

}  // namespace

void train_classifier(const LabelledTexts& train, const LabelledTexts& validation, const LabelledTexts& test,
                      const ClassifierTrainingOptions& options, const TrainingCallbacks& callbacks,
                      const std::stop_token& stop_token) {
  if (options.init_from_bert.empty()) check_shape(options.shape);
  check_recipe(options.rate, options.dropout);
  check_training_output(options.output);
  Setup setup = prepare(train, options);
  const LabelledSequences encoded = encode(setup, train, options.threads);
  const LabelledSequences checked = encode(setup, validation, options.threads);
  const LabelledSequences held_out = encode(setup, test, options.threads);
  const std::vector<std::size_t> lengths = lengths_of(encoded.ids);
  BatchPlanOptions plan = {stream_seed(options.seed, "order"), options.shard_tokens, options.shards_per_step};
  const std::size_t steps_an_epoch = plan_epoch(lengths, 0, plan).size();
  Json settings = {{"task", "classifier"},
                   {"seed", options.seed},
                   {"labels", options.labels},
                   {"data", digest_of({&encoded, &checked, &held_out}, first_file(setup))},
                   {"sentences", {train.texts.size(), validation.texts.size(), test.texts.size()}},
                   {"shape",
                    {setup.shape.layers, setup.shape.heads, setup.shape.hidden, setup.shape.intermediate,
                     setup.shape.positions, setup.shape.vocabulary}},
                   {"init_from_bert", setup.bert ? Json(setup.bert->info.name) : Json(nullptr)},
                   {"epochs", options.epochs},
                   {"rate", options.rate},
                   {"dropout", options.dropout},
                   {"masked_words", options.masked_words},
                   {"step_tokens", {options.shard_tokens, options.shards_per_step}}};
  setup.settings = settings.dump();
  callbacks.say(fmt::format("{} sentences, vocabulary of {} tokens, {} steps per epoch", train.texts.size(),
                            setup.shape.vocabulary, steps_an_epoch));

  const std::filesystem::path work = options.output / "training";
  const std::filesystem::path checkpoint_path = work / "checkpoint.safetensors";
  const std::filesystem::path best_path = work / "best.safetensors";
  const std::string config = new_model_config(setup.shape, ModelHead::kClassification, options.labels);
  const auto trainer =
      start_trainer(work / "start", config, weights_to_start_from(setup, options, config, work / "start"),
                    options.dropout, options.threads);
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path, setup.settings, false, callbacks.say);
  if (checkpoint.phase.empty()) std::filesystem::remove(best_path);  // from another run

  std::vector<TrainingBatch> questions;
  for (const Shard& shard : shards_of(checked.ids, options.shard_tokens)) {
    questions.push_back(labelled_batch(checked, shard));
  }
  const auto measure = [&](Trainer& current, std::size_t step) {
    Score score;
    for (const bool right : right_answers(current, questions)) score.add(right);
    const std::optional<TrainingCheckpoint> best = load_checkpoint(best_path, setup.settings);
    if (!best || score.right > std::stoul(best->history)) {
      save_checkpoint(best_path, {setup.settings, kPhase, step, 0.0, std::to_string(score.right), current.state()});
    }
    return Measurement{fmt::format("validation accuracy {:.3f}", score.share()),
                       Json{{"accuracy", score.share()}}.dump()};
  };
  PhaseOptions phase;
  phase.name = kPhase;
  phase.steps = options.epochs * steps_an_epoch;
  phase.rate = options.rate;
  phase.warmup = 0.1;
  phase.batches = plan;
  phase.measure_every = steps_an_epoch;
  run_phase(
      *trainer, lengths,
      [&](const Shard& shard, std::size_t step, std::size_t place) {
        TrainingBatch batch = labelled_batch(encoded, shard);
        hide_words(batch, setup, options.masked_words,
                   stream_seed(stream_seed(stream_seed(options.seed, "hidden words"), step), place + 1));
        return batch;
      },
      measure, phase, checkpoint_path, checkpoint, callbacks.progress, stop_token);

  const std::optional<TrainingCheckpoint> best = load_checkpoint(best_path, setup.settings);
  write_model(options.output, config, best ? best->state.weights : trainer->state().weights, DType::kF16);
  for (const auto& [name, text] : setup.files) write_file(options.output / name, text);

  const std::vector<Tensor<float>> logits = classify_trained(options.output, held_out.ids, options.threads);
  Score score;
  for (std::size_t i = 0; i < logits.size(); ++i) score.add(best_class(logits[i].span()) == held_out.labels[i]);
  callbacks.say(fmt::format("test accuracy {:.3f} of {}", score.share(), score.count));
  Json json = {{"format", "attnflow-training"},
               {"version", 1},
               {"command", options.command},
               {"settings", settings},
               {"seconds", checkpoint.seconds},
               {"history", history_json(checkpoint)},
               {"results", {{"count", score.count}, {"right", score.right}, {"accuracy", score.share()}}}};
  write_file(options.output / "training.json", json.dump(2) + "\n");
  write_file(options.output / "README.md", card(setup, options, train, checkpoint, score));
  remove_training_files(options.output);
}

}  // namespace attnflow
