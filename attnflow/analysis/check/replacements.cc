#include "attnflow/analysis/check/replacements.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/base/random.h"
#include "attnflow/text/stop_words.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kRowsAtOnce = 64;  // of logits

enum class Form { kWord, kCapitalized, kNumber, kMark, kOther };

// Tokens of one kind may stand in for each other.
struct Kind {
  Form form = Form::kOther;
  bool begins = false;  // with a space: a word's first piece
  bool is_ascii = true;
  std::string text;  // without the space

  bool fits(const Kind& other) const {
    return form != Form::kOther && form == other.form && begins == other.begins && is_ascii == other.is_ascii &&
           text != other.text;
  }
};

// Case of ASCII letters; others count as lower case.
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

std::string with_case(std::string_view word, bool capitalized) {
  constexpr char kStep = 'a' - 'A';
  std::string text(word);
  if (!capitalized) {
    for (char& c : text) c = is_capital(c) ? static_cast<char>(c + kStep) : c;
  } else if (text.front() >= 'a' && text.front() <= 'z') {
    text.front() = static_cast<char>(text.front() - kStep);
  }
  return text;
}

Kind kind_of(const TextCodec& codec, std::int64_t id) {
  Kind kind;
  kind.text = codec.bytes(id);
  kind.begins = kind.text.starts_with(' ');
  if (kind.begins) kind.text.erase(0, 1);
  const std::u32string characters = decode_utf8(kind.text);
  kind.is_ascii = characters.size() == kind.text.size();
  const auto all_are = [&](CharacterClass one) {
    return !characters.empty() &&
           std::all_of(characters.begin(), characters.end(), [&](char32_t c) { return character_class(c) == one; });
  };
  if (all_are(CharacterClass::kNumber)) {
    kind.form = Form::kNumber;
  } else if (characters.size() == 1 && all_are(CharacterClass::kOther)) {
    kind.form = Form::kMark;
  } else if (all_are(CharacterClass::kLetter)) {
    kind.form = is_capital(kind.text.front()) ? Form::kCapitalized : Form::kWord;
  }
  return kind;
}

class Finder {
 public:
  Finder(const ReplacementQuestion& question, std::span<const std::size_t> places, const ReplacementOptions& options)
      : question_(question), places_(places), options_(options) {}

  std::vector<std::vector<Candidate>> find() const {
    const ModelInfo& info = question_.model.info();
    if (predicts_next(info)) return by_next_token();
    if (info.head == ModelHead::kMaskedLm && question_.codec.mask_id()) return by_mask();
    return by_kind();
  }

 private:
  const std::vector<std::size_t>& group(std::size_t p) const { return question_.groups[places_[p]]; }

  std::vector<std::int64_t> others(std::span<const float> logits, std::int64_t original) const {
    const std::vector<std::size_t> found = largest_logits(logits, options_.replacements, [&](std::size_t id) {
      const auto one = static_cast<std::int64_t>(id);
      return one != original && id < question_.codec.id_limit() && std::isfinite(logits[id]) &&
             !question_.codec.is_special(one);
    });
    return {found.begin(), found.end()};
  }

  void stop_if_asked() const {
    if (options_.stop_token.stop_requested()) throw Cancelled();
  }

