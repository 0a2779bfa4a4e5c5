#include "attnflow/analysis/check/patch_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "attnflow/analysis/check/patch_fills.h"
#include "attnflow/analysis/methods/target_values.h"

namespace attnflow {
namespace {

using internal::kPatchFills;
using internal::PatchFill;
using internal::PixelBox;

constexpr std::size_t kPictures = 64;  // held at once

std::size_t fill_count(const ImageQuestion& question) { return std::min(kPatchFills.size(), question.replacements); }

// Patches of rows [top, bottom) and columns [left, right).
struct Block {
  std::size_t top = 0;
  std::size_t left = 0;
  std::size_t bottom = 0;
  std::size_t right = 0;

  auto operator<=>(const Block&) const = default;  // NOLINT(modernize-use-nullptr): a mistake of clang-tidy 14

  PixelBox box(const ImageInfo& info) const {
    return {top * info.patch_height, left * info.patch_width, bottom * info.patch_height, right * info.patch_width};
  }
};

// The patches that are replaced for one patch.
struct PatchBlocks {
  Block alone;
  std::vector<Block> around;  // the patch and some of its neighbors
};

// Nothing for a group that is no patch.
std::optional<PatchBlocks> blocks_of(const ImageQuestion& question, std::size_t group) {
  const ReportImage& grid = *question.grid;
  const std::size_t position = question.groups[group].front();
  const std::size_t patch = position - grid.first_patch;
  if (position < grid.first_patch || patch >= grid.rows * grid.columns) return std::nullopt;
  const std::size_t row = patch / grid.columns;
  const std::size_t column = patch % grid.columns;
  PatchBlocks blocks{.alone = {row, column, row + 1, column + 1}, .around = {}};
  for (const std::size_t top : {row - std::min<std::size_t>(row, 1), row}) {
    for (const std::size_t left : {column - std::min<std::size_t>(column, 1), column})
      blocks.around.push_back({top, left, 0, 0});
  }
  // The upper two end below the patch's row, the lower two a row later; likewise for columns.
  for (std::size_t b = 0; b < blocks.around.size(); ++b) {
    blocks.around[b].bottom = std::min(row + 1 + b / 2, grid.rows);
    blocks.around[b].right = std::min(column + 1 + b % 2, grid.columns);
  }
  return blocks;
}

std::set<Block> blocks_of_all(const ImageQuestion& question, const std::vector<bool>& wanted) {
  std::set<Block> all;
  for (std::size_t g = 0; g < wanted.size(); ++g) {
    const std::optional<PatchBlocks> blocks = blocks_of(question, g);
    if (!wanted[g] || !blocks) continue;
    all.insert(blocks->alone);
    all.insert(blocks->around.begin(), blocks->around.end());
  }
  return all;
}

class PatchCheck {
 public:
  PatchCheck(const ImageQuestion& question, const std::vector<bool>& wanted)
      : question_(question),
        wanted_(wanted),
        filler_(question.input, *question.model.info().image),
        progress_(question.phases ? question.phases("pictures with patches replaced") : ProgressFunction{}) {}

  ReplacementCheck run() {
    result_.value =
        target_values(question_.model, {&question_.input, 1}, question_.target, {.stop_token = question_.stop_token})
            .front();
    result_.places.resize(question_.groups.size());
    const std::size_t first = first_candidates(fill_count(question_), question_.groups.size());
    try_fills(wanted_, 0, first);
    if (first < fill_count(question_)) try_fills(may_decide(result_), first, fill_count(question_));
    result_.reliability = reliability_of(result_);
    return std::move(result_);
  }

 private:
  using Place = std::pair<Block, PatchFill>;

  // Tries fills number `begin` to before `end` in the place of some of the groups.
  void try_fills(const std::vector<bool>& groups, std::size_t begin, std::size_t end) {
    const std::set<Block> blocks = blocks_of_all(question_, groups);
    // Until all is known, as if every patch tried all candidates.
    const std::size_t later = begin == 0 ? fill_count(question_) - end : 0;
    all_ = done_ + blocks.size() * (end - begin + later);
    for (const Block& block : blocks) {
      for (std::size_t f = begin; f < end; ++f) add({block, kPatchFills.at(f)});
    }
    run_pictures();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!groups[g]) continue;
      PlaceDrop& place = result_.places[g];
      for (std::size_t f = begin; f < end; ++f) {
        const PatchFill fill = kPatchFills.at(f);
        if (const std::optional<double> value = value_of(g, fill)) {
          place.tried.push_back({.text = name_of(fill), .fit = 1.0, .value = *value});
        }
      }
      summarize_drop(result_, g);
    }
  }

  std::optional<double> value_of(std::size_t group, PatchFill fill) const {
    const std::optional<PatchBlocks> blocks = blocks_of(question_, group);
    if (!blocks) return std::nullopt;
    const auto alone = values_.find({blocks->alone, fill});
    double around = 0.0;
    for (const Block& block : blocks->around) {
      const auto found = values_.find({block, fill});
      if (found == values_.end()) return std::nullopt;
      around += found->second;
    }
    if (alone == values_.end()) return std::nullopt;
    return 0.5 * alone->second + 0.5 * around / static_cast<double>(blocks->around.size());
  }

  void add(const Place& place) {
    std::optional<PixelInput> picture = filler_.filled(place.first.box(*question_.model.info().image), place.second);
    if (!picture) return;
    pictures_.push_back(std::move(*picture));
    places_.push_back(place);
    if (pictures_.size() == kPictures) run_pictures();
  }

  void run_pictures() {
    if (pictures_.empty()) return;
    BatchOptions options{.stop_token = question_.stop_token};
    if (progress_) options.progress = [&](std::size_t done, std::size_t) { progress_(done_ + done, all_); };
    const std::vector<double> found = target_values(question_.model, pictures_, question_.target, options);
    for (std::size_t i = 0; i < found.size(); ++i) values_[places_[i]] = found[i];
    done_ += found.size();
    if (progress_) progress_(done_, all_);
    pictures_.clear();
    places_.clear();
  }

  const ImageQuestion& question_;
  const std::vector<bool>& wanted_;
  internal::PatchFiller filler_;
  ProgressFunction progress_;
  std::size_t all_ = 0;  // pictures
  std::size_t done_ = 0;
  std::map<Place, double> values_;    // of the target
  std::vector<PixelInput> pictures_;  // to run
  std::vector<Place> places_;         // of these
  ReplacementCheck result_;
};

}  // namespace

double patch_check_runs(const ImageQuestion& question, const std::vector<bool>& wanted) {
  const std::size_t first = first_candidates(fill_count(question), question.groups.size());
  const auto others = static_cast<double>(fill_count(question) - first);
  return static_cast<double>(blocks_of_all(question, wanted).size()) *
         (static_cast<double>(first) + others * kMayDecide);
}

ReplacementCheck check_patches(const ImageQuestion& question, const std::vector<bool>& wanted) {
  return PatchCheck(question, wanted).run();
}

}  // namespace attnflow
