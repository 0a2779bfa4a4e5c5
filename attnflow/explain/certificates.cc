#include "attnflow/explain/certificates.h"

#include <algorithm>
#include <cmath>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/format_error.h"
#include "attnflow/flow/pair_flow.h"

namespace attnflow {
namespace {

// Multiplies capacities and flows by `unit`, a power of two, after checking them.
ReportCertificate certificate_of(const LayeredNetwork& network, const CertifiedPair& pair, std::size_t start_layer,
                                 double unit) {
  const PairFlow flow = flow_of_pair(network, pair.output_token, pair.input_token);
  const PairFlow other =
      flow_of_pair(network, pair.output_token, pair.input_token, {.minimum_cut = MinimumCut::kNearestInput});
  ReportCertificate certificate;
  static_cast<FlowCertificate&>(certificate) = certify(network, pair.output_token, pair.input_token, flow);
  certificate.layer = start_layer + network.depth();
  certificate.start_layer = start_layer;
  certificate.output_token = pair.output_token;
  certificate.input_token = pair.input_token;
  certificate.flow = flow.flow;
  certificate.flow_gap = flow.flow_gap;
  // The network's layers count from 1, the graph's from the start layer.
  certificate.cut_shares = cut_shares(network, flow);
  for (CutShare& share : certificate.cut_shares) share.layer += start_layer;
  certificate.only_minimum_cut = other.minimum_cut == flow.minimum_cut;
  for (const FlowArc& arc : flow.minimum_cut) {
    certificate.minimum_cut.push_back(
        {start_layer + arc.layer, arc.from, arc.to, network.layers[arc.layer - 1](arc.from, arc.to)});
  }
  certificate.unit_exponent = flow.fixed_point.exponent;
  certificate.arc_flows = flow.arc_flows;
  for (FlowArc& arc : certificate.arc_flows) arc.layer += start_layer;
  for (double* const value : {&certificate.flow, &certificate.flow_gap, &certificate.low, &certificate.high}) {
    *value *= unit;
  }
  for (CutShare& share : certificate.cut_shares) share.capacity *= unit;
  for (ReportCutArc& arc : certificate.minimum_cut) arc.capacity *= unit;
  certificate.unit_exponent -= std::ilogb(unit);
  return certificate;
}

}  // namespace

CertificatePair parse_certificate(const std::string& text) {
  using Kind = OutputToken::Kind;
  const std::size_t comma = text.find(',');
  CertificatePair pair;
  if (comma > 0 && comma != std::string::npos && comma + 1 < text.size()) {
    pair = {parse_output_token(text.substr(0, comma)), parse_output_token(text.substr(comma + 1))};
    const auto among = [](Kind kind, std::initializer_list<Kind> kinds) {
      return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    };
    if (among(pair.output_token.kind, {Kind::kAuto, Kind::kClass, Kind::kMask, Kind::kLast, Kind::kPosition}) &&
        among(pair.input_token.kind, {Kind::kClass, Kind::kMask, Kind::kLast, Kind::kPosition})) {
      return pair;
    }
  }
  throw internal::usage_error(
      "--certificate: expected an output token (auto, cls, mask, last or a position), a comma and an input token (cls, "
      "mask, last or a position), such as cls,5, found '{}'",
      text);
}

std::vector<CertifiedPair> certified_pairs(const ExplainOptions& options, const std::vector<InputToken>& tokens,
                                           bool causal) {
  std::vector<CertifiedPair> pairs;
  if (!options.certificates.empty() && options.settings.words) {
    throw internal::usage_error(
        "--certificate and --words are mutually exclusive: a certificate covers one flow between two tokens, and the "
        "flow between words is a mean of several");
  }
  std::vector<Note> guesses;  // discarded: the certificate names the token that auto found
  for (const std::string& text : options.certificates) {
    const CertificatePair asked = parse_certificate(text);
    const CertifiedPair pair{resolve_token(asked.output_token, "certificate", tokens, causal, guesses),
                             resolve_token(asked.input_token, "certificate", tokens, causal, guesses)};
    const auto same = [&](const CertifiedPair& other) {
      return other.output_token == pair.output_token && other.input_token == pair.input_token;
    };
    if (std::any_of(pairs.begin(), pairs.end(), same)) {
      throw internal::usage_error("--certificate: expected each pair once, found positions {},{} twice",
                                  pair.output_token, pair.input_token);
    }
    pairs.push_back(pair);
  }
  return pairs;
}

void add_certificates(Report& report, GraphSource& source, const std::vector<CertifiedPair>& pairs,
                      const ExplainOptions& options) {
  if (pairs.empty()) return;
  const LayeredNetwork network = source.network(report.settings.layers.back(), report.settings.start_layer);
  for (const CertifiedPair& pair : pairs) {
    if (options.stop_token.stop_requested()) throw Cancelled();
    report.certificates.push_back(certificate_of(network, pair, report.settings.start_layer, source.graph().unit));
  }
}

}  // namespace attnflow
