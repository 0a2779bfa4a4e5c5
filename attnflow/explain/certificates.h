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

// "cls,5" -> the two parts, which are checked as far as they can be without an input. Throws Error(kUsage).
struct CertificatePair {
  OutputToken output_token;  // not all, and no text
  OutputToken input_token;   // the same, and not auto
};
CertificatePair parse_certificate(const std::string& text);

struct CertifiedPair {
  std::size_t output_token = 0;
  std::size_t input_token = 0;
};

// The pairs that options.certificates name. Throws Error(kUsage) for tokens that are not there, a pair named twice, and
// for words: a word is a set of tokens, and its flow a mean of several.
std::vector<CertifiedPair> certified_pairs(const ExplainOptions& options, const std::vector<InputToken>& tokens,
                                           bool causal);

// Fills report.certificates: from the last of report.settings.layers down to start_layer.
void add_certificates(Report& report, GraphSource& source, const std::vector<CertifiedPair>& pairs,
                      const ExplainOptions& options);

}  // namespace attnflow
