// Certificates of a report in words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

struct CertificateText {
  std::string title;                   // the pair, and its flow
  std::vector<std::string> sentences;  // how it was checked; where the minimum cut lies
  std::vector<std::string> arcs;       // the settings.top_k largest arcs of the cut, by falling capacity
};

// Each on one line, safe to print.
CertificateText certificate_text(const Report& report, const ReportCertificate& certificate, std::string_view ellipsis);

}  // namespace attnflow
