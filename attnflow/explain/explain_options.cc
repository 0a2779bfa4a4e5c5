#include "attnflow/explain/explain_options.h"

#include "attnflow/base/error.h"

namespace attnflow {

void check_merging(const ExplainOptions& options) {
  if (!options.settings.words || !options.keep_attention) return;
  throw Error(ErrorKind::kUsage,
              "--words and --keep-attention are mutually exclusive: the attention is between subword tokens and "
              "would not match the words");
}

}  // namespace attnflow
