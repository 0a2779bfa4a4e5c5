#include "training/agreement/prose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"
#include "training/agreement/word_lists.h"

namespace attnflow {
namespace {

using internal::quote_name;
using internal::word_set;
using internal::WordSet;

constexpr std::size_t kMaxBytes = std::size_t{8} << 30;  // maximum for one document

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& message) {
  throw Error(ErrorKind::kBadFile, fmt::format("{}: {}", quote_name(path.string(), 300), message));
}

bool is_ascii_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_space(char32_t c) { return character_class(c) == CharacterClass::kSpace; }

// Controls and format characters, which BERT's normalizer drops.
bool is_dropped(char32_t c) {
  return (is_control(c) && !is_space(c)) || c == 0xAD || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
         (c >= 0x2060 && c <= 0x2064) || c == 0xFEFF;
}

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// General category P above ASCII, for the scripts and blocks that English text quotes.
bool is_wide_punctuation(char32_t c) {
  if (c < 0x2010) {
    return c == 0xA1 || c == 0xA7 || c == 0xAB || c == 0xB6 || c == 0xB7 || c == 0xBB || c == 0xBF || c == 0x37E ||
           c == 0x387 || (c >= 0x55A && c <= 0x55F) || c == 0x589 || c == 0x58A || c == 0x5BE || c == 0x5C0 ||
           c == 0x5C3 || c == 0x5F3 || c == 0x5F4 || c == 0x60C || c == 0x61B || c == 0x61F || c == 0x6D4 ||
           c == 0x964 || c == 0x965;
  }
  return (c <= 0x2027) || (c >= 0x2030 && c <= 0x205E && c != 0x2044 && c != 0x2052) || c == 0x207D || c == 0x207E ||
         c == 0x208D || c == 0x208E || c == 0x2329 || c == 0x232A || (c >= 0x2768 && c <= 0x2775) ||
         (c >= 0x27E6 && c <= 0x27EF) || (c >= 0x2983 && c <= 0x2998) || (c >= 0x2E00 && c <= 0x2E4F) ||
         (c >= 0x3001 && c <= 0x3003) || (c >= 0x3008 && c <= 0x3011) || (c >= 0x3014 && c <= 0x301F) || c == 0x3030 ||
         c == 0x303D || c == 0x30A0 || c == 0x30FB || (c >= 0xFE10 && c <= 0xFE19) || (c >= 0xFE30 && c <= 0xFE52) ||
         (c >= 0xFF01 && c <= 0xFF0F && c != 0xFF04 && c != 0xFF0B) || c == 0xFF1A || c == 0xFF1B || c == 0xFF1F ||
         c == 0xFF20 || c == 0xFF3B || c == 0xFF3D || c == 0xFF3F || c == 0xFF5B || c == 0xFF5D ||
         (c >= 0xFF5F && c <= 0xFF65);
}

bool is_ideograph(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

// Lower case of Latin, Greek and Cyrillic letters whose lower case is one character.
char32_t lower_case(char32_t c) {
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (c < 0x100) return c >= 0xC0 && c <= 0xDE && c != 0xD7 ? c + 32 : c;
  if (c < 0x180) {
    if (c == 0x130) return 'i';
    if (c == 0x178) return 0xFF;
    const bool upper_is_odd = (c >= 0x139 && c <= 0x148) || c >= 0x179;
    if (c == 0x138 || c == 0x149 || c == 0x17F) return c;
    return ((c & 1U) != 0) == upper_is_odd ? c + 1 : c;
  }
  if (c >= 0x391 && c <= 0x3A9) return c + 32;
  if (c >= 0x410 && c <= 0x42F) return c + 32;
  if (c >= 0x400 && c <= 0x40F) return c + 80;
  if (c >= 0x1E00 && c <= 0x1EFF && !(c >= 0x1E96 && c <= 0x1E9F)) return c | 1U;
  return c;
}

bool is_capital(char32_t c) { return lower_case(c) != c; }
bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_opening(char32_t c) {
  return c == '"' || c == '\'' || c == '(' || c == '[' || c == 0x201C || c == 0x2018 || c == 0xAB;
}
bool is_closing(char32_t c) {
  return c == '"' || c == '\'' || c == ')' || c == ']' || c == 0x201D || c == 0x2019 || c == 0xBB;
}
bool is_terminator(char32_t c) { return c == '.' || c == '!' || c == '?' || c == 0x2026; }

std::string_view trim(std::string_view text) {
  std::size_t begin = 0;
  std::size_t last = 0;
  bool seen = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = at;
    const char32_t c = next_or_replacement(text, at);
    if (is_space(c)) continue;
    if (!seen) begin = start;
    seen = true;
    last = at;
  }
  return seen ? text.substr(begin, last - begin) : std::string_view();
}

// `token` is the lower-case word before a '.', without that.
bool is_never_last(std::string_view token) {
  static const WordSet kWords = word_set(
      "dr mr mrs ms messrs prof rev hon gen col capt lt sgt maj gov sen rep st ste mt e.g i.e viz vs v cf fig figs "
      "eq eqs ca c approx al gr lat trans pres supt mme mlle fr br sr ibid eds");
  return kWords.contains(token);
}

bool is_before_number(std::string_view token) {
  static const WordSet kWords = word_set(
      "no nos p pp vol vols ch chap sec sect art par bk ser jan feb mar apr jun jul aug sep sept oct nov dec tab ex "
      "l ll n lib cap");
  return kWords.contains(token);
}

bool begins_sentences(std::string_view word) {
  static const WordSet kWords = word_set(
      "The A An In On At It Its This These That They He She We But And For If When As By From With While To His Her "
      "However Although After There Their Some Many Most You What Since One");
  return kWords.contains(word);
}

// The text before the '.' at `dot`, back to white space or an opening bracket or quotation mark.
std::string_view token_before(std::string_view text, std::size_t begin, std::size_t dot) {
  std::size_t at = dot;
  while (at > begin) {
    const char c = text[at - 1];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                        static_cast<unsigned char>(c) >= 0xC0;
    if (!letter) break;
    --at;
  }
  return text.substr(at, dot - at);
}

// Whether the '.' does not end a sentence even though white space and a capital or a digit follow at `next`.
bool is_abbreviation(std::string_view text, std::size_t begin, std::size_t dot, std::size_t next) {
  const std::string_view token = token_before(text, begin, dot);
  if (token.empty()) return false;
  std::string lower(token);
  for (char& c : lower) c = static_cast<char>(lower_case(static_cast<unsigned char>(c) < 0x80 ? char32_t(c) : U'x'));
  const bool number_follows = next < text.size() && is_digit(static_cast<unsigned char>(text[next]));
  if (is_never_last(lower)) return lower != "al" || number_follows;
  if (number_follows && is_before_number(lower)) return true;
  if (token.size() == 1 && is_capital(static_cast<unsigned char>(token[0]))) return token != "I";
  // Letters with periods between them: U.S, B.C, p.m
  bool letters = token.size() >= 3 && token.size() % 2 == 1;
  for (std::size_t i = 0; letters && i < token.size(); ++i) letters = (i % 2 == 1) == (token[i] == '.');
  if (!letters) return false;
  std::size_t end = next;
  while (end < text.size() && !is_ascii_space(text[end]) &&
         !is_ascii_punctuation(static_cast<unsigned char>(text[end])))
    ++end;
  return !begins_sentences(text.substr(next, end - next));
}

}  // namespace

