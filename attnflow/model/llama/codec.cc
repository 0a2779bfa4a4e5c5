#include "attnflow/model/llama/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>

#include "attnflow/model/fail.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/pieces.h"
#include "attnflow/text/chat_template.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

// Tokenizers whose pre-tokenizer makes every digit a separate piece (tokenizer.ggml.pre).
constexpr std::array<std::string_view, 6> kSingleDigits = {"smollm",    "starcoder", "refact",
                                                           "command-r", "codeshell", "exaone"};

void check_text(std::string_view text, std::string_view name) {
  check_utf8(text, name);
  if (text.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) / 2) {
    internal::fail(ErrorKind::kInputTooLong, "the {} has {} bytes, more than libllama can tokenize; shorten it", name,
                   text.size());
  }
}

std::string metadata(const llama_model& model, const char* key) {
  const std::int32_t size = llama_model_meta_val_str(&model, key, nullptr, 0);
  if (size <= 0) return {};
  std::string value(static_cast<std::size_t>(size) + 1, '\0');
  llama_model_meta_val_str(&model, key, value.data(), value.size());
  value.resize(static_cast<std::size_t>(size));
  return value;
}

}  // namespace

LlamaCodec::LlamaCodec(const LlamaWeights& weights)
    : weights_(weights), vocabulary_(llama_model_get_vocab(weights.model.get())) {}

bool LlamaCodec::has(std::int64_t id) const { return id >= 0 && id < llama_vocab_n_tokens(vocabulary_); }

std::size_t LlamaCodec::id_limit() const { return static_cast<std::size_t>(llama_vocab_n_tokens(vocabulary_)); }

std::vector<llama_token> LlamaCodec::tokenize(std::string_view text, Template with) const {
  std::vector<llama_token> ids(text.size() + 8);  // room for one token per byte and those around the text
  with_llama_assertions(weights_.source, [&] {
    for (;;) {
      const std::int32_t count =
          llama_tokenize(vocabulary_, text.data(), static_cast<std::int32_t>(text.size()), ids.data(),
                         static_cast<std::int32_t>(ids.size()), with == Template::kWith, true);
      if (count == std::numeric_limits<std::int32_t>::min()) {
        internal::fail(ErrorKind::kInputTooLong, "the text has {} bytes, more than libllama can tokenize; shorten it",
                       text.size());
      }
      const bool complete = count >= 0;
      ids.resize(static_cast<std::size_t>(complete ? count : -count));
      if (complete) return;
    }
  });
  return ids;
}

std::string LlamaCodec::piece(llama_token id, Specials specials) const {
  std::string text(32, '\0');
  for (;;) {
    const std::int32_t size = llama_token_to_piece(vocabulary_, id, text.data(), static_cast<std::int32_t>(text.size()),
                                                   0, specials == Specials::kWritten);
    const bool complete = size >= 0;
    text.resize(static_cast<std::size_t>(complete ? size : -size));
    if (complete) return text;
  }
}

Encoding LlamaCodec::encode(std::string_view text, const std::optional<std::string>& pair,
                            const EncodeOptions& options) const {
  check_text(text, "text");
  if (pair) {
    throw Error(ErrorKind::kUsage,
                "expected one text, found a pair: this model's tokenizer does not support pairs; join the two texts");
  }
  const std::vector<llama_token> inner = tokenize(text, Template::kWithout);
  const std::vector<llama_token> whole = tokenize(text, Template::kWith);
  // The template puts one token before the text, and the rest after it.
  const auto found = std::search(whole.begin(), whole.end(), inner.begin(), inner.end());
  if (found == whole.end() && !inner.empty()) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "{}: expected a tokenizer that only adds tokens around a text, found one that changes it",
                   weights_.source);
  }
  std::size_t before = inner.empty() ? whole.size() : static_cast<std::size_t>(found - whole.begin());
  if (inner.empty() && !whole.empty() && whole.back() == llama_vocab_eos(vocabulary_) &&
      llama_vocab_get_add_eos(vocabulary_)) {
    --before;
  }
  const std::size_t around = whole.size() - inner.size();

  Encoding encoding;
  std::size_t kept = inner.size();
  if (options.max_tokens && *options.max_tokens < whole.size()) {
    if (*options.max_tokens < around) {
      internal::fail(ErrorKind::kUsage,
                     "expected room for at least the {} special tokens around the text, "
                     "found a limit of {} tokens; raise the limit",
                     around, *options.max_tokens);
    }
    kept = *options.max_tokens - around;
    encoding.truncated = true;
  }

  std::vector<std::string> pieces;
  std::vector<bool> special;
  pieces.reserve(inner.size());
  special.reserve(inner.size());
  for (const llama_token id : inner) {
    pieces.push_back(piece(id, Specials::kWritten));
    special.push_back(is_special(id));
  }
  const std::vector<ByteRange> ranges = locate_pieces(text, pieces);
  WordRule rule = WordRule::kSpaces;
  if (llama_vocab_type(vocabulary_) == LLAMA_VOCAB_TYPE_BPE) {
    const std::string name = metadata(*weights_.model, "tokenizer.ggml.pre");
    const bool single = std::find(kSingleDigits.begin(), kSingleDigits.end(), name) != kSingleDigits.end();
    rule = single ? WordRule::kClassesAndDigits : WordRule::kClasses;
  }
  const std::vector<std::size_t> words = number_words(text, ranges, rule, special);

  const auto add = [&](llama_token id) -> EncodedToken& {
    EncodedToken& token = encoding.tokens.emplace_back();
    token.id = id;
    const char* const spelled = llama_vocab_get_text(vocabulary_, id);
    token.text = spelled == nullptr ? "" : spelled;
    token.special = true;
    return token;
  };
  for (std::size_t i = 0; i < before; ++i) add(whole[i]);
  for (std::size_t i = 0; i < kept; ++i) {
    EncodedToken& token = add(inner[i]);
    // A space that the tokenizer added has no bytes in the text: the character after it represents both.
    ByteRange range = ranges[i];
    if (range.begin == range.end && range.end < text.size()) ++range.end;
    range = readable_range(text, range);
    token.begin = range.begin;
    token.end = range.end;
    token.word = words[i];
    token.special = special[i];
  }
  for (std::size_t i = before + inner.size(); i < whole.size(); ++i) add(whole[i]);
  return encoding;
}

