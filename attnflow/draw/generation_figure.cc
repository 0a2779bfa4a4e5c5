#include "attnflow/draw/generation_figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/generation_data.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/running_text.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace internal {
namespace {

constexpr double kWidth = 900.0;
constexpr double kGenerationMargin = 18.0;
constexpr double kPngScale = 2.0;
constexpr const char* kIdPrefix = "attnflow";
// At most this many notes: each may take several lines.
constexpr std::size_t kMaxNotes = 12;

constexpr const char* kGenerationViewNames[] = {"overview", "tokens", "layers", "strip"};

std::string sampling_text(const GenerationReport& report) {
  const SamplingSettings& sampling = report.sampling;
  std::string text = sampling.temperature > 0.0
                         ? fmt::format("temperature {}, top-p {}, seed {}", short_number(sampling.temperature),
                                       short_number(sampling.top_p), sampling.seed)
                         : "most probable tokens";
  if (report.chat) text += " \u00b7 chat template";
  return text;
}

// A text in one line, its end cut off where it is long.
std::string quoted(const std::string& text, const TextStyle& style, double width, const TextMeasurer& measure) {
  const double room = width - measure.width("\u201c\u201d", style);
  return "\u201c\u2068" + measure.shortened(clean_text(marked_breaks(text)), style, room) + "\u2069\u201d";
}

Scene generation_title(const GenerationData& data) {
  const GenerationReport& report = data.report;
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "title"});
  const auto line = [&](const std::string& text, const TextStyle& style) {
    scene.height += draw_wrapped(text, style, {0.0, scene.height}, data.width, &scene);
  };
  const TextStyle large{.size = 15.0, .bold = true};
  const TextStyle small{.size = 10.5, .color = kGrey};
  const TextStyle said{.size = 12.0};
  line(quoted(report.prompt, large, data.width, data.measure), large);
  // The mark in front makes the line run from left to right whatever was said.
  const std::string arrow = "\u200e\u2192 ";
  const double indent = data.measure.width(arrow, said);
  if (!report.text.empty()) line(arrow + quoted(report.text, said, data.width - indent, data.measure), said);

  Settings settings = report.settings;
  if (!data.options.normalized) settings.normalization = Normalization::kNone;
  const std::string size =
      fmt::format("{} in the prompt \u00b7 {} generated", counted(data.prompt(), settings.words ? "word" : "token"),
                  counted(report.tokens.size(), "token"));
  std::string name = clean_text(report.model.name);
  if (name.empty()) name = "Model";
  line(fmt::format("{} \u00b7 {} \u00b7 {}", name, settings_line(report.model, settings, size), sampling_text(report)),
       small);
  std::string shown = fmt::format("What {} drew on, by {}, {}", data.who(), to_text(data.method), data.span());
  if (data.options.normalized) shown += ", after " + to_text(report.settings.normalization) + " normalisation";
  if (const std::optional<std::size_t> token = data.shown_token()) {
    shown += fmt::format(" (its probability was {})", short_number(report.tokens[*token].probability));
  }
  line(shown + ".", {.size = 10.5});
  scene.end_group();
  return scene;
}

Scene generation_legend(const GenerationData& data, const View& view) {
  std::string legend = share_sentence(data);
  if (view.above) {
    legend +=
        " The first token, special tokens, generated ones and the position that chose the token itself do not set the "
        "top of a scale when they lie far above the rest: cells with a white corner are above it, and the largest "
        "value is given beside the scale.";
  }
  if (view.without_value) legend += " Warm grey cells have no value.";
  Scene scene(data.measure);
  scene.width = data.width;
  scene.begin_group({.id = "legend"});
  scene.height = draw_wrapped(legend, {.size = kSmallSize, .color = kGrey}, {0.0, 0.0}, data.width, &scene);
  scene.end_group();
  return scene;
}

View generation_view_of(const GenerationData& data) {
  switch (data.options.view) {
    case GenerationView::kTokens:
      return generation_tokens(data);
    case GenerationView::kLayers:
      return generation_layers(data);
    case GenerationView::kStrip:
      return generation_strip(data);
    case GenerationView::kOverview:
      break;
  }
  return generation_overview(data);
}

std::string generation_description(const GenerationReport& report, const GenerationFigureOptions& options) {
  constexpr std::size_t kLongestText = 80;
  return fmt::format("{} of what {} drew on while it continued \u201c{}\u201d{}",
                     kGenerationViewNames[static_cast<std::size_t>(options.view)],
                     report.model.name.empty() ? "a model" : clean_text(report.model.name),
                     shorten(clean_text(report.prompt), kLongestText, "\u2026"),
                     options.token ? fmt::format(", for generated token {}", *options.token) : "");
}

}  // namespace

Scene generation_scene(const GenerationReport& report, const GenerationFigureOptions& options,
                       const TextMeasurer& measure) {
  const GenerationData data = make_generation_data(report, options, measure, kWidth - 2.0 * kGenerationMargin);
  std::vector<Scene> blocks;
  blocks.push_back(generation_title(data));
  const View view = generation_view_of(data);
  blocks.push_back(view.scene);
  blocks.push_back(generation_legend(data, view));
  if (!report.notes.empty()) {
    std::vector<std::string> notes = note_texts(report.notes);
    if (notes.size() > kMaxNotes) {
      notes.resize(kMaxNotes);
      notes.push_back(fmt::format("and {} more notes in the report.", report.notes.size() - kMaxNotes));
    }
    blocks.push_back(notes_block(notes, data.width, measure));
  }
  const Scene content = stacked(blocks, 16.0, measure);
  Scene page(measure);
  page.add(content, kGenerationMargin, kGenerationMargin);
  page.width = std::ceil(std::max(kWidth, content.width + 2.0 * kGenerationMargin));
  page.height = std::ceil(content.height + 2.0 * kGenerationMargin);
  return page;
}

}  // namespace internal

std::optional<GenerationView> generation_view_from_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size(internal::kGenerationViewNames); ++i) {
    if (name == internal::kGenerationViewNames[i]) return static_cast<GenerationView>(i);
  }
  return std::nullopt;
}

std::string generation_figure_svg(const GenerationReport& report, const GenerationFigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  return internal::scene_to_svg(internal::generation_scene(report, options, measure),
                                internal::generation_description(report, options), internal::kIdPrefix);
}

std::string generation_figure_pdf(const GenerationReport& report, const GenerationFigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  return internal::scene_to_pdf(internal::generation_scene(report, options, measure),
                                internal::generation_description(report, options));
}

std::string generation_figure_png(const GenerationReport& report, const GenerationFigureOptions& options) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  return internal::scene_to_png(internal::generation_scene(report, options, measure), internal::kPngScale);
}

void write_generation_figure(const std::filesystem::path& path, const GenerationReport& report,
                             const GenerationFigureOptions& options) {
  const std::string ending = internal::lower_extension(path);
  if (ending == ".svg") {
    write_file(path, generation_figure_svg(report, options));
  } else if (ending == ".pdf") {
    write_file(path, generation_figure_pdf(report, options));
  } else if (ending == ".png") {
    write_file(path, generation_figure_png(report, options));
  } else {
    throw Error(ErrorKind::kUsage, "expected a figure ending in .svg, .pdf or .png, found '" + path.string() + "'");
  }
}

}  // namespace attnflow
