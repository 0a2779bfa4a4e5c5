#include "attnflow/analysis/referents.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "attnflow/analysis/aggregate.h"
#include "attnflow/base/error.h"
#include "attnflow/files/utf8.h"
#include "attnflow/report/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMostListedWords = 40;

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The small letter of a capital one in the blocks where one letter stands for one letter. std::towlower would ask the
// locale of the machine.
char32_t small_letter(char32_t c) {
  const bool latin_1 = c >= 0xC0 && c <= 0xDE && c != 0xD7;
  const bool greek = c >= 0x391 && c <= 0x3A9 && c != 0x3A2;
  if ((c >= U'A' && c <= U'Z') || latin_1 || greek || (c >= 0x410 && c <= 0x42F)) return c + 0x20;
  if (c >= 0x400 && c <= 0x40F) return c + 0x50;
  // Latin Extended-A: capitals are even, but odd in two stretches; what has no partner stays.
  const bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17E);
  const bool even = (c >= 0x100 && c <= 0x137 && c != 0x130) || (c >= 0x14A && c <= 0x177);
  if ((odd && c % 2 == 1) || (even && c % 2 == 0)) return c + 1;
  return c == 0x178 ? 0xFF : c;
}

std::u32string small_letters(const std::string& text) {
  std::u32string letters = internal::decode_utf8(text);
  std::transform(letters.begin(), letters.end(), letters.begin(), small_letter);
  return letters;
}

struct Word {
  std::string text;
  std::vector<std::size_t> tokens;
};

// The words of the text, in order, without special tokens that stand for none; of an attention file each token that
// has a text.
std::vector<Word> words_of(const Report& report) {
  std::vector<Word> words;
  for (const std::vector<std::size_t>& group : word_groups(report.input.tokens)) {
    const ReportToken merged = merge_tokens(report, group);
    if (!merged.begin && report.input.kind == "text") continue;
    const std::string& source = merged.segment == 0 ? report.input.text : report.input.text_pair;
    const bool ranged = merged.begin && merged.end && *merged.begin < *merged.end && *merged.end <= source.size();
    std::string text = ranged ? source.substr(*merged.begin, *merged.end - *merged.begin) : merged.text;
    // A byte-level piece may stand for the space before its word as well.
    text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
    if (!text.empty()) words.push_back({std::move(text), group});
  }
  return words;
}

// Indices of the words with this text; those that differ in case count when no other does.
std::vector<std::size_t> matches(const std::vector<Word>& words, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (words[w].text == text) found.push_back(w);
  }
  if (!found.empty() || text.empty()) return found;
  const std::u32string small = small_letters(text);
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (small_letters(words[w].text) == small) found.push_back(w);
  }
  return found;
}

[[noreturn]] void not_found(const std::vector<Word>& words, const std::string& asked, std::size_t tokens) {
  if (words.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--referents: expected tokens with text to find '{}' among, found an attention file without "
                    "tokens; store an array 'tokens' beside the attention, or name positions from 0 to {}",
                    clean_line(asked), tokens - 1));
  }
  std::vector<std::string> listed;
  for (const Word& word : words) {
    const std::string text = clean_line(word.text);
    if (std::find(listed.begin(), listed.end(), text) == listed.end()) listed.push_back(text);
  }
  const std::size_t more = listed.size() - std::min(listed.size(), kMostListedWords);
  listed.resize(listed.size() - more);
  throw Error(ErrorKind::kUsage,
              fmt::format("--referents: expected words of the text or positions from 0 to {}, found '{}'; the words "
                          "are {}{}",
                          tokens - 1, clean_line(asked), fmt::join(listed, " "),
                          more == 0 ? std::string() : fmt::format(" and {} more", more)));
}

[[noreturn]] void ambiguous(const std::vector<Word>& words, const std::vector<std::size_t>& found,
                            const std::string& asked) {
  std::vector<std::size_t> positions;
  for (const std::size_t word : found) positions.push_back(words[word].tokens.front());
  const std::string text = clean_line(asked);
  throw Error(ErrorKind::kUsage,
              fmt::format("--referents: expected a word that the text has once, found '{}' {} times (at positions {}); "
                          "write {}:1 for the first of them, {}:2 for the second, or a position",
                          text, found.size(), fmt::join(positions, ", "), text, text));
}

