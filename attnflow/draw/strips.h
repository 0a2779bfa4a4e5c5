// Strips of running text on backgrounds colored by value, which several views show.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

struct StripText {
  RunningText text = {};
  bool is_generated = false;
  std::vector<std::optional<std::size_t>> tokens = {};  // per running token; absent: a sign for omitted ones
  std::size_t left_out = 0;
};

// The text, in two parts if it is a pair or an encoder-decoder's source and target; for a generation, the prompt and
// the generated text, of a long one the surroundings of token `shown`.
std::vector<StripText> lay_out_strips(const FigureData& data, std::optional<std::size_t> shown);

struct Strip {
  std::string id;                     // "strip-rollout"
  std::optional<Method> method = {};  // whose values they are
  ValueRow row;
  bool of_drops = false;                  // tokens that were not checked have no background
  std::optional<std::size_t> shown = {};  // the generated token shown
  std::vector<double> generated = {};
  PanelHead head = {};
  std::string caption = {};  // below the text; "" for none
};

// For a method with layers, or for scores, whose scale has signs.
Strip make_strip(const FigureData& data, Method method, const MethodScores* scores = nullptr);
// How far the prediction falls without each token (report/report_scores.h), on a scale with signs, which the strip
// explains; nothing if the output token shown was not checked.
std::optional<Strip> drops_strip(const FigureData& data);
// A row of values of which the report has no method.
Strip row_strip(const FigureData& data, const std::string& id, const std::string& title, std::vector<double> values);

// As wide as the text and the strips' heads need.
double strips_width(const FigureData& data, const std::vector<StripText>& texts, const std::vector<Strip>& strips);
Scene draw_strip(const FigureData& data, const std::vector<StripText>& texts, double width, const Strip& strip);

}  // namespace attnflow::internal
