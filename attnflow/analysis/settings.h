// From the words of the options to the values that the modules take.
#ifndef ATTNFLOW_ANALYSIS_SETTINGS_H_
#define ATTNFLOW_ANALYSIS_SETTINGS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Whether a method ("raw", "rollout", "flow") is to be computed.
bool wants(const ReportSettings& settings, const std::string& method);

// The method of a name that validate_settings() accepts.
Method method_of(const std::string& name);

// "0,3,17" -> positions; throws Error(kUsage) naming `option`.
std::vector<std::size_t> parse_positions(const std::string& text, const std::string& option);

// "1-6", "4", "1,3,5-6" -> layers; "" -> none. Throws Error(kUsage).
std::vector<std::size_t> parse_layers(const std::string& text);

// Mixing options for a given input. Throws Error(kUsage) for heads, columns or shares that are out of range, and for
// settings.mixing other than attention (analysis/gradient_graph.h).
MixingOptions mixing_options(const ReportSettings& settings, const std::vector<ReportToken>& tokens, std::size_t heads);

// Mask tokens and class tokens are known by their pieces.
bool is_mask_piece(const std::string& piece);
bool is_class_piece(const std::string& piece);
// So is the token that stands for what the vocabulary lacks.
bool is_unknown_piece(const std::string& piece);

// False for auto, cls, mask, last, all and positions: what `--output-token` takes besides is the text of a token
// (text_words.h).
bool names_token_by_text(const std::string& output_token);

// The output token that `asked` names: auto, cls, mask, last, all, or an index ("all" gives what auto gives). `note`
// gets a sentence when auto had to guess. Throws Error(kUsage) when there is no such token.
std::size_t resolve_output_token(const std::string& asked, const std::vector<ReportToken>& tokens, bool causal,
                                 std::vector<std::string>& notes);

// The position that one token of `option` means: auto, cls, mask, last or an index. Throws Error(kUsage).
std::size_t resolve_token(const std::string& asked, const std::string& option, const std::vector<ReportToken>& tokens,
                          bool causal, std::vector<std::string>& notes);

// "cls,5" -> the two parts, which are checked as far as they can be without an input. Throws Error(kUsage).
struct CertificatePair {
  std::string output_token;  // as resolve_output_token, without all
  std::string input_token;   // the same, without auto
};
CertificatePair parse_certificate(const std::string& text);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_SETTINGS_H_
