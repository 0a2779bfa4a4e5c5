// The deletion and insertion curves of one picture, for one order of its patches.
//
// Definitions and references: evaluate/perturbation_curve.h. `attnflow evaluate image` measures these curves over many
// pictures (analysis/evaluate/picture_curves.h); the document of a checked picture has them for its best map.
//
// Cost: two runs of the model for each point, in batches, so that the perturbed pictures take little memory.
// Deterministic.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The probability of one class, of those that exclude each other, at each point.
struct PatchCurves {
  std::vector<double> deletion;
  std::vector<double> insertion;
};

struct CurveQuestion {
  VisionModel& model;
  std::size_t label = 0;  // the class
  // The picture without these patches, counted row by row.
  std::function<PixelInput(std::span<const std::size_t> removed)> without;
  ProgressFunction progress = {};  // in pictures of both curves
  std::stop_token stop_token = {};
};

// `order`: all patches, the most important first; `points`: how many of them are removed (curve_points()). Throws as
// the model does; Cancelled.
PatchCurves patch_curves(const CurveQuestion& question, std::span<const std::size_t> order,
                         std::span<const std::size_t> points);

// Whether a model's predictions can have the curves: classes that exclude each other.
bool has_curve(const ModelInfo& info);

// The runs of the model that report_curve() takes.
std::size_t report_curve_runs(const ReportImage& image);

// The curves by the report's best map (report/report_answer.h), at every tenth of the patches, or at each patch if
// there are fewer than ten. Patches are blanked as for `question`. Nothing if the report has no map, its values are not
// finite, or the model's classes do not exclude each other. Throws as patch_curves() does.
std::optional<ReportCurve> report_curve(const Report& report, const ImageQuestion& question);

}  // namespace attnflow