std::vector<ProseDocument> read_prose(const std::vector<std::filesystem::path>& paths) {
  if (paths.empty()) {
    throw Error(ErrorKind::kBadFile, "expected text files or a folder of .txt files, found none; name at least one");
  }
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& path : paths) {
    std::error_code error;
    if (!std::filesystem::is_directory(path, error)) {
      if (!std::filesystem::exists(path, error)) fail(path, "expected a text file or a folder, found nothing there");
      files.push_back(path);
      continue;
    }
    std::vector<std::filesystem::path> inside;
    std::filesystem::directory_iterator entry(path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      if (entry->path().extension() == ".txt" && !entry->is_directory()) inside.push_back(entry->path());
    }
    if (error) fail(path, fmt::format("expected a folder that can be read, found: {}", error.message()));
    if (inside.empty()) {
      fail(path,
           "expected a folder with .txt files in it, one paragraph a line, found none; folders below it are not "
           "searched");
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }

  std::vector<ProseDocument> documents;
  std::set<std::string> names;
  for (const std::filesystem::path& path : files) {
    const std::string bytes = read_file(path, kMaxBytes);
    if (const auto offset = find_invalid_utf8(bytes)) {
      fail(path, fmt::format("expected UTF-8 text, found the byte 0x{:02X} at offset {}, which is not part of any "
                             "character; convert the file, for instance with iconv -t utf-8",
                             static_cast<unsigned>(static_cast<unsigned char>(bytes[*offset])), *offset));
    }
    ProseDocument document;
    document.name = path.stem().string();
    document.bytes = bytes.size();
    if (!names.insert(document.name).second) {
      fail(path, fmt::format("expected documents of different names, found a second one called {}; rename the file or "
                             "leave it out",
                             quote_name(document.name)));
    }
    std::string_view rest = bytes;
    if (rest.starts_with("\xEF\xBB\xBF")) rest.remove_prefix(3);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of("\r\n"), rest.size());
      std::string paragraph(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      std::replace(paragraph.begin(), paragraph.end(), '\0', ' ');
      if (const std::string_view kept = trim(paragraph); !kept.empty()) document.paragraphs.emplace_back(kept);
    }
    documents.push_back(std::move(document));
  }
  return documents;
}

