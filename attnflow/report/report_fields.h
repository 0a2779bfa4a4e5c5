// The fields of a document's objects, for the writer (report_json_parts.h) and the reader (report_json_read.cc);
// internal.
//
// fields(visit, object) calls, in the document's order, visit(name, member) for optional fields, visit.required(name,
// member) for the others, visit.object(name, fields) for a nested object, and visit.arcs(name, arcs, value) for arcs of
// the graph, [layer, from, to, value]. Optional members are written if they have a value; visit.derived(name, make) is
// only written. visit.has(name, written) returns whether the field is present, or `written` in a writer.
#pragma once

#include <concepts>
#include <type_traits>

#include "attnflow/report/report.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow::internal {

template <typename T, typename Object>
concept Either = std::same_as<std::remove_const_t<T>, Object>;

void fields(auto& visit, Either<ReportModel> auto& model) {
  visit("name", model.name);
  visit("architecture", model.architecture);
  visit("layers", model.layers);
  visit("heads", model.heads);
  visit("causal", model.causal);
}

void fields(auto& visit, Either<InputToken> auto& token) {
  visit.required("text", token.text);
  visit("begin", token.begin);
  visit("end", token.end);
  visit("special", token.special);
  visit("word", token.word);
  visit("segment", token.segment);
  if (visit.has("unknown", token.unknown)) visit("unknown", token.unknown);
  if (visit.has("role", !token.role.empty())) visit("role", token.role);
}

// All but the image.
void fields(auto& visit, Either<ReportInput> auto& input) {
  visit("kind", input.kind);
  visit("text", input.text);
  visit("text_pair", input.text_pair);
  visit.required("tokens", input.tokens);
}

void fields(auto& visit, Either<ReportChoice> auto& choice) {
  visit.required("label", choice.label);
  visit.required("probability", choice.probability);
  visit("id", choice.id);
}

void fields(auto& visit, Either<ReportPrediction> auto& prediction) {
  visit("kind", prediction.kind);
  visit("position", prediction.position);
  visit("choices", prediction.choices);
  visit("candidates", prediction.candidates);
}

void fields(auto& visit, Either<ReportOther> auto& other) {
  visit.required("label", other.label);
  visit.required("index", other.index);
  visit.required("logit", other.logit);
}

void fields(auto& visit, Either<ReportAgainst> auto& against) {
  visit("label", against.label);
  visit("logit", against.logit);
  visit("index", against.index);
  visit("others", against.others);
}

void fields(auto& visit, Either<ReportTarget> auto& target) {
  visit("kind", target.kind);
  visit("label", target.label);
  visit("index", target.index);
  visit("logit", target.logit);
  visit("position", target.position);
  visit("against", target.against);
  visit.derived("title", [&] { return target_title(target); });
  visit.derived("quantity", [&] { return target_quantity(target); });
}

void fields(auto& visit, Either<ScorePart> auto& part) {
  visit.required("name", part.name);
  visit.required("value", part.value);
}

void fields(auto& visit, Either<ScoreSum> auto& sum) {
  visit("parts", sum.parts);
  visit("total", sum.total);
}

void fields(auto& visit, Either<TriedReplacement> auto& tried) {
  visit.required("text", tried.text);
  visit("fit", tried.fit);
  visit.required("value", tried.value);
}

void fields(auto& visit, Either<CheckedToken> auto& checked) {
  visit.required("token", checked.token);
  visit.required("drop", checked.drop);
  visit("spread", checked.spread);
  visit("replacements", checked.replacements);
}

void fields(auto& visit, Either<MapCheck> auto& map) {
  visit.required("method", map.method);
  visit("layer", map.layer);
  visit("rank_correlation", map.rank_correlation);
  visit("compared", map.compared);
  visit.required("first_token", map.first_token);
  visit("decisive_token", map.decisive_token);
  visit("unchecked_token", map.unchecked_token);
}

void fields(auto& visit, Either<ReportCheck> auto& check) {
  visit("quantity", check.quantity);
  visit.required("value", check.value);
  visit("blank", check.blank);
  visit("reliability", check.reliability);
  visit("left_out", check.left_out);
  visit("irreplaceable", check.irreplaceable);
  visit.required("tokens", check.tokens);
  visit.required("maps", check.maps);
}

void fields(auto& visit, Either<ReportCurve> auto& curve) {
  visit.required("order", curve.order);
  visit.required("steps", curve.steps);
  visit.required("insertion", curve.insertion);
  visit.required("deletion", curve.deletion);
}

void fields(auto& visit, Either<CutShare> auto& share) {
  visit.required("layer", share.layer);
  visit("arcs", share.arcs);
  visit("capacity", share.capacity);
  visit("share", share.share);
}

void fields(auto& visit, Either<ReportCertificate> auto& certificate) {
  visit.required("layer", certificate.layer);
  visit("start_layer", certificate.start_layer);
  visit.required("output_token", certificate.output_token);
  visit.required("input_token", certificate.input_token);
  visit("flow", certificate.flow);
  visit("flow_gap", certificate.flow_gap);
  visit.object("checked", [&](auto& checked) {
    checked("feasible", certificate.feasible);
    checked("conserves", certificate.conserves);
    checked("separates", certificate.separates);
    checked("low", certificate.low);
    checked("high", certificate.high);  // null when infinite
    checked("problem", certificate.problem);
  });
  visit("cut_shares", certificate.cut_shares);
  visit("only_minimum_cut", certificate.only_minimum_cut);
  visit.arcs("minimum_cut", certificate.minimum_cut, &ReportCutArc::capacity);
  visit("unit_exponent", certificate.unit_exponent);
  visit.arcs("arc_flows", certificate.arc_flows, &FlowArc::units);
}

void fields(auto& visit, Either<ReportReferent> auto& referent) {
  visit("text", referent.text);
  visit.required("tokens", referent.tokens);
}

void fields(auto& visit, Either<GeneratedToken> auto& token) {
  visit("id", token.id);
  visit.required("text", token.text);
  visit("begin", token.begin);
  visit("end", token.end);
  visit("special", token.special);
  visit("probability", token.probability);
  visit("choices", token.choices);
  visit("target", token.target);
  visit("check", token.check);
}

void fields(auto& visit, Either<ExcludedTokens> auto& excluded) {
  visit.required("rule", excluded.rule);
  visit.required("tokens", excluded.tokens);
}

void fields(auto& visit, Either<Generation> auto& generation) {
  visit.required("text", generation.text);
  visit("stopped", generation.stopped);
  visit("given", generation.given);
  visit("chat", generation.chat);
  visit("temperature", generation.sampling.temperature);
  visit("top_p", generation.sampling.top_p);
  visit("seed", generation.sampling.seed);
  visit.required("tokens", generation.tokens);
  visit("excluded", generation.excluded);
}

}  // namespace attnflow::internal
