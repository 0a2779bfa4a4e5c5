// The input of every view: the checked report, with the choices of the options applied.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/draw/figure.h"
#include "attnflow/draw/text_layout.h"
#include "attnflow/report/color_scale.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// Follows the label of a word that is not in the model's vocabulary.
inline constexpr const char* kUnknownMark = " [?]";

// Values of the input tokens, for the output at a position; absent: a mean over several.
struct ValueRow {
  std::vector<double> values;
  std::optional<std::size_t> output;
};

struct FigureData {
  const Report& report;
  const FigureOptions& options;
  const TextMeasurer& measure;

  std::size_t tokens;                         // number of input tokens
  std::vector<std::string> labels;            // per token: clean, never empty, marked if unknown
  std::vector<std::string> generated_labels;  // for generated tokens
  std::vector<std::string> excluded;          // why rankings exclude an input token, or ""
  std::vector<Method> methods;                // shown, in the order raw, rollout, flow; each has values
  std::vector<const MethodScores*> scores;    // shown, for methods outside the graph; one of both lists is nonempty
  std::size_t layer;                          // l, the highest layer shown, and its position in settings.layers
  std::size_t layer_position;
  std::size_t output_token;  // position; for a generation, the one shown, if any
  double width;              // available to a view

  bool special(std::size_t token) const { return report.input.tokens[token].special; }
  bool unknown(std::size_t token) const { return report.input.tokens[token].unknown; }
  bool is_excluded(std::size_t token) const { return !excluded[token].empty(); }
  // Whether a value may be large without being informative: it does not set the top of a scale that it far exceeds.
  bool aside(std::optional<std::size_t> output, std::size_t input) const;

  // Minimum cell and arc size on paper; smaller ones would be invisible, so such figures are rejected.
  double least_cell() const { return options.width.on_paper() ? 1.0 : 0.0; }

  // A caption's text; empty in figures without notes.
  std::string told(std::string text) const { return options.notes ? std::move(text) : std::string(); }

  // For figures with room for only one.
  Method first_method() const { return methods.empty() ? scores.front()->method : methods.front(); }

  // The methods with a row for the output token, in order; at least one. Flow may lack it. Throws Error(kUsage) if all
  // do, or if only methods outside the graph are shown, which have no layers.
  std::vector<Method> methods_with_output_token() const;

  // [layer, output, input] of a method, plain or normalized.
  const Tensor<double>& values(Method method) const;
  const std::vector<std::size_t>& outputs(Method method) const;
  // Positions among the method's layers.
  std::vector<std::size_t> layer_positions(Method method) const;
  // Absent: the mean of all, in a generation without a chosen token.
  std::optional<std::size_t> row_shown(Method method) const;
  ValueRow shown(Method method, const std::vector<std::size_t>& layers) const;
  ValueRow shown(const MethodScores& shown_scores) const;
  // Empty if those columns were not kept.
  std::vector<double> shown_generated(Method method) const;

  // "“[MASK]” (position 5)"; for a generation "token 3 “Paris”" or "the 12 generated tokens". Shortens long tokens.
  std::string output_name(Method method) const;
  // "layer 6", "mean over layers 1–6".
  std::string span(Method method) const;
};

// Checks report and options and applies the choices. Throws as figure_svg does.
FigureData make_figure_data(const Report& report, const FigureOptions& options, const TextMeasurer& measure,
                            double width);

// All text of the report that can appear in a figure, for language_of.
std::string text_of(const Report& report);

bool has_graph(const Report& report);

// The scale for rows of a method's values, ignoring excluded tokens. `generated`: for a single row, the values of
// tokens generated before.
ColorScale scale_of(const FigureData& data, Method method, const std::vector<ValueRow>& rows,
                    const std::vector<double>& generated = {});

// For rows of scores: both ends are the largest absolute value.
ColorScale scale_of_scores(const FigureData& data, const std::vector<ValueRow>& rows,
                           const std::vector<double>& others = {});

bool any_without_value(const std::vector<ValueRow>& rows);

// "93% of these flow values ..." if most of the flow values shown are degenerate, else "". The values are those of the
// flow method at some of its layers and one of its rows, or all rows. "" for other methods.
std::string degeneracy_note(const FigureData& data, Method method, const std::vector<std::size_t>& layer_positions,
                            std::optional<std::size_t> row);

}  // namespace attnflow::internal
