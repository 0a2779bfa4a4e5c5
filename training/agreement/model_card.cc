#include "training/agreement/model_card.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

namespace attnflow {

namespace {

using Json = nlohmann::ordered_json;

Json counts_json(const AgreementCounts& counts) {
  return {{"sentences", counts.sentences},
          {"no_sentence", counts.no_sentence},
          {"without_verb", counts.without_verb},
          {"verbs", counts.verbs},
          {"length", counts.length},
          {"placeholder", counts.placeholder},
          {"not_a_verb", counts.not_a_verb},
          {"base_form", counts.base_form},
          {"inverted", counts.inverted},
          {"person", counts.person},
          {"undetermined", counts.undetermined},
          {"quotation", counts.quotation},
          {"pronoun", counts.pronoun},
          {"same_sentence", counts.same_sentence},
          {"duplicate", counts.duplicate},
          {"balance", counts.balance},
          {"used", counts.used}};
}

Json split_json(const AgreementSplit& split) {
  return {{"sources", split.sources},
          {"examples", split.examples.size()},
          {"attractors", split.attractors},
          {"counts", counts_json(split.counts)}};
}

Json common_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                 const TrainingCheckpoint& checkpoint) {
  Json json = training_json(options.command, setup.settings, checkpoint);
  json["test_sources"] = setup.data.test.sources;
  json["validation_sources"] = setup.data.validation.sources;
  json["data"] = {{"train", split_json(setup.data.train)},
                  {"validation", split_json(setup.data.validation)},
                  {"test", split_json(setup.data.test)}};
  json["vocabulary"] = {{"pieces", setup.shape.vocabulary},
                        {"whole_share", setup.vocabulary_use.whole_share()},
                        {"pieces_per_word", setup.vocabulary_use.pieces_per_word()}};
  json["history"] = history_json(checkpoint);
  return json;
}

std::string list(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string shape_text(const ProseSetup& setup) {
  const EncoderShape& shape = setup.shape;
  return fmt::format(
      "{} layers, {} heads, hidden size {}, feed-forward size {}, {} positions, a vocabulary of {} tokens; a layer "
      "norm before each half of a layer and after the last layer (GPT-2 blocks), no causal mask, `[CLS]` at the "
      "beginning and nothing at the end. In `transformers`, the class is `{}`.",
      shape.layers, shape.heads, shape.hidden, shape.intermediate, shape.positions, shape.vocabulary,
      shape.class_prefix + "Model");
}

std::string data_text(const ProseSetup& setup) {
  const AgreementData& data = setup.data;
  return fmt::format(
      "English prose, split by whole documents.\n\n- training ({} documents): {}\n- validation ({}): {}\n- test ({}): "
      "{}\n\nThe vocabulary and the weights come only from the training documents.\n",
      data.train.sources.size(), list(data.train.sources), data.validation.sources.size(),
      list(data.validation.sources), data.test.sources.size(), list(data.test.sources));
}

std::string attribution_text(const AgreementTrainingOptions& options) {
  return options.attribution.empty() ? "" : "\n## Sources and licenses\n\n" + options.attribution;
}

std::string masked_recipe(const ProseSetup& setup, const AgreementTrainingOptions& options) {
  return fmt::format(
      "Masked language modeling on the sentences of the training documents: {} steps of {} tokens, AdamW, peak "
      "learning rate {}, no dropout. 15% of the tokens are masked, and 50% of pronouns and of verb forms that show "
      "number; a quarter of the sentences with such a word are cut after it. {:.1f}% of running words are in the "
      "vocabulary as whole words.",
      options.masked_steps, options.shard_tokens * options.shards_per_step, options.masked_rate,
      100.0 * setup.vocabulary_use.whole_share());
}

std::string measured_perplexity(const TrainingCheckpoint& checkpoint) {
  if (checkpoint.history.empty()) return "not measured";
  std::string last = "not measured";
  for (const auto& entry : nlohmann::json::parse(checkpoint.history)) {
    if (entry.contains("perplexity")) last = fmt::format("{:.1f}", entry.at("perplexity").get<double>());
  }
  return last;
}

std::string front_matter(const AgreementTrainingOptions& options, const std::string& tag) {
  return fmt::format("---\nlanguage: en\n{}tags:\n- attnflow\n- {}\n---\n\n", license_line(options.license), tag);
}

}  // namespace

AgreementResults summarize_answers(const std::vector<AgreementExample>& examples,
                                   const std::vector<Tensor<float>>& logits) {
  constexpr std::size_t kRange = 10;
  AgreementResults results;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const AgreementExample& example = examples[i];
    const bool right = best_class(logits[i].span()) == (example.plural ? 1U : 0U);
    results.all.add(right);
    (example.attractor ? results.attractor : results.no_attractor).add(right);
    (example.plural ? results.plural : results.singular).add(right);
    results.by_source[example.source].add(right);
    results.by_words[(example.words - 1) / kRange * kRange + 1].add(right);
  }
  return results;
}

