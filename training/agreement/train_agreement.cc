#include "training/agreement/train_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "attnflow/base/random.h"
#include "attnflow/files/atomic_file.h"
#include "training/agreement/grammar.h"
#include "training/agreement/model_card.h"
#include "training/agreement/prefixes.h"
#include "training/agreement/word_lists.h"
#include "training/tokenizer/word_piece.h"
#include "training/trainer/results.h"
#include "training/trainer/token_sequences.h"

namespace attnflow {

namespace {

constexpr const char* kMaskedPhase = "masked";
constexpr std::size_t kHeldOutSequences = 2000;
// Shorter sentences are headings and list fragments.
constexpr std::size_t kFewestTokens = 5;

// Pronouns that are masked as often as verbs, because figures of pronoun resolution need them.
constexpr std::string_view kFocusPronouns = "he she his her him hers they them their its himself herself";

constexpr const char* kAgreementPhase = "agreement";
constexpr std::size_t kMeasuredExamples = 2000;
constexpr std::size_t kStoredPrefixes = 2000;
const std::vector<std::string> kLabels = {"singular", "plural"};

std::filesystem::path checkpoint_path(const AgreementTrainingOptions& options) {
  return options.output / "training" / "checkpoint.safetensors";
}

std::string describe_settings(const AgreementTrainingOptions& options, const ProseSetup& setup,
                              const std::string& task) {
  nlohmann::ordered_json json;
  json["task"] = task;
  json["seed"] = options.seed;
  json["shape"] = {setup.shape.layers,       setup.shape.heads,     setup.shape.hidden,
                   setup.shape.intermediate, setup.shape.positions, setup.shape.vocabulary};
  json["masked_steps"] = options.masked_steps;
  json["masked_rate"] = options.masked_rate;
  json["steps"] = options.steps;
  json["rate"] = options.rate;
  json["dropout"] = options.dropout;
  json["grammar_share"] = options.grammar_share;
  json["step_tokens"] = {options.shard_tokens, options.shards_per_step};
  json["examples"] = {setup.data.train.examples.size(), setup.data.validation.examples.size(),
                      setup.data.test.examples.size()};
  std::uint64_t bytes = 0;
  for (const ProseDocument& document : setup.documents) bytes += document.bytes;
  std::uint64_t digest = name_hash(setup.tokenizer_files.tokenizer);
  for (const ProseDocument& document : setup.documents) {
    digest = stream_seed(digest, document.name);
    for (const std::string& paragraph : document.paragraphs) digest = stream_seed(digest, paragraph);
  }
  json["prose"] = {{"documents", setup.documents.size()}, {"bytes", bytes}, {"digest", fmt::format("{:016x}", digest)}};
  json["test_sources"] = setup.data.test.sources;
  json["validation_sources"] = setup.data.validation.sources;
  return json.dump();
}

ProseSetup prepare_prose(const AgreementTrainingOptions& options, const std::string& task,
                         const TrainingCallbacks& callbacks) {
  check_shape(options.shape);
  check_recipe(options.masked_rate, options.dropout);
  check_recipe(options.rate, options.dropout);
  constexpr double kMaxGrammar = 100.0;
  if (!(options.grammar_share >= 0.0 && options.grammar_share <= kMaxGrammar)) {
    throw Error(ErrorKind::kUsage, fmt::format("--grammar-share: expected a number from 0 to {}, found {}", kMaxGrammar,
                                               options.grammar_share));
  }
  check_training_output(options.output);
  ProseSetup setup;
  setup.documents = read_prose(options.prose);
  AgreementDataOptions data = options.data;
  data.seed = options.seed;
  setup.data = build_agreement_data(setup.documents, data);
  const AgreementData& split = setup.data;
  callbacks.say(fmt::format("{} documents: {} to train on, {} for validation, {} for test", setup.documents.size(),
                            split.train.sources.size(), split.validation.sources.size(), split.test.sources.size()));
  callbacks.say(fmt::format("prefixes: {} to train on, {} for validation, {} for test ({} of them with an attractor)",
                            split.train.examples.size(), split.validation.examples.size(), split.test.examples.size(),
                            split.test.attractors));

  std::vector<std::string_view> texts;
  for (const ProseDocument& document : setup.documents) {
    const auto& sources = split.train.sources;
    if (!std::binary_search(sources.begin(), sources.end(), document.name)) continue;
    texts.insert(texts.end(), document.paragraphs.begin(), document.paragraphs.end());
  }
  WordPieceOptions vocabulary;
  vocabulary.pieces = options.shape.vocabulary;
  vocabulary.max_tokens = options.shape.positions;
  setup.tokenizer_files = learn_word_piece(texts, vocabulary);
  setup.tokenizer = open_tokenizer(setup.tokenizer_files);
  setup.vocabulary_use = measure_vocabulary(*setup.tokenizer, texts, {.threads = options.threads});
  setup.shape = options.shape;
  setup.shape.vocabulary = setup.tokenizer->vocabulary_size();
  callbacks.say(fmt::format("vocabulary: {} pieces; {:.1f}% of running words are whole", setup.shape.vocabulary,
                            100.0 * setup.vocabulary_use.whole_share()));
  setup.settings = describe_settings(options, setup, task);
  return setup;
}

std::vector<TokenIds> encode_sentences(const ProseSetup& setup, const std::vector<std::string>& sources,
                                       const AgreementTrainingOptions& options) {
  std::vector<std::string> sentences;
  for (const ProseDocument& document : setup.documents) {
    if (!std::binary_search(sources.begin(), sources.end(), document.name)) continue;
    for (const std::string_view sentence : sentences_of(document)) sentences.emplace_back(sentence);
  }
  std::vector<TokenIds> ids =
      encode_texts(*setup.tokenizer, sentences, setup.shape.positions, {.threads = options.threads});
  std::erase_if(ids, [](const TokenIds& sequence) { return sequence.size() < kFewestTokens; });
  return ids;
}

MaskingOptions masking_options(const ProseSetup& setup, const AgreementTrainingOptions& options) {
  MaskingOptions masking;
  masking.seed = stream_seed(options.seed, "masks");
  masking.mask_id = setup.tokenizer->mask_id().value();
  masking.first_ordinary = kSpecialTokens;
  masking.vocabulary = static_cast<std::int64_t>(setup.shape.vocabulary);
  internal::WordSet focus = internal::word_set(kFocusPronouns);
  for (const auto& [singular, plural] : agreement_verbs()) {
    focus.insert(singular);
    focus.insert(plural);
  }
  for (std::int64_t id = 0; id < masking.vocabulary; ++id) {
    masking.focus.push_back(focus.contains(setup.tokenizer->spelled(id)));
  }
  return masking;
}

// Resumes from `checkpoint` if it belongs to this phase.
WeightMap run_masked_phase(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           TrainingCheckpoint& checkpoint, const TrainingCallbacks& callbacks,
                           const std::stop_token& stop_token) {
  const std::string config = new_model_config(setup.shape, ModelHead::kMaskedLm);
  WeightMap first = first_weights(parse_model_config(config, "new model"), ModelHead::kMaskedLm, 0, options.seed);
  if (options.masked_steps == 0) return first;
  const auto trainer = start_trainer(options.output / "training" / "start", config, first, 0.0, options.threads);

  std::vector<TokenIds> held_out = encode_sentences(setup, setup.data.validation.sources, options);
  std::vector<TokenIds> sequences = encode_sentences(setup, setup.data.train.sources, options);
  // Sentences that also occur in a held-out document are excluded from training.
  std::set<TokenIds> shared(held_out.begin(), held_out.end());
  for (TokenIds& ids : encode_sentences(setup, setup.data.test.sources, options)) shared.insert(std::move(ids));
  std::erase_if(sequences, [&](const TokenIds& ids) { return shared.contains(ids); });
  if (sequences.empty() || held_out.empty()) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("expected sentences of at least {} words in documents to train on and in documents for "
                            "validation, found none {}; give more text",
                            kFewestTokens - 1, sequences.empty() ? "to train on" : "for validation"));
  }
  std::size_t tokens = 0;
  for (const TokenIds& sequence : sequences) tokens += sequence.size();
  callbacks.say(fmt::format("masked language model: {} sentences, {:.1f} million tokens", sequences.size(),
                            static_cast<double>(tokens) / 1e6));

