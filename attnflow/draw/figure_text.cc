#include "attnflow/draw/figure_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/parts.h"

namespace attnflow::internal {
namespace {

std::string prediction_line(const ReportPrediction& prediction) {
  constexpr std::size_t kMost = 5;
  const auto list = [&](const std::vector<ReportChoice>& choices) {
    std::string text;
    for (std::size_t i = 0; i < std::min(kMost, choices.size()); ++i) {
      text +=
          fmt::format("{}{} {:.1f}%", i == 0 ? "" : ", ", clean_text(choices[i].label), 100.0 * choices[i].probability);
    }
    return text;
  };
  std::string line = prediction.kind == "next" ? "predicted to follow: "
                     : prediction.position     ? fmt::format("predicted at position {}: ", *prediction.position)
                                               : "predicted: ";
  line += list(prediction.choices);
  if (!prediction.candidates.empty()) line += "; of the candidates: " + list(prediction.candidates);
  return line;
}

bool any_unknown(const FigureData& data) {
  const std::vector<InputToken>& tokens = data.report.input.tokens;
  return std::any_of(tokens.begin(), tokens.end(), [](const InputToken& token) { return token.unknown; });
}

// The user's text in quotation marks, and that of the pair, each on one line; nothing for an attention file.
std::vector<std::string> quoted_texts(const FigureData& data, const TextStyle& style) {
  std::vector<std::string> lines;
  for (const std::string* const text : {&data.report.input.text, &data.report.input.text_pair}) {
    const std::string clean = clean_text(*text);
    if (clean.find_first_not_of(' ') == std::string::npos) continue;
    const double room = data.width - data.measure.width("\u201c\u201d", style);
    lines.push_back("\u201c" + data.measure.shortened(clean, style, room) + "\u201d");
  }
  return lines;
}

}  // namespace

std::string counted(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string settings_line(const ReportModel& model, const Settings& settings, const std::string& size,
                          const std::optional<ReportTarget>& target) {
  std::string line;
  const auto add = [&](const std::string& part) { line += (line.empty() ? "" : " \u00b7 ") + part; };
  if (!model.architecture.empty()) add(clean_text(model.architecture));
  if (model.layers > 0) add(counted(model.layers, "layer"));
  if (model.heads > 0) {
    add(settings.heads.is_single() ? fmt::format("head {} of {}", settings.heads.head, model.heads)
                                   : fmt::format("{} of {}", to_text(settings.heads), counted(model.heads, "head")));
  }
  add(size);
  if (settings.has_gradients()) {
    std::string mixing = "gradient-adjusted attention";
    if (target) {
      mixing += fmt::format(" for {} \u201c{}\u201d", target->kind == "next" ? "the next token" : "class",
                            clean_text(target->label));
    }
    const bool renormalized = settings.mixing == Mixing::kGradientRenormalized;
    add(mixing + (renormalized ? ", identity added, rows divided by their sums" : ", identity added"));
  } else {
    add(fmt::format("residual {}", short_number(settings.residual)));
  }
  if (settings.start_layer > 0) add(fmt::format("down to layer {}", settings.start_layer));
  if (settings.discard > 0.0) add(fmt::format("smallest {:.3g}% discarded", 100.0 * settings.discard));
  if (settings.column_mask.kind != ColumnMask::Kind::kNone) add("set aside: " + to_text(settings.column_mask));
  if (settings.normalization != Normalization::kNone) add("normalised: " + to_text(settings.normalization));
  return line;
}

Scene title_block(const FigureData& data) {
  Scene scene(data.measure);
  scene.width = data.width;
  std::string name = clean_text(data.report.model.name);
  if (name.empty()) name = "Attention";
  scene.begin_group({.id = "title"});
  const TextStyle large{.size = 15.0, .bold = true};
  const std::string settings =
      settings_line(data.report.model, data.report.settings,
                    counted(data.tokens, data.report.settings.words ? "word" : "token"), data.report.target);
  const TextStyle small{.size = 10.5, .color = kGrey};
  const std::vector<std::string> texts = quoted_texts(data, large);
  for (const std::string& text : texts) {
    scene.height += draw_wrapped(text, large, {0.0, scene.height}, data.width, &scene);
  }
  if (texts.empty()) {
    scene.height += draw_wrapped(name, large, {0.0, 0.0}, data.width, &scene);
    scene.height += draw_wrapped(settings, small, {0.0, scene.height}, data.width, &scene);
  } else {
    scene.height += draw_wrapped(name + " \u00b7 " + settings, small, {0.0, scene.height}, data.width, &scene);
  }
  for (const ReportPrediction& prediction : data.report.predictions) {
    if (prediction.choices.empty() && prediction.candidates.empty()) continue;
    scene.height += draw_wrapped(prediction_line(prediction), {.size = 10.5}, {0.0, scene.height}, data.width, &scene);
  }
  scene.end_group();
  return scene;
}

Scene legend_block(const FigureData& data, const View& view) {
  std::string legend;
  if (view.above) {
    legend =
        "Special tokens, and what an output token draws on itself, do not set the top of a scale: cells with a "
        "white corner are above it, and the largest value is given beside the scale.";
  }
  if (view.without_value) legend += std::string(legend.empty() ? "" : " ") + "Warm grey cells have no value.";
  if (any_unknown(data)) {
    legend += std::string(legend.empty() ? "" : " ") +
              "[?], or a dashed line, marks what is not in the model's vocabulary: all such words look the same to it.";
  }
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "legend"});
  scene.height = draw_wrapped(legend, {.size = kSmallSize, .color = kGrey}, {0.0, 0.0}, data.width, &scene);
  scene.end_group();
  return scene;
}

Scene notes_block(const std::vector<std::string>& notes, double width, const TextMeasurer& measure) {
  Scene scene(measure);
  scene.width = width;
  scene.begin_group({.id = "notes"});
  scene.line({0.0, 0.0}, {width, 0.0}, stroked(kLightGrey, 0.8));
  scene.height = 6.0;
  for (const std::string& note : notes) {
    scene.height += draw_wrapped("Note: " + clean_text(note), {.size = kSmallSize, .color = kGrey}, {0.0, scene.height},
                                 width, &scene);
  }
  scene.end_group();
  return scene;
}

}  // namespace attnflow::internal
