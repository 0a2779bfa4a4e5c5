#include "attnflow/analysis/evaluate/evaluate_agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/files/extension.h"
#include "attnflow/files/json_text.h"

namespace attnflow {
namespace {

constexpr const char* kPrefixes = "prefixes.tsv";
constexpr const char* kTraining = "training.json";

void check_labels(const ModelInfo& info) {
  if (info.head == ModelHead::kClassification && label_named("singular", info.labels) &&
      label_named("plural", info.labels))
    return;
  throw internal::model_error(
      "expected a verb-number model, with the classes singular and plural, found {}: {}; for other classifiers use "
      "'evaluate sentences FILE'",
      info.name,
      info.labels.empty() ? std::string("it has no classification head")
                          : fmt::format("its classes are {}", fmt::join(info.labels, ", ")));
}

SampleFile read_file_or_folder(const Folder& folder, const ModelInfo& info,
                               const std::optional<std::filesystem::path>& data) {
  if (!data) {
    if (folder.has(kPrefixes)) return parse_samples_tsv(folder.read(kPrefixes), folder.label(kPrefixes), info);
    throw internal::usage_error(
        "--data: expected a file of samples (.tsv, .csv or .jsonl), found none, and {} has no {}. 'attnflow-train "
        "prefixes' creates such a file from prose",
        folder.label(), kPrefixes);
  }
  std::error_code error;
  if (std::filesystem::is_directory(*data, error) || internal::lower_extension(*data) == ".txt") {
    throw internal::usage_error(
        "--data: expected a file of samples (.tsv, .csv or .jsonl), found prose, {}. 'attnflow-train prefixes --prose "
        "{} -o FILE.tsv' creates such a file from it",
        data->string(), data->string());
  }
  return read_samples(*data, info);
}

std::set<std::string> read_trained_on(const Folder& folder) {
  if (!folder.has(kTraining)) return {};
  const nlohmann::json json = internal::parse_json_object(folder.read(kTraining), folder.label(kTraining));
  std::set<std::string> names;
  const auto sources = nlohmann::json::json_pointer("/data/train/sources");
  if (!json.contains(sources) || !json.at(sources).is_array()) return names;
  for (const auto& name : json.at(sources)) {
    if (name.is_string()) names.insert(name.get<std::string>());
  }
  return names;
}

std::string group_name(const std::string& group) {
  if (group.empty() || !std::all_of(group.begin(), group.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    return group;
  }
  if (group == "0") return "no attractor";
  return group == "1" ? "1 attractor" : group + " attractors";
}

}  // namespace

AgreementSamples read_agreement_samples(const Folder& folder, const ModelInfo& info,
                                        const std::optional<std::filesystem::path>& data) {
  check_labels(info);
  SampleFile file = read_file_or_folder(folder, info, data);
  if (!file.samples.front().label) {
    throw internal::file_error("{}: expected a label (singular or plural) for each prefix, found none",
                               data ? data->string() : folder.label(kPrefixes));
  }
  AgreementSamples result;
  result.samples = std::move(file.samples);
  result.data.source = data ? data->filename().string() : fmt::format("the model's {}", kPrefixes);
  result.data.empty_lines = file.empty_lines;
  std::set<std::string> sources;
  for (EvaluationSample& sample : result.samples) {
    sample.group = group_name(sample.group);
    if (!sample.source.empty()) sources.insert(sample.source);
  }
  result.data.sources.assign(sources.begin(), sources.end());
  std::vector<std::string> seen;
  const std::set<std::string> trained_on = read_trained_on(folder);
  std::set_intersection(sources.begin(), sources.end(), trained_on.begin(), trained_on.end(), std::back_inserter(seen));
  if (!seen.empty()) {
    result.data.caveat = "the model was trained on some of the documents";
    result.notes.push_back({NoteCode::kTrainedOnSamples, {{"model", folder.label()}, {"sources", std::move(seen)}}});
  }
  return result;
}

}  // namespace attnflow