  const MaskingOptions masking = masking_options(setup, options);
  // The same masks for every measurement, without cut sentences, so that perplexities are comparable.
  MaskingOptions plain = masking;
  plain.focus_share = plain.share;
  plain.cut_share = 0.0;
  Random(stream_seed(options.seed, "measured sentences")).shuffle(held_out);
  held_out.resize(std::min(held_out.size(), kHeldOutSequences));
  std::vector<TrainingBatch> questions;
  for (const Shard& shard : shards_of(held_out, options.shard_tokens)) {
    questions.push_back(masked_batch(held_out, shard, 0, plain));
  }

  PhaseOptions phase;
  phase.name = kMaskedPhase;
  phase.steps = options.masked_steps;
  phase.rate = options.masked_rate;
  phase.batches = {stream_seed(options.seed, "masked order"), options.shard_tokens, options.shards_per_step};
  phase.measure_every = 500;
  run_phase(
      *trainer, lengths_of(sequences),
      [&](const Shard& shard, std::size_t step, std::size_t) { return masked_batch(sequences, shard, step, masking); },
      [&](Trainer& current, std::size_t) {
        const double cost = current.cost(questions);
        return Measurement{fmt::format("perplexity of masked words in held-out documents: {:.1f}", std::exp(cost)),
                           nlohmann::ordered_json{{"perplexity", std::exp(cost)}}.dump()};
      },
      phase, checkpoint_path(options), checkpoint, callbacks.progress, stop_token);
  return checkpoint.state.weights;
}

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

