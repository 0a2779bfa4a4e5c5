#include "attnflow/graph/globenc_contributions.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"

namespace attnflow::internal {

void check_globenc(const LayerTerms& terms) {
  if (!terms.norm.scale.empty() && !terms.feed_forward_norm.scale.empty()) return;
  throw Error(ErrorKind::kUnsupportedModel,
              fmt::format("mixing globenc: expected layers with a norm after attention and one after the "
                          "feed-forward network, as in BERT, found layer {} without; choose --mixing norm or alti",
                          terms.layer));
}

Tensor<double> globenc_contributions(const LayerTerms& terms, std::size_t threads, GramBlocks& grams) {
  check_globenc(terms);
  return norm_contributions(contribution_layer(terms, FoldedNorms::kBoth, "globenc", threads), grams);
}

}  // namespace attnflow::internal
