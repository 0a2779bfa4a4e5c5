// The information-flow graph: nodes for every position and layer, and the arcs of attribution/graph_arcs.h.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "attnflow/attribution/graph_arcs.h"
#include "attnflow/base/figures.h"
#include "attnflow/base/format_error.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/views.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

constexpr double kGraphGap = 24.0;
constexpr double kLargestPitch = 64.0;
// Panels with closer nodes are not placed side by side.
constexpr double kLeastPitchBeside = 16.0;
constexpr double kGraphLabelGap = 8.0;

struct GraphShape {
  std::size_t top = 0;     // l
  std::size_t bottom = 0;  // m
  bool all = false;        // arcs of all output tokens
};

// Nothing means every arc.
std::optional<std::size_t> arcs_per_node(const FigureOptions& options) {
  if (options.every_arc) return std::nullopt;
  return options.arcs_per_node.value_or(kArcsPerNode);
}

GraphArcs arcs_of(const FigureData& data, const GraphShape& shape, Method method) {
  const Report& report = data.report;
  DrawnWeights weights{.layers = report.graph.view()};
  if (!report.raw.empty()) {
    weights.raw = report.raw[data.layer_position];
    weights.raw_positions = report.output_tokens;
  }
  ArcQuestion question{.method = method, .layer = shape.top};
  if (!shape.all) question.output_token = data.output_token;
  question.arcs_per_node = arcs_per_node(data.options);
  return graph_arcs(weights, report.settings, question);
}

// Width and darkness grow linearly with the many weights, of which the residual is the largest in each layer. Mass
// spreads out toward the input, so there they grow with the square root: an arc of a hundredth of the strongest stays
// visible. The color is the strongest of the scale.
Paint arc_paint(double share, bool by_mass) {
  const double strength = by_mass ? std::sqrt(share) : share;
  return stroked(scale_color(1.0), 0.3 + 2.4 * strength, figures::kFaintestOpacity + figures::kOpacityRange * strength);
}

// Those of the output token, or the mean over all.
ValueRow input_values(const FigureData& data, Method method, const GraphShape& shape) {
  if (!shape.all) return data.shown(method, {data.layer_position});
  ValueRow mean{.values = std::vector<double>(data.tokens, 0.0), .output = {}};
  const std::size_t rows = method_values(data.report, method).output_tokens->size();
  for (std::size_t j = 0; j < data.tokens; ++j) {
    for (std::size_t row = 0; row < rows; ++row) {
      mean.values[j] += data.values(method)(data.layer_position, row, j) / static_cast<double>(rows);
    }
  }
  return mean;
}

// Sample arcs with their weights, on a separate line.
Scene arc_legend(const TextMeasurer& measure, double strongest, bool by_mass) {
  Scene scene(measure);
  const auto write = [&](const std::string& text) {
    scene.text({.at = {scene.width, 12.0}, .text = text, .style = kSmallGrey});
    scene.width += measure.width(text, kSmallGrey) + 8.0;
  };
  write(by_mass ? "share" : "weight");
  for (double share : by_mass ? std::array{0.01, 0.1, 1.0} : std::array{0.1, 0.4, 1.0}) {
    scene.line({scene.width, 9.0}, {scene.width + 22.0, 9.0}, arc_paint(share, by_mass));
    scene.width += 26.0;
    write(short_number(share * strongest));
  }
  scene.height = 18.0;
  return scene;
}

struct PanelLayout {
  ColumnLabels columns;
  double left = 0.0;
  double pitch = 0.0;
  double layer_pitch = 0.0;
};

std::string weights_name(const MixingInfo& mixing) {
  return mixing.needs == MixingNeeds::kTerms ? "contributions" : mixing.weights;
}

