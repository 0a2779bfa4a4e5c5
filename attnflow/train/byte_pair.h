// Pieces of words by merging frequent neighbours.
#ifndef ATTNFLOW_TRAIN_BYTE_PAIR_H_
#define ATTNFLOW_TRAIN_BYTE_PAIR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attnflow::internal {

struct MergeRules {
  std::size_t max_pieces = 0;   // new pieces to learn at most
  std::uint64_t min_count = 2;  // pairs that occur less often are not merged
  // Whether a merge may make this piece ("##" where it goes on inside a word), and whether it costs nothing because
  // the vocabulary holds it anyway.
  std::function<bool(const std::string&)> allowed;
  std::function<bool(const std::string&)> free;
};

// Byte-pair encoding (Sennrich et al. 2016) on characters: each stem begins as its characters; again and again the most
// frequent pair of neighbours, weighted by the stems' counts, becomes one piece. Ties go to the pair whose pieces were
// there first, and characters are ordered by code point, so the result is a function of its input. Returns the new
// pieces in order, without characters and free ones.
//
// Pairs are counted once; a merge then changes only the stems that hold its pair, and the next pair comes from a heap
// whose outdated entries are skipped: O(N log N) for N characters in all stems, times the average depth of merges.
std::vector<std::string> learn_pieces(const std::map<std::string, std::uint64_t>& stems, const MergeRules& rules);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TRAIN_BYTE_PAIR_H_
