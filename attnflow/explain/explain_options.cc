#include "attnflow/explain/explain_options.h"

#include <fmt/format.h>

#include <cmath>

#include "attnflow/base/error.h"

namespace attnflow {

namespace {

void check_row_options(const ExplainOptions& options) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUsage, fmt::format("--only-output-token: expected {}", what));
  };
  if (!options.certificates.empty()) refuse("no --certificate, which needs the matrices of all layers, found one");
  if (options.keep_attention) refuse("no --keep-attention, which keeps the full matrices, found both");
  if (options.settings.output_token.kind == OutputToken::Kind::kAll) refuse("one --output-token, found all");
}

}  // namespace

void leave_out_flow(ExplainOptions& options, bool names_methods) {
  if (options.only_output_token && !names_methods) options.settings.methods = {Method::kRaw, Method::kRollout};
}

void check_options(const ExplainOptions& options) {
  if (options.only_output_token) check_row_options(options);
  if (!(options.max_flow_seconds >= 0.0) || std::isinf(options.max_flow_seconds)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--max-flow-seconds: expected a number of at least 0, found {}", options.max_flow_seconds));
  }
  if (!options.settings.words || !options.keep_attention) return;
  throw Error(ErrorKind::kUsage,
              "--words and --keep-attention are mutually exclusive: the attention is between subword tokens and "
              "would not match the words");
}

}  // namespace attnflow
