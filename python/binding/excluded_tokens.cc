// Filters of tokens compare words and match regular expressions by a Rust library, which the package does without.
#include "attnflow/analysis/generate/excluded_tokens.h"

namespace attnflow {

std::vector<ExcludedTokens> excluded_tokens(const InputText& /*input*/, const TokenFilterOptions& /*filter*/) {
  return {};
}

}  // namespace attnflow
