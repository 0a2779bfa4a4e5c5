// Flows of single pairs with their proofs, for a report.
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "attnflow/attribution/option.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/attribution/source.h"
#include "attnflow/report/report.h"

namespace attnflow {

// A pair as the user wrote it, such as "cls,5".
struct CertificatePair {
  OutputToken output_token;  // neither kAll nor kText
  OutputToken input_token;   // likewise, and not kAuto
  friend bool operator==(const CertificatePair&, const CertificatePair&) = default;
};

// The conversions of the option certificate; texts that are no pair throw Error(kUsage).
OptionValue to_value(const std::vector<CertificatePair>& pairs);
void from_value(const OptionValue& from, std::vector<CertificatePair>& pairs);

struct CertifiedPair {
  std::size_t output_token = 0;
  std::size_t input_token = 0;
};

// The asked pairs as positions. Throws Error(kUsage) for tokens that do not exist and repeated pairs.
std::vector<CertifiedPair> certified_pairs(const std::vector<CertificatePair>& asked,
                                           const std::vector<InputToken>& tokens, bool causal);

// From the last of report.settings.layers down to start_layer.
void add_certificates(Report& report, GraphSource& source, const std::vector<CertifiedPair>& pairs,
                      std::stop_token stop_token);

}  // namespace attnflow
