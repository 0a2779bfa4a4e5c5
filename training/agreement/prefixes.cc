#include "training/agreement/prefixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"

namespace attnflow {
namespace {

// The documents recorded in a model's training.json.
struct TrainedOn {
  std::vector<std::string> test;
  std::vector<std::string> validation;
  std::vector<std::string> train;
  std::uint64_t seed = 1;
};

TrainedOn read_training(const std::filesystem::path& model) {
  const std::filesystem::path file = model / "training.json";
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--model: expected a folder with training.json, as attnflow-train writes it, found none in "
                            "{}; name the documents with --test-sources",
                            model.string()));
  }
  try {
    const auto json = nlohmann::json::parse(read_file(file));
    TrainedOn training;
    json.at("test_sources").get_to(training.test);
    json.at("validation_sources").get_to(training.validation);
    json.at("data").at("train").at("sources").get_to(training.train);
    json.at("settings").at("seed").get_to(training.seed);
    return training;
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        ErrorKind::kBadFile,
        fmt::format("{}: expected test_sources, validation_sources, data.train.sources and settings.seed, found "
                    "a file without ({}); name the documents with --test-sources, without --model",
                    file.string(), error.what()));
  }
}

}  // namespace

std::string prefixes_tsv(const std::vector<AgreementExample>& examples) {
  std::string tsv = "text\tlabel\tgroup\tsource\n";
  for (const AgreementExample& example : examples) {
    std::string text = example.text;
    std::replace(text.begin(), text.end(), '\t', ' ');
    tsv += fmt::format("{}\t{}\t{}\t{}\n", text, example.plural ? "plural" : "singular",
                       example.attractor ? "attractor" : "no attractor", example.source);
  }
  return tsv;
}

std::vector<AgreementExample> draw_prefixes(const std::vector<AgreementExample>& examples, std::size_t count,
                                            std::uint64_t seed) {
  if (count == 0 || count >= examples.size()) return examples;
  std::vector<std::size_t> order(examples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(stream_seed(seed, "stored prefixes")).shuffle(order);
  std::array<std::size_t, 2> left = {(count + 1) / 2, count / 2};  // singular, plural
  std::vector<std::size_t> drawn;
  for (const std::size_t i : order) {
    std::size_t& room = left[examples[i].plural ? 1 : 0];
    if (room == 0) continue;
    --room;
    drawn.push_back(i);
  }
  std::sort(drawn.begin(), drawn.end());
  std::vector<AgreementExample> result;
  for (const std::size_t i : drawn) result.push_back(examples[i]);
  return result;
}

void write_prefixes(const PrefixOptions& options, const std::function<void(const std::string&)>& say) {
  if (internal::lower_extension(options.output) != ".tsv") {
    throw Error(ErrorKind::kUsage,
                fmt::format("-o: expected a file ending in .tsv, found '{}'", options.output.string()));
  }
  TrainedOn training;
  if (!options.model.empty()) training = read_training(options.model);
  const std::vector<ProseDocument> documents = read_prose(options.prose);
  constexpr std::size_t kFewestDocuments = 3;
  if (documents.size() < kFewestDocuments) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--prose: expected at least {} texts, because which words are nouns is learnt from the "
                            "texts beside those that are tested, found {}; give more, or cut a long one into several "
                            "files",
                            kFewestDocuments, documents.size()));
  }
  AgreementDataOptions data;
  data.seed = options.model.empty() ? options.seed : training.seed;
  data.test_sources = options.test_sources;
  if (data.test_sources.empty()) {
    const auto is_there = [&](const std::string& name) {
      return std::any_of(documents.begin(), documents.end(), [&](const ProseDocument& d) { return d.name == name; });
    };
    std::copy_if(training.test.begin(), training.test.end(), std::back_inserter(data.test_sources), is_there);
    std::copy_if(training.validation.begin(), training.validation.end(), std::back_inserter(data.validation_sources),
                 is_there);
  }
  const bool drawn = data.test_sources.empty();
  const AgreementSplit test = build_agreement_data(documents, data).test;
  if (drawn) {
    say(fmt::format("drawn: {}; a model may have been trained on them (--test-sources names others)",
                    fmt::join(test.sources, ", ")));
  }
  std::vector<std::string> seen;
  for (const std::string& source : test.sources) {
    if (std::find(training.train.begin(), training.train.end(), source) != training.train.end()) seen.push_back(source);
  }
  if (!seen.empty()) {
    say(fmt::format("{} was trained on {}: what is measured there is not held out", options.model.string(),
                    fmt::join(seen, ", ")));
  }
  const std::vector<AgreementExample> examples = draw_prefixes(test.examples, options.samples, options.seed);
  write_file(options.output, prefixes_tsv(examples));
  say(fmt::format("wrote {}: {} prefixes from {}", options.output.string(), examples.size(),
                  fmt::join(test.sources, ", ")));
}

}  // namespace attnflow
