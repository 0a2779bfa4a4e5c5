// Texts that begin alike, run as one: a trunk, and branches that leave it.
//
// Problem. To see what a prediction depends on, a token is replaced by several others and the rest of the text runs
// again. One text at a time reads every weight, and dequantizes it, for a few tokens; a batch of whole texts computes
// their common beginnings again and again.
//
// Method. The trunk is the first text. Each other text shares its first p tokens with the trunk and contributes rows
// for the others, so that N texts of n tokens take n + sum (n - p) rows, and one product with each weight. A branch's
// token attends to the p keys of the trunk and to its own branch. Branches that leave at the same place with the same
// number of tokens attend as one batch. The bits of results do not depend on the number of threads.
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/model/torch/blocked_ops.h"

namespace attnflow::internal {

// `count` branches of `tokens` tokens each, which leave the trunk at position `leave`; the trunk is one that leaves
// at 0. Their rows lie one after another, from `row` on.
struct Branches {
  std::size_t leave = 0;
  std::size_t tokens = 0;
  std::size_t count = 1;
  std::size_t row = 0;

  std::size_t end() const { return row + tokens * count; }
};

// Texts as rows of one pass.
class BranchedTexts {
 public:
  // The trunk; its rows come first. `last`: the position of the row whose output is wanted.
  BranchedTexts(std::vector<std::int64_t> trunk, std::size_t last);

  // Longer trunks are better run one after another: their branches have few rows beside them, and much attention.
  static constexpr std::size_t kLongestTrunk = 1024;

  // Adds another text. Returns false, and adds nothing, if there would be too many rows.
  bool add(std::span<const std::int64_t> text, std::size_t last);

  const std::vector<Branches>& branches() const { return branches_; }
  const std::vector<std::int64_t>& ids() const { return ids_; }              // of the rows
  const std::vector<std::int64_t>& positions() const { return positions_; }  // of the rows
  const std::vector<std::int64_t>& wanted() const { return wanted_; }        // a row for each text
  std::size_t longest() const { return longest_; }

 private:
  std::size_t trunk_;  // its tokens
  std::size_t longest_;
  std::vector<Branches> branches_;
  std::vector<std::int64_t> ids_;
  std::vector<std::int64_t> positions_;
  std::vector<std::int64_t> wanted_;
};

class BranchOps : public BlockedOps {
 public:
  // `texts` outlive this.
  BranchOps(const BranchedTexts& texts, at::Device device, std::size_t threads)
      : BlockedOps(device, threads, OneRow::kMatrix), branches_(texts.branches()) {}

  at::Tensor attend(const LayerForm& form, std::size_t index, const at::Tensor& query, const at::Tensor& key,
                    const at::Tensor& value) const;

 private:
  const std::vector<Branches>& branches_;
};

}  // namespace attnflow::internal
