#include "attnflow/analysis/evaluate/evidence_question.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using Names = std::vector<std::string_view>;

std::size_t column(const CsvRow& header, const Names& names, const std::string& path) {
  if (const auto found = find_column(header.cells, names)) return *found;
  throw internal::file_error("{}, line {}: expected a column named {}, found none", path, header.line,
                             fmt::join(names, " or "));
}

struct EvidenceColumns {
  std::size_t text = 0;
  std::size_t evidence = 0;
  std::optional<std::size_t> good;
  std::optional<std::size_t> bad;
  std::optional<std::size_t> swap;
};

EvidenceColumns columns_of(const CsvRow& header, const std::string& path) {
  const Names good = {"one_prefix_word_good", "good"};
  const Names bad = {"one_prefix_word_bad", "bad"};
  const EvidenceColumns columns{.text = column(header, {"one_prefix_prefix", "prefix", "text"}, path),
                                .evidence = column(header, {"target", "evidence"}, path),
                                .good = find_column(header.cells, good),
                                .bad = find_column(header.cells, bad),
                                .swap = find_column(header.cells, {"swap"})};
  // A wrong word is wrong beside a right one, and a swapped word turns one into the other.
  if (columns.bad && !columns.good) column(header, good, path);
  if (columns.swap && !columns.bad) column(header, bad, path);
  return columns;
}

// The output that a sample's word names, a class or the word's first token, or nothing, with the reason.
class Outputs {
 public:
  Outputs(const TextCodec& codec, const ModelInfo& info) : codec_(codec), info_(info) {}

  std::optional<std::size_t> named(const std::string& word, std::string& reason) const {
    if (of_class()) {
      const std::optional<std::size_t> label = label_named(word, info_.labels);
      if (!label) reason = "the right or the wrong word is not one of the model's classes";
      return label;
    }
    const std::vector<std::int64_t> ids = codec_.word_to_ids(word);
    if (ids.empty()) {
      reason = "the right or the wrong word is empty";
    } else if (!info_.causal && ids.size() != 1) {
      reason = "a mask stands for one token, but the right or the wrong word is several";
    } else {
      return static_cast<std::size_t>(ids.front());
    }
    return std::nullopt;
  }

  // The reason where two words name the same output.
  const char* equal() const {
    if (of_class()) return "the right and the wrong word are the same class";
    return "the right and the wrong word begin with the same token";
  }

 private:
  bool of_class() const { return info_.head == ModelHead::kClassification; }

  const TextCodec& codec_;
  const ModelInfo& info_;
};

// The sample's outputs that are explained and compared with; false, with the reason, if they cannot be.
bool take_words(const EvidenceSample& sample, const Outputs& outputs, bool before_wrong, EvidenceQuestion& question,
                std::string& reason) {
  const auto is_compared = [&](std::size_t id) {
    return std::find(question.asked.others.begin(), question.asked.others.end(), id) != question.asked.others.end();
  };
  if ((sample.bad && !sample.good) || (!sample.swap.empty() && !sample.bad)) {
    reason = sample.bad ? "a wrong word without a right one" : "a swapped word without a wrong one";
    return false;
  }
  if (!sample.good) return true;
  question.asked.label = outputs.named(*sample.good, reason);
  if (question.asked.label && sample.bad) question.bad = outputs.named(*sample.bad, reason);
  if (!question.asked.label || (sample.bad && !question.bad)) return false;
  if (question.asked.label == question.bad) {
    reason = outputs.equal();
    return false;
  }
  if (before_wrong && is_compared(*question.asked.label)) {
    reason = "the right word is one that it is compared with";
    return false;
  }
  if (!sample.bad || before_wrong) return true;
  question.asked.against = AskedTarget::Against::kLabels;
  question.asked.others = {*question.bad};
  return true;
}

using Place = std::pair<std::size_t, std::size_t>;  // a range of bytes

bool is_separate(const std::string& text, const Place& place) {
  const auto is_letter_at = [&](std::size_t at) {
    const CharacterClass kind = character_class(next_or_replacement(text, at));
    return kind == CharacterClass::kLetter || kind == CharacterClass::kMark || kind == CharacterClass::kNumber;
  };
  if (place.first > 0 && is_letter_at(code_point_begin(text, place.first - 1))) return false;
  return place.second == text.size() || !is_letter_at(place.second);
}

// The places of `word` in `text` that stand alone. Where none does, as in a script without spaces or in a chemical
// formula, those that are words to the tokenizer.
std::vector<Place> occurrences(const std::string& text, const std::string& word, const std::vector<Place>& words) {
  if (word.empty()) return {};
  std::vector<Place> separate;
  std::vector<Place> whole;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const Place place = {at, at + word.size()};
    if (is_separate(text, place)) separate.push_back(place);
    if (std::find(words.begin(), words.end(), place) != words.end()) whole.push_back(place);
  }
  return separate.empty() ? whole : separate;
}

