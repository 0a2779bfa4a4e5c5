// Referents' shares in an output token's weights: bars grouped by layer, one panel per method, after the candidates'
// probabilities, if any.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "attnflow/base/format_error.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_referents.h"
#include "attnflow/words/numbers.h"

namespace attnflow::internal {
namespace {

constexpr double kPlotHeight = 132.0;
constexpr double kHead = kPanelHeadHeight;
constexpr double kAxisGap = 6.0;  // between the numbers of the axis and the plot
constexpr double kReferentGap = 22.0;
constexpr double kWidestBar = 16.0;
// Panels with narrower bars are stacked.
constexpr double kNarrowestBarBeside = 4.0;
constexpr double kWidestCandidate = 46.0;
constexpr Color kCandidateColor{0x8c, 0x8c, 0x8c};  // candidates are not referents, so they have none of their colors

// The palette of Okabe & Ito ("Color Universal Design", 2008) stays distinguishable with all common kinds of color
// blindness. The first ones also differ in lightness, for grayscale printing; yellow, faint on white, comes last.
constexpr std::array<std::uint32_t, 8> kReferentColors = {0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7,
                                                          0xd55e00, 0x56b4e9, 0x1a1a1a, 0xf0e442};

constexpr double kTickStep = 0.25;

// Relative to x of the plot's left edge and y of its top.
double axis_width(const TextMeasurer& measure) { return measure.width("100%", kSmallGrey) + kAxisGap; }

double y_of(double share) { return kHead + kPlotHeight * (1.0 - std::clamp(share, 0.0, 1.0)); }

void draw_axes(const std::string& title, double left, double width, Scene* scene) {
  scene->text({.at = {left, 13.0}, .text = title, .style = {.size = kTitleSize, .bold = true}});
  for (double tick = 0.0; tick <= 1.0; tick += kTickStep) {
    const double y = y_of(tick);
    scene->line({left, y}, {left + width, y}, stroked(tick == 0.0 ? kGrey : kLightGrey, tick == 0.0 ? 1.0 : 0.6));
    scene->text({.at = {left - kAxisGap, y + 0.35 * kSmallSize},
                 .text = percent(tick),
                 .style = kSmallGrey,
                 .anchor = Anchor::kEnd});
  }
}

Scene candidates_panel(const FigureData& data, const ReportPrediction& prediction, double width) {
  const std::vector<double> shares = candidate_shares(prediction);
  const auto count = static_cast<double>(prediction.candidates.size());
  Scene scene(data.measure);
  std::vector<AxisLabel> labels;
  for (std::size_t c = 0; c < prediction.candidates.size(); ++c) {
    const ReportChoice& candidate = prediction.candidates[c];
    const std::string label = clean_text(candidate.label);
    labels.push_back({.text = label.empty() ? "\u25A1" : label,
                      .title = fmt::format("probability {}", short_number(candidate.probability))});
  }
  // Rotated labels may extend left of the axis: two iterations settle the margin.
  double left = axis_width(data.measure);
  double pitch = kWidestCandidate;
  ColumnLabels columns;
  for (int round = 0; round < 2; ++round) {
    pitch = std::min(kWidestCandidate, (width - left) / count);
    columns = lay_out_column_labels(data.measure, labels, pitch);
    left = std::max(axis_width(data.measure), columns.left - pitch / 2.0);
  }
  const double title_width = data.measure.width("candidates", {.size = kTitleSize, .bold = true});
  const double plot = std::max(pitch * count, std::min(title_width, width - left));
  scene.begin_group({.id = "referents-candidates"});
  draw_axes("candidates", left, plot, &scene);
  const double bar = std::min(0.6 * pitch, 1.6 * kWidestBar);
  for (std::size_t c = 0; c < shares.size(); ++c) {
    const double middle = left + (static_cast<double>(c) + 0.5) * pitch;
    const double y = y_of(shares[c]);
    scene.rect({middle - bar / 2.0, y, bar, y_of(0.0) - y}, filled(kCandidateColor),
               fmt::format("{}: probability {}, {} among the candidates", labels[c].text,
                           short_number(prediction.candidates[c].probability), percent(shares[c], 1)));
  }
  draw_column_labels(columns, left + pitch / 2.0, y_of(0.0), &scene);
  scene.end_group();
  scene.width = left + plot + std::max(0.0, columns.right - pitch / 2.0);
  scene.height = y_of(0.0) + columns.height;
  return scene;
}

struct Bars {
  double width = 0.0;  // of one bar
  double group = 0.0;  // of a layer: its bars and the gap
};

Bars bars_in(double plot, std::size_t layers, std::size_t referents) {
  const double group = plot / static_cast<double>(layers);
  const double bar = std::min(kWidestBar, 0.8 * group / static_cast<double>(referents));
  return {bar, std::min(group, bar * static_cast<double>(referents) / 0.72)};
}

Scene method_panel(const FigureData& data, const ReferentWeights& weights, const std::vector<std::string>& names,
                   double width, bool* without_value) {
  const std::vector<std::size_t>& layers = data.report.settings.layers;
  const double left = axis_width(data.measure);
  const Bars bars = bars_in(width - left, layers.size(), names.size());
  const std::string method = to_text(weights.method);
  const double title_width = data.measure.width(method, {.size = kTitleSize, .bold = true});
  const double plot = std::max(bars.group * static_cast<double>(layers.size()), title_width);
  Scene scene(data.measure);
  scene.begin_group({.id = "referents-" + method});
  draw_axes(method, left, plot, &scene);
  std::vector<AxisLabel> labels;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    labels.push_back({.text = std::to_string(layers[l]), .title = fmt::format("layer {}", layers[l])});
    const double middle = left + (static_cast<double>(l) + 0.5) * bars.group;
    const double all = bars.width * static_cast<double>(names.size());
    for (std::size_t r = 0; r < names.size(); ++r) {
      const ReferentWeight& weight = weights.layers[l][r];
      const double x = middle - all / 2.0 + bars.width * static_cast<double>(r);
      const std::string title = fmt::format("layer {}, {}: ", layers[l], names[r]);
      if (!weight.share) {
        *without_value = true;
        scene.rect({x, y_of(1.0), bars.width, kPlotHeight}, filled(kNoValue), title + "no value");
        continue;
      }
      const double y = y_of(*weight.share);
      scene.rect({x, y, bars.width, y_of(0.0) - y}, filled(color_of(kReferentColors[r])),
                 fmt::format("{}{}, {} of the referents{}", title, short_number(weight.value),
                             percent(*weight.share, 1), weight.degenerate != 0 ? ", degenerate" : ""));
    }
  }
  const ColumnLabels columns = lay_out_column_labels(data.measure, labels, bars.group);
  draw_column_labels(columns, left + bars.group / 2.0, y_of(0.0), &scene);
  const double below = y_of(0.0) + columns.height;
  scene.text({.at = {left + bars.group * static_cast<double>(layers.size()) / 2.0, below + kSmallSize},
              .text = "layer",
              .style = kSmallGrey,
              .anchor = Anchor::kMiddle});
  scene.end_group();
  scene.width = left + plot;
  scene.height = below + 1.35 * kSmallSize;
  return scene;
}

// A square and a name per referent, in lines of at most data.width.
Scene legend(const FigureData& data, const std::vector<std::string>& names) {
  constexpr double kSquare = 10.0;
  constexpr double kLine = 17.0;
  constexpr TextStyle kStyle{.size = kLabelSize};
  Scene scene(data.measure);
  scene.begin_group({.id = "referents-legend"});
  double x = 0.0;
  double y = 0.0;
  for (std::size_t r = 0; r < names.size(); ++r) {
    const std::string name = data.measure.shortened(names[r], kStyle, 160.0);
    const double width = kSquare + 5.0 + data.measure.width(name, kStyle);
    if (x > 0.0 && x + width > data.width) {
      x = 0.0;
      y += kLine;
    }
    scene.rect({x, y + 2.0, kSquare, kSquare}, filled(color_of(kReferentColors[r])), names[r]);
    scene.text({.at = {x + kSquare + 5.0, y + 11.0}, .text = name, .style = kStyle});
    x += width + 18.0;
  }
  scene.end_group();
  scene.width = data.width;
  scene.height = y + kLine;
  return scene;
}

std::string flow_note(const std::vector<ReferentWeights>& weights) {
  std::size_t all = 0;
  std::size_t flagged = 0;
  for (const ReferentWeights& method : weights) {
    if (method.method != Method::kFlow) continue;
    for (const auto& layer : method.layers) {
      for (const ReferentWeight& weight : layer) {
        ++all;
        flagged += weight.degenerate != 0 ? 1 : 0;
      }
    }
  }
  if (2 * flagged <= all) return "";
  return fmt::format(" {} of the {} flow values are set by the first or the last layer alone.", flagged, all);
}

}  // namespace

