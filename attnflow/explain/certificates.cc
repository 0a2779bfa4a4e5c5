#include "attnflow/explain/certificates.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <variant>

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

CertificatePair parse_pair(const std::string& text) {
  using Kind = OutputToken::Kind;
  const std::size_t comma = text.find(',');
  std::vector<OutputToken> tokens;
  if (comma > 0 && comma != std::string::npos && comma + 1 < text.size()) {
    for (const std::string& part : {text.substr(0, comma), text.substr(comma + 1)}) {
      tokens.push_back(parse_output_token(part));
    }
  }
  const auto is_one = [](const OutputToken& token) { return token.kind != Kind::kAll && token.kind != Kind::kText; };
  if (tokens.empty() || !std::ranges::all_of(tokens, is_one) || tokens.back().kind == Kind::kAuto) {
    throw internal::usage_error(
        "--certificate: expected an output token (auto, cls, mask, last or a position), a comma and an input token "
        "(cls, mask, last or a position), such as cls,5, found '{}'",
        text);
  }
  return {std::move(tokens.front()), std::move(tokens.back())};
}

}  // namespace

OptionValue to_value(const std::vector<CertificatePair>& pairs) {
  std::vector<std::string> texts;
  for (const CertificatePair& pair : pairs)
    texts.push_back(to_text(pair.output_token) + "," + to_text(pair.input_token));
  return texts;
}

void from_value(const OptionValue& from, std::vector<CertificatePair>& pairs) {
  pairs.clear();
  for (const std::string& text : std::get<std::vector<std::string>>(from)) pairs.push_back(parse_pair(text));
}

std::vector<CertifiedPair> certified_pairs(const std::vector<CertificatePair>& asked,
                                           const std::vector<InputToken>& tokens, bool causal) {
  std::vector<CertifiedPair> pairs;
  std::vector<Note> guesses;  // discarded: the certificate names the token that auto found
  for (const CertificatePair& one : asked) {
    const CertifiedPair pair{resolve_token(one.output_token, "certificate", tokens, causal, guesses),
                             resolve_token(one.input_token, "certificate", tokens, causal, guesses)};
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
                      std::stop_token stop_token) {
  if (pairs.empty()) return;
  const LayeredNetwork network = source.network(report.settings.layers.back(), report.settings.start_layer);
  for (const CertifiedPair& pair : pairs) {
    if (stop_token.stop_requested()) throw Cancelled();
    report.certificates.push_back(certificate_of(network, pair, report.settings.start_layer, source.graph().unit));
  }
}

}  // namespace attnflow
