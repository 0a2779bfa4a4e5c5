// The parts of a figure around its view: the page, the title above it, and the legend and notes below.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/figure_data.h"
#include "attnflow/draw/paper.h"
#include "attnflow/draw/scene.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// Lays out a page: `lay_out(width)` makes the content between the margins, with that width if it fits. Throws
// Error(kUsage) if it does not fit, giving a sufficient width.
Scene fitted_page(const PageSize& size, const TextMeasurer& measure, const std::function<Scene(double width)>& lay_out);

// Writes a page in the format given by the path's extension: .svg, .pdf or .png (Error(kUsage) for any other). The file
// is complete or absent. `description` is the text alternative.
void write_page(const std::filesystem::path& path, const Scene& page, const std::string& description);

// The user's text, cut to one line, with model, settings and predictions; for a generation, the prompt and its
// continuation, and what is shown.
Scene title_block(const FigureData& data);

// Explains the marks of cells and labels, and the distribution of the mass of a generation; zero height if there is
// nothing to explain.
Scene legend_block(const FigureData& data, const View& view);

// Notes, below a line.
Scene notes_block(const std::vector<std::string>& notes, double width, const TextMeasurer& measure);

// " Of the attention itself 3% (layer 1) to 62% (layer 9) falls on the first token."; "" if there is no generation.
std::string sink_sentence(const FigureData& data, Method method);

// "bert · 6 layers · mean of 12 heads · 8 tokens · residual 0.5"; `size` is the input's length in words. With gradient
// mixing "gradient-adjusted attention for class “positive”, identity added" replaces the residual.
std::string settings_line(const ReportModel& model, const Settings& settings, const std::string& size,
                          const std::optional<ReportTarget>& target = {});

}  // namespace attnflow::internal
