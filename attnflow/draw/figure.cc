#include "attnflow/draw/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/draw/views.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"

namespace attnflow {
namespace internal {
namespace {

constexpr double kMargin = 18.0;
constexpr double kLeastWidth = 320.0;

constexpr const char* kViewNames[] = {"overview", "graph", "heatmap", "strip", "matrix", "referents"};

void check_options(const FigureOptions& options) {
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  expect(options.width >= kLeastWidth && options.width <= 10000.0,
         fmt::format("expected a figure between {} and 10000 pixels wide, found {}", kLeastWidth, options.width));
  expect(options.png_scale > 0.0 && options.png_scale <= 16.0,
         fmt::format("expected a png scale above 0 and up to 16, found {}", options.png_scale));
  const bool id = !options.id_prefix.empty() &&
                  options.id_prefix.find_first_not_of(
                      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == std::string::npos &&
                  std::string("0123456789-").find(options.id_prefix.front()) == std::string::npos;
  expect(id, fmt::format("expected an id prefix of letters, digits, '-' and '_' that starts with a letter or '_', "
                         "found '{}'",
                         clean_text(options.id_prefix)));
}

std::string counted(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

std::string settings_line(const FigureData& data) {
  const Report& report = data.report;
  const ReportSettings& settings = report.settings;
  std::string line;
  const auto add = [&](const std::string& part) { line += (line.empty() ? "" : " \u00b7 ") + part; };
  if (!report.model.architecture.empty()) add(clean_text(report.model.architecture));
  if (report.model.layers > 0) add(counted(report.model.layers, "layer"));
  if (report.model.heads > 0) {
    const bool one = settings.heads.find_first_not_of("0123456789") == std::string::npos;
    add(one ? fmt::format("head {} of {}", settings.heads, report.model.heads)
            : fmt::format("{} of {}", clean_text(settings.heads), counted(report.model.heads, "head")));
  }
  add(counted(data.tokens, settings.words ? "word" : "token"));
  add(fmt::format("residual {}", short_number(settings.residual)));
  if (settings.to_layer > 0) add(fmt::format("down to layer {}", settings.to_layer));
  if (settings.discard > 0.0) add(fmt::format("smallest {:.3g}% discarded", 100.0 * settings.discard));
  if (settings.set_aside != "none") add("set aside: " + clean_text(settings.set_aside));
  if (settings.normalize != "none") add("normalised: " + clean_text(settings.normalize));
  return line;
}

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
  std::string line =
      prediction.position ? fmt::format("predicted at position {}: ", *prediction.position) : "predicted: ";
  line += list(prediction.choices);
  if (!prediction.candidates.empty()) line += "; of the candidates: " + list(prediction.candidates);
  return line;
}

Scene title_block(const FigureData& data) {
  Scene scene(data.measure);
  scene.width = data.width;
  std::string name = clean_text(data.report.model.name);
  if (name.empty()) name = "Attention";
  scene.begin_group({.id = "title"});
  scene.height += draw_wrapped(name, {.size = 15.0, .bold = true}, {0.0, 0.0}, data.width, &scene);
  const TextStyle small{.size = 10.5, .color = kGrey};
  scene.height += draw_wrapped(settings_line(data), small, {0.0, scene.height}, data.width, &scene);
  for (const ReportPrediction& prediction : data.report.predictions) {
    if (prediction.choices.empty() && prediction.candidates.empty()) continue;
    scene.height += draw_wrapped(prediction_line(prediction), {.size = 10.5}, {0.0, scene.height}, data.width, &scene);
  }
  scene.end_group();
  return scene;
}

// How the marks of cells are to be read.
Scene legend_block(const FigureData& data, const View& view) {
  std::string legend;
  if (view.above) {
    legend =
        "Special tokens, and what an output token draws on itself, do not set the top of a scale: cells with a "
        "white corner are above it, and the largest value is given beside the scale.";
  }
  if (view.without_value) legend += std::string(legend.empty() ? "" : " ") + "Warm grey cells have no value.";
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "legend"});
  scene.height = draw_wrapped(legend, {.size = kSmallSize, .color = kGrey}, {0.0, 0.0}, data.width, &scene);
  scene.end_group();
  return scene;
}

Scene notes_block(const FigureData& data) {
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "notes"});
  scene.line({0.0, 0.0}, {data.width, 0.0}, stroked(kLightGrey, 0.8));
  scene.height = 6.0;
  for (const std::string& note : data.report.notes) {
    scene.height += draw_wrapped("Note: " + clean_text(note), {.size = kSmallSize, .color = kGrey}, {0.0, scene.height},
                                 data.width, &scene);
  }
  scene.end_group();
  return scene;
}

