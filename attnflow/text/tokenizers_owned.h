// Owners of the objects that the C ABI in tokenizers_abi.h returns.
#ifndef ATTNFLOW_TEXT_TOKENIZERS_OWNED_H_
#define ATTNFLOW_TEXT_TOKENIZERS_OWNED_H_

#include <memory>

#include "attnflow/text/tokenizers_abi.h"

namespace attnflow::internal {

struct TokenizersDeleter {
  void operator()(attnflow_tokenizer* object) const { attnflow_tokenizer_free(object); }
  void operator()(attnflow_encoding* object) const { attnflow_encoding_free(object); }
  void operator()(attnflow_string* object) const { attnflow_string_free(object); }
  void operator()(attnflow_pattern* object) const { attnflow_pattern_free(object); }
};

template <typename T>
using Owned = std::unique_ptr<T, TokenizersDeleter>;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_TOKENIZERS_OWNED_H_
