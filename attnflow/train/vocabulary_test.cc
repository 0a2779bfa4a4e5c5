#include "attnflow/train/vocabulary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include "attnflow/files/files_for_test.h"
#include "attnflow/text/tokenizer.h"
#include "attnflow/train/byte_pair.h"
#include "attnflow/train/tokenizer_file.h"
#include "attnflow/train/word_endings.h"
#include "attnflow/train/word_piece.h"

namespace attnflow {
namespace {

using test::expect_error;
using test::get;
using test::TempFolder;
using Texts = std::vector<std::string>;

WordCounts count(const std::string& text) { return count_words(std::vector<std::string>{text}); }

// A small generator whose output is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::size_t below(std::size_t limit) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>((state_ >> 33) % limit);
  }

 private:
  std::uint64_t state_;
};

// Nouns of two to four syllables; Zipf-like counts, about every third form in the plural.
WordCounts invented_nouns(std::size_t number) {
  Random random(5);
  WordCounts counts;
  static const Texts onsets = {"b", "br", "ch", "d", "f", "g", "gl", "h", "k", "l", "m", "n", "p", "st", "t", "v"};
  static const Texts nuclei = {"a", "e", "i", "o", "u", "ai", "ea", "ou"};
  static const Texts codas = {"", "ck", "l", "m", "n", "nd", "nt", "p", "r", "rt", "st", "t", "x", "sh", "ss"};
  while (counts.size() < number) {
    std::string noun;
    const std::size_t syllables = 2 + random.below(3);
    for (std::size_t i = 0; i < syllables; ++i) {
      noun += onsets[random.below(onsets.size())] + nuclei[random.below(nuclei.size())];
    }
    std::string coda = codas[random.below(codas.size())];
    // Stems that end in i or u are the exception that the header names.
    if (coda.empty() && (noun.back() == 'i' || noun.back() == 'u')) coda = "n";
    noun += coda;
    const bool sibilant = coda == "x" || coda == "sh" || coda == "ss";
    counts[noun] += 1 + 100'000 / (counts.size() + 1);
    if (random.below(3) == 0) counts[noun + (sibilant ? "es" : "s")] += 1 + 30'000 / (counts.size() + 1);
  }
  return counts;
}

TEST(CountWords, SplitsAsBertDoes) {
  EXPECT_EQ(count("Don't stop, DON'T!"), (WordCounts{{"!", 1}, {"'", 2}, {",", 1}, {"don", 2}, {"stop", 1}, {"t", 2}}));
  EXPECT_EQ(count("  \t\r\n "), WordCounts{});
  // Accents go, Unicode's punctuation and spaces end words, ideographs stand alone, control characters vanish.
  EXPECT_EQ(count("Caf\xC3\xA9\xE2\x80\x94na\xC3\xAFve\xC2\xA0\xC3\x89t\xC3\xA9"),
            (WordCounts{{"\xE2\x80\x94", 1}, {"cafe", 1}, {"ete", 1}, {"naive", 1}}));
  EXPECT_EQ(count("\xE4\xB8\xAD\xE6\x96\x87x"), (WordCounts{{"\xE4\xB8\xAD", 1}, {"\xE6\x96\x87", 1}, {"x", 1}}));
  EXPECT_EQ(count("a\x01"
                  "b\x7F \xEF\xBB\xBF"
                  "ab"),
            (WordCounts{{"ab", 2}}));
  EXPECT_EQ(count("\xCE\xA3\xCE\x9F\xCE\xA3"), (WordCounts{{"\xCF\x83\xCE\xBF\xCF\x83", 1}}));  // SOS in Greek
}

TEST(CountWords, AddsParagraphsAndDocuments) {
  WordCounts counts = count_words(std::vector<std::string>{"a b", "", "b"});
  EXPECT_EQ(counts, (WordCounts{{"a", 1}, {"b", 2}}));
  add_counts(counts, {{"b", 3}, {"c", 1}});
  EXPECT_EQ(counts, (WordCounts{{"a", 1}, {"b", 5}, {"c", 1}}));
  EXPECT_EQ(count_words({}), WordCounts{});
}

TEST(CountWords, NamesTheParagraphThatIsNotUtf8) {
  expect_error(ErrorKind::kBadFile, {"paragraph 1", "byte 0xFF at offset 2"}, [] {
    count_words(std::vector<std::string>{"fine", "a \xFF"});
  });
}

