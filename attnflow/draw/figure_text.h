// A figure around its view: page, title, legend and notes.
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

// Lays out a page: `lay_out(width)` makes the content between the margins, that wide if it fits. Throws Error(kUsage),
// giving a sufficient width, if it does not.
Scene fitted_page(const PageSize& size, const TextMeasurer& measure, const std::function<Scene(double width)>& lay_out);

// Writes .svg, .pdf or .png by the path's extension (Error(kUsage) for any other). The file is complete or absent.
// `description` is the text alternative.
void write_page(const std::filesystem::path& path, const Scene& page, const std::string& description);

// The user's text on one line, with model, settings and predictions; for a generation, the prompt and its continuation,
// and what is shown.
Scene title_block(const FigureData& data);

// The model and the settings on one line.
Scene settings_block(const FigureData& data);

// Explains marks and the distribution of a generation's mass; zero height if there is nothing to explain.
Scene legend_block(const FigureData& data, const View& view);

Scene notes_block(const std::vector<std::string>& notes, double width, const TextMeasurer& measure);

// " Of the attention itself 3% (layer 1) to 62% (layer 9) falls on the first token."; "" without a generation.
std::string sink_sentence(const FigureData& data, Method method);

// "bert · 6 layers · mean of 12 heads · 8 tokens · residual 0.5"; `size` is the input's length in words. With gradient
// mixing "gradient-adjusted attention for class “positive”, identity added" replaces the residual.
std::string settings_line(const ReportModel& model, const Settings& settings, const std::string& size,
                          const std::optional<ReportTarget>& target = {});

}  // namespace attnflow::internal
