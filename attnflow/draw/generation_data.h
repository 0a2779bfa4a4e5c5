// What every picture of a generation reads: the report, checked, with the choices of the options made.
#ifndef ATTNFLOW_DRAW_GENERATION_DATA_H_
#define ATTNFLOW_DRAW_GENERATION_DATA_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/generation_figure.h"
#include "attnflow/draw/text_layout.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/generation_report.h"

namespace attnflow::internal {

struct GenerationData {
  const GenerationReport& report;
  const GenerationFigureOptions& options;
  const TextMeasurer& measure;
  double width;  // that a view may fill

  Method method = Method::kRollout;          // shown
  GenerationMethod source;                   // its rows and layers
  const Tensor<double>* values;              // [row, prompt token, layer]: plain or normalised
  std::vector<std::size_t> layer_positions;  // of the layers shown, in source.layers
  std::optional<std::size_t> row;            // of options.token, in source.tokens
  std::vector<std::string> prompt_labels;    // clean, never empty
  std::vector<std::string> generated_labels;
  std::vector<std::string> dropped;  // the rule that leaves a prompt token out, or ""

  std::size_t prompt() const { return report.prompt_tokens.size(); }
  std::size_t layer(std::size_t at) const { return source.layers[layer_positions[at]]; }
  bool left_out(std::size_t token) const { return !dropped[token].empty(); }
  // Of the token shown, or the mean of all rows: the mean over the layers shown, or at one of them.
  std::vector<double> shown() const;
  std::vector<double> shown_at(std::size_t layer_at) const;
  std::optional<std::size_t> shown_token() const;  // absent: the mean of several
  // The same on generated tokens; empty when those columns were not kept.
  std::vector<double> shown_generated() const;

  // "token 3 “Paris”", "the 12 generated tokens"
  std::string who() const;
  // "mean over layers 1–30"
  std::string span() const;
};

// Throws as generation_figure_svg does.
GenerationData make_generation_data(const GenerationReport& report, const GenerationFigureOptions& options,
                                    const TextMeasurer& measure, double width);

// All text that can appear in a picture, for language_of.
std::string text_of(const GenerationReport& report);

// Values on the prompt tokens.
struct ValueRow {
  std::vector<double> values;
  std::optional<std::size_t> token;  // the generated token whose they are; absent: a mean
};

// The scale of rows of values. Tokens left out do not count. The first token, special ones, and the position that chose
// a token itself (which is in the prompt for the first generated token only) do not set the top when the largest of
// them is more than twice the largest of the rest. `others` never set it.
ColorScale generation_scale(const GenerationData& data, const std::vector<ValueRow>& rows,
                            const std::vector<double>& others = {});

// Where the mass of `values` (of prompt tokens) lies, as a sentence.
std::string share_sentence(const GenerationData& data);

View generation_strip(const GenerationData& data);
// `left_margin`: the least room to the left of the cells.
View generation_layers(const GenerationData& data, double left_margin = 0.0);
View generation_tokens(const GenerationData& data, double left_margin = 0.0);
View generation_overview(const GenerationData& data);

// The whole page of a picture.
Scene generation_scene(const GenerationReport& report, const GenerationFigureOptions& options,
                       const TextMeasurer& measure);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_GENERATION_DATA_H_
