// Pictures with some patches in a neutral color, or in their neighbors'.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/model/image_info.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Gives these patches of the grid, counted row by row, one color: a value for each of the model's channels.
void blank_patches(PixelInput& input, const ReportImage& grid, const ImageInfo& info,
                   std::span<const std::size_t> patches, std::span<const float> color);

// Gives each of these patches one color, the mean of its neighbors' means: first those beside a patch that stays, then
// those beside them, and so on. If no patch stays, all get `color`.
void spread_neighbors(PixelInput& input, const ReportImage& grid, const ImageInfo& info,
                      std::span<const std::size_t> patches, std::span<const float> color);

// A question about a picture; blanked patches get that color, named `blank`. `input` and `grid` must outlive it.
ImageQuestion image_question(VisionModel& model, const PixelInput& input, const ReportImage& grid,
                             const std::vector<InputToken>& tokens, const ScoreTarget& target, std::vector<float> color,
                             std::string blank);

}  // namespace attnflow
