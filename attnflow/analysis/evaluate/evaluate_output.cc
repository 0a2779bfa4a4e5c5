#include "attnflow/analysis/evaluate/evaluate_output.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/attribution/note.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

Json layer_json(std::size_t layer) { return layer > 0 ? Json(layer) : Json(); }

Json settings_json(const CorrelationOptions& options) {
  const Settings& settings = options.settings;
  return {{"method", to_texts(settings.methods)},
          {"mixing", to_texts(options.mixings)},
          {"heads", to_text(settings.heads)},
          {"residual", settings.residual},
          {"discard", settings.discard},
          {"discard_keep_special", settings.discard_keep_special},
          {"mask_columns", to_text(settings.column_mask)},
          {"layers", settings.layers},
          {"start_layer", settings.start_layer},
          {"output_token", to_text(settings.output_token)},
          {"flow_tolerance", settings.flow_tolerance},
          {"scores", options.scores},
          {"targets", options.targets},
          {"relevance", options.relevance},
          {"blank", options.blank},
          {"samples", options.samples},
          {"seed", options.seed},
          {"resamples", options.resamples},
          {"confidence", options.confidence},
          {"truncate", options.truncate}};
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

void add_summary(Json& json, const Summary& summary) {
  json["mean"] = summary.mean;
  json["std"] = summary.std;
  json["median"] = summary.median;
  json["low"] = summary.low;
  json["high"] = summary.high;
  json["count"] = summary.count;
  json["left_out"] = summary.left_out;
}

Json comparison_json(const MethodComparison& one) {
  Json json = {{"relevance", one.relevance}, {"score", one.score},   {"target", one.target}, {"tokens", one.tokens},
               {"first", one.first},         {"second", one.second}, {"layer", one.layer}};
  json["first_mixing"] = to_text(one.first_mixing);
  json["second_mixing"] = to_text(one.second_mixing);
  add_summary(json, one.comparison.difference);
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

// Top-level keys and the elements of lists of objects get lines of their own.
std::string dump(const Json& document) {
  std::string text = "{\n";
  std::size_t left = document.size();
  for (const auto& [key, value] : document.items()) {
    text += Json(key).dump() + ": ";
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      text += "[\n";
      for (std::size_t i = 0; i < value.size(); ++i) text += value[i].dump() + (i + 1 < value.size() ? ",\n" : "\n");
      text += "]";
    } else {
      text += value.dump();
    }
    text += --left > 0 ? ",\n" : "\n";
  }
  return text + "}\n";
}

std::string number(double value) { return std::isnan(value) ? "" : Json(value).dump(); }

}  // namespace

std::string correlations_json(const CorrelationReport& report) {
  Json document;
  document["format"] = "attnflow-correlations";
  document["version"] = kCorrelationsVersion;
  document["task"] = report.task;
  document["settings"] = settings_json(report.options);
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
  document["cells"] = Json::array();
  for (const CorrelationCell& one : report.cells) {
    Json json = {{"relevance", one.relevance},
                 {"score", one.score},
                 {"target", one.target},
                 {"tokens", one.tokens},
                 {"formula", one.formula},
                 {"method", one.method},
                 {"mixing", mixing_json(one.mixing)},
                 {"layer", layer_json(one.layer)}};
    add_summary(json, one.summary);
    document["cells"].push_back(std::move(json));
  }
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
  return dump(document);
}

std::string correlations_csv(const CorrelationReport& report) {
  std::string text = "relevance,score,target,tokens,formula,method,mixing,layer,mean,std,low,high,count,left_out\n";
  for (const CorrelationCell& one : report.cells) {
    const Summary& summary = one.summary;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", one.relevance, one.score, csv_field(one.target),
                        one.tokens, one.formula, one.method, mixing_text(one.mixing),
                        one.layer > 0 ? std::to_string(one.layer) : "", number(summary.mean), number(summary.std),
                        number(summary.low), number(summary.high), summary.count, summary.left_out);
  }
  return text;
}

void write_correlations(const std::filesystem::path& path, const CorrelationReport& report) {
  write_evaluation(path, report, correlations_json, correlations_csv, correlations_markdown);
}

}  // namespace attnflow
