#include "attnflow/draw/figure.h"

#include <fmt/format.h>

#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_answer.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace internal {
namespace {

// Each may take several lines.
constexpr std::size_t kMaxNotes = 12;

constexpr const char* kViewNames[] = {"answer", "overview", "graph", "heatmap", "strip", "matrix", "referents"};

FigureView view_shown(const Report& report, const FigureOptions& options) {
  if (options.view) return *options.view;
  const bool chosen = options.output_token || !options.layers.empty() || !options.methods.empty();
  const bool of_all = options.all_output_tokens.value_or(report.all_output_tokens);
  const bool answers = !chosen && !of_all && !report.generation && answers_prediction(report);
  return answers ? FigureView::kAnswer : FigureView::kOverview;
}

View view_of(const FigureData& data) {
  switch (view_shown(data.report, data.options)) {
    case FigureView::kAnswer:
      return answer_view(data);
    case FigureView::kGraph:
      return graph_view(data);
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

// The answer shows one map, so notes about flow belong to it only where that map is of flow.
std::vector<Note> notes_of_answer(const Report& report) {
  std::vector<Note> notes = report.notes;
  if (best_map(report) != Method::kFlow) {
    std::erase_if(notes, [](const Note& note) { return note.code == NoteCode::kFlowDegenerate; });
  }
  return notes;
}

Scene figure_content(const Report& report, const FigureOptions& options, const TextMeasurer& measure, double width) {
  const FigureData data = make_figure_data(report, options, measure, width);
  // The answer comes before everything else, and holds the text and the verdicts.
  const bool answers = view_shown(report, options) == FigureView::kAnswer;
  std::vector<Scene> blocks;
  if (options.notes && !answers) blocks.push_back(title_block(data));
  const View view = view_of(data);
  blocks.push_back(view.scene);
  if (const Scene legend = legend_block(data, view); legend.height > 0.0) blocks.push_back(legend);
  if (options.notes && answers) blocks.push_back(settings_block(data));
  std::vector<std::string> notes = answers ? note_texts(notes_of_answer(report), options.option_names)
                                           : note_paragraphs(report, options.option_names);
  if (options.notes && !notes.empty()) {
    if (const std::size_t all = notes.size(); all > kMaxNotes) {
      notes.resize(kMaxNotes);
      notes.push_back(fmt::format("and {} more notes in the report.", all - kMaxNotes));
    }
    blocks.push_back(notes_block(notes, data.width, measure));
  }
  return stacked(blocks, 16.0, measure);
}

}  // namespace

Scene figure_scene(const Report& report, const FigureOptions& options, const TextMeasurer& measure) {
  return fitted_page(page_size(options.width, options.font_size), measure,
                     [&](double width) { return figure_content(report, options, measure, width); });
}

std::string figure_description(const Report& report, const FigureOptions& options) {
  constexpr std::size_t kLongestText = 80;
  const char* const name = kViewNames[static_cast<std::size_t>(view_shown(report, options))];
  const std::string model = clean_text(report.model.name);
  const std::string text = shorten(clean_text(report.input.text), kLongestText, "\u2026");
  if (report.generation) {
    return fmt::format("{} of what {} depended on while continuing \u201c{}\u201d{}", name,
                       model.empty() ? "a model" : model, text,
                       options.output_token ? fmt::format(", for generated token {}", *options.output_token) : "");
  }
  const std::size_t token = options.output_token.value_or(report.output_token);
  return fmt::format("{} of the attention of {} for output token {} (position {}){}", name,
                     model.empty() ? "an attention array" : model, clean_text(display_text(report.input, token)), token,
                     text.empty() ? "" : " of \u201c" + text + "\u201d");
}

namespace {

auto drawn(const Report& report, const FigureOptions& options, const auto& draw) {
  const TextMeasurer measure(language_of(text_of(report)));
  const Scene page = figure_scene(report, options, measure);  // checks the report first
  return draw(page, figure_description(report, options));
}

}  // namespace
}  // namespace internal

void FigureOptions::set(const PaperOptions& paper) {
  width = paper.width.value_or(width);
  font_size = paper.font_size.value_or(font_size);
  notes = notes && paper.notes;
}

std::vector<std::string> figure_view_names() {
  return {std::begin(internal::kViewNames), std::end(internal::kViewNames)};
}

std::optional<FigureView> figure_view_from_name(const std::string& name) {
  for (std::size_t i = 0; i < std::size(internal::kViewNames); ++i) {
    if (name == internal::kViewNames[i]) return static_cast<FigureView>(i);
  }
  return std::nullopt;
}

std::string figure_svg(const Report& report, const FigureOptions& options) {
  return internal::drawn(report, options, internal::scene_to_svg);
}

std::string figure_pdf(const Report& report, const FigureOptions& options) {
  return internal::drawn(report, options, internal::scene_to_pdf);
}

std::string figure_png(const Report& report, const FigureOptions& options) {
  return internal::drawn(report, options, [](const auto& page, const auto&) { return internal::scene_to_png(page); });
}

void write_figure(const std::filesystem::path& path, const Report& report, const FigureOptions& options) {
  internal::drawn(report, options, [&](const auto& page, const std::string& description) {
    internal::write_page(path, page, description);
  });
}

}  // namespace attnflow
