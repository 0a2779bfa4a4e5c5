#include "attnflow/text/tokenizer.h"

#include <fmt/format.h>

#include <limits>
#include <span>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/text/tokenizer_files.h"
#include "attnflow/text/tokenizers_owned.h"
#include "attnflow/text/utf8.h"

namespace attnflow {
namespace {

using internal::Owned;

constexpr attnflow_text kAbsent = {nullptr, 0};

// Never absent, even when it is empty.
attnflow_text borrow(std::string_view text) {
  if (text.empty()) text = "";  // an empty view may point to nothing, and &""[0] does not
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::string copy(attnflow_text text) { return {reinterpret_cast<const char*>(text.data), text.size}; }

std::string copy(const Owned<attnflow_string>& string) {
  return string ? copy(attnflow_string_text(string.get())) : std::string();
}

// Collects the message of a call that may fail.
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

std::optional<std::uint32_t> as_id(std::int64_t id) {
  if (id < 0 || id > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(id);
}

void check_utf8(std::string_view text, std::string_view name) {
  const std::optional<std::size_t> offset = find_invalid_utf8(text);
  if (!offset) return;
  throw Error(ErrorKind::kUsage, fmt::format("the {} must be UTF-8, found byte 0x{:02X} at offset {}, which is not; "
                                             "convert it to UTF-8 first",
                                             name, static_cast<unsigned char>(text[*offset]), *offset));
}

EncodedToken to_token(const attnflow_token& token) {
  EncodedToken result;
  result.id = token.id;
  result.text = copy(token.text);
  if (token.in_text) {
    result.begin = token.begin;
    result.end = token.end;
    result.word = token.word;
  }
  result.special = token.special;
  result.segment = token.segment;
  result.type_id = token.type_id;
  return result;
}

}  // namespace

struct Tokenizer::Impl {
  Owned<attnflow_tokenizer> handle;
  std::string source;
  std::optional<std::int64_t> mask;

  [[noreturn]] void fail_to_encode(const std::string& reason) const {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a tokenizer that can encode any text, found: {}; "
                                                 "restore the file from the model's source",
                                                 source, reason));
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const Folder& folder, const std::string& model_type) {
  const internal::TokenizerDocument document = internal::read_tokenizer_document(folder, model_type);
  ErrorSlot error;
  auto impl = std::make_unique<Impl>();
  impl->source = document.source;
  impl->handle.reset(attnflow_tokenizer_from_json(borrow(document.json), borrow(document.specials), error.out()));
  if (!impl->handle) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a Hugging Face tokenizer, found: {}; "
                                                 "restore the file from the model's source",
                                                 document.source, error.message()));
  }
  Tokenizer tokenizer(std::move(impl));
  for (const std::string_view piece :
       {std::string_view(document.mask), std::string_view("[MASK]"), std::string_view("<mask>")}) {
    if (tokenizer.impl_->mask) break;
    if (!piece.empty()) tokenizer.impl_->mask = tokenizer.token_to_id(piece);
  }
  return tokenizer;
}

Encoding Tokenizer::encode(std::string_view text, const std::optional<std::string>& pair,
                           const EncodeOptions& options) const {
  check_utf8(text, "text");
  if (pair) check_utf8(*pair, "second text");
  const attnflow_tokenizer* handle = impl_->handle.get();
  if (options.max_tokens) {
    const std::size_t template_tokens = attnflow_tokenizer_template_tokens(handle, pair.has_value());
    if (*options.max_tokens < template_tokens) {
      throw Error(ErrorKind::kUsage, fmt::format("expected room for at least the {} special tokens around the text, "
                                                 "found a limit of {} tokens; raise the limit",
                                                 template_tokens, *options.max_tokens));
    }
  }
  ErrorSlot error;
  const Owned<attnflow_encoding> encoded(
      attnflow_tokenizer_encode(handle, borrow(text), pair ? borrow(*pair) : kAbsent,
                                options.max_tokens.value_or(std::numeric_limits<std::size_t>::max()), error.out()));
  if (!encoded) impl_->fail_to_encode(error.message());

  Encoding result;
  result.truncated = attnflow_encoding_truncated(encoded.get());
  const std::span<const attnflow_token> tokens(attnflow_encoding_tokens(encoded.get()),
                                               attnflow_encoding_size(encoded.get()));
  result.tokens.reserve(tokens.size());
  for (const attnflow_token& token : tokens) result.tokens.push_back(to_token(token));
  return result;
}

std::size_t Tokenizer::vocabulary_size() const { return attnflow_tokenizer_vocabulary_size(impl_->handle.get()); }

std::size_t Tokenizer::id_limit() const { return attnflow_tokenizer_id_limit(impl_->handle.get()); }

std::optional<std::int64_t> Tokenizer::token_to_id(std::string_view piece) const {
  std::uint32_t id = 0;
  if (!attnflow_tokenizer_token_to_id(impl_->handle.get(), borrow(piece), &id)) return std::nullopt;
  return id;
}

std::optional<std::string> Tokenizer::id_to_token(std::int64_t id) const {
  const std::optional<std::uint32_t> small = as_id(id);
  if (!small) return std::nullopt;
  const attnflow_text piece = attnflow_tokenizer_piece(impl_->handle.get(), *small);
  if (piece.data == nullptr) return std::nullopt;
  return copy(piece);
}

std::vector<std::int64_t> Tokenizer::word_to_ids(std::string_view word) const {
  check_utf8(word, "word");
  std::vector<std::uint32_t> ids(16);
  for (;;) {
    ErrorSlot error;
    std::size_t count = 0;
    if (!attnflow_tokenizer_word_to_ids(impl_->handle.get(), borrow(word), ids.data(), ids.size(), &count,
                                        error.out())) {
      impl_->fail_to_encode(error.message());
    }
    const bool complete = count <= ids.size();
    ids.resize(count);
    if (complete) return {ids.begin(), ids.end()};
  }
}

std::optional<std::int64_t> Tokenizer::mask_id() const { return impl_->mask; }

std::string Tokenizer::readable(std::int64_t id) const {
  const std::optional<std::uint32_t> small = as_id(id);
  const Owned<attnflow_string> text(small ? attnflow_tokenizer_readable(impl_->handle.get(), *small) : nullptr);
  // Models may have more rows than the tokenizer has pieces; such an id can still win a prediction.
  return text ? copy(text) : fmt::format("<id {}>", id);
}

std::string Tokenizer::source() const { return impl_->source; }

}  // namespace attnflow