// The words that were counted are those that the finished tokenizer looks up, in any script.
TEST(CountWords, AgreesWithTheTokenizer) {
  static const Texts characters = {"a",
                                   "B",
                                   "7",
                                   "'",
                                   "-",
                                   " ",
                                   "\n",
                                   "\t",
                                   "\x02",
                                   "\xC3\xA9",
                                   "\xC3\x89",
                                   "\xC2\xA0",
                                   "\xC2\xAD",
                                   "\xCC\x81",
                                   "\xC4\xB0",
                                   "\xE2\x80\x9C",
                                   "\xE2\x82\xAC",
                                   "\xE4\xB8\xAD",
                                   "\xF0\x9F\x98\x80",
                                   "\xD7\xA9",
                                   "\xC2\xBD",
                                   "$"};
  Random random(11);
  std::vector<std::string> paragraphs;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (std::size_t n = random.below(30); n > 0; --n) text += characters[random.below(characters.size())];
    paragraphs.push_back(text);
  }
  const WordCounts counts = count_words(paragraphs);
  const Vocabulary vocabulary = learn_vocabulary(counts, {.min_word_count = 1, .min_character_count = 1});
  const TempFolder folder;
  write_tokenizer_files(folder.path(), vocabulary.pieces);
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  WordCounts found;
  for (const std::string& text : paragraphs) {
    for (const EncodedToken& token : tokenizer.encode(text).tokens) {
      if (!token.special) ++found[token.text];
    }
  }
  EXPECT_EQ(found, counts);
  EXPECT_GT(counts.size(), 300U);
}

TEST(SplitEndings, TakesTheBorderWhoseStemIsKnown) {
  const WordCounts counts = {{"house", 9}, {"box", 9},  {"movie", 9}, {"city", 9}, {"like", 9},
                             {"walk", 9},  {"menu", 9}, {"alibi", 9}, {"focus", 9}};
  const auto parts = [&counts](const std::string& word) {
    std::string joined;
    for (const std::string_view part : internal::split_endings(word, counts)) {
      joined += (joined.empty() ? "" : "|") + std::string(part);
    }
    return joined;
  };
  for (const char* expected : {"gadget|s",  "house|s",   "box|es",       "movie|s",   "cit|ies",      "berr|ies",
                               "wish|es",   "vase|s",    "like|d",       "walk|ed",   "menu|s",       "alibi|s",
                               "foc|us",    "cris|is",   "gla|ss",       "kind|ness", "kind|ness|es", "draw|ing|s",
                               "runn|ing",  "quick|ly",  "suppos|ed|ly", "1960|s",    "table",        "foc|us|es",
                               "is",        "as",        "bed",          "sing",      "fly",          "caf\xC3\xA9s",
                               "numer|ous", "princ|ess", "need|less",    "ga|s",      "basic|ally",   "foc|us|es"}) {
    std::string word = expected;
    word.erase(std::remove(word.begin(), word.end(), '|'), word.end());
    EXPECT_EQ(parts(word), expected);
  }
}

// Byte-pair encoding by its definition: count everything anew before each merge.
Texts learn_naively(const std::map<std::string, std::uint64_t>& stems, std::size_t max_pieces, std::uint64_t min_count,
                    const std::function<bool(const std::string&)>& allowed) {
  Texts known;  // in order of appearance
  const auto rank = [&known](const std::string& piece) {
    return static_cast<std::size_t>(std::find(known.begin(), known.end(), piece) - known.begin());
  };
  std::vector<std::pair<Texts, std::uint64_t>> words;
  std::set<std::string> characters;
  for (const auto& [stem, times] : stems) {
    Texts symbols;
    for (const char c : stem) symbols.push_back((symbols.empty() ? "" : "##") + std::string(1, c));
    characters.insert(symbols.begin(), symbols.end());
    words.emplace_back(symbols, times);
  }
  known.assign(characters.begin(), characters.end());
  Texts learned;
  while (learned.size() < max_pieces) {
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> pairs;
    for (const auto& [symbols, times] : words) {
      for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
        if (allowed(symbols[i] + symbols[i + 1].substr(2))) pairs[{rank(symbols[i]), rank(symbols[i + 1])}] += times;
      }
    }
    std::pair<std::size_t, std::size_t> best;
    std::uint64_t most = 0;
    for (const auto& [pair, times] : pairs) {
      if (times > most) std::tie(best, most) = std::tuple(pair, times);
    }
    if (most < std::max<std::uint64_t>(min_count, 1)) break;
    const std::string left = known[best.first];
    const std::string right = known[best.second];
    const std::string piece = left + right.substr(2);
    if (rank(piece) == known.size()) {
      known.push_back(piece);
      learned.push_back(piece);
    }
    for (auto& [symbols, times] : words) {
      Texts after;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        const bool merges = i + 1 < symbols.size() && symbols[i] == left && symbols[i + 1] == right;
        after.push_back(merges ? piece : symbols[i]);
        i += merges ? 1 : 0;
      }
      symbols = after;
    }
  }
  return learned;
}

