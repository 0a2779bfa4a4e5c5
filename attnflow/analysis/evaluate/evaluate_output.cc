#include "attnflow/analysis/evaluate/evaluate_output.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/attribution/option.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

Json layer_json(std::size_t layer) { return layer > 0 ? Json(layer) : Json(); }

Json options_json(const CorrelationOptions& options) {
  Json json = internal::settings_json(options.settings, kForCorrelations);
  json.update({{"mixing", to_texts(options.mixings)},
               {"scores", options.scores},
               {"targets", options.targets},
               {"relevance", options.relevance},
               {"blank", options.blank},
               {"samples", options.samples},
               {"seed", options.seed},
               {"resamples", options.resamples},
               {"confidence", options.confidence},
               {"truncate", options.truncate}});
  return json;
}

Json data_json(const SampleCounts& data) {
  return {{"source", data.source},
          {"sources", data.sources},
          {"found", data.found},
          {"empty_lines", data.empty_lines},
          {"too_long", data.too_long},
          {"truncated", data.truncated},
          {"used", data.used},
          {"tokens", data.tokens},
          {"special_tokens", data.special_tokens},
          {"labelled", data.labelled},
          {"caveat", data.caveat}};
}

Json comparison_json(const MethodComparison& one) {
  Json json = {{"relevance", one.relevance}, {"score", one.score},   {"target", one.target}, {"tokens", one.tokens},
               {"first", one.first},         {"second", one.second}, {"layer", one.layer}};
  json["first_mixing"] = to_text(one.first_mixing);
  json["second_mixing"] = to_text(one.second_mixing);
  json.update(summary_json(one.comparison.difference));
  json["sign_flip_p"] = one.comparison.sign_flip_p;
  json["wilcoxon"] = nullptr;
  if (const auto& test = one.comparison.wilcoxon) {
    json["wilcoxon"] = {{"statistic", test->statistic}, {"p", test->p}, {"count", test->count}, {"zeros", test->zeros}};
  }
  return json;
}

Json nested(const CorrelationReport& report, const std::vector<std::vector<double>>& values) {
  Json result = Json::array();
  std::size_t at = 0;
  for (std::size_t r = 0; r < report.options.relevance.size(); ++r) {
    Json of_relevance = Json::array();
    for (const CorrelationSeries& series : report.series) {
      Json layers = Json::array();
      for (std::size_t l = 0; l < series.layers.size(); ++l) layers.push_back(values[at++]);
      of_relevance.push_back(std::move(layers));
    }
    result.push_back(std::move(of_relevance));
  }
  return result;
}

Json sample_json(const CorrelationReport& report, const SampleRecord& sample) {
  Json json;
  json["number"] = sample.number;
  json["text"] = sample.text;
  json["pair"] = sample.pair ? Json(*sample.pair) : Json();
  json["group"] = sample.group;
  json["label"] = sample.label ? Json(*sample.label) : Json();
  json["predicted"] = sample.predicted;
  json["output_token"] = sample.output_token;
  json["tokens"] = sample.tokens;
  json["special"] = sample.special;
  json["scores"] = sample.scores;
  json["relevance"] = nested(report, sample.relevance);
  json["gaps"] = nested(report, sample.gaps);
  json["correlations"] = sample.correlations;
  return json;
}

Json cells_json(const CorrelationReport& report) {
  Json cells = Json::array();
  for (const CorrelationCell& one : report.cells) {
    cells.push_back({{"relevance", one.relevance},
                     {"score", one.score},
                     {"target", one.target},
                     {"tokens", one.tokens},
                     {"formula", one.formula},
                     {"method", one.method},
                     {"mixing", mixing_json(one.mixing)},
                     {"layer", layer_json(one.layer)}});
    cells.back().update(summary_json(one.summary));
  }
  return cells;
}

}  // namespace

std::string evaluation_json(const CorrelationReport& report) {
  Json document;
  document["format"] = "attnflow-correlations";
  document["version"] = kCorrelationsVersion;
  document["task"] = report.task;
  document["settings"] = options_json(report.options);
  document["model"] = internal::named_model_json(report.model);
  document["model"]["labels"] = report.labels;
  document["data"] = data_json(report.data);
  document["blank"] = {{"piece", report.blank}, {"already_blank", report.already_blank}};
  document["accuracy"] = Json::array();
  for (const Accuracy& one : report.accuracy) {
    document["accuracy"].push_back({{"group", one.group},
                                    {"correct", one.correct},
                                    {"count", one.count},
                                    {"accuracy", one.share()},
                                    {"low", one.interval.low},
                                    {"high", one.interval.high}});
  }
  document["scores"] = Json::array();
  for (const ScoreName& one : report.scores) {
    document["scores"].push_back({{"score", one.score}, {"target", one.target}});
  }
  document["impossible_mixings"] = Json(report.impossible);
  document["series"] = Json::array();
  for (const CorrelationSeries& one : report.series) {
    document["series"].push_back({{"method", one.method}, {"mixing", mixing_json(one.mixing)}});
  }
  document["cells"] = cells_json(report);
  document["comparisons"] = Json::array();
  for (const MethodComparison& one : report.comparisons) document["comparisons"].push_back(comparison_json(one));
  document["degeneracy"] = Json::array();
  for (const MixingDegeneracy& one : report.degeneracy) {
    document["degeneracy"].push_back({{"mixing", to_text(one.mixing)},
                                      {"layer", one.layer},
                                      {"values", one.values},
                                      {"first_layer_column", one.first_layer_column},
                                      {"top_row", one.top_row}});
  }
  document["own_share"] = Json::array();
  for (const OwnShare& one : report.own_share) {
    document["own_share"].push_back(
        {{"method", one.method}, {"mixing", to_text(one.mixing)}, {"layer", one.layer}, {"mean", one.mean}});
  }
  document["notes"] = internal::notes_json(report.notes);
  if (report.options.keep_samples) {
    document["samples"] = Json::array();
    for (const SampleRecord& one : report.samples) document["samples"].push_back(sample_json(report, one));
  }
  return document_text(document);
}

std::string evaluation_csv(const CorrelationReport& report) {
  return records_csv(cells_json(report), {"relevance", "score", "target", "tokens", "formula", "method", "mixing",
                                          "layer", "mean", "std", "low", "high", "count", "left_out"});
}

}  // namespace attnflow
