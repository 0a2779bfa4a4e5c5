#include "attnflow/analysis/image/patch_curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "attnflow/analysis/image/blank_patches.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/attribution/probabilities.h"
#include "attnflow/metrics/perturbation_curve.h"

namespace attnflow::patch_curves_test {
namespace {

constexpr std::size_t kPatches = 12;
constexpr std::size_t kBoot = 1;

Report explained(ImageModel& made, const ExplainOptions& options = {}) {
  return explain_image(*made.model, made.processor, shown_picture(random_picture(12, 16, 1), "a.png"), options);
}

// The probability of the boot when only these patches have their color: a blank patch has no effect on a logit.
double probability_with(const PictureModel& model, const PixelInput& input, const std::vector<std::size_t>& there) {
  std::vector<float> logits(3);
  for (std::size_t label = 0; label < logits.size(); ++label) {
    double sum = 0.0;
    for (const std::size_t p : there) {
      double mean = 0.0;
      for (std::size_t c = 0; c < 3; ++c) {
        for (std::size_t y = 0; y < 4; ++y) {
          for (std::size_t x = 0; x < 4; ++x) mean += double{input.pixels(c, p / 4 * 4 + y, p % 4 * 4 + x)};
        }
      }
      sum += model.effect(label, p) * mean / 48.0;
    }
    logits[label] = static_cast<float>(sum);
  }
  return softmax(logits)[kBoot];
}

TEST(PatchCurves, AreTheProbabilitiesWithoutTheFirstPatchesAndWithoutTheRest) {
  PictureModel model;
  model.favourite = 5;
  const ImageInput made = image_input(random_picture(12, 16, 1), "a.png", plain_processor(), model.info());
  std::vector<std::size_t> order = {5, 3, 0, 1, 2, 4, 6, 7, 8, 9, 10, 11};
  const std::vector<std::size_t> points = {0, 1, 5, kPatches};
  const std::vector<float> blank(3, 0.0F);
  const CurveQuestion question{.model = model, .label = kBoot, .without = [&](std::span<const std::size_t> removed) {
                                 PixelInput input{.pixels = made.input.pixels};
                                 blank_patches(input, made.image, *model.info().image, removed, blank);
                                 return input;
                               }};
  const PatchCurves curves = patch_curves(question, order, points);
  ASSERT_EQ(curves.deletion.size(), points.size());
  ASSERT_EQ(curves.insertion.size(), points.size());
  for (std::size_t j = 0; j < points.size(); ++j) {
    const auto middle = order.begin() + static_cast<std::ptrdiff_t>(points[j]);
    EXPECT_NEAR(curves.insertion[j], probability_with(model, made.input, {order.begin(), middle}), 1e-6);
    EXPECT_NEAR(curves.deletion[j], probability_with(model, made.input, {middle, order.end()}), 1e-6);
  }
  EXPECT_LT(curves.deletion[1], curves.deletion[0]);  // the favorite is for the boot
  EXPECT_GT(curves.insertion[1], curves.insertion[0]);
}

TEST(PatchCurves, ACheckedPictureHasThemInTheOrderOfItsBestMap) {
  ImageModel made = picture_model(5);
  const Report report = explained(made);
  ASSERT_TRUE(report.check.has_value());
  ASSERT_TRUE(report.curve.has_value());
  const ReportCurve& curve = *report.curve;
  EXPECT_TRUE(report.settings.wants(curve.order));
  // Every tenth of twelve patches, as far as whole patches allow.
  std::vector<double> steps;
  for (const std::size_t k : curve_points(kPatches, 10)) steps.push_back(static_cast<double>(k) / double{kPatches});
  EXPECT_EQ(curve.steps, steps);
  ASSERT_EQ(curve.insertion.size(), steps.size());
  ASSERT_EQ(curve.deletion.size(), steps.size());
  const double whole = report.predictions.at(0).choices.at(0).probability;
  EXPECT_NEAR(curve.deletion.front(), whole, 1e-6);
  EXPECT_NEAR(curve.insertion.back(), whole, 1e-6);
  EXPECT_NEAR(curve.deletion.back(), curve.insertion.front(), 1e-6);
  EXPECT_EQ(report_curve_runs(*report.input.image), 2 * steps.size());
}

TEST(PatchCurves, AreLeftOutWithoutACheckAndWhereClassesDoNotExcludeEachOther) {
  ImageModel made = picture_model(5);
  ExplainOptions unchecked;
  unchecked.check = CheckWhen::kNever;
  EXPECT_FALSE(explained(made, unchecked).curve.has_value());
  auto model = std::make_unique<PictureModel>();
  model->changeable_info().multi_label = true;
  made.model = std::move(model);
  const Report report = explained(made);
  EXPECT_TRUE(report.check.has_value());
  EXPECT_FALSE(report.curve.has_value());
}

}  // namespace
}  // namespace attnflow::patch_curves_test
