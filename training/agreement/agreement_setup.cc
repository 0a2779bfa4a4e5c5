#include "training/agreement/agreement_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "attnflow/base/random.h"

namespace attnflow::internal {

namespace {

constexpr const char* kMaskedPhase = "masked";
constexpr std::size_t kHeldOutSequences = 2000;
// Shorter sentences are headings and remains of lists.
constexpr std::size_t kFewestTokens = 5;

// Pronouns that are masked as often as verbs: pictures of pronoun resolution ask for them.
constexpr std::array<std::string_view, 12> kFocusPronouns = {"he",   "she",  "his",   "her", "him",     "hers",
                                                             "they", "them", "their", "its", "himself", "herself"};

// The same documents and options give the same text.
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

// Sentences of the named documents as ids.
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
  std::unordered_set<std::string_view> focus(kFocusPronouns.begin(), kFocusPronouns.end());
  for (const auto& [singular, plural] : agreement_verbs()) {
    focus.insert(singular);
    focus.insert(plural);
  }
  for (std::int64_t id = 0; id < masking.vocabulary; ++id) {
    masking.focus.push_back(focus.contains(setup.tokenizer->spelled(id)));
  }
  return masking;
}

}  // namespace

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

WeightMap run_masked_phase(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           TrainingCheckpoint& checkpoint, const TrainingCallbacks& callbacks,
                           const std::stop_token& stop_token) {
  const std::string config = new_model_config(setup.shape, ModelHead::kMaskedLm);
  WeightMap first = first_weights(parse_model_config(config, "new model"), ModelHead::kMaskedLm, 0, options.seed);
  if (options.masked_steps == 0) return first;
  const auto trainer = start_trainer(options.output / "training" / "start", config, first, 0.0, options.threads);

  std::vector<TokenIds> held_out = encode_sentences(setup, setup.data.validation.sources, options);
  std::vector<TokenIds> sequences = encode_sentences(setup, setup.data.train.sources, options);
  // Sentences that documents share are no training sentences where they stand in a held-out document too.
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
  // The same masks at every measurement, without cut sentences: perplexities that can be compared.
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
      phase, options.output / "training" / "checkpoint.safetensors", checkpoint, callbacks.progress, stop_token);
  return checkpoint.state.weights;
}

}  // namespace attnflow::internal