  std::vector<std::vector<Candidate>> by_next_token() const {
    std::vector<std::vector<Candidate>> found(places_.size());
    const auto take = [&](std::size_t p, std::span<const float> logits) {
      for (const std::int64_t id : others(logits, question_.input.ids[group(p).front()])) found[p].push_back({id});
    };
    std::vector<std::size_t> rows;
    std::vector<std::size_t> of_rows;
    const auto run = [&] {
      if (rows.empty()) return;
      stop_if_asked();
      const ModelOutput output =
          question_.model.run(question_.input.up_to(rows.back()), nullptr, {.logit_positions = rows});
      for (std::size_t r = 0; r < rows.size(); ++r) take(of_rows[r], output.logits[r].span());
      rows.clear();
      of_rows.clear();
    };
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const std::size_t first = group(p).front();
      if (first == 0) {
        const std::optional<BlankToken> end = try_find_blank_token(question_.codec, question_.model.info());
        const TextInput alone = {{end ? end->id : question_.input.ids.front()}, {}};
        take(p, question_.model.run(alone, nullptr, {.logit_positions = {0}}).logits[0].span());
        continue;
      }
      rows.push_back(first - 1);
      of_rows.push_back(p);
      if (rows.size() == kRowsAtOnce) run();
    }
    run();
    return found;
  }

  std::vector<std::vector<Candidate>> by_mask() const {
    std::vector<std::vector<Candidate>> found(places_.size());
    for (std::size_t p = 0; p < places_.size(); ++p) {
      stop_if_asked();
      const TextInput masked = blank_tokens(question_.input, group(p), *question_.codec.mask_id());
      const ModelOutput output = question_.model.run(masked, nullptr, {.logit_positions = group(p)});
      for (std::size_t t = 0; t < group(p).size(); ++t) {
        const std::vector<std::int64_t> ids = others(output.logits[t].span(), question_.input.ids[group(p)[t]]);
        found[p].resize(t == 0 ? ids.size() : std::min(found[p].size(), ids.size()));
        for (std::size_t c = 0; c < found[p].size(); ++c) found[p][c].push_back(ids[c]);
      }
    }
    return found;
  }

  std::vector<std::vector<Candidate>> by_kind() const {
    std::string text;
    for (const std::int64_t id : question_.input.ids) text += std::to_string(id) + ' ';
    const std::vector<std::pair<std::int64_t, Kind>> frequent = frequent_words(text);
    std::vector<std::vector<Candidate>> found(places_.size());
    for (std::size_t p = 0; p < places_.size(); ++p) {
      stop_if_asked();
      Random random(stream_seed(group(p).front(), text));
      for (std::size_t t = 0; t < group(p).size(); ++t) {
        const std::vector<std::int64_t> ids = of_the_same_kind(question_.input.ids[group(p)[t]], frequent, random);
        found[p].resize(t == 0 ? ids.size() : std::min(found[p].size(), ids.size()));
        for (std::size_t c = 0; c < found[p].size(); ++c) found[p][c].push_back(ids[c]);
      }
    }
    return found;
  }

  // Some of the vocabulary's tokens, drawn for this text; no function words.
  std::vector<std::pair<std::int64_t, Kind>> frequent_words(const std::string& text) const {
    constexpr std::size_t kFrequent = 20'000;  // vocabularies begin with their frequent tokens
    constexpr std::size_t kDrawn = 500;
    const TextCodec& codec = question_.codec;
    std::vector<std::int64_t> ids(std::min({codec.id_limit(), question_.model.info().vocabulary, kFrequent}));
    std::iota(ids.begin(), ids.end(), std::int64_t{0});
    Random(name_hash(text)).shuffle(ids);
    ids.resize(std::min(ids.size(), kDrawn));
    std::vector<std::pair<std::int64_t, Kind>> found;
    for (const std::int64_t id : ids) {
      if (codec.is_special(id)) continue;
      Kind kind = kind_of(codec, id);
      const bool is_content = kind.form != Form::kOther && kind.form != Form::kMark;
      if (is_content && words_of_the_class_of(with_case(kind.text, false)).empty()) {
        found.emplace_back(id, std::move(kind));
      }
    }
    return found;
  }

  std::vector<std::int64_t> of_the_same_kind(std::int64_t original,
                                             const std::vector<std::pair<std::int64_t, Kind>>& frequent,
                                             Random& random) const {
    const TextCodec& codec = question_.codec;
    const Kind kind = kind_of(codec, original);
    std::vector<std::int64_t> found;
    std::vector<std::string> words = listed_beside(kind);
    random.shuffle(words);
    for (const std::string& word : words) {
      const std::vector<std::int64_t> ids = codec.word_to_ids(word);
      if (ids.size() == 1 && kind_of(codec, ids.front()).form == kind.form) found.push_back(ids.front());
    }
    // Those with a space before them, or without, as the original, come first.
    std::stable_partition(found.begin(), found.end(),
                          [&](std::int64_t id) { return kind_of(codec, id).begins == kind.begins; });
    if (words.empty()) {
      for (const auto& [id, other] : frequent) {
        if (kind.fits(other)) found.push_back(id);
      }
      random.shuffle(found);
    }
    std::vector<std::int64_t> chosen;
    for (const std::int64_t id : found) {
      const bool is_new = id != original && std::find(chosen.begin(), chosen.end(), id) == chosen.end();
      if (is_new && !codec.is_special(id) && chosen.size() < options_.replacements) chosen.push_back(id);
    }
    return chosen;
  }

  // Words of a closed class; none for other kinds.
  static std::vector<std::string> listed_beside(const Kind& kind) {
    if (kind.form == Form::kMark) return {".", ",", ";", ":", "!", "?", "-", "(", ")", "\"", "'", "/"};
    if (!kind.begins && kind.form == Form::kWord) return {};
    std::vector<std::string> words;
    for (const std::string_view word : words_of_the_class_of(with_case(kind.text, false))) {
      words.push_back(with_case(word, kind.form == Form::kCapitalized));
    }
    return words;
  }

  const ReplacementQuestion& question_;
  std::span<const std::size_t> places_;
  const ReplacementOptions& options_;
};

}  // namespace

std::vector<std::vector<Candidate>> find_candidates(const ReplacementQuestion& question,
                                                    std::span<const std::size_t> places,
                                                    const ReplacementOptions& options) {
  return Finder(question, places, options).find();
}

}  // namespace attnflow::internal