Scene draw_panel(const FigureData& data, Method method, const GraphShape& shape, const PanelLayout& layout) {
  const bool by_mass = method == Method::kRollout;
  const GraphArcs arcs = arcs_of(data, shape, method);
  const ValueRow row = input_values(data, method, shape);
  const std::vector<double>& values = row.values;
  const PanelHead head{.title = method == Method::kRaw ? "raw " + weights_name(mixing_info(data.report.settings.mixing))
                                                       : to_text(method),
                       .scale = scale_of(data, method, {row})};

  Scene scene(data.measure);
  const double output_label = shape.all ? 0.0 : 16.0;
  const double top = kPanelHeadHeight + output_label + 6.0;
  const auto x_of = [&](std::size_t position) {
    return layout.left + (static_cast<double>(position) + 0.5) * layout.pitch;
  };
  const auto y_of = [&](std::size_t layer) {
    return top + static_cast<double>(shape.top - layer) * layout.layer_pitch;
  };
  const double radius = std::clamp(0.16 * layout.pitch, 0.5, 3.0);
  const double right = layout.left + static_cast<double>(data.tokens) * layout.pitch;
  const Scene legend = arc_legend(data.measure, arcs.strongest, by_mass);
  scene.width = std::max(
      {right, right - layout.pitch / 2.0 + layout.columns.right, panel_head_width(data.measure, head), legend.width});

  scene.begin_group({.id = "graph-" + to_text(method)});
  draw_panel_head(head, 0.0, scene.width, &scene);

  scene.begin_group(
      {.id = "graph-" + to_text(method) + "-arcs",
       .clip = Rect{layout.left - 4.0, top - 4.0, right - layout.left + 8.0, y_of(shape.bottom) - top + 8.0}});
  const bool titles = arcs.shown.size() <= 1000;
  for (std::size_t i = arcs.shown.size(); i-- > 0;) {
    const GraphArc& arc = arcs.shown[i];
    scene.line({x_of(arc.from), y_of(arc.layer)}, {x_of(arc.to), y_of(arc.layer - 1)},
               arc_paint(arc.weight / arcs.strongest, by_mass),
               titles ? fmt::format("layer {}: {} from {}, {}", arc.layer, data.labels[arc.from], data.labels[arc.to],
                                    short_number(arc.weight))
                      : "");
  }
  scene.end_group();

  scene.begin_group({.id = "graph-" + to_text(method) + "-nodes"});
  for (std::size_t layer = shape.bottom + 1; layer <= shape.top; ++layer) {
    for (std::size_t p = 0; p < data.tokens; ++p) {
      const bool output = !shape.all && layer == shape.top && p == data.output_token;
      if (output) {
        scene.circle({x_of(p), y_of(layer)}, std::max(2.0, 1.7 * radius), filled(kBlack),
                     data.output_name(Method::kRaw));
      } else if (layout.pitch >= 4.0) {
        scene.circle({x_of(p), y_of(layer)}, 0.7 * radius, {.fill = kWhite, .stroke = kGrey, .stroke_width = 0.6});
      }
    }
  }
  const double side = std::clamp(0.62 * layout.pitch, 1.0, 14.0);
  for (std::size_t j = 0; j < data.tokens; ++j) {
    const Rect cell{x_of(j) - side / 2.0, y_of(shape.bottom), side, std::max(side, 8.0)};
    Paint paint = filled(head.scale.color(values[j]));
    if (side >= 6.0) paint.stroke = kGrey, paint.stroke_width = 0.6;
    scene.rect(cell, paint,
               fmt::format("{}: {}", data.labels[j], std::isfinite(values[j]) ? short_number(values[j]) : "no value"));
    if (side >= 5.0 && head.scale.is_above(values[j])) draw_above_mark(cell, &scene);
  }
  scene.end_group();

  std::vector<AxisLabel> layers;
  for (std::size_t layer = shape.top + 1; layer-- > shape.bottom;) {
    layers.push_back({.text = layer == 0 ? "input" : fmt::format("layer {}", layer)});
  }
  draw_row_labels(lay_out_row_labels(data.measure, layers, layout.layer_pitch), layout.left - kGraphLabelGap, top,
                  &scene);
  if (!shape.all) {
    const AxisLabel label{
        .text = data.labels[data.output_token], .special = data.special(data.output_token), .selected = true};
    const TextStyle style = label_style(label);
    const std::string text = data.measure.shortened(label.text, style, scene.width / 2.0);
    const double half = data.measure.width(text, style) / 2.0;
    scene.text({.at = {std::clamp(x_of(data.output_token), half, scene.width - half), top - 9.0},
                .text = text,
                .style = style,
                .anchor = Anchor::kMiddle});
  }

  scene.height = y_of(shape.bottom) + std::max(side, 8.0) + 2.0;
  draw_column_labels(layout.columns, x_of(0), scene.height, &scene);
  scene.height += layout.columns.height + 2.0;
  scene.add(legend, 0.0, scene.height);
  scene.height += legend.height;
  if (arcs.left_out > 0 && data.options.notes) {
    add_wrapped(
        fmt::format("The {} strongest of {} arcs are drawn.", arcs.shown.size(), arcs.shown.size() + arcs.left_out),
        kPanelNote, scene.width, &scene);
  }
  const std::optional<std::size_t> output_row = shape.all ? std::nullopt : data.row_shown(method);
  add_wrapped(degeneracy_note(data, method, {data.layer_position}, output_row), kPanelNote, scene.width, &scene);
  scene.end_group();
  return scene;
}

