#include "attnflow/explain/explain_options.h"

#include <fmt/format.h>

#include <cmath>

#include "attnflow/base/error.h"

namespace attnflow {

void check_options(const ExplainOptions& options) {
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