void write_trained(const std::filesystem::path& folder, const ProseSetup& setup, const std::string& config,
                   const WeightMap& weights) {
  write_model(folder, config, weights, DType::kF16);
  write_file(folder / "tokenizer.json", setup.tokenizer_files.tokenizer);
  write_file(folder / "tokenizer_config.json", setup.tokenizer_files.config);
}

void write_masked(const std::filesystem::path& folder, const ProseSetup& setup, const AgreementTrainingOptions& options,
                  const TrainingCheckpoint& checkpoint, const WeightMap& weights) {
  write_trained(folder, setup, new_model_config(setup.shape, ModelHead::kMaskedLm), weights);
  write_file(folder / "training.json", masked_training_json(setup, options, checkpoint));
  write_file(folder / "README.md", masked_card(setup, options, checkpoint));
}

// Checks, before hours of work, that the masked model can be written.
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
  const ProseSetup setup = prepare_prose(options, "agreement", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path(options), setup.settings, true, callbacks.say);
  check_masked_output(options, checkpoint);
  const std::string config = new_model_config(setup.shape, ModelHead::kClassification, kLabels);
  WeightMap weights =
      first_weights(parse_model_config(config, "new model"), ModelHead::kClassification, kLabels.size(), options.seed);
  if (checkpoint.phase != kAgreementPhase) {
    const WeightMap masked = run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
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
  const ProseSetup setup = prepare_prose(options, "masked", callbacks);
  TrainingCheckpoint checkpoint = find_checkpoint(checkpoint_path(options), setup.settings, true, callbacks.say);
  const WeightMap weights = run_masked_phase(setup, options, checkpoint, callbacks, stop_token);
  write_masked(options.output, setup, options, checkpoint, weights);
  remove_training_files(options.output);
}

}  // namespace attnflow
