// Flows of single pairs with their proofs, for a report.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/attribution/settings.h"
#include "attnflow/attribution/source.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Splits "cls,5" and checks the parts as far as possible without an input. Throws Error(kUsage).
struct CertificatePair {
  OutputToken output_token;  // neither kAll nor kText
  OutputToken input_token;   // likewise, and not kAuto
};
CertificatePair parse_certificate(const std::string& text);

struct CertifiedPair {
  std::size_t output_token = 0;
  std::size_t input_token = 0;
};

// The pairs named by options.certificates. Throws Error(kUsage) for tokens that do not exist, repeated pairs, and
// words: a word is a set of tokens, whose flow is a mean of several.
std::vector<CertifiedPair> certified_pairs(const ExplainOptions& options, const std::vector<InputToken>& tokens,
                                           bool causal);

// From the last of report.settings.layers down to start_layer.
void add_certificates(Report& report, GraphSource& source, const std::vector<CertifiedPair>& pairs,
                      const ExplainOptions& options);

}  // namespace attnflow