std::string caption(const FigureData& data, const GraphShape& shape, const std::vector<Method>& methods) {
  const double residual = data.report.settings.residual;
  const MixingInfo& mixing = mixing_info(data.report.settings.mixing);
  const bool adds = mixing.rule == ResidualRule::kAdded || mixing.rule == ResidualRule::kAddedNormalized;
  const bool convex = mixing.rule == ResidualRule::kConvex && residual != 0.0;
  const bool carries = mixing.rule == ResidualRule::kContainedNormalized;
  const std::string matrix = adds ? std::string("A = I + G with rows divided by their sums")
                             : convex
                                 ? fmt::format("A = {} W + {} I", short_number(1.0 - residual), short_number(residual))
                                 : std::string("A = W");
  std::string text = shape.all ? "Paths of all output tokens"
                               : fmt::format("Paths from {} at layer {}", data.output_name(Method::kRaw), data.layer);
  text += shape.bottom == 0 ? " down to the input tokens." : fmt::format(" down to layer {}.", shape.bottom);
  const auto has = [&](Method method) { return std::find(methods.begin(), methods.end(), method) != methods.end(); };
  if (has(Method::kRollout)) {
    text += " Arcs of rollout show the share of the rollout that passes through them";
    text += carries ? "; no token passes on more than it carries."
            : adds  ? ", with each layer's rows divided by their sums."
                    : ".";
  }
  if (has(Method::kRaw) && carries) {
    text +=
        fmt::format(" Arcs of raw {} show what share of what a token passes on goes along them", weights_name(mixing));
    text += has(Method::kFlow) ? "; arcs of flow show the weights W, the capacities." : ".";
  } else if (has(Method::kRaw) || has(Method::kFlow)) {
    text += fmt::format(" Arcs of {} show the weights {} (for flow, the capacities).",
                        has(Method::kRaw) ? "raw " + weights_name(mixing) : "flow", matrix);
  }
  text += shape.all ? " Squares show the mean over the output tokens." : " Squares show the value of each input token.";
  if (const auto few = arcs_per_node(data.options)) {
    text += *few == 1 ? std::string(" Each node shows only its strongest arc to another token;")
                      : fmt::format(" Each node shows only its {} strongest arcs to other tokens;", *few);
    text += " arcs from a token to itself are not drawn.";
  }
  return text + fmt::format(" Arcs below {}% of the strongest are not drawn.", short_number(100.0 * kWeakestArc));
}

}  // namespace

View graph_view(const FigureData& data, bool compact) {
  const Report& report = data.report;
  if (!has_graph(report)) {
    throw internal::usage_error(
        "the graph was asked for, but this report does not hold the weights of all layers; create a report with them, "
        "or choose the view heatmap, strip or matrix");
  }
  const GraphShape shape{.top = data.layer,
                         .bottom = report.settings.start_layer,
                         .all = data.options.all_output_tokens.value_or(report.all_output_tokens)};
  const bool whole = shape.all && !data.methods.empty();
  std::vector<Method> methods = whole ? data.methods : data.methods_with_output_token();

  const std::size_t layers = shape.top - shape.bottom;
  const std::vector<AxisLabel> tokens = input_axis(data);
  PanelLayout layout;
  layout.layer_pitch = std::clamp(330.0 / static_cast<double>(layers), 14.0, 52.0);
  const double layer_labels =
      data.measure.width(fmt::format("layer {}", shape.top), {.size = kLabelSize}) + kGraphLabelGap;
  const auto fit = [&](double width) {
    layout.pitch = kLargestPitch;
    for (int round = 0;; ++round) {
      layout.columns = lay_out_column_labels(data.measure, tokens, layout.pitch);
      layout.left = std::ceil(std::max(layer_labels, layout.columns.left - layout.pitch / 2.0));
      if (round == 2) return layout.pitch;
      layout.pitch = std::max(3.0 * data.least_cell(),
                              std::min(kLargestPitch, (width - layout.left - 6.0) / static_cast<double>(data.tokens)));
    }
  };
  const auto count = static_cast<double>(methods.size());
  if (fit((data.width - kGraphGap * (count - 1.0)) / count) < kLeastPitchBeside) {
    if (compact && methods.size() > 1) {
      methods = {leading_method(report, methods)};
    }
    fit(data.width);
  }

  std::vector<Scene> panels;
  View view{.scene = Scene(data.measure)};
  for (const Method method : methods) {
    panels.push_back(draw_panel(data, method, shape, layout));
    const ValueRow row = input_values(data, method, shape);
    view.note(scale_of(data, method, {row}), {row});
  }
  view.scene = with_caption("graph", on_shelves(panels, data.width, kGraphGap, data.measure),
                            data.told(caption(data, shape, methods)), data.width);
  return view;
}

}  // namespace attnflow::internal
