#include "attnflow/text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/chat_template.h"
#include "attnflow/text/declared_tokens.h"
#include "attnflow/text/tokenizer_document.h"
#include "attnflow/text/tokenizer_files.h"
#include "attnflow/text/tokenizer_settings.h"
#include "attnflow/text/tokenizers_abi_text.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::borrow;
using internal::copy;
using internal::ErrorSlot;
using internal::Owned;

constexpr attnflow_text kAbsent = {nullptr, 0};

std::optional<std::uint32_t> as_id(std::int64_t id) {
  if (id < 0 || id > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(id);
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

[[noreturn]] void fail_to_agree(const Folder& folder, std::string_view setting, const std::string& expected,
                                const std::string& found) {
  internal::fail_settings(
      folder.label("tokenizer_config.json"), expected, found,
      fmt::format("transformers would follow this file, other programs that one: change {} here or regenerate "
                  "tokenizer.json in Python with AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
                  setting));
}

// If transformers builds a folder's tokenizer with its own class, tokenizer_config.json overrides tokenizer.json; with
// the general class, tokenizer.json decides everything. So the two must agree.
void check_settings_agree(const Folder& folder, const attnflow_tokenizer* tokenizer) {
  if (!folder.has("tokenizer.json")) return;
  const internal::TokenizerSettings settings(folder);
  const std::string tokenizer_class = settings.tokenizer_class();
  if (tokenizer_class == "PreTrainedTokenizer" || tokenizer_class == "TokenizersBackend") return;
  const auto compare = [&](const char* key) {
    const std::optional<bool> said = settings.flag(key);
    const int found = attnflow_tokenizer_setting(tokenizer, borrow(key));
    if (!said || found < 0 || *said == (found != 0)) return;
    fail_to_agree(folder, key,
                  fmt::format("{} {}, as the tokenizer in {} does it", key, found != 0, folder.label("tokenizer.json")),
                  fmt::format("{}", *said));
  };
  compare("do_lower_case");
  compare("strip_accents");
  compare("tokenize_chinese_chars");
  // For Llama's class, this governs SentencePiece's spaces; transformers takes a byte-level tokenizer.json as it is.
  const bool as_it_is =
      tokenizer_class.starts_with("Llama") && attnflow_tokenizer_setting(tokenizer, borrow("byte_level")) == 1;
  if (!as_it_is) compare("add_prefix_space");
}

// Likewise for the tokens around a text: a class that builds them itself uses the tokens that the settings name.
void check_template_agrees(const Folder& folder, const Tokenizer& tokenizer, const std::string& model_type) {
  if (!folder.has("tokenizer.json")) return;
  const internal::TokenizerSettings settings(folder);
  const internal::TokenizerClass* const made_by = internal::tokenizer_class_of(folder, settings, model_type);
  if (made_by == nullptr) return;
  std::vector<std::int64_t> ids;
  std::vector<std::string_view> pieces;
  const Encoding example = tokenizer.encode("a");
  for (const EncodedToken& token : example.tokens) {
    if (token.begin) continue;
    ids.push_back(token.id);
    pieces.push_back(token.text);
  }
  for (const std::string& role : internal::words_of(made_by->around)) {
    const std::optional<nlohmann::json> named = settings.special(role);
    if (!named) continue;
    const auto piece = named->at("content").get<std::string>();
    const std::optional<std::int64_t> id = tokenizer.token_to_id(piece);
    if (id && std::find(ids.begin(), ids.end(), *id) != ids.end()) continue;
    fail_to_agree(folder, role,
                  fmt::format("as {} one of the tokens that {} puts around a text ({})", role,
                              folder.label("tokenizer.json"), internal::quote_names(pieces)),
                  internal::quote_name(piece));
  }
}

}  // namespace

struct Tokenizer::Impl {
  Owned<attnflow_tokenizer> handle;
  std::string source;
  std::optional<std::int64_t> mask;
  std::vector<std::int64_t> ends;
  std::map<std::string, std::string> special_tokens;
  std::optional<internal::ChatTemplate> chat_template;
  // The folder of another model that cuts targets, if there is one.
  std::optional<Folder> target_folder;
  std::string model_type;

  [[noreturn]] void fail_to_encode(const std::string& reason) const {
    internal::fail_file(source, fmt::format("expected a tokenizer that can encode any text, found: {}; "
                                            "restore the file from the model's source",
                                            reason));
  }
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

std::unique_ptr<Tokenizer::Impl> Tokenizer::read(const Folder& folder, const std::string& model_type, bool of_targets) {
  const internal::TokenizerDocument document = internal::read_tokenizer_document(
      folder, model_type, of_targets ? internal::TextSide::kTarget : internal::TextSide::kSource);
  ErrorSlot error;
  auto impl = std::make_unique<Impl>();
  impl->source = document.source;
  impl->special_tokens = document.special_tokens;
  if (document.is_of_sources) impl->target_folder = folder;
  impl->model_type = model_type;
  impl->handle.reset(attnflow_tokenizer_from_json(borrow(document.json), borrow(document.declared), error.out()));
  if (!impl->handle) {
    internal::fail_file(document.source, fmt::format("expected a Hugging Face tokenizer, found: {}; "
                                                     "restore the file from the model's source",
                                                     error.message()));
  }
  return impl;
}

Tokenizer Tokenizer::load(const Folder& folder, const std::string& model_type) {
  Tokenizer tokenizer(read(folder, model_type, /*of_targets=*/false));
  Impl& made = *tokenizer.impl_;
  check_settings_agree(folder, made.handle.get());
  check_template_agrees(folder, tokenizer, model_type);
  made.chat_template.emplace(folder);
  const auto named = [&](const std::string& role) {
    const auto found = made.special_tokens.find(role);
    return found == made.special_tokens.end() ? std::string() : found->second;
  };
  for (const std::string& piece : {named("mask_token"), std::string("[MASK]"), std::string("<mask>")}) {
    if (made.mask) break;
    if (!piece.empty()) made.mask = tokenizer.token_to_id(piece);
  }
  made.ends = internal::read_end_ids(folder);
  if (const std::string piece = named("eos_token"); made.ends.empty() && !piece.empty()) {
    if (const std::optional<std::int64_t> end = tokenizer.token_to_id(piece)) made.ends = {*end};
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
      fail_with(ErrorKind::kUsage,
                "expected room for at least the {} special tokens around the text, "
                "found a limit of {} tokens; raise the limit",
                template_tokens, *options.max_tokens);
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

Encoding Tokenizer::encode_target(std::string_view text) const {
  if (!impl_->target_folder) return encode(text);
  return Tokenizer(read(*impl_->target_folder, impl_->model_type, /*of_targets=*/true)).encode(text);
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

std::string Tokenizer::spelled(std::int64_t id) const { return id_to_token(id).value_or(fmt::format("<id {}>", id)); }

std::string Tokenizer::readable(std::int64_t id) const {
  const std::optional<std::uint32_t> small = as_id(id);
  const Owned<attnflow_string> text(small ? attnflow_tokenizer_readable(impl_->handle.get(), *small) : nullptr);
  // Models may have more rows than the tokenizer has pieces; such an id can still be predicted.
  return text ? copy(text) : fmt::format("<id {}>", id);
}

std::string Tokenizer::bytes(std::int64_t id) const {
  const std::optional<std::uint32_t> small = as_id(id);
  return copy(Owned<attnflow_string>(small ? attnflow_tokenizer_bytes(impl_->handle.get(), *small) : nullptr));
}

bool Tokenizer::is_special(std::int64_t id) const {
  const std::optional<std::uint32_t> small = as_id(id);
  return small && attnflow_tokenizer_is_special(impl_->handle.get(), *small);
}

bool Tokenizer::is_end(std::int64_t id) const {
  return std::find(impl_->ends.begin(), impl_->ends.end(), id) != impl_->ends.end();
}

std::string Tokenizer::chat(const std::vector<ChatMessage>& messages) const {
  std::string text = impl_->chat_template->render(messages, impl_->special_tokens);
  // Many templates begin with the token that encode() also puts before every text; drop the duplicate.
  std::string before;
  for (const EncodedToken& token : encode("a").tokens) {
    if (token.begin) break;
    before += token.text;
  }
  if (text.starts_with(before)) text.erase(0, before.size());
  return text;
}

std::string Tokenizer::source() const { return impl_->source; }

}  // namespace attnflow
