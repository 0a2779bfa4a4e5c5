// What stands around a figure's view: the page, the title above it, the legend and the notes below.
#ifndef ATTNFLOW_DRAW_FIGURE_TEXT_H_
#define ATTNFLOW_DRAW_FIGURE_TEXT_H_

#include <cstddef>
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

// Throws Error(kUsage): a scale outside (0, 16], an id prefix that is no name in XML and CSS.
void check_page(double png_scale, const std::string& id_prefix);

// Lays out a page: `lay_out(width)` makes what stands between the margins, of that width where it fits. Throws
// Error(kUsage) where it does not, with the width that suffices.
Scene fitted_page(const PageSize& size, const TextMeasurer& measure, const std::function<Scene(double width)>& lay_out);

// The user's text, cut to one line, with model, settings and predictions; of a generation the prompt and its
// continuation, and what is shown.
Scene title_block(const FigureData& data);

// How the marks of cells and labels are to be read, and where the mass of a generation lies; of no height where there
// is nothing to say.
Scene legend_block(const FigureData& data, const View& view);

// Notes, under a line.
Scene notes_block(const std::vector<std::string>& notes, double width, const TextMeasurer& measure);

// " Of the attention itself 3% (layer 1) to 62% (layer 9) falls on the first token."; "" where there is no generation.
std::string sink_sentence(const FigureData& data, Method method);

// "3 tokens".
std::string counted(std::size_t count, const char* one);

// "bert · 6 layers · mean of 12 heads · 8 tokens · residual 0.5"; `size` says how long the input is. With gradient
// mixing "gradient-adjusted attention for class “positive”, identity added" in place of the residual.
std::string settings_line(const ReportModel& model, const Settings& settings, const std::string& size,
                          const std::optional<ReportTarget>& target = {});

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_FIGURE_TEXT_H_
