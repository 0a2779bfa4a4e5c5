#include "attnflow/train/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/train/bert_pipeline.h"
#include "attnflow/train/byte_pair.h"
#include "attnflow/train/word_endings.h"
#include "attnflow/train/word_piece.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::kContinuation;

struct RankedWord {
  std::string_view text;
  std::uint64_t count;
};

template <typename List>
bool contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string as_continuation(std::string_view text) { return std::string(kContinuation).append(text); }

bool continues(std::string_view piece) { return piece.starts_with(kContinuation); }

// The characters of the vocabulary in both forms, as pieces.
std::vector<std::string> character_pieces(const WordCounts& counts, std::uint64_t min_count) {
  struct Count {
    std::uint64_t total = 0;
    bool first = false;
    bool inside = false;
  };
  std::map<char32_t, Count> characters;
  for (const auto& [word, count] : counts) {
    bool first = true;
    for (const char32_t c : decode_utf8(word)) {
      Count& known = characters[c];
      known.total += count;
      (first ? known.first : known.inside) = true;
      first = false;
    }
  }
  for (const std::string_view range : {"az", "09"}) {
    for (char c = range[0]; c <= range[1]; ++c) characters[static_cast<char32_t>(c)] = {min_count, true, true};
  }
  std::vector<std::string> pieces;
  for (const bool inside : {false, true}) {
    for (const auto& [c, count] : characters) {
      if (count.total < min_count || !(inside ? count.inside : count.first)) continue;
      std::string piece(inside ? kContinuation : std::string_view());
      append_utf8(piece, c);
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

std::vector<std::string> ending_pieces() {
  std::vector<std::string> pieces;
  const auto add = [&pieces](const auto& endings) {
    for (const std::string_view ending : endings) pieces.push_back(as_continuation(ending));
  };
  add(internal::kInflectionsInS);
  add(internal::kSingularInS);
  add(internal::kOtherEndings);
  return pieces;
}

// Rules (a) to (c) of the header.
bool keeps_endings(const std::string& piece) {
  static constexpr std::array<std::string_view, 7> kRefused = {"s", "ed", "ing", "ly", "i", "u", "in"};
  if (!continues(piece)) return true;
  if (piece.ends_with("qu")) return true;
  return std::none_of(kRefused.begin(), kRefused.end(), [&](std::string_view last) { return piece.ends_with(last); });
}

// Words by falling count, equal counts by bytes.
std::vector<RankedWord> rank_words(const WordCounts& counts) {
  std::vector<RankedWord> ranked;
  ranked.reserve(counts.size());
  for (const auto& [word, count] : counts) ranked.push_back({word, count});
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedWord& a, const RankedWord& b) { return a.count > b.count; });
  return ranked;
}

// A vocabulary under construction; a piece that is there already is not added again.
class Builder {
 public:
  const std::vector<std::string>& pieces() const { return pieces_; }
  bool contains(const std::string& piece) const { return known_.contains(piece); }

  // How many of them were new.
  template <typename Pieces>
  std::size_t add(const Pieces& pieces) {
    const std::size_t before = pieces_.size();
    for (const auto& piece : pieces) add_one(std::string(piece));
    return pieces_.size() - before;
  }

  // Whole words until there are `size` pieces. Returns the place in `ranked` of the first word left out.
  std::size_t add_words(const std::vector<RankedWord>& ranked, std::uint64_t min_count, std::size_t size) {
    std::size_t next = 0;
    for (; next < ranked.size() && pieces_.size() < size && ranked[next].count >= min_count; ++next)
      add_one(std::string(ranked[next].text));
    return next;
  }

 private:
  void add_one(std::string piece) {
    if (known_.insert(piece).second) pieces_.push_back(std::move(piece));
  }

  std::vector<std::string> pieces_;
  std::unordered_set<std::string> known_;
};

// The stems of words from ranked[begin] on, without those that hold a digit, with their counts.
std::map<std::string, std::uint64_t> stems_of(const std::vector<RankedWord>& ranked, std::size_t begin,
                                              const WordCounts& counts) {
  std::map<std::string, std::uint64_t> stems;
  for (std::size_t i = begin; i < ranked.size(); ++i) {
    const std::string_view stem = internal::split_endings(ranked[i].text, counts).front();
    if (stem.find_first_of("0123456789") == std::string_view::npos) stems[std::string(stem)] += ranked[i].count;
  }
  return stems;
}

// The learned pieces that occur at least min_count times when the words from ranked[begin] on are cut.
std::vector<std::string> keep_used(const std::vector<std::string>& learned, std::vector<std::string> others,
                                   const std::vector<RankedWord>& ranked, std::size_t begin, std::uint64_t min_count) {
  const std::size_t offset = others.size();
  others.insert(others.end(), learned.begin(), learned.end());
  const WordPiece word_piece(others);
  std::vector<std::uint64_t> uses(others.size());
  for (std::size_t i = begin; i < ranked.size(); ++i) {
    for (const std::uint32_t id : word_piece.cut(ranked[i].text)) uses[id] += ranked[i].count;
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < learned.size(); ++i) {
    if (uses[offset + i] >= min_count) kept.push_back(learned[i]);
  }
  return kept;
}

double ratio(std::uint64_t part, std::uint64_t all) {
  return all == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(all);
}

void check(const WordCounts& counts, const VocabularyOptions& options) {
  if (counts.empty()) {
    throw Error(ErrorKind::kUsage, "expected a text to learn a vocabulary from, found no words; give text with words");
  }
  const std::set<std::string> distinct(options.specials.begin(), options.specials.end());
  if (distinct.size() != options.specials.size() || distinct.contains("")) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected special tokens that differ and are not empty, found {}; name each once",
                            fmt::join(options.specials, ", ")));
  }
}

}  // namespace