TEST(LearnPieces, AgreesWithTheDefinition) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::map<std::string, std::uint64_t> stems;
    for (int i = 0; i < 60; ++i) {
      std::string stem;
      for (std::size_t n = 1 + random.below(9); n > 0; --n) stem.push_back("aabcs"[random.below(5)]);
      stems[stem] += 1 + random.below(5);
    }
    internal::MergeRules rules;
    rules.max_pieces = 40;
    rules.min_count = 3;
    rules.allowed = [](const std::string& piece) { return !piece.ends_with("s"); };
    rules.free = [](const std::string&) { return false; };
    const Texts expected = learn_naively(stems, 40, 3, rules.allowed);
    EXPECT_EQ(internal::learn_pieces(stems, rules), expected) << "seed " << seed;
    EXPECT_GT(expected.size(), 10U);
  }
}

TEST(LearnVocabulary, OrdersItsPieces) {
  const Vocabulary vocabulary =
      learn_vocabulary({{"the", 50}, {"a", 40}, {"key", 9}, {"cab", 9}, {"once", 1}, {",", 30}, {"\xE2\x82\xAC", 1}},
                       {.size = 200, .min_character_count = 5});
  const Texts& pieces = vocabulary.pieces;
  EXPECT_EQ(Texts(pieces.begin(), pieces.begin() + 5), (Texts{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}));
  EXPECT_EQ(vocabulary.specials, 5U);
  // The comma as a word, letters and digits in both forms; the euro sign is too rare.
  EXPECT_EQ(vocabulary.characters, 1U + 2U * 36U);
  EXPECT_EQ(pieces[5], ",");
  EXPECT_EQ(pieces[6], "0");
  EXPECT_EQ(std::count(pieces.begin(), pieces.end(), "##,"), 0);
  // "a" is a character already; words that are equally frequent stand by bytes; "once" is rare.
  EXPECT_EQ(vocabulary.words, 3U);
  EXPECT_EQ(Texts(pieces.end() - 3, pieces.end()), (Texts{"the", "cab", "key"}));
  EXPECT_EQ(vocabulary.specials + vocabulary.characters + vocabulary.endings + vocabulary.learned + vocabulary.words,
            pieces.size());
}

