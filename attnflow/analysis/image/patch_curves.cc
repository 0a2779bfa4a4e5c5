#include "attnflow/analysis/image/patch_curves.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "attnflow/attribution/probabilities.h"
#include "attnflow/metrics/perturbation_curve.h"
#include "attnflow/report/report_answer.h"

namespace attnflow {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{64} << 20U;  // of perturbed pictures
constexpr std::size_t kReportSteps = 10;
constexpr std::uint64_t kReportSeed = 1;  // shuffles patches that the map does not tell apart

// The class's probability without each of these lists of patches, the first of which is picture number `begin`.
std::vector<double> probabilities_without(const CurveQuestion& question,
                                          std::span<const std::span<const std::size_t>> removed, std::size_t begin) {
  std::vector<double> found;
  std::vector<PixelInput> inputs;
  std::size_t bytes = 0;
  const auto run = [&] {
    if (inputs.empty()) return;
    for (const Tensor<float>& logits : question.model.classify(inputs, {.stop_token = question.stop_token})) {
      found.push_back(softmax(logits.span())[question.label]);
    }
    if (question.progress) question.progress(begin + found.size(), 2 * removed.size());
    inputs.clear();
    bytes = 0;
  };
  for (const std::span<const std::size_t> patches : removed) {
    inputs.push_back(question.without(patches));
    bytes += inputs.back().pixels.size() * sizeof(float);
    if (bytes >= kBytesAtOnce) run();
  }
  run();
  return found;
}

std::vector<double> of_patches(std::span<const double> values, const ReportImage& image) {
  const auto some = values.subspan(image.first_patch, image.rows * image.columns);
  return {some.begin(), some.end()};
}

// By how much the flow of each patch may be larger than its value; empty for other maps.
std::vector<double> gaps_of_patches(const Report& report, Method method) {
  const auto row = row_index(report.flow_output_tokens, report.output_token);
  if (method != Method::kFlow || report.flow_gap.empty() || !row) return {};
  return of_patches(report.flow_gap[report.flow_gap.extent(0) - 1][*row].span(), *report.input.image);
}

}  // namespace

PatchCurves patch_curves(const CurveQuestion& question, std::span<const std::size_t> order,
                         std::span<const std::size_t> points) {
  std::vector<std::span<const std::size_t>> first;
  std::vector<std::span<const std::size_t>> rest;
  for (const std::size_t k : points) {
    first.push_back(order.first(k));
    rest.push_back(order.subspan(k));
  }
  return {probabilities_without(question, first, 0), probabilities_without(question, rest, points.size())};
}

std::size_t report_curve_runs(const ReportImage& image) {
  return 2 * curve_points(image.rows * image.columns, kReportSteps).size();
}

bool has_curve(const ModelInfo& info) {
  return info.head == ModelHead::kClassification && !info.multi_label && info.labels.size() > 1;
}

std::optional<ReportCurve> report_curve(const Report& report, const ImageQuestion& question) {
  const std::optional<Method> map = best_map(report);
  if (!map || !has_curve(question.model.info())) return std::nullopt;
  const AnswerRow row = answer_row(report, *map);
  if (row.values.empty()) return std::nullopt;
  const ReportImage& image = *report.input.image;
  const std::vector<double> values = of_patches(row.values, image);
  const auto is_finite = [](double value) { return std::isfinite(value); };
  if (!std::all_of(values.begin(), values.end(), is_finite)) return std::nullopt;
  const std::vector<std::size_t> order = importance_order(values, kReportSeed, gaps_of_patches(report, *map));
  const std::vector<std::size_t> points = curve_points(values.size(), kReportSteps);
  const CurveQuestion asked{
      .model = question.model,
      .label = question.target.label,
      .without =
          [&](std::span<const std::size_t> removed) {
            std::vector<std::size_t> positions(removed.begin(), removed.end());
            for (std::size_t& position : positions) position += image.first_patch;
            return question.blanked(positions);
          },
      .progress = question.phases ? question.phases("pictures of the curves") : ProgressFunction{},
      .stop_token = question.stop_token};
  PatchCurves found = patch_curves(asked, order, points);
  ReportCurve curve{.order = *map, .insertion = std::move(found.insertion), .deletion = std::move(found.deletion)};
  for (const std::size_t k : points) {
    curve.steps.push_back(static_cast<double>(k) / static_cast<double>(points.back()));
  }
  return curve;
}

}  // namespace attnflow
