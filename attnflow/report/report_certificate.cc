#include "attnflow/report/report_certificate.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

std::string token_name(const Report& report, std::size_t token, std::string_view ellipsis) {
  constexpr std::size_t kMaxCells = 24;
  const std::string text = shorten(clean_line(display_text(report.input, token)), kMaxCells, ellipsis);
  return text.empty() ? std::to_string(token) : fmt::format("{} \"{}\"", token, text);
}

// 100% only for exactly all; 0% only for nothing.
std::string cut_percent(double share) {
  if (share <= 0.0 || share >= 1.0) return share <= 0.0 ? "0%" : "100%";
  if (share < 0.0005) return "under 0.1%";
  return share > 0.9995 ? "over 99.9%" : internal::percent(share, 1);
}

}  // namespace

CertificateText certificate_text(const Report& report, const ReportCertificate& certificate,
                                 std::string_view ellipsis) {
  CertificateText text;
  text.title = fmt::format(
      "Flow from output token {} of layer {} to input token {}{}: {:.6g}, {}",
      token_name(report, certificate.output_token, ellipsis), certificate.layer,
      token_name(report, certificate.input_token, ellipsis),
      certificate.start_layer == 0 ? std::string() : fmt::format(" of layer {}", certificate.start_layer),
      certificate.flow,
      certificate.flow_gap == 0.0 ? "exactly" : fmt::format("or at most {:.1e} more", certificate.flow_gap));
  if (certificate.holds()) {
    text.sentences.push_back(fmt::format(
        "Checked: a flow on {} respects every capacity and is conserved; removing a cut of {} with {} capacity leaves "
        "no path.",
        internal::counted(certificate.arc_flows.size(), "arc"),
        internal::counted(certificate.minimum_cut.size(), "arc"),
        certificate.high - certificate.low <= 1e-12 * certificate.high ? "the same" : "nearly the same"));
  } else {
    text.sentences.push_back("Not proven: " +
                             (certificate.problem.empty() ? "the report records no checked proof of this value"
                                                          : clean_line(certificate.problem)) +
                             ".");
  }
  if (certificate.minimum_cut.empty()) {
    if (certificate.holds()) text.sentences.emplace_back("No path connects the two tokens.");
    return text;
  }
  std::string shares;
  for (const CutShare& share : certificate.cut_shares) {
    if (share.arcs == 0) continue;
    shares += fmt::format("{}layer {} {} ({})", shares.empty() ? "" : ", ", share.layer, cut_percent(share.share),
                          internal::counted(share.arcs, "arc"));
  }
  text.sentences.push_back(fmt::format("{}: {}.",
                                       certificate.only_minimum_cut
                                           ? "The only minimum cut, by layer"
                                           : "The minimum cut nearest the output token (there are others), by layer",
                                       shares));
  std::vector<ReportCutArc> arcs = certificate.minimum_cut;
  std::stable_sort(arcs.begin(), arcs.end(),
                   [](const ReportCutArc& a, const ReportCutArc& b) { return a.capacity > b.capacity; });
  const std::size_t shown = std::min(arcs.size(), report.settings.top_k);
  for (std::size_t i = 0; i < shown; ++i) {
    text.arcs.push_back(fmt::format("layer {}: {} to {}, {:.6g}", arcs[i].layer,
                                    token_name(report, arcs[i].from, ellipsis),
                                    token_name(report, arcs[i].to, ellipsis), arcs[i].capacity));
  }
  if (shown < arcs.size()) text.arcs.push_back(fmt::format("and {} more", arcs.size() - shown));
  return text;
}

}  // namespace attnflow