View referents_view(const FigureData& data) {
  const Report& report = data.report;
  if (report.referents.empty()) {
    throw internal::usage_error(
        "the figure was asked for referents; this report holds none (explain --referents WORD,WORD)");
  }
  if (report.referents.size() > kReferentColors.size()) {
    throw internal::file_error("the report cannot be drawn: expected at most {} referents, found {}",
                               kReferentColors.size(), report.referents.size());
  }
  data.methods_with_output_token();
  std::vector<ReferentWeights> weights = referent_weights(report, data.output_token);
  std::erase_if(weights, [&](const ReferentWeights& method) {
    return std::find(data.methods.begin(), data.methods.end(), method.method) == data.methods.end();
  });
  if (weights.empty()) {
    throw internal::usage_error(
        "the figure was asked for referents of several tokens; flow to them is known only with --words, and the figure "
        "shows no other method");
  }
  std::vector<std::string> names;
  for (const std::string& name : referent_names(report)) {
    const std::string clean = clean_text(name);
    names.push_back(clean.empty() ? "\u25A1" : clean);
  }

  const ReportPrediction* prediction = candidates_at(report, data.output_token);
  if (prediction != nullptr && candidate_shares(*prediction).empty()) prediction = nullptr;
  std::vector<Scene> panels;
  double room = data.width;
  if (prediction != nullptr) {
    panels.push_back(candidates_panel(data, *prediction, data.width));
    room -= panels.back().width + kReferentGap;
  }
  const auto methods = static_cast<double>(weights.size());
  const double beside = (room - kReferentGap * (methods - 1.0)) / methods;
  const double plot = beside - axis_width(data.measure);
  const bool is_beside =
      plot > 0.0 && bars_in(plot, report.settings.layers.size(), names.size()).width >= kNarrowestBarBeside;
  bool without_value = false;
  for (const ReferentWeights& method : weights) {
    panels.push_back(method_panel(data, method, names, is_beside ? beside : data.width, &without_value));
  }

  std::string caption =
      fmt::format("How {} divides its dependence among the referents, at each layer.", data.output_name(Method::kRaw));
  if (prediction != nullptr) caption += " Candidates: each one's share of their total probability.";
  const Scene bars =
      is_beside ? on_shelves(panels, data.width, kReferentGap, data.measure) : stacked(panels, 14.0, data.measure);
  return {.scene = with_caption("referents", stacked({legend(data, names), bars}, 10.0, data.measure),
                                data.told(caption + flow_note(weights)), data.width),
          .without_value = without_value};
}

}  // namespace attnflow::internal