std::vector<std::string_view> split_sentences(std::string_view paragraph) {
  std::vector<std::string_view> sentences;
  std::size_t begin = 0;
  const auto finish = [&](std::size_t end) {
    if (const std::string_view sentence = trim(paragraph.substr(begin, end - begin)); !sentence.empty()) {
      sentences.push_back(sentence);
    }
    begin = end;
  };
  for (std::size_t at = 0; at < paragraph.size();) {
    const std::size_t mark = at;
    const char32_t first = next_or_replacement(paragraph, at);
    if (!is_terminator(first)) continue;
    std::size_t marks = 1;
    std::size_t next = at;
    while (next < paragraph.size()) {  // "?!", "...", ".”", ".)"
      std::size_t after = next;
      const char32_t c = next_or_replacement(paragraph, after);
      if (!is_terminator(c) && !is_closing(c)) break;
      ++marks;
      next = after;
    }
    const std::size_t end = next;
    at = end;
    while (next < paragraph.size() && is_ascii_space(paragraph[next])) ++next;
    if (next == end || next == paragraph.size()) continue;
    std::size_t start = next;  // after opening quotation marks and brackets
    char32_t c = 0;
    while (start < paragraph.size()) {
      std::size_t after = start;
      c = next_or_replacement(paragraph, after);
      if (!is_opening(c)) break;
      start = after;
    }
    if (!is_capital(c) && !is_digit(c)) continue;
    if (first == '.' && marks == 1 && is_abbreviation(paragraph, begin, mark, start)) continue;
    finish(end);
  }
  finish(paragraph.size());
  return sentences;
}

std::vector<std::string_view> sentences_of(const ProseDocument& document) {
  std::vector<std::string_view> all;
  for (const std::string& paragraph : document.paragraphs) {
    const std::vector<std::string_view> sentences = split_sentences(paragraph);
    all.insert(all.end(), sentences.begin(), sentences.end());
  }
  return all;
}

void split_words(std::string_view sentence, std::vector<ProseWord>& words) {
  std::size_t used = 0;
  const auto next_word = [&](std::size_t begin) -> ProseWord& {
    if (used == words.size()) words.emplace_back();
    ProseWord& word = words[used++];
    word.text.clear();
    word.begin = begin;
    word.end = begin;
    return word;
  };
  ProseWord* open = nullptr;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t begin = at;
    const char32_t c = next_or_replacement(sentence, at);
    if (is_space(c)) {
      open = nullptr;
      continue;
    }
    if (is_dropped(c)) continue;
    const bool alone = c < 0x80 ? is_ascii_punctuation(c) : is_wide_punctuation(c) || is_ideograph(c);
    if (alone || open == nullptr) open = &next_word(begin);
    append_utf8(open->text, lower_case(c));
    open->end = at;
    if (alone) open = nullptr;
  }
  words.resize(used);
}

std::vector<ProseWord> split_words(std::string_view sentence) {
  std::vector<ProseWord> words;
  split_words(sentence, words);
  return words;
}

}  // namespace attnflow