double EndingUse::share() const { return ratio(shown, rare); }
double VocabularyUse::whole_share() const { return ratio(whole, words); }
double VocabularyUse::pieces_per_word() const { return ratio(pieces, words); }

Vocabulary learn_vocabulary(const WordCounts& counts, const VocabularyOptions& options) {
  check(counts, options);
  Vocabulary result;
  Builder builder;
  result.specials = builder.add(options.specials);
  result.characters = builder.add(character_pieces(counts, options.min_character_count));
  result.endings = builder.add(ending_pieces());
  if (builder.pieces().size() >= options.size) {
    throw Error(ErrorKind::kUsage,
                fmt::format("expected a vocabulary size above {}, which special tokens, characters and endings take, "
                            "found {}; ask for more",
                            builder.pieces().size(), options.size));
  }

  // The words that are whole even if learned pieces take all the room that they may.
  const std::vector<RankedWord> ranked = rank_words(counts);
  const std::size_t room = options.size - builder.pieces().size();
  const std::size_t most_learned = std::min(options.max_pieces, room / 4);
  Builder whole = builder;
  const std::size_t rare = whole.add_words(ranked, options.min_word_count, options.size - most_learned);

  internal::MergeRules rules;
  rules.max_pieces = most_learned;
  rules.allowed = keeps_endings;
  rules.free = [&whole](const std::string& piece) { return whole.contains(piece); };
  std::vector<std::string> learned = internal::learn_pieces(stems_of(ranked, rare, counts), rules);
  if (rare < ranked.size()) learned = keep_used(learned, whole.pieces(), ranked, rare, ranked[rare].count);

  result.learned = builder.add(learned);
  const std::size_t before = builder.pieces().size();
  builder.add_words(ranked, options.min_word_count, options.size);
  result.words = builder.pieces().size() - before;
  result.pieces = builder.pieces();
  return result;
}

VocabularyUse measure_vocabulary(const std::vector<std::string>& pieces, const WordCounts& counts) {
  const WordPiece word_piece(pieces);
  VocabularyUse use;
  for (const auto& [word, count] : counts) {
    const std::vector<std::uint32_t> ids = word_piece.cut(word);
    use.words += count;
    use.pieces += count * std::max<std::size_t>(ids.size(), 1);
    if (ids.empty()) use.unknown += count;
    if (ids.size() == 1) use.whole += count;
    if (ids.size() < 2) continue;
    const std::string_view ending = internal::split_endings(word, counts).back();
    if (ending.size() == word.size()) continue;
    const std::string_view last = std::string_view(pieces[ids.back()]).substr(kContinuation.size());
    const auto add = [times = count](EndingUse& kind, bool is_shown) {
      kind.rare += times;
      if (is_shown) kind.shown += times;
    };
    if (contains(internal::kInflectionsInS, ending)) {
      add(use.inflected, contains(internal::kInflectionsInS, last));
    } else if (contains(internal::kSingularInS, ending)) {
      add(use.singular, contains(internal::kSingularInS, last));
    } else {
      const auto one_of_two = [](std::string_view text, std::string_view first, std::string_view second) {
        return text == first || text == second;
      };
      add(use.other, last == ending || (one_of_two(ending, "ed", "d") && one_of_two(last, "ed", "d")) ||
                         (one_of_two(ending, "ly", "ally") && one_of_two(last, "ly", "ally")));
    }
  }
  return use;
}

}  // namespace attnflow