// The place of a word in the text that follows the first `skipped` bytes.
Place place_of(const std::vector<InputToken>& tokens, const std::vector<std::size_t>& word, std::size_t skipped) {
  const std::size_t from = tokens[word.front()].begin.value_or(0);
  const std::size_t to = tokens[word.back()].end.value_or(0);
  return {from - std::min(from, skipped), to - std::min(to, skipped)};
}

// The position whose output is in question: the last of a decoder, a classifier's first, else the mask's.
std::optional<std::size_t> position_in_question(const Encoding& encoding, const TextCodec& codec,
                                                const ModelInfo& info) {
  if (encoding.tokens.empty()) return std::nullopt;
  if (info.causal) return encoding.tokens.size() - 1;
  if (info.head == ModelHead::kClassification) return 0;
  std::optional<std::size_t> position;
  for (std::size_t t = 0; t < encoding.tokens.size(); ++t) {
    if (codec.mask_id() != encoding.tokens[t].id) continue;
    if (position) return std::nullopt;
    position = t;
  }
  return position;
}

}  // namespace

std::optional<EvidenceQuestion> make_question(const EvidenceSample& sample, const TextCodec& codec,
                                              const ModelInfo& info, const std::string& begin, const AskedTarget& asked,
                                              bool before_wrong, std::string& reason) {
  EvidenceQuestion question;
  question.asked = asked;
  const std::string text = begin + sample.prefix;
  if (!take_words(sample, Outputs(codec, info), before_wrong, question, reason)) return std::nullopt;
  const Encoding encoding = codec.encode(text);
  if (encoding.tokens.empty()) {
    reason = "the text is empty";
    return std::nullopt;
  }
  if (encoding.tokens.size() > info.max_tokens) {
    reason = "longer than the model allows";
    return std::nullopt;
  }
  const auto position = position_in_question(encoding, codec, info);
  if (!position) {
    reason = "the text does not contain exactly one mask token";
    return std::nullopt;
  }
  question.position = *position;
  question.tokens = report_tokens(encoding);
  for (const EncodedToken& token : encoding.tokens) question.input.ids.push_back(token.id);
  question.words = word_groups(question.tokens);
  std::vector<Place> words;  // ranked ones, within the prefix
  for (std::size_t w = 0; w < question.words.size(); ++w) {
    const auto& group = question.words[w];
    if (std::any_of(group.begin(), group.end(), [&](std::size_t t) { return question.tokens[t].special; })) continue;
    question.ranked.push_back(w);
    words.push_back(place_of(question.tokens, group, begin.size()));
  }
  const std::vector<Place> places = occurrences(sample.prefix, sample.evidence, words);
  if (places.size() != 1) {
    reason = places.empty() ? "the evidence does not occur in the prefix" : "the evidence occurs more than once";
    return std::nullopt;
  }
  const auto [from, to] = places.front();
  std::vector<std::size_t> holders;
  for (std::size_t r = 0; r < words.size(); ++r) {
    if (words[r].first < to && words[r].second > from) holders.push_back(r);
  }
  if (holders.size() != 1) {
    reason = "the evidence is not a separate word to the tokenizer";
    return std::nullopt;
  }
  question.evidence = holders.front();
  if (sample.swap.empty()) return question;
  const Encoding swapped = codec.encode(begin + sample.prefix.substr(0, from) + sample.swap + sample.prefix.substr(to));
  const auto swapped_position = position_in_question(swapped, codec, info);
  if (!swapped_position || swapped.tokens.size() > info.max_tokens) {
    reason = "the text with the swapped word cannot be scored";
    return std::nullopt;
  }
  for (const EncodedToken& token : swapped.tokens) question.swapped.ids.push_back(token.id);
  question.swapped_position = *swapped_position;
  return question;
}

std::vector<EvidenceSample> read_evidence(const std::filesystem::path& path) {
  const std::string content = read_utf8_text(path);
  std::vector<EvidenceSample> samples;
  EvidenceColumns columns;
  const auto header = [&](const CsvRow& row) { columns = columns_of(row, path.string()); };
  each_csv_row(content, path.string(), header, [&](const CsvRow& row) {
    const auto cell = [&](std::optional<std::size_t> which) {
      return which ? std::optional(row.cells[*which]) : std::nullopt;
    };
    samples.push_back({.prefix = row.cells[columns.text],
                       .good = cell(columns.good),
                       .bad = cell(columns.bad),
                       .evidence = row.cells[columns.evidence],
                       .swap = cell(columns.swap).value_or("")});
  });
  if (samples.empty()) {
    throw internal::file_error("{}: expected a header and at least one sample, found none", path.string());
  }
  return samples;
}

}  // namespace attnflow
