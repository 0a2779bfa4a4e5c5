// One page with everything: strip, heat map, and graph or matrix.
#include <algorithm>

#include "attnflow/draw/parts.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

// Graphs with more tokens are unreadable.
constexpr std::size_t kMaxGraphTokens = 32;

}  // namespace

View overview(const FigureData& data) {
  std::vector<View> parts;
  parts.push_back(strip_view(data));
  const bool has_layers = !data.methods.empty();  // methods outside the graph have none to draw
  if (has_layers) parts.push_back(heatmap_view(data));
  if (has_layers && data.tokens <= kMaxGraphTokens && has_graph(data.report)) {
    parts.push_back(graph_view(data, /*compact=*/true));
  } else if (has_matrix(data)) {
    parts.push_back(matrix_view(data, {.compact = true}));
    const double margin = std::max(parts[1].left_margin, parts.back().left_margin);
    if (data.report.generation && has_layers) {
      parts[1] = heatmap_view(data, margin);
      parts[2] = matrix_view(data, {.compact = true, .left_margin = margin});
    }
  }
  View page{.scene = Scene(data.measure)};
  std::vector<Scene> scenes;
  for (View& part : parts) {
    page.above = page.above || part.above;
    page.without_value = page.without_value || part.without_value;
    scenes.push_back(std::move(part.scene));
  }
  page.scene = stacked(scenes, 26.0, data.measure);
  return page;
}

}  // namespace attnflow::internal
