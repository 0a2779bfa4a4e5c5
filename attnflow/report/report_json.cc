// The writing half of report_json.h; report_json_read.cc is the other.
#include "attnflow/report/report_json.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>
#include <span>

#include "attnflow/attribution/note.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_json_parts.h"

namespace attnflow {
namespace internal {

bool graph_equals_raw_by_rule(const Report& report) {
  const std::size_t n = report.input.tokens.size();
  const auto counts_from = [](const std::vector<std::size_t>& values, std::size_t first, std::size_t count) {
    if (values.size() != count) return false;
    for (std::size_t i = 0; i < count; ++i) {
      if (values[i] != first + i) return false;
    }
    return true;
  };
  return !report.generation && !report.raw.empty() && !report.settings.heads.is_single() &&
         counts_from(report.settings.layers, 1, report.model.layers) && counts_from(report.output_tokens, 0, n);
}

}  // namespace internal

namespace {

using internal::ArrayWriter;
using internal::choices_json;
using internal::Json;
using internal::valid_utf8;

Json target_json(const ReportTarget& target) {
  Json json = {{"kind", valid_utf8(target.kind)},
               {"label", valid_utf8(target.label)},
               {"index", target.index},
               {"logit", target.logit}};
  if (target.position) json["position"] = *target.position;
  if (!target.against) return json;
  json["against"] = {{"label", valid_utf8(target.against->label)}, {"logit", target.against->logit}};
  if (target.against->index) json["against"]["index"] = *target.against->index;
  return json;
}

Json prediction_json(const ReportPrediction& prediction) {
  Json json = Json::object();
  json["kind"] = valid_utf8(prediction.kind);
  if (prediction.position) json["position"] = *prediction.position;
  json["choices"] = choices_json(prediction.choices);
  json["candidates"] = choices_json(prediction.candidates);
  return json;
}

Json image_json(const ReportImage& image) {
  std::string data;
  base64_append(data, std::as_bytes(std::span(image.png)));
  Json json = {{"name", valid_utf8(image.name)},
               {"width", image.width},
               {"height", image.height},
               {"rows", image.rows},
               {"columns", image.columns},
               {"first_patch", image.first_patch},
               {"seen", {image.left, image.top, image.right, image.bottom}}};
  if (image.input_channels > 0) {
    json["model_input"] = {
        {"width", image.input_width}, {"height", image.input_height}, {"channels", image.input_channels}};
  }
  json["picture"] = {
      {"width", image.png_width}, {"height", image.png_height}, {"encoding", "png+base64"}, {"data", std::move(data)}};
  return json;
}

Json certificate_json(const ReportCertificate& certificate) {
  Json shares = Json::array();
  for (const CutShare& share : certificate.cut_shares) {
    shares.push_back(
        {{"layer", share.layer}, {"arcs", share.arcs}, {"capacity", share.capacity}, {"share", share.share}});
  }
  Json cut = Json::array();
  for (const ReportCutArc& arc : certificate.minimum_cut) {
    cut.push_back(Json::array({arc.layer, arc.from, arc.to, arc.capacity}));
  }
  Json flows = Json::array();
  for (const FlowArc& arc : certificate.arc_flows) {
    flows.push_back(Json::array({arc.layer, arc.from, arc.to, arc.units}));
  }
  return {{"layer", certificate.layer},
          {"start_layer", certificate.start_layer},
          {"output_token", certificate.output_token},
          {"input_token", certificate.input_token},
          {"flow", certificate.flow},
          {"flow_gap", certificate.flow_gap},
          {"checked",
           {{"feasible", certificate.feasible},
            {"conserves", certificate.conserves},
            {"separates", certificate.separates},
            {"low", certificate.low},
            {"high", certificate.high},  // null when infinite
            {"problem", valid_utf8(certificate.problem)}}},
          {"cut_shares", std::move(shares)},
          {"only_minimum_cut", certificate.only_minimum_cut},
          {"minimum_cut", std::move(cut)},
          {"unit_exponent", certificate.unit_exponent},
          {"arc_flows", std::move(flows)}};
}

// Into `json`: what belongs to no token, and what all adds up to.
void add_sum(const MethodScores& scores, std::size_t prediction, Json& json) {
  const ScoreSum& sum = scores.sums[prediction];
  Json parts = Json::array();
  for (const ScorePart& part : sum.parts) parts.push_back({{"name", valid_utf8(part.name)}, {"value", part.value}});
  json["parts"] = std::move(parts);
  if (!sum.total) return;
  json["total"] = *sum.total;
  json["error"] = scores.error(prediction);
}

Json scores_json(const Report& report) {
  Json json = Json::array();
  for (const MethodScores& scores : report.scores) {
    Json& one = json.emplace_back(Json{{"method", to_text(scores.method)}});
    if (!report.generation) {
      add_sum(scores, 0, one);
      continue;
    }
    Json& sums = one["sums"] = Json::array();
    for (std::size_t t = 0; t < scores.sums.size(); ++t) add_sum(scores, t, sums.emplace_back());
  }
  return json;
}

Json agreement_json(const BlankOutAgreement& agreement) {
  Json maps = Json::array();
  for (const MapAgreement& map : agreement.maps) {
    Json& one = maps.emplace_back(Json{{"method", to_text(map.method)}});
    if (map.layer) one["layer"] = *map.layer;
    if (map.rank_correlation) one["rank_correlation"] = *map.rank_correlation;
    one["first_token"] = map.first_token;
    one["blanked_value"] = map.blanked_value;
    if (!map.decisive_token) continue;
    one["decisive_token"] = *map.decisive_token;
    one["decisive_value"] = map.decisive_value;
  }
  return {{"quantity", valid_utf8(agreement.quantity)},
          {"value", agreement.value},
          {"blank", valid_utf8(agreement.blank)},
          {"maps", std::move(maps)}};
}

Json generation_json(const Generation& generation) {
  Json tokens = Json::array();
  for (const GeneratedToken& token : generation.tokens) {
    tokens.push_back({{"id", token.id},
                      {"text", valid_utf8(token.text)},
                      {"begin", token.begin},
                      {"end", token.end},
                      {"special", token.special},
                      {"probability", token.probability},
                      {"choices", choices_json(token.choices)}});
    if (token.target) tokens.back()["target"] = target_json(*token.target);
    if (token.agreement) tokens.back()["agreement"] = agreement_json(*token.agreement);
  }
  Json excluded = Json::array();
  for (const ExcludedTokens& rule : generation.excluded) {
    excluded.push_back({{"rule", valid_utf8(rule.rule)}, {"tokens", rule.tokens}});
  }
  return {{"text", valid_utf8(generation.text)},
          {"stopped", generation.stopped},
          {"given", generation.given},
          {"chat", generation.chat},
          {"temperature", generation.sampling.temperature},
          {"top_p", generation.sampling.top_p},
          {"seed", generation.sampling.seed},
          {"tokens", std::move(tokens)},
          {"excluded", std::move(excluded)}};
}

}  // namespace

std::string internal::report_head(const Report& report, const std::vector<Note>& more_notes) {
  std::string out = "{";
  auto field = [&](std::string_view name, const Json& value) { internal::append_field(out, name, value); };
  field("format", "attnflow-report");
  field("version", kReportVersion);
  field("settings", internal::settings_json(report.settings));
  field("model", internal::model_json(report.model));
  Json tokens = Json::array();
  for (const InputToken& token : report.input.tokens) tokens.push_back(internal::token_json(token));
  Json input = {{"kind", valid_utf8(report.input.kind)},
                {"text", valid_utf8(report.input.text)},
                {"text_pair", valid_utf8(report.input.text_pair)},
                {"tokens", std::move(tokens)}};
  if (report.input.image) input["image"] = image_json(*report.input.image);
  field("input", input);
  Json predictions = Json::array();
  for (const ReportPrediction& prediction : report.predictions) predictions.push_back(prediction_json(prediction));
  field("predictions", predictions);
  if (report.target) field("target", target_json(*report.target));
  field("output_token", report.output_token);
  field("all_output_tokens", report.all_output_tokens);
  field("output_tokens", report.output_tokens);
  field("flow_output_tokens", report.flow_output_tokens);
  if (!report.flow_layers.empty()) field("flow_layers", report.flow_layers);
  if (!report.flow_gap.empty()) {
    // A summary for readers that take no flow_gap array; a NaN gap would not compare, and must not pass for a small
    // one.
    double largest = 0.0;
    for (const double gap : report.flow_gap.span()) largest = gap <= largest ? largest : gap;
    field("flow_gap_max", largest);
  }
  if (!report.scores.empty()) field("scores", scores_json(report));
  if (report.agreement) field("agreement", agreement_json(*report.agreement));
  if (!report.certificates.empty()) {
    Json certificates = Json::array();
    for (const ReportCertificate& certificate : report.certificates) {
      certificates.push_back(certificate_json(certificate));
    }
    field("certificates", certificates);
  }
  if (!report.referents.empty()) {
    Json referents = Json::array();
    for (const ReportReferent& referent : report.referents) {
      referents.push_back({{"text", valid_utf8(referent.text)}, {"tokens", referent.tokens}});
    }
    field("referents", referents);
  }
  if (report.generation) field("generation", generation_json(*report.generation));
  std::vector<Note> notes = report.notes;
  notes.insert(notes.end(), more_notes.begin(), more_notes.end());
  field("notes", internal::notes_json(notes));
  return out;
}

std::string report_to_json(const Report& report, const ReportJsonOptions& options) {
  std::string out = internal::report_head(report);
  out += ",\n\"arrays\": {";
  ArrayWriter arrays(out, options);
  const bool raw_written = std::find(options.omit.begin(), options.omit.end(), "raw") == options.omit.end();
  internal::for_each_array(report, [&](const std::string& name, const auto& values, const auto&) {
    if (name == "attention" && !options.attention) return;
    if (name == "graph" && raw_written && internal::graph_equals_raw_by_rule(report) && report.graph == report.raw) {
      return;
    }
    arrays.write(name, values);
  });
  out += "}\n}\n";
  return out;
}

void write_report_json(const std::filesystem::path& path, const Report& report, const ReportJsonOptions& options) {
  write_file(path, report_to_json(report, options));
}

}  // namespace attnflow
