// What every view reads: the report, checked, with the choices of the options made.
#ifndef ATTNFLOW_DRAW_FIGURE_DATA_H_
#define ATTNFLOW_DRAW_FIGURE_DATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/text_layout.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// Behind the label of a word that the model's vocabulary lacks.
inline constexpr const char* kUnknownMark = " [?]";

struct FigureData {
  const Report& report;
  const FigureOptions& options;
  const TextMeasurer& measure;

  std::size_t tokens;               // n
  std::vector<std::string> labels;  // of each token: clean, never empty, with a mark where it is unknown
  std::vector<Method> methods;      // shown, in the order raw, rollout, flow; each has values
  std::size_t layer;                // l, and its position in settings.layers
  std::size_t layer_position;
  std::size_t output_token;
  double width;  // that a view may fill

  bool special(std::size_t token) const { return report.input.tokens[token].special; }
  bool unknown(std::size_t token) const { return report.input.tokens[token].unknown; }
  // True for values that do not set the top of a scale.
  bool aside(std::size_t output, std::size_t input) const {
    return options.exclude_special_from_scale && (special(input) || output == input);
  }
  // "“[MASK]” (position 5)"; long tokens are shortened.
  std::string output_name() const;
  // The methods that hold a row of the output token, in order; at least one. Flow may lack it. Throws Error(kUsage)
  // when all do.
  std::vector<Method> methods_with_output_token() const;
  // Value of a method for [position in settings.layers, position in its rows, input token].
  double value(Method method, std::size_t layer_at, std::size_t row, std::size_t input_token) const;
  std::size_t row_of_output_token(Method method) const;
};

// Checks report and options and makes the choices. Throws as figure_svg does.
FigureData make_figure_data(const Report& report, const FigureOptions& options, const TextMeasurer& measure,
                            double width);

// All text of the report that can appear in a figure, for language_of.
std::string text_of(const Report& report);

// True when the report holds weights that a graph can be drawn from.
bool has_graph(const Report& report);

// Which of flow's values a panel shows.
struct FlowCells {
  std::size_t first_layer;  // positions in settings.layers [first, end)
  std::size_t end_layer;
  std::optional<std::size_t> row;  // one row, or all
};
// "93% of these flow values ..." when more than half of the flow values shown are degenerate, else "".
std::string degeneracy_sentence(std::size_t flagged, std::size_t all);
std::string degeneracy_note(const FigureData& data, const FlowCells& cells);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_FIGURE_DATA_H_
