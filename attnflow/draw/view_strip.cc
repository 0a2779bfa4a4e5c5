// The running text, every token on a ground of its value, a strip for each method.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/draw/views.h"

namespace attnflow::internal {
namespace {

RunningSource source_of(const FigureData& data) {
  const ReportInput& input = data.report.input;
  RunningSource source{.texts = {input.text, input.text_pair}, .tokens = {}};
  for (std::size_t i = 0; i < data.tokens; ++i) {
    const InputToken& token = input.tokens[i];
    source.tokens.push_back({.label = data.labels[i],
                             .begin = token.begin,
                             .end = token.end,
                             .text = token.segment == 0 ? std::size_t{0} : std::size_t{1},
                             .italic = token.special});
  }
  return source;
}

struct StripValues {
  Method method;
  std::vector<double> values;  // of each token
  PanelHead head;
  std::string note;
};

StripValues strip_values(const FigureData& data, Method method) {
  const std::size_t row = data.row_of_output_token(method);
  StripValues strip{.method = method, .values = std::vector<double>(data.tokens), .head = {}, .note = ""};
  ScaleBuilder builder;
  for (std::size_t j = 0; j < data.tokens; ++j) {
    strip.values[j] = data.value(method, data.layer_position, row, j);
    builder.add(strip.values[j], data.aside(data.output_token, j));
  }
  strip.head = {.title = fmt::format("{}, layer {}", to_text(method), data.layer), .scale = builder.scale()};
  if (method == Method::kFlow) {
    strip.note =
        degeneracy_note(data, {.first_layer = data.layer_position, .end_layer = data.layer_position + 1, .row = row});
  }
  return strip;
}

Scene draw_strip(const FigureData& data, const RunningText& text, double width, const StripValues& strip) {
  const ColorScale& scale = *strip.head.scale;
  Scene scene(data.measure);
  scene.width = width;
  scene.begin_group({.id = "strip-" + to_text(strip.method)});
  draw_panel_head(strip.head, 0.0, scene.width, &scene);
  std::vector<TokenLook> looks;
  for (std::size_t i = 0; i < data.tokens; ++i) {
    const double value = strip.values[i];
    looks.push_back({.ground = scale.color(value),
                     .ink = {},
                     .above = scale.is_above(value),
                     .selected = i == data.output_token,
                     .dashed = data.unknown(i),
                     .title = fmt::format("{} (position {}): {}", data.labels[i], i,
                                          std::isfinite(value) ? short_number(value) : "no value")});
  }
  draw_running_text(text, looks, kPanelHeadHeight, &scene);
  scene.height = kPanelHeadHeight + text.height;
  scene.height += draw_wrapped(strip.note, {.size = kSmallSize, .color = kGrey, .italic = true}, {0.0, scene.height},
                               data.width, &scene);
  scene.end_group();
  return scene;
}

}  // namespace

View strip_view(const FigureData& data) {
  const TextStyle style{.size = data.tokens > 128 ? 11.0 : 13.0};
  const RunningText text = lay_out_running_text(source_of(data), style, data.width, data.measure);
  double width = text.width;
  std::vector<StripValues> strips;
  for (const Method method : data.methods_with_output_token()) {
    strips.push_back(strip_values(data, method));
    width = std::max(width, panel_head_width(data.measure, strips.back().head));
  }
  width = std::min(width, data.width);
  std::vector<Scene> scenes;
  bool above = false;
  bool without_value = false;
  for (const StripValues& strip : strips) {
    scenes.push_back(draw_strip(data, text, width, strip));
    above = above || strip.head.scale->above;
    for (double value : strip.values) without_value = without_value || !std::isfinite(value);
  }
  View view = captioned(data, "strip", stacked(scenes, 10.0, data.measure),
                        fmt::format("What {} draws on; bars above and below mark it.", data.output_name()));
  view.above = above;
  view.without_value = without_value;
  return view;
}

}  // namespace attnflow::internal
