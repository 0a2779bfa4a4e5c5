// What every view reads: the report, checked, with the choices of the options made.
#ifndef ATTNFLOW_DRAW_FIGURE_DATA_H_
#define ATTNFLOW_DRAW_FIGURE_DATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/text_layout.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// Behind the label of a word that the model's vocabulary lacks.
inline constexpr const char* kUnknownMark = " [?]";

// Values on the input tokens, and the position of the output whose they are; absent: a mean over several.
struct ValueRow {
  std::vector<double> values;
  std::optional<std::size_t> output;
};

struct FigureData {
  const Report& report;
  const FigureOptions& options;
  const TextMeasurer& measure;

  std::size_t tokens;                         // of the input
  std::vector<std::string> labels;            // of each: clean, never empty, with a mark where it is unknown
  std::vector<std::string> generated_labels;  // of generated tokens
  std::vector<std::string> excluded;          // why rankings exclude an input token, or ""
  std::vector<Method> methods;                // shown, in the order raw, rollout, flow; each has values
  std::vector<const MethodScores*> scores;    // shown, of methods beside the graph; one of both lists has entries
  std::size_t layer;                          // l, the highest that is looked at, and its position in settings.layers
  std::size_t layer_position;
  std::size_t output_token;  // position; of a generation the one shown, if any is
  double width;              // that a view may fill

  bool special(std::size_t token) const { return report.input.tokens[token].special; }
  bool unknown(std::size_t token) const { return report.input.tokens[token].unknown; }
  bool is_excluded(std::size_t token) const { return !excluded[token].empty(); }
  // Whether a value may be large without saying much: it does not set the top of a scale that it lies far above.
  bool aside(std::optional<std::size_t> output, std::size_t input) const;

  // Cells and arcs on paper are not narrower: what is too small to be seen is refused there.
  double least_cell() const { return options.width.on_paper() ? 1.0 : 0.0; }

  // A caption's text; empty in figures without notes.
  std::string told(std::string text) const { return options.notes ? std::move(text) : std::string(); }

  // What a figure that has room for one method shows.
  Method first_method() const { return methods.empty() ? scores.front()->method : methods.front(); }

  // The methods that hold a row of the output token, in order; at least one. Flow may lack it. Throws Error(kUsage)
  // when all do, and when only methods beside the graph are shown, which have no layers to draw.
  std::vector<Method> methods_with_output_token() const;

  // [layer, output, input] of a method, plain or normalized.
  const Tensor<double>& values(Method method) const;
  // Positions of the rows of a method.
  const std::vector<std::size_t>& outputs(Method method) const;
  // Positions in the method's layers of those looked at.
  std::vector<std::size_t> layer_positions(Method method) const;
  // The row that is shown; absent: the mean of all, in a generation of which no token was chosen.
  std::optional<std::size_t> row_shown(Method method) const;
  // That row, as the mean over some of the method's layers.
  ValueRow shown(Method method, const std::vector<std::size_t>& layers) const;
  // The same of scores, which know no layers.
  ValueRow shown(const MethodScores& shown_scores) const;
  // The same on generated tokens; empty where those columns were not kept.
  std::vector<double> shown_generated(Method method) const;

  // "“[MASK]” (position 5)"; of a generation "token 3 “Paris”" or "the 12 generated tokens". Long tokens are shortened.
  std::string output_name(Method method) const;
  // "layer 6", "mean over layers 1–6": those looked at.
  std::string span(Method method) const;
};

// Checks report and options and makes the choices. Throws as figure_svg does.
FigureData make_figure_data(const Report& report, const FigureOptions& options, const TextMeasurer& measure,
                            double width);

// All text of the report that can appear in a figure, for language_of.
std::string text_of(const Report& report);

// True when the report holds weights that a graph can be drawn from.
bool has_graph(const Report& report);

// The scale of rows of a method's values, those of excluded tokens left out. `generated`: of one row, the values of
// tokens generated before.
ColorScale scale_of(const FigureData& data, Method method, const std::vector<ValueRow>& rows,
                    const std::vector<double>& generated = {});

// Of rows of scores: the largest size is both ends.
ColorScale scale_of_scores(const FigureData& data, const std::vector<ValueRow>& rows,
                           const std::vector<double>& others = {});

bool any_without_value(const std::vector<ValueRow>& rows);

// "93% of these flow values ..." when more than half of the flow values shown are degenerate, else "": those of the
// method flow at some of its layers and one of its rows, or all rows. "" for other methods.
std::string degeneracy_note(const FigureData& data, Method method, const std::vector<std::size_t>& layer_positions,
                            std::optional<std::size_t> row);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_FIGURE_DATA_H_
