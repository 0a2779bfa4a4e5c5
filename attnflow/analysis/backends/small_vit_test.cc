// Pictures through a backend: the small random vision transformers of tests/golden.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_image.h"
#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/image/image_figure.h"
#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/analysis/loaded_model.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::small_vit_test {
namespace {

struct Expected {
  std::string model;
  std::vector<std::string> leading;  // roles
};

const std::vector<Expected> kModels = {
    {"vit_classification", {"class"}},
    {"deit_classification", {"class", "distillation"}},
    {"deit_teacher", {"class", "distillation"}},
    {"dinov2_classification", {"class"}},
    {"dinov2_registers", {"class", "register", "register", "register"}},
};

ImageModel load(const std::string& name) {
  const std::filesystem::path golden = std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "vision";
  const test::TempFolder folder;
  std::filesystem::copy(golden / name, folder / name);
  test::put(folder / name / "preprocessor_config.json",
            R"({"image_processor_type": "ViTImageProcessor", "do_resize": false,
                "image_mean": [0.5, 0.5, 0.5], "image_std": [0.25, 0.25, 0.25]})");
  return load_image_model(ModelFiles(folder / name));
}

TEST(SmallVisionTransformers, TokensAndRowsOfEveryArchitectureAndSize) {
  for (const auto& [name, leading] : kModels) {
    const ImageModel image_model = load(name);
    // The training size, and one by interpolation with a strip that makes no patch.
    for (const auto& [height, width] :
         {std::pair<std::size_t, std::size_t>{20, 20}, std::pair<std::size_t, std::size_t>{13, 31}}) {
      const Report report = explain_image(*image_model.model, image_model.processor,
                                          shown_picture(random_picture(height, width, 3), "a.png"), {});
      const std::size_t n = leading.size() + (height / 4) * (width / 4);
      ASSERT_EQ(report.input.tokens.size(), n) << name;
      for (std::size_t t = 0; t < n; ++t) {
        EXPECT_EQ(report.input.tokens[t].role, t < leading.size() ? leading[t] : "patch") << name;
      }
      ASSERT_EQ(report.rollout.shape(), (Shape{2, n, n}));
      for (const Tensor<double>* values : {&report.raw, &report.rollout}) {
        for (std::size_t r = 0; r < 2 * n; ++r) {
          double sum = 0.0;
          for (std::size_t j = 0; j < n; ++j) sum += values->data()[r * n + j];
          EXPECT_NEAR(sum, 1.0, 1e-6) << name;
        }
      }
      for (std::size_t e = 0; e < report.flow.size(); ++e) {
        EXPECT_LE(report.rollout.data()[e], report.flow.data()[e] + report.flow_gap.data()[e] + 1e-6);
      }
      // Drawing takes longer than all else: one with tokens of every kind.
      if (name == "dinov2_registers" && height == 13) {
        EXPECT_EQ(image_page(report).rows.size(), 4U);
      }
    }
  }
}

TEST(SmallVisionTransformers, CurvesBeginAndEndAtWhatTheModelSays) {
  for (const char* name : {"vit_classification", "dinov2_registers"}) {
    const ImageModel image_model = load(name);
    PictureSet set;
    set.source = "random pictures";
    set.entries = {{"a", 0}, {"b", 2}};
    set.read = [](std::size_t i) { return random_picture(20, 20, i + 1); };
    ImageEvaluationOptions options;
    options.settings.methods = {Method::kRaw, Method::kRollout, Method::kAttnLrp};
    options.mixings = {Mixing::kAttention, Mixing::kGradient, Mixing::kRelevance};
    options.own_class = true;
    options.steps = 5;
    options.resampling.resamples = 100;
    const ImageEvaluationReport report = evaluate_image(image_model, set, options);
    double whole = 0.0;
    for (std::size_t i = 0; i < 2; ++i) {
      ExplainOptions explain;
      explain.settings.methods = {Method::kRaw};
      explain.settings.top_k = 3;
      const Report one =
          explain_image(*image_model.model, image_model.processor, shown_picture(set.read(i), "a"), explain);
      const std::string& label = image_model.model->info().labels[*set.entries[i].label];
      for (const ReportChoice& choice : one.predictions[0].choices) {
        if (choice.label == label) whole += choice.probability / 2.0;
      }
    }
    // A single picture and a batch differ by the rounding of float32.
    for (const ImageOrderCurves& curve : report.curves) {
      EXPECT_NEAR(curve.deletion.values.front(), whole, 1e-5) << name << curve.method;
      EXPECT_NEAR(curve.insertion.values.back(), whole, 1e-5) << name << curve.method;
      EXPECT_NEAR(curve.deletion.values.back(), report.blank_probability, 1e-5) << name << curve.method;
      EXPECT_NEAR(curve.insertion.values.front(), report.blank_probability, 1e-5) << name << curve.method;
    }
    EXPECT_GT(std::abs(whole - report.blank_probability), 1e-3);
  }
}

}  // namespace
}  // namespace attnflow::small_vit_test