ReportReferent referent_at(const Report& report, const std::vector<Word>& words, std::size_t position) {
  if (report.settings.words) {
    const auto holds = [&](const Word& word) {
      return std::find(word.tokens.begin(), word.tokens.end(), position) != word.tokens.end();
    };
    if (const auto word = std::find_if(words.begin(), words.end(), holds); word != words.end()) {
      return {word->text, word->tokens};
    }
  }
  return {display_text(report, position), {position}};
}

ReportReferent resolve(const std::string& asked, const Report& report, const std::vector<Word>& words) {
  const std::size_t n = report.input.tokens.size();
  const std::vector<std::size_t> found = matches(words, asked);
  if (const auto position = parse_number(asked)) {
    const bool is_that_word = found.size() == 1 && words[found.front()].tokens == std::vector<std::size_t>{*position};
    if (!found.empty() && !is_that_word) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--referents: expected a word or a position, found '{0}', which is both; write {0}:1 for "
                              "the word, at position {1}, or name the token at position {0} by its text",
                              asked, words[found.front()].tokens.front()));
    }
    if (*position >= n) not_found(words, asked, n);
    return referent_at(report, words, *position);
  }
  if (found.size() == 1) return {words[found.front()].text, words[found.front()].tokens};
  if (!found.empty()) ambiguous(words, found, asked);

  const std::size_t colon = asked.rfind(':');
  const auto count = colon == std::string::npos ? std::nullopt : parse_number(asked.substr(colon + 1));
  if (!count) not_found(words, asked, n);
  const std::string text = asked.substr(0, colon);
  const std::vector<std::size_t> occurrences = matches(words, text);
  if (occurrences.empty()) not_found(words, text, n);
  if (*count < 1 || *count > occurrences.size()) {
    throw Error(ErrorKind::kUsage, fmt::format("--referents: expected an occurrence of '{}' from 1 to {}, found {}",
                                               clean_line(text), occurrences.size(), clean_line(asked)));
  }
  const Word& word = words[occurrences[*count - 1]];
  return {word.text, word.tokens};
}

}  // namespace

void check_referents(const std::vector<std::string>& asked) {
  if (asked.empty()) return;
  if (asked.size() < 2 || asked.size() > kMostReferents) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--referents: expected 2 to {} words joined by commas, such as author,Sara, found {}",
                            kMostReferents, asked.size()));
  }
  if (std::find(asked.begin(), asked.end(), "") != asked.end()) {
    throw Error(ErrorKind::kUsage, "--referents: expected words joined by commas, found an empty one");
  }
}

std::vector<ReportReferent> resolve_referents(const std::vector<std::string>& asked, const Report& report) {
  check_referents(asked);
  std::vector<ReportReferent> referents;
  if (asked.empty()) return referents;
  const std::vector<Word> words = words_of(report);
  const auto& methods = report.settings.method;
  const bool flow = std::find(methods.begin(), methods.end(), "flow") != methods.end();
  for (const std::string& request : asked) {
    ReportReferent referent = resolve(request, report, words);
    for (const ReportReferent& other : referents) {
      if (std::find_first_of(other.tokens.begin(), other.tokens.end(), referent.tokens.begin(),
                             referent.tokens.end()) != other.tokens.end()) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("--referents: expected different words, found '{}' twice", clean_line(referent.text)));
      }
    }
    if (flow && !report.settings.words && referent.tokens.size() > 1) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--referents: expected words of one token each, found '{}', which is {} tokens; the flow "
                              "to a word is not the sum of the flows to its pieces: pass --words, or leave flow out "
                              "with --method raw,rollout",
                              clean_line(referent.text), referent.tokens.size()));
    }
    referents.push_back(std::move(referent));
  }
  return referents;
}

}  // namespace attnflow
