#include "attnflow/explain/degeneracy_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace attnflow {

std::optional<Note> degeneracy_note(const DegeneracyQuestion& question) {
  std::vector<std::size_t> layers;  // mostly degenerate ones
  DegeneracyCounts all;             // their total
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
  if (layers.empty()) return std::nullopt;

  const double columns = static_cast<double>(all.first_layer_column) / static_cast<double>(all.degenerate());
  const bool reaches_last = layers.back() == question.layers.back().layer;
  const bool all_from_first = layers.front() == question.layers[question.layers.size() - layers.size()].layer;
  // Flow over fewer than two layers cannot be degenerate.
  const std::size_t bottom = question.start_layer + 1;
  const std::string fewer =
      layers.front() == bottom + 1 ? fmt::format("{}", bottom) : fmt::format("{}-{}", bottom, layers.front() - 1);
  NoteValues values = {{"layers", layers},
                       {"start_layer", question.start_layer},
                       {"fewer_layers", fewer},
                       {"least", least},
                       {"most", most},
                       {"first_layer_share", columns},
                       {"mixing", to_text(question.mixing)}};
  if (layers.size() > 1 && reaches_last && all_from_first) values.emplace("from_layer", layers.front());
  if (question.output_token) values.emplace("output_token", *question.output_token);
  if (question.shown.values > 0 && reaches_last) {
    values.emplace("shown", question.shown.values);
    values.emplace("shown_degenerate", question.shown.degenerate());
  }
  return Note{NoteCode::kFlowDegenerate, std::move(values)};
}

}  // namespace attnflow