std::string agreement_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                           const TrainingCheckpoint& checkpoint, const AgreementResults& results) {
  const AgreementSplit& train = setup.data.train;
  std::string card = front_matter(options, "text-classification");
  card +=
      "# A verb-number model\n\nGiven an English sentence up to a verb, it predicts whether the verb is singular or "
      "plural.\n\n\"The key to the cabinets\" is singular. It is the model of the experiments in Abnar & Zuidema, "
      "*Quantifying Attention Flow in Transformers* (ACL 2020), retrained, because its weights and recipe were not "
      "published. It is meant for studying attention, not for checking grammar.\n\n## Model\n\n" +
      shape_text(setup) + "\n\n## Data\n\n" + data_text(setup);
  card += fmt::format(
      "\nPrefixes of sentences up to a verb form that shows number (is/are, was/were, has/have and present-tense "
      "verbs), where rules are certain that the subject precedes it; pronoun subjects are excluded from validation and "
      "test. Half are singular, half plural: {} for training (attractor in {:.1f}%), {} for validation, {} for test "
      "(attractor in {:.1f}%). For every 100 prefixes of prose, {:.0f} sentences from a small grammar are mixed in. "
      "`prefixes.tsv` contains some of the test prefixes, half of them singular.\n",
      train.examples.size(), 100.0 * static_cast<double>(train.attractors) / static_cast<double>(train.examples.size()),
      setup.data.validation.examples.size(), setup.data.test.examples.size(),
      100.0 * static_cast<double>(setup.data.test.attractors) / static_cast<double>(setup.data.test.examples.size()),
      100.0 * options.grammar_share);
  card += "\n## Recipe\n\n1. " + masked_recipe(setup, options) +
          fmt::format(
              " Perplexity of masked words in the validation documents: {}.\n2. The classification task, all weights: "
              "{} steps of {} tokens, AdamW, peak learning rate {}, dropout {}.\n\n",
              measured_perplexity(checkpoint), options.steps, options.shard_tokens * options.shards_per_step,
              options.rate, options.dropout);
  card += how_trained("agreement", checkpoint, options.command);
  card +=
      "\n## Accuracy on held-out documents\n\nMeasured with the weights as stored, in half precision. An attractor is "
      "a last noun that differs in number from the verb.\n\n| prefixes | count | accuracy | 95% interval |\n| --- | "
      "--- | --- | --- |\n";
  card += score_row("all", results.all) + score_row("with an attractor", results.attractor) +
          score_row("without", results.no_attractor) + score_row("singular", results.singular) +
          score_row("plural", results.plural);
  for (const auto& [words, score] : results.by_words) {
    card += score_row(fmt::format("{} to {} words", words, words + 9), score);
  }
  for (const auto& [source, score] : results.by_source) card += score_row(source, score);
  constexpr double kMillion = 1e6;
  card += fmt::format(
      "\n## Limits\n\nIt has seen {:.1f} million words (punctuation included), so it knows few names and rare words, "
      "and it guesses when a subject's number depends on world knowledge. Labels are the verb forms that the authors "
      "wrote, found by rules and not by a parser, so a few are wrong. Documents share a few sentences: any that would "
      "occur in two splits are left out of training.\n",
      static_cast<double>(setup.vocabulary_use.words) / kMillion);
  return card + attribution_text(options);
}

std::string masked_card(const ProseSetup& setup, const AgreementTrainingOptions& options,
                        const TrainingCheckpoint& checkpoint) {
  std::string card = front_matter(options, "fill-mask");
  card += "# A small masked language model of English\n\n## Model\n\n" + shape_text(setup) + "\n\n## Data\n\n" +
          data_text(setup) + "\n## Recipe\n\n" + masked_recipe(setup, options) + "\n\n";
  card += how_trained(options.masked_output.empty() ? "masked" : "agreement", checkpoint, options.command);
  card += fmt::format("\n## Result\n\nPerplexity of masked words in the validation documents: {}.\n",
                      measured_perplexity(checkpoint));
  return card + attribution_text(options);
}

std::string agreement_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                    const TrainingCheckpoint& checkpoint, const AgreementResults& results) {
  Json json = common_json(setup, options, checkpoint);
  json["results"] = {{"all", score_json(results.all)},
                     {"attractor", score_json(results.attractor)},
                     {"no_attractor", score_json(results.no_attractor)},
                     {"singular", score_json(results.singular)},
                     {"plural", score_json(results.plural)}};
  for (const auto& [source, score] : results.by_source) json["results"]["by_source"][source] = score_json(score);
  return json.dump(2) + "\n";
}

std::string masked_training_json(const ProseSetup& setup, const AgreementTrainingOptions& options,
                                 const TrainingCheckpoint& checkpoint) {
  return common_json(setup, options, checkpoint).dump(2) + "\n";
}

}  // namespace attnflow