TEST(LearnVocabulary, IsAsLargeAsAskedAndHoldsEachPieceOnce) {
  const WordCounts counts = invented_nouns(5000);
  for (const std::size_t size : {150U, 500U, 2000U}) {
    const Vocabulary vocabulary = learn_vocabulary(counts, {.size = size, .max_pieces = 200});
    EXPECT_EQ(vocabulary.pieces.size(), size);
    EXPECT_EQ(std::set<std::string>(vocabulary.pieces.begin(), vocabulary.pieces.end()).size(), size);
    EXPECT_LE(vocabulary.learned, 200U);
    EXPECT_EQ(learn_vocabulary(counts, {.size = size, .max_pieces = 200}).pieces, vocabulary.pieces);
  }
  // A text that fits in whole leaves room.
  EXPECT_LT(learn_vocabulary(counts, {.size = 100'000, .min_word_count = 1}).pieces.size(), 100'000U);
}

TEST(LearnVocabulary, LearnedPiecesSaveTokens) {
  const WordCounts counts = invented_nouns(5000);
  const VocabularyUse with =
      measure_vocabulary(learn_vocabulary(counts, {.size = 1000, .max_pieces = 200}).pieces, counts);
  const VocabularyUse without =
      measure_vocabulary(learn_vocabulary(counts, {.size = 1000, .max_pieces = 0}).pieces, counts);
  EXPECT_LT(with.pieces_per_word(), without.pieces_per_word());
  EXPECT_LT(with.whole, without.whole);
  EXPECT_EQ(with.words, without.words);
  EXPECT_EQ(with.unknown, 0U);
}

TEST(LearnVocabulary, RareInventedPluralsKeepTheirEnding) {
  const WordCounts counts = invented_nouns(5000);
  const Vocabulary vocabulary = learn_vocabulary(counts, {.size = 1000, .max_pieces = 200});
  ASSERT_GT(vocabulary.learned, 100U);
  const VocabularyUse use = measure_vocabulary(vocabulary.pieces, counts);
  EXPECT_GT(use.inflected.rare, 1000U);
  EXPECT_GE(use.inflected.share(), 0.99);
  // By words too, and judged by how the text was made: no ending of singulars behind a plural.
  const WordPiece word_piece(vocabulary.pieces);
  std::size_t plurals = 0;
  for (const auto& [word, times] : counts) {
    const bool plural = (word.ends_with("s") && counts.contains(word.substr(0, word.size() - 1))) ||
                        (word.ends_with("es") && counts.contains(word.substr(0, word.size() - 2)));
    const std::vector<std::uint32_t> ids = word_piece.cut(word);
    if (!plural || ids.size() < 2) continue;
    ++plurals;
    const std::string& last = vocabulary.pieces[ids.back()];
    EXPECT_TRUE(last == "##s" || last == "##es" || last == "##ies") << word << " ends in " << last;
  }
  EXPECT_GT(plurals, 500U);
}

TEST(LearnVocabulary, RealProseIsMostlyWholeAndKeepsItsEndings) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "prose")) {
    if (entry.path().extension() == ".txt" && entry.file_size() < 1'000'000) paths.push_back(entry.path());
  }
  ASSERT_GT(paths.size(), 5U);
  std::sort(paths.begin(), paths.end());
  WordCounts counts;
  for (const std::filesystem::path& path : paths) add_counts(counts, count_words(std::vector{get(path)}));
  const Vocabulary vocabulary = learn_vocabulary(counts);
  EXPECT_EQ(vocabulary.pieces.size(), 10'000U);
  const VocabularyUse use = measure_vocabulary(vocabulary.pieces, counts);
  EXPECT_GT(use.words, 1'000'000U);
  EXPECT_GT(use.whole_share(), 0.9);
  EXPECT_LT(use.pieces_per_word(), 1.2);
  EXPECT_LT(use.unknown, use.words / 1000);
  EXPECT_GT(use.inflected.rare, 10'000U);
  EXPECT_GE(use.inflected.share(), 0.99);
  EXPECT_GE(use.singular.share(), 0.99);
  EXPECT_GE(use.other.share(), 0.95);
}

// Whatever the text, no piece inside a word hides the border before a final s.
TEST(LearnVocabulary, PiecesInsideWordsEndInSOnlyAsEndings) {
  const Vocabulary vocabulary = learn_vocabulary(invented_nouns(5000), {.size = 1000, .max_pieces = 400});
  const std::size_t fixed = vocabulary.specials + vocabulary.characters + vocabulary.endings;
  for (std::size_t id = fixed; id < fixed + vocabulary.learned; ++id) {
    const std::string& piece = vocabulary.pieces[id];
    if (!piece.starts_with("##")) continue;
    for (const char* ending : {"s", "ed", "ing", "ly", "in", "i"}) EXPECT_FALSE(piece.ends_with(ending)) << piece;
    EXPECT_TRUE(!piece.ends_with("u") || piece.ends_with("qu")) << piece;
  }
}

TEST(MeasureVocabulary, CountsByHand) {
  const Texts pieces = {"[UNK]", "the", "gad", "##get", "##s", "foc", "##us", "walk", "##ed", "##ing"};
  const VocabularyUse use = measure_vocabulary(
      pieces, {{"the", 10}, {"gadgets", 3}, {"focus", 2}, {"walked", 4}, {"walking", 1}, {"xyz", 5}, {"gads", 1}});
  EXPECT_EQ(use.words, 26U);
  EXPECT_EQ(use.whole, 10U);
  EXPECT_EQ(use.unknown, 5U);
  EXPECT_EQ(use.pieces, 10U + 9U + 4U + 8U + 2U + 5U + 2U);
  EXPECT_EQ(use.inflected.rare, 4U);
  EXPECT_EQ(use.inflected.shown, 4U);
  EXPECT_EQ(use.singular.rare, 2U);
  EXPECT_EQ(use.singular.shown, 2U);
  EXPECT_EQ(use.other.rare, 5U);
  EXPECT_EQ(use.other.shown, 5U);
  EXPECT_DOUBLE_EQ(use.whole_share(), 10.0 / 26.0);
  EXPECT_DOUBLE_EQ(use.pieces_per_word(), 40.0 / 26.0);
  EXPECT_EQ(measure_vocabulary(pieces, {}).pieces_per_word(), 0.0);
}

TEST(LearnVocabulary, RefusesWhatMakesNoVocabulary) {
  expect_error(ErrorKind::kUsage, {"found no words"}, [] { learn_vocabulary({}); });
  expect_error(ErrorKind::kUsage, {"vocabulary size above", "found 50"}, [] {
    learn_vocabulary({{"a", 1}}, {.size = 50});
  });
  expect_error(ErrorKind::kUsage, {"special tokens that differ", "[A], [A]"}, [] {
    learn_vocabulary({{"a", 1}}, {.specials = {"[A]", "[A]"}});
  });
  expect_error(ErrorKind::kUsage, {"not empty"}, [] { learn_vocabulary({{"a", 1}}, {.specials = {""}}); });
}

}  // namespace
}  // namespace attnflow
