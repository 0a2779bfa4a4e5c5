#include "attnflow/analysis/evaluate_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/files/extension.h"
#include "attnflow/train/agreement_data.h"
#include "attnflow/train/grammar.h"
#include "attnflow/train/noun_lexicon.h"
#include "attnflow/train/prose.h"

namespace attnflow {
namespace {

constexpr const char* kTraining = "training.json";
constexpr const char* kNouns = "nouns.tsv";

struct Numbers {
  std::size_t singular = 0;
  std::size_t plural = 0;
};

Numbers number_labels(const ModelInfo& info) {
  const auto singular = find_label("singular", info);
  const auto plural = find_label("plural", info);
  if (info.head == ModelHead::kClassification && singular && plural) return {*singular, *plural};
  throw Error(ErrorKind::kUnsupportedModel,
              fmt::format("expected a verb-number model, with the classes singular and plural, found {}: {}; for "
                          "another classifier there is 'evaluate sentences FILE'",
                          info.name,
                          info.labels.empty() ? std::string("it has no classification head")
                                              : fmt::format("its classes are {}", fmt::join(info.labels, ", "))));
}

std::vector<EvaluationSample> labelled(const std::vector<AgreementExample>& examples, const Numbers& numbers) {
  std::vector<EvaluationSample> samples;
  samples.reserve(examples.size());
  for (const AgreementExample& example : examples) {
    samples.push_back({example.text,
                       {},
                       example.plural ? numbers.plural : numbers.singular,
                       example.attractor ? "attractor" : "no attractor"});
  }
  return samples;
}

// What the model's folder says of the documents that it was not trained on.
struct HeldOut {
  std::vector<std::string> test;
  std::vector<std::string> validation;
  std::vector<std::string> train;
  std::size_t grammar = 0;  // sentences of the grammar in its training data
  std::optional<std::uint64_t> seed;
};

std::optional<HeldOut> read_held_out(const Folder& folder) {
  if (!folder.has(kTraining)) return std::nullopt;
  const auto json = nlohmann::json::parse(folder.read(kTraining), nullptr, false);
  HeldOut held_out;
  const auto names = [&](const char* key, std::vector<std::string>& into) {
    if (!json.is_object() || !json.contains(key)) return;
    const auto& list = json.at(key);
    const auto is_text = [](const auto& item) { return item.is_string(); };
    if (!list.is_array() || !std::all_of(list.begin(), list.end(), is_text)) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}: expected '{}' to be a list of document names, found something "
                                                   "else",
                                                   folder.label(kTraining), key));
    }
    list.get_to(into);
  };
  if (!json.is_object()) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a JSON object, found something else", folder.label(kTraining)));
  }
  names("test_sources", held_out.test);
  names("validation_sources", held_out.validation);
  const auto trained = nlohmann::json::json_pointer("/data/train/sources");
  if (json.contains(trained) && json.at(trained).is_array()) {
    for (const auto& name : json.at(trained)) {
      if (name.is_string()) held_out.train.push_back(name.get<std::string>());
    }
  }
  const auto share = nlohmann::json::json_pointer("/settings/grammar_share");
  const auto examples = nlohmann::json::json_pointer("/data/train/examples");
  if (json.contains(share) && json.at(share).is_number() && json.contains(examples) && json.at(examples).is_number()) {
    held_out.grammar = static_cast<std::size_t>(
        std::llround(std::clamp(json.at(share).get<double>() * json.at(examples).get<double>(), 0.0, 1e7)));
  }
  const auto seed = nlohmann::json::json_pointer("/settings/seed");
  if (json.contains(seed) && json.at(seed).is_number_unsigned()) held_out.seed = json.at(seed).get<std::uint64_t>();
  return held_out;
}

AgreementSamples from_prose(const Folder& folder, const Numbers& numbers, const AgreementSampleOptions& options) {
  AgreementSamples result;
  const std::vector<ProseDocument> documents = read_prose(options.data);
  const auto is_there = [&](const std::string& name) {
    return std::any_of(documents.begin(), documents.end(), [&](const ProseDocument& d) { return d.name == name; });
  };
  const HeldOut training = read_held_out(folder).value_or(HeldOut{});
  constexpr std::size_t kFewestDocuments = 3;
  if (documents.size() < kFewestDocuments) {
    throw Error(
        ErrorKind::kBadFile,
        fmt::format("--data: expected at least {} texts, because which words are nouns is learnt from the texts "
                    "beside those that are tested, found {}; give more, cut a long one into several files, or "
                    "give a .tsv of prefix TAB singular|plural",
                    kFewestDocuments, documents.size()));
  }
  AgreementDataOptions data;
  data.test_sources = options.test_sources;
  data.seed = training.seed.value_or(data.seed);
  if (data.test_sources.empty()) {
    std::copy_if(training.test.begin(), training.test.end(), std::back_inserter(data.test_sources), is_there);
    std::copy_if(training.validation.begin(), training.validation.end(), std::back_inserter(data.validation_sources),
                 is_there);
    if (data.test_sources.empty()) {
      result.notes.push_back(
          training.test.empty()
              ? fmt::format("{} does not say which documents it was not trained on (training.json), so the test "
                            "documents were drawn; it may have seen them. --test-sources names them.",
                            folder.label())
              : fmt::format("None of the documents that were kept apart when {} was trained is here, so the test "
                            "documents were drawn. --test-sources names them.",
                            folder.label()));
    }
  }
  const AgreementData split = build_agreement_data(documents, data);
  result.samples = labelled(split.test.examples, numbers);
  std::vector<std::string> seen;
  for (const std::string& source : split.test.sources) {
    if (std::find(training.train.begin(), training.train.end(), source) != training.train.end()) seen.push_back(source);
  }
  if (!seen.empty()) {
    result.notes.push_back(fmt::format("{} was trained on {}: what is measured there is not held out.", folder.label(),
                                       fmt::join(seen, ", ")));
  }
  result.data.source = fmt::format("prefixes of sentences from {} document{}", split.test.sources.size(),
                                   split.test.sources.size() == 1 ? "" : "s");
  result.data.sources = split.test.sources;
  return result;
}

