#include "attnflow/analysis/degeneracy_note.h"

#include <fmt/format.h>

#include <algorithm>

namespace attnflow {
namespace {

// "4", "4-6", "4-6 and 9"; `layers` is increasing.
std::string layer_ranges(const std::vector<std::size_t>& layers) {
  std::vector<std::string> ranges;
  for (std::size_t i = 0; i < layers.size();) {
    std::size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] == layers[last] + 1) ++last;
    ranges.push_back(last == i ? fmt::format("{}", layers[i]) : fmt::format("{}-{}", layers[i], layers[last]));
    i = last + 1;
  }
  if (ranges.size() == 1) return ranges.front();
  const std::string end = " and " + ranges.back();
  ranges.pop_back();
  return fmt::format("{}", fmt::join(ranges, ", ")) + end;
}

// "7", or "7 to 12".
std::string percent_range(double low, double high) {
  const std::string least = fmt::format("{:.0f}", 100.0 * low);
  const std::string most = fmt::format("{:.0f}", 100.0 * high);
  return least == most ? least + "%" : least + "% to " + most + "%";
}

// "layer 4", "layers 4-6".
std::string named_layers(const std::vector<std::size_t>& layers) {
  return (layers.size() == 1 ? "layer " : "layers ") + layer_ranges(layers);
}

// An end of the network is named when it is more than an exception.
enum class Ends { kFirstLayer, kTop, kBoth };

Ends ends_of(const DegeneracyCounts& all) {
  constexpr double kFew = 0.05;
  const double share = static_cast<double>(all.first_layer_column) / static_cast<double>(all.degenerate());
  return share >= 1.0 - kFew ? Ends::kFirstLayer : share <= kFew ? Ends::kTop : Ends::kBoth;
}

// The note's first sentence: what a reader sees, and what to look at instead.
std::string in_plain_words(const DegeneracyQuestion& question, const std::vector<std::size_t>& layers, Ends ends) {
  const std::size_t bottom = question.to_layer + 1;
  const bool is_tail = layers.size() > 1 && layers.back() == question.layers.back().layer &&
                       layers.front() == question.layers[question.layers.size() - layers.size()].layer;
  const std::string where = is_tail ? fmt::format("From layer {} on", layers.front()) : "At " + named_layers(layers);
  const std::string first = bottom == 1 ? "the first layer's attention" : fmt::format("layer {}'s attention", bottom);
  const std::string what =
      ends == Ends::kFirstLayer ? fmt::format("flow mostly repeats {}", first)
      : ends == Ends::kTop ? std::string("most flow values are as large as they can be and hardly tell tokens apart")
                           : fmt::format("flow mostly repeats {} or is as large as it can be", first);
  // Two layers above the bottom are the fewest that can be degenerate.
  const std::string fewer =
      layers.front() == bottom + 1 ? fmt::format("{}", bottom) : fmt::format("{}-{}", bottom, layers.front() - 1);
  return fmt::format("{}, {}: look at rollout instead, or at flow from fewer layers (--layers {}).", where, what,
                     fewer);
}

}  // namespace

std::string degeneracy_note(const DegeneracyQuestion& question) {
  std::vector<std::size_t> layers;  // those that are mostly degenerate
  DegeneracyCounts all;             // of them
  double least = 1.0;
  double most = 0.0;
  for (const DegeneracyCounts& layer : question.layers) {
    if (2 * layer.degenerate() <= layer.values) continue;
    layers.push_back(layer.layer);
    const double share = static_cast<double>(layer.degenerate()) / static_cast<double>(layer.values);
    least = std::min(least, share);
    most = std::max(most, share);
    all.values += layer.values;
    all.first_layer_column += layer.first_layer_column;
    all.top_row += layer.top_row;
  }
  if (layers.empty()) return "";

  const Ends ends = ends_of(all);
  const std::string columns =
      fmt::format("layer {}'s attention to the input token, the same for every output token", question.to_layer + 1);
  const std::string rows = layers.size() == 1 ? fmt::format("layer {}'s own attention", layers.front())
                                              : std::string("the attention of the layer looked from");
  const double column_share = static_cast<double>(all.first_layer_column) / static_cast<double>(all.degenerate());
  const std::string sums = ends == Ends::kFirstLayer ? "sums over " + columns
                           : ends == Ends::kTop
                               ? "sums over " + rows
                               : fmt::format("{:.0f}% of these sums over {}, {:.0f}% over {}", 100.0 * column_share,
                                             columns, 100.0 * (1.0 - column_share), rows);
  std::string of_shown;
  if (question.shown.values > 0 && layers.back() == question.layers.back().layer) {
    of_shown = fmt::format("; of the values shown for one output token, {} of {}", question.shown.degenerate(),
                           question.shown.values);
  }
  return fmt::format(
      "{} Flow from {} is mostly degenerate: {} of the {} equal a cut at an end of the network ({}), so the layers "
      "between do not matter there{}. Another {} changes that.",
      in_plain_words(question, layers, ends), named_layers(layers), percent_range(least, most), question.values, sums,
      of_shown,
      question.gradient ? "--to-layer or --mixing (or --discard)"
                        : "--to-layer, --residual or mixing (--heads, --discard)");
}

}  // namespace attnflow