std::vector<std::int64_t> LlamaCodec::word_to_ids(std::string_view word) const {
  check_text(word, "word");
  // After another word, whose ids are then removed, because some tokenizers put a space in front of every text.
  const std::string_view other = "a";
  const std::vector<llama_token> prefix = tokenize(other, Template::kWithout);
  const std::vector<llama_token> both = tokenize(fmt::format("{} {}", other, word), Template::kWithout);
  if (both.size() > prefix.size() && std::equal(prefix.begin(), prefix.end(), both.begin()))
    return {both.begin() + static_cast<std::ptrdiff_t>(prefix.size()), both.end()};
  const std::vector<llama_token> alone = tokenize(fmt::format(" {}", word), Template::kWithout);
  return {alone.begin(), alone.end()};
}

std::string LlamaCodec::spelled(std::int64_t id) const {
  const char* const text = has(id) ? llama_vocab_get_text(vocabulary_, static_cast<llama_token>(id)) : nullptr;
  return text == nullptr || *text == '\0' ? fmt::format("<id {}>", id) : text;
}

std::string LlamaCodec::readable(std::int64_t id) const {
  if (!has(id)) return fmt::format("<id {}>", id);
  const auto token = static_cast<llama_token>(id);
  std::string text = escape_invalid_utf8(piece(token, Specials::kWritten));
  if (text.size() > 1 && text.front() == ' ') text.erase(0, 1);
  return text.empty() ? spelled(id) : text;
}

std::string LlamaCodec::bytes(std::int64_t id) const {
  if (!has(id) || is_special(id)) return {};
  return piece(static_cast<llama_token>(id), Specials::kHidden);
}

bool LlamaCodec::is_special(std::int64_t id) const {
  return has(id) && (llama_vocab_is_control(vocabulary_, static_cast<llama_token>(id)) || is_end(id));
}

bool LlamaCodec::is_end(std::int64_t id) const {
  return has(id) && llama_vocab_is_eog(vocabulary_, static_cast<llama_token>(id));
}

std::string LlamaCodec::chat(const std::vector<ChatMessage>& messages) const {
  // The library's own function recognizes some templates by appearance and ignores their other features.
  const std::string text = metadata(*weights_.model, "tokenizer.chat_template");
  if (text.empty()) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "{}: expected a chat template, found none; write the prompt in the format that the model expects",
                   weights_.source);
  }
  std::map<std::string, std::string> special_tokens;
  const auto add = [&](const char* role, llama_token id) {
    const char* const spelled = has(id) ? llama_vocab_get_text(vocabulary_, id) : nullptr;
    if (spelled != nullptr) special_tokens[role] = spelled;
  };
  add("bos_token", llama_vocab_bos(vocabulary_));
  add("eos_token", llama_vocab_eos(vocabulary_));
  add("pad_token", llama_vocab_pad(vocabulary_));
  return internal::ChatTemplate(text, weights_.source).render(messages, special_tokens);
}

}  // namespace attnflow