NounLexicon read_nouns(const Folder& folder) {
  const std::string content = folder.read(kNouns);
  std::vector<NounPair> pairs;
  std::string_view rest = content;
  for (std::size_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t tab = text.find('\t');
    if (tab == 0 || tab == std::string_view::npos || tab + 1 == text.size() ||
        text.find('\t', tab + 1) != std::string_view::npos) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}, line {}: expected singular TAB plural, found something else",
                                                   folder.label(kNouns), line));
    }
    pairs.push_back({std::string(text.substr(0, tab)), std::string(text.substr(tab + 1)), 0});
  }
  return NounLexicon::from_pairs(std::move(pairs));
}

AgreementSamples from_grammar(const Folder& folder, const Numbers& numbers, const AgreementSampleOptions& options) {
  if (!folder.has(kNouns)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--data: expected text files or a folder of them (or a .tsv of prefix TAB number), found "
                            "none, and {} has no nouns.tsv to make sentences of a grammar from",
                            folder.label()));
  }
  const NounLexicon lexicon = read_nouns(folder);
  // Sentences that the model was trained on are made again and left out; more are drawn to stand in for them.
  const HeldOut training = read_held_out(folder).value_or(HeldOut{});
  std::unordered_set<std::string> seen;
  GrammarOptions grammar;
  if (training.grammar > 0 && training.seed) {
    grammar.count = training.grammar;
    grammar.seed = *training.seed;
    for (AgreementExample& example : grammar_examples(lexicon, grammar)) seen.insert(std::move(example.text));
  }
  // A stream of its own: training draws from the bare seed.
  constexpr std::uint64_t kEvaluationStream = 0x6576616c;
  grammar.count = options.grammar_samples + options.grammar_samples / 4 + 1;
  grammar.seed = stream_seed(options.seed, kEvaluationStream);
  std::vector<AgreementExample> examples = grammar_examples(lexicon, grammar);
  std::erase_if(examples, [&](const AgreementExample& example) { return seen.contains(example.text); });
  examples.resize(std::min(examples.size(), options.grammar_samples));
  AgreementSamples result;
  result.samples = labelled(examples, numbers);
  result.data.source = "sentences of a small grammar";
  result.data.caveat = training.grammar > 0 ? "the model was trained on sentences like these"
                                            : "sentences of a small grammar are easier than prose";
  result.notes.emplace_back(
      training.grammar > 0 ? "The samples are sentences of a small grammar, and the model was trained on others of it, "
                             "so its accuracy here says nothing of other text; --data takes prose."
                           : "The samples are sentences of a small grammar, so the accuracy here says little of other "
                             "text; --data takes prose.");
  return result;
}

}  // namespace

AgreementSamples read_agreement_samples(const Folder& folder, const ModelInfo& info,
                                        const AgreementSampleOptions& options) {
  const Numbers numbers = number_labels(info);
  if (options.data.empty()) return from_grammar(folder, numbers, options);
  const auto is_samples = [](const std::filesystem::path& path) {
    const std::string extension = internal::lower_extension(path);
    return extension == ".tsv" || extension == ".csv" || extension == ".jsonl";
  };
  if (std::none_of(options.data.begin(), options.data.end(), is_samples)) return from_prose(folder, numbers, options);
  if (options.data.size() > 1 || !options.test_sources.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--data: expected one file of samples, or prose (with --test-sources), found {}{}",
                    options.data.front().string(), options.data.size() > 1 ? " and others" : " with --test-sources"));
  }
  SampleFile file = read_samples(options.data.front(), info);
  if (!file.samples.front().label) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a label (singular or plural) for each prefix, found none",
                            options.data.front().string()));
  }
  AgreementSamples result;
  result.samples = std::move(file.samples);
  result.data.source = options.data.front().filename().string();
  result.data.empty_lines = file.empty_lines;
  return result;
}

}  // namespace attnflow