View view_of(const FigureData& data) {
  switch (data.options.view) {
    case FigureView::kGraph:
      return graph_view(data, {});
    case FigureView::kHeatmap:
      return heatmap_view(data);
    case FigureView::kStrip:
      return strip_view(data);
    case FigureView::kMatrix:
      return matrix_view(data, {});
    case FigureView::kReferents:
      return referents_view(data);
    case FigureView::kOverview:
      break;
  }
  return overview(data);
}

}  // namespace

View captioned(const FigureData& data, const std::string& id, const Scene& panels, const std::string& caption) {
  View view{.scene = Scene(data.measure)};
  view.scene.begin_group({.id = id});
  view.scene.add(panels, 0.0, 0.0);
  view.scene.width = data.width;
  view.scene.height = panels.height + 6.0;
  view.scene.height +=
      draw_wrapped(caption, {.size = kSmallSize, .color = kGrey}, {0.0, view.scene.height}, data.width, &view.scene);
  view.scene.end_group();
  return view;
}

Scene figure_scene(const Report& report, const FigureOptions& options, const TextMeasurer& measure) {
  check_options(options);
  const FigureData data = make_figure_data(report, options, measure, options.width - 2.0 * kMargin);
  std::vector<Scene> blocks;
  if (options.title) blocks.push_back(title_block(data));
  const View view = view_of(data);
  blocks.push_back(view.scene);
  if (view.above || view.without_value) blocks.push_back(legend_block(data, view));
  if (options.notes && !report.notes.empty()) blocks.push_back(notes_block(data));
  const Scene content = stacked(blocks, 16.0, measure);
  Scene page(measure);
  page.add(content, kMargin, kMargin);
  page.width = std::ceil(std::max(options.width, content.width + 2.0 * kMargin));
  page.height = std::ceil(content.height + 2.0 * kMargin);
  return page;
}

std::string figure_description(const Report& report, const FigureOptions& options) {
  const std::size_t token = options.output_token.value_or(report.output_token);
  return fmt::format("{} of the attention of {} for output token {} (position {})",
                     kViewNames[static_cast<std::size_t>(options.view)],
                     report.model.name.empty() ? "an attention array" : clean_text(report.model.name),
                     clean_text(display_text(report, token)), token);
}

}  // namespace internal

std::optional<FigureView> figure_view_from_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size(internal::kViewNames); ++i) {
    if (name == internal::kViewNames[i]) return static_cast<FigureView>(i);
  }
  return std::nullopt;
}

std::string figure_svg(const Report& report, const FigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  const internal::Scene scene = internal::figure_scene(report, options, measure);
  return internal::scene_to_svg(scene, internal::figure_description(report, options), options.id_prefix);
}

std::string figure_pdf(const Report& report, const FigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  const internal::Scene scene = internal::figure_scene(report, options, measure);
  return internal::scene_to_pdf(scene, internal::figure_description(report, options));
}

std::string figure_png(const Report& report, const FigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  const internal::Scene scene = internal::figure_scene(report, options, measure);
  return internal::scene_to_png(scene, options.png_scale);
}

void write_figure(const std::filesystem::path& path, const Report& report, const FigureOptions& options) {
  const std::string ending = internal::lower_extension(path);
  if (ending == ".svg") {
    write_file(path, figure_svg(report, options));
  } else if (ending == ".pdf") {
    write_file(path, figure_pdf(report, options));
  } else if (ending == ".png") {
    write_file(path, figure_png(report, options));
  } else {
    throw Error(ErrorKind::kUsage, "expected a figure ending in .svg, .pdf or .png, found '" + path.string() + "'");
  }
}

}  // namespace attnflow
