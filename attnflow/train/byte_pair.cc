#include "attnflow/train/byte_pair.h"

#include <algorithm>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "attnflow/train/bert_pipeline.h"

namespace attnflow::internal {
namespace {

using Symbol = std::uint32_t;

struct Stem {
  std::vector<Symbol> symbols;
  std::uint64_t count = 0;
};

// Two neighbours in one number.
using Pair = std::uint64_t;
constexpr Pair make_pair(Symbol left, Symbol right) { return (Pair{left} << 32) | right; }
constexpr Symbol left_of(Pair pair) { return static_cast<Symbol>(pair >> 32); }
constexpr Symbol right_of(Pair pair) { return static_cast<Symbol>(pair & 0xFFFFFFFFU); }

struct Occurrences {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> stems;  // every stem that holds the pair, and some that held it
};

struct Candidate {
  std::uint64_t count;
  Pair pair;
};
struct ComesLater {
  bool operator()(const Candidate& a, const Candidate& b) const {
    return std::tuple(a.count, b.pair) < std::tuple(b.count, a.pair);
  }
};

// The UTF-8 characters of a stem, all but the first with "##".
std::vector<std::string> characters_of(std::string_view stem) {
  std::vector<std::string> characters;
  for (const char byte : stem) {
    if ((static_cast<unsigned char>(byte) & 0xC0U) != 0x80U) {
      characters.emplace_back(characters.empty() ? std::string_view() : kContinuation);
    }
    characters.back().push_back(byte);
  }
  return characters;
}

class Learner {
 public:
  Learner(const std::map<std::string, std::uint64_t>& stems, const MergeRules& rules) : rules_(rules) {
    std::map<std::string, Symbol> characters;
    for (const auto& [stem, count] : stems) {
      for (std::string& character : characters_of(stem)) characters.emplace(std::move(character), 0);
    }
    for (auto& [character, symbol] : characters) symbol = intern(character);
    for (const auto& [text, count] : stems) {
      Stem stem;
      stem.count = count;
      for (const std::string& character : characters_of(text)) stem.symbols.push_back(characters.at(character));
      stems_.push_back(std::move(stem));
    }
    for (std::uint32_t i = 0; i < stems_.size(); ++i) {
      const std::vector<Symbol>& symbols = stems_[i].symbols;
      for (std::size_t k = 0; k + 1 < symbols.size(); ++k) add(make_pair(symbols[k], symbols[k + 1]), i);
    }
    for (const auto& [pair, occurrences] : pairs_) heap_.push({occurrences.count, pair});
  }

  std::vector<std::string> learn() {
    std::vector<std::string> learned;
    while (learned.size() < rules_.max_pieces && !heap_.empty()) {
      const Candidate best = heap_.top();
      heap_.pop();
      const auto found = pairs_.find(best.pair);
      if (found == pairs_.end() || found->second.count != best.count) continue;  // outdated
      if (best.count < rules_.min_count) break;
      const std::string piece =
          spellings_[left_of(best.pair)] + spellings_[right_of(best.pair)].substr(kContinuation.size());
      if (!rules_.allowed(piece)) {
        pairs_.erase(found);
        refused_.emplace(best.pair, true);
        continue;
      }
      // Two ways to merge the same characters give one piece.
      const bool is_new = !symbols_.contains(piece) && !rules_.free(piece);
      const Symbol merged = intern(piece);
      if (is_new) learned.push_back(piece);
      merge(best.pair, merged);
    }
    return learned;
  }

 private:
  Symbol intern(const std::string& spelling) {
    const auto [position, is_new] = symbols_.emplace(spelling, static_cast<Symbol>(spellings_.size()));
    if (is_new) spellings_.push_back(spelling);
    return position->second;
  }

  void add(Pair pair, std::uint32_t stem) {
    if (refused_.contains(pair)) return;
    Occurrences& occurrences = pairs_[pair];
    occurrences.count += stems_[stem].count;
    if (occurrences.stems.empty() || occurrences.stems.back() != stem) occurrences.stems.push_back(stem);
  }

  void remove(Pair pair, std::uint32_t stem) {
    const auto found = pairs_.find(pair);
    if (found != pairs_.end()) found->second.count -= stems_[stem].count;
  }

  void merge(Pair pair, Symbol merged) {
    const std::vector<std::uint32_t> holders = std::move(pairs_.at(pair).stems);
    std::vector<Pair> changed;
    for (const std::uint32_t stem : holders) {
      std::vector<Symbol>& symbols = stems_[stem].symbols;
      std::vector<Symbol> after;
      after.reserve(symbols.size());
      for (std::size_t k = 0; k < symbols.size(); ++k) {
        if (k + 1 < symbols.size() && make_pair(symbols[k], symbols[k + 1]) == pair) {
          after.push_back(merged);
          ++k;
        } else {
          after.push_back(symbols[k]);
        }
      }
      if (after.size() == symbols.size()) continue;  // an earlier merge took the pair away, or this stem came twice
      const auto each_pair = [](const std::vector<Symbol>& text, const auto& action) {
        for (std::size_t k = 0; k + 1 < text.size(); ++k) action(make_pair(text[k], text[k + 1]));
      };
      each_pair(symbols, [&](Pair old) {
        remove(old, stem);
        changed.push_back(old);
      });
      symbols = std::move(after);
      each_pair(symbols, [&](Pair fresh) {
        add(fresh, stem);
        changed.push_back(fresh);
      });
    }
    pairs_.erase(pair);
    std::sort(changed.begin(), changed.end());
    changed.erase(std::unique(changed.begin(), changed.end()), changed.end());
    for (const Pair one : changed) {
      const auto found = pairs_.find(one);
      if (found != pairs_.end() && found->second.count > 0) heap_.push({found->second.count, one});
    }
  }

  const MergeRules& rules_;
  std::vector<std::string> spellings_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::vector<Stem> stems_;
  std::unordered_map<Pair, Occurrences> pairs_;
  std::unordered_map<Pair, bool> refused_;
  std::priority_queue<Candidate, std::vector<Candidate>, ComesLater> heap_;
};

}  // namespace

std::vector<std::string> learn_pieces(const std::map<std::string, std::uint64_t>& stems, const MergeRules& rules) {
  return Learner(stems, rules).learn();
}

}  // namespace attnflow::internal
