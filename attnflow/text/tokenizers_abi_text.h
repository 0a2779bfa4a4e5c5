// Helpers for callers of the C ABI in tokenizers_abi.h: owners of its objects, texts in and out, and error messages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

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

// The result is never absent, even if `text` is empty.
inline attnflow_text borrow(std::string_view text) {
  if (text.empty()) text = "";  // an empty view may point to null; &""[0] does not
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

inline std::string copy(attnflow_text text) { return {reinterpret_cast<const char*>(text.data), text.size}; }

inline std::string copy(const Owned<attnflow_string>& string) {
  return string ? copy(attnflow_string_text(string.get())) : std::string();
}

// Receives the error message of a call that may fail.
class ErrorSlot {
 public:
  ErrorSlot() = default;
  ErrorSlot(const ErrorSlot&) = delete;
  ErrorSlot& operator=(const ErrorSlot&) = delete;
  ~ErrorSlot() { attnflow_string_free(raw_); }
  attnflow_string** out() { return &raw_; }
  std::string message() const { return raw_ == nullptr ? "no reason given" : copy(attnflow_string_text(raw_)); }

 private:
  attnflow_string* raw_ = nullptr;
};

}  // namespace attnflow::internal
