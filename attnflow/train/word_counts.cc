#include "attnflow/train/word_counts.h"

#include <fmt/format.h>

#include <cassert>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "attnflow/base/error.h"
#include "attnflow/text/tokenizers_owned.h"
#include "attnflow/train/bert_pipeline.h"
#include "attnflow/train/text_hash.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::Owned;

using RunCounts = internal::TextMap<std::uint64_t>;

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
// ASCII that needs no table: neither a control character, which the normalizer drops, nor part of a longer character.
constexpr bool is_printable(char c) { return c > 0x20 && c < 0x7F; }
constexpr bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

attnflow_text borrow(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}
std::string_view view(attnflow_text text) { return {reinterpret_cast<const char*>(text.data), text.size}; }

// The split of any text, by the crate. Its vocabulary is the 256 bytes and nothing else, so that the pieces of a word
// spell the word as it is after normalization.
class CrateSplitter {
 public:
  CrateSplitter() {
    nlohmann::ordered_json bytes = nlohmann::ordered_json::object();
    for (int byte = 0; byte < 256; ++byte) bytes[fmt::format("<0x{:02X}>", byte)] = byte;
    const nlohmann::ordered_json document = {
        {"version", "1.0"},
        {"added_tokens", nlohmann::ordered_json::array()},
        {"normalizer", internal::bert_normalizer()},
        {"pre_tokenizer", internal::bert_pre_tokenizer()},
        {"model",
         {{"type", "BPE"}, {"byte_fallback", true}, {"vocab", bytes}, {"merges", nlohmann::ordered_json::array()}}}};
    attnflow_string* error = nullptr;
    tokenizer_.reset(attnflow_tokenizer_from_json(borrow(document.dump()), borrow("[]"), &error));
    const Owned<attnflow_string> owner(error);
    if (!tokenizer_) fail(error);
  }

  template <typename Found>
  void split(std::string_view text, const Found& found) const {
    attnflow_string* error = nullptr;
    const Owned<attnflow_encoding> encoding(
        attnflow_tokenizer_encode(tokenizer_.get(), borrow(text), attnflow_text{nullptr, 0}, SIZE_MAX, &error));
    const Owned<attnflow_string> owner(error);
    if (!encoding) fail(error);
    const std::span tokens(attnflow_encoding_tokens(encoding.get()), attnflow_encoding_size(encoding.get()));
    std::string word;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      assert(tokens[i].in_text && tokens[i].id < 256);
      word.push_back(static_cast<char>(static_cast<unsigned char>(tokens[i].id)));
      if (i + 1 < tokens.size() && tokens[i + 1].word == tokens[i].word) continue;
      found(word);
      word.clear();
    }
  }

 private:
  [[noreturn]] static void fail(attnflow_string* error) {
    throw Error(ErrorKind::kOther,
                fmt::format("expected the tokenizers crate to split text into words, found: {}; "
                            "please report it",
                            error == nullptr ? "no reason given" : view(attnflow_string_text(error))));
  }

  Owned<attnflow_tokenizer> tokenizer_;
};

template <typename Found>
void split_ascii(std::string_view run, const Found& found) {
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) found(word);
    word.clear();
  };
  for (const char c : run) {
    if (!is_letter_or_digit(c)) finish();
    word.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    if (!is_letter_or_digit(c)) finish();
  }
  finish();
}

RunCounts count_runs(std::span<const std::string> paragraphs) {
  RunCounts runs;
  for (std::size_t number = 0; number < paragraphs.size(); ++number) {
    const std::string_view text = paragraphs[number];
    if (const std::optional<std::size_t> offset = find_invalid_utf8(text)) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("paragraph {}: expected UTF-8 text, found byte 0x{:02X} at offset {}, which is not; "
                              "convert the text to UTF-8 first",
                              number, static_cast<unsigned char>(text[*offset]), *offset));
    }
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t begin = at;
      while (at < text.size() && !is_space(text[at])) ++at;
      const std::string_view run = text.substr(begin, at - begin);
      ++at;
      if (run.empty()) continue;
      const auto known = runs.find(run);
      if (known != runs.end()) {
        ++known->second;
      } else {
        runs.emplace(run, 1);
      }
    }
  }
  return runs;
}

}  // namespace

WordCounts count_words(std::span<const std::string> paragraphs) {
  // Counting in a hash table and sorting at the end is several times as fast as counting in a map.
  RunCounts words;
  std::optional<CrateSplitter> crate;
  for (const auto& [run, count] : count_runs(paragraphs)) {
    const auto add = [&words, times = count](const std::string& word) { words[word] += times; };
    bool plain = true;
    for (const char c : run) plain = plain && is_printable(c);
    if (plain) {
      split_ascii(run, add);
    } else {
      if (!crate) crate.emplace();
      crate->split(run, add);
    }
  }
  return {words.begin(), words.end()};
}

void add_counts(WordCounts& counts, const WordCounts& more) {
  for (const auto& [word, count] : more) counts[word] += count;
}

}  // namespace attnflow
