// Tests vision transformers against output of transformers (tests/golden/vision), and Model's contract for images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/torch/vision_for_test.h"

namespace attnflow::vision_test {
namespace {

using Json = nlohmann::json;
using test::expect_close;
using test::expect_error;
using test::golden_vision;
using test::kAttentionTolerance;
using test::kGradientTolerance;
using test::kPredictionTolerance;
using test::kRoundings;
using test::kTargetNames;
using test::kTargets;
using test::largest_difference;
using test::StackSink;
using test::vision_array;
using test::vision_index;
using test::vision_input;

// For two float32 passes over the same numbers, cut differently: the large weights of these models, and the product in
// a gated network, amplify one unit in the last place.
constexpr double kBatchTolerance = 1e-5;

std::unique_ptr<VisionModel> load(const std::string& name, std::size_t threads = 0) {
  LoadOptions options;
  options.threads = threads;
  return ModelFiles(golden_vision() / name).load_vision(options);
}

// Calls check(model, golden, name) for every golden model.
template <typename Check>
void each_model(const Check& check) {
  std::size_t models = 0;
  for (const Json& golden : vision_index()) {
    const auto name = golden.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const std::unique_ptr<VisionModel> model = load(name);
    check(*model, golden, name);
    ++models;
  }
  EXPECT_GE(models, 8U);
}

TEST(Vision, AttentionAndLogitsAreThoseOfTransformers) {
  std::size_t cases = 0;
  each_model([&](VisionModel& model, const Json& golden, const std::string& name) {
    const bool classifies = golden.at("head") == "classification";
    EXPECT_EQ(model.info().head, classifies ? ModelHead::kClassification : ModelHead::kNone);
    EXPECT_EQ(model.info().labels, golden.at("labels").get<std::vector<std::string>>());
    for (std::size_t number = 0; number < golden.at("cases").size(); ++number) {
      SCOPED_TRACE(golden.at("cases")[number].at("name").get<std::string>());
      StackSink sink;
      const ModelOutput output = model.run(vision_input(name, number), &sink);
      const Tensor<float> attention = vision_array(name, number, "attention").to_float("attention");
      ASSERT_EQ(sink.layers, attention.extent(0));
      ASSERT_EQ(sink.shape, Shape(attention.shape().begin() + 1, attention.shape().end()));
      EXPECT_LE(largest_difference<float>(sink.values, attention.span()), kAttentionTolerance);
      ++cases;
      if (!classifies) {
        EXPECT_TRUE(output.logits.empty());
        continue;
      }
      const Tensor<float> logits = vision_array(name, number, "logits").to_float("logits");
      ASSERT_EQ(output.logits.shape(), logits.shape());
      EXPECT_LE(largest_difference<float>(output.logits.span(), logits.span()), kPredictionTolerance);
      const Tensor<double> expected = vision_array(name, number, "probabilities").to_double("probabilities");
      EXPECT_LE(largest_difference<double>(softmax(output.logits.span()), expected.span()), kPredictionTolerance);
    }
  });
  EXPECT_GE(cases, 30U);
}

TEST(Vision, SaysWhatItsTokensAre) {
  each_model([&](VisionModel& model, const Json& golden, const std::string& name) {
    const ModelInfo& info = model.info();
    EXPECT_EQ(info.architecture, golden.at("architecture").get<std::string>());
    ASSERT_TRUE(info.image.has_value());
    const ImageInfo& image = *info.image;
    EXPECT_EQ(image.channels, golden.at("channels").get<std::size_t>());
    EXPECT_EQ((std::vector<std::size_t>{image.height, image.width}),
              golden.at("image").get<std::vector<std::size_t>>());
    EXPECT_EQ((std::vector<std::size_t>{image.patch_height, image.patch_width}),
              golden.at("patch").get<std::vector<std::size_t>>());
    EXPECT_EQ(info.max_tokens, golden.at("cases")[0].at("n").get<std::size_t>());
    EXPECT_EQ(info.vocabulary, 0U);
    EXPECT_FALSE(info.causal);
    EXPECT_EQ(ModelFiles(golden_vision() / name).info().image, info.image);
    for (std::size_t number = 0; number < golden.at("cases").size(); ++number) {
      const Json& one = golden.at("cases")[number];
      const PixelInput input = vision_input(name, number);
      const ImageTokens tokens = image_tokens(image, input.pixels.extent(1), input.pixels.extent(2));
      EXPECT_EQ(tokens.rows, one.at("rows").get<std::size_t>());
      EXPECT_EQ(tokens.columns, one.at("columns").get<std::size_t>());
      std::vector<std::string> roles = golden.at("leading").get<std::vector<std::string>>();
      EXPECT_EQ(tokens.leading(), roles.size());
      roles.resize(one.at("n").get<std::size_t>(), "patch");
      std::vector<std::string> found;
      for (const TokenRole role : tokens.roles) found.emplace_back(token_role_name(role));
      EXPECT_EQ(found, roles);
    }
  });
}

TEST(Vision, GradientsAgreeWithAutograd) {
  std::size_t checked = 0;
  each_model([&](VisionModel& model, const Json& golden, const std::string& name) {
    if (golden.at("head") != "classification") return;
    const std::vector<PixelInput> inputs = test::vision_inputs(golden);
    for (std::size_t t = 0; t < kTargets.size(); ++t) {
      const std::vector<ScoreTarget> targets(inputs.size(), kTargets.at(t));
      const std::vector<InputGradient> found = gradients_of(model).input_gradients(inputs, targets);
      ASSERT_EQ(found.size(), inputs.size());
      for (std::size_t c = 0; c < found.size(); ++c) {
        SCOPED_TRACE("case " + std::to_string(c) + ", " + kTargetNames.at(t));
        expect_close(found[c].embedding, vision_array(name, c, "embedding").to_float("embedding"), kGradientTolerance);
        if (!golden.at("cases")[c].at("gradients").get<bool>()) continue;
        const std::string key = kTargetNames.at(t);
        const double rounding = vision_array(name, c, key + "_gradient_rounding").to_double("rounding").data()[0];
        expect_close(found[c].gradient, vision_array(name, c, key + "_gradient").to_float("gradient"),
                     std::max(kGradientTolerance, kRoundings * rounding));
        const double value = vision_array(name, c, key + "_value").to_double("value").data()[0];
        EXPECT_NEAR(found[c].value, value, kGradientTolerance * std::max(1.0, std::abs(value)));
        ++checked;
      }
    }
  });
  EXPECT_GE(checked, 5U * 2U * 3U);
}

// Images of several sizes, each size more than once, in mixed order.
std::vector<PixelInput> mixed_sizes(const Json& golden) {
  std::vector<PixelInput> inputs;
  for (int turn = 0; turn < 3; ++turn) {
    for (PixelInput& input : test::vision_inputs(golden)) {
      for (float& pixel : input.pixels.span()) pixel *= 1.0F + 0.1F * static_cast<float>(turn);
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

TEST(Vision, BatchesComputeWhatOnePictureAloneDoes) {
  each_model([&](VisionModel& model, const Json& golden, const std::string&) {
    if (golden.at("head") != "classification") return;
    const std::vector<PixelInput> inputs = mixed_sizes(golden);
    const std::vector<ScoreTarget> targets(inputs.size(), kTargets[2]);
    const std::vector<Tensor<float>> logits = model.classify(inputs);
    const std::vector<InputGradient> gradients = gradients_of(model).input_gradients(inputs, targets);
    ASSERT_EQ(logits.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      expect_close(logits[i], model.run(inputs[i], nullptr).logits, kBatchTolerance);
      const std::vector<InputGradient> alone = gradients_of(model).input_gradients({&inputs[i], 1}, {&targets[i], 1});
      expect_close(gradients[i].gradient, alone.at(0).gradient, kGradientTolerance);
    }
  });
}

Json wide_config(const std::string& model_type) {
  Json config = {{"model_type", model_type},  {"hidden_size", 256}, {"num_hidden_layers", 2},
                 {"num_attention_heads", 4},  {"image_size", 128},  {"patch_size", 8},
                 {"intermediate_size", 1024}, {"num_channels", 3},  {"num_register_tokens", 4},
                 {"use_swiglu_ffn", true}};
  return config;
}

// Wide enough that matrices are cut into several blocks in each dimension.
TEST(Vision, SameBitsWhateverTheThreads) {
  for (const std::string type : {"vit", "dinov2_with_registers"}) {
    SCOPED_TRACE(type);
    const test::NewVision vision(wide_config(type), 10, 5);
    Random random(1);
    std::vector<PixelInput> inputs(4);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      inputs[i].pixels = test::random_pixels(random, {3, 128, i == 0 ? 160U : 128U});
    }
    const std::vector<ScoreTarget> targets(inputs.size(), kTargets[1]);
    std::vector<float> attention;
    std::vector<Tensor<float>> logits;
    std::vector<InputGradient> gradients;
    for (const std::size_t threads : {1U, 2U, 3U}) {
      LoadOptions options;
      options.threads = threads;
      const std::unique_ptr<VisionModel> model = ModelFiles(vision.path()).load_vision(options);
      StackSink sink;
      std::vector<Tensor<float>> found = {model->run(inputs[0], &sink).logits};
      for (Tensor<float>& one : model->classify(inputs)) found.push_back(std::move(one));
      const std::vector<InputGradient> slopes = gradients_of(*model).input_gradients(inputs, targets);
      if (threads == 1) {
        attention = sink.values;
        logits = found;
        gradients = slopes;
      }
      EXPECT_TRUE(sink.values == attention);
      EXPECT_TRUE(found == logits);
      for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(slopes[i].gradient == gradients[i].gradient);
    }
  }
}

TEST(Vision, AttentionRowsSumToOne) {
  each_model([&](VisionModel& model, const Json&, const std::string& name) {
    StackSink sink;
    model.run(vision_input(name, 0), &sink);
    const std::size_t n = sink.shape.at(2);
    constexpr double kRowTolerance = 1e-6;
    for (std::size_t row = 0; row < sink.values.size() / n; ++row) {
      double sum = 0.0;
      for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(sink.values[row * n + j]);
      EXPECT_NEAR(sum, 1.0, kRowTolerance);
    }
  });
}

TEST(Vision, RefusesWhatIsNoPictureOfIts) {
  const std::unique_ptr<VisionModel> vit = load("vit_classification");
  const auto run = [&](Shape shape, float value = 0.0F) {
    PixelInput input;
    input.pixels = Tensor<float>(std::move(shape));
    std::fill(input.pixels.span().begin(), input.pixels.span().end(), value);
    vit->run(input, nullptr);
  };
  EXPECT_NO_THROW(run({3, 4, 8}));
  expect_error(ErrorKind::kUsage, {"multiples", "4 x 4", "found 22 x 20", "20 x 20"}, [&] { run({3, 22, 20}); });
  expect_error(ErrorKind::kUsage, {"multiples", "found 20 x 3", "20 x 4"}, [&] { run({3, 20, 3}); });
  expect_error(ErrorKind::kUsage, {"3 channels", "[1, 20, 20]"}, [&] { run({1, 20, 20}); });
  expect_error(ErrorKind::kUsage, {"[channels, height, width]", "[20, 20]"}, [&] { run({20, 20}); });
  expect_error(ErrorKind::kUsage, {"[channels, height, width]", "[3, 0, 20]"}, [&] { run({3, 0, 20}); });
  expect_error(ErrorKind::kUsage, {"expected pixels that are finite numbers"}, [&] {
    run({3, 20, 20}, std::numeric_limits<float>::quiet_NaN());
  });
  expect_error(ErrorKind::kUsage, {"[channels, height, width]"}, [&] { vit->run({}, nullptr); });

  expect_error(ErrorKind::kUnsupportedModel, {"classification head", "dinov2_swiglu"}, [&] {
    const PixelInput input = vision_input("dinov2_swiglu", 0);
    load("dinov2_swiglu")->classify({&input, 1});
  });
}

}  // namespace
}  // namespace attnflow::vision_test
