// Tests vision transformers against output of transformers (tests/golden/vision), and Model's contract for images.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

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
using test::kTargetNames;
using test::kTargets;
using test::largest_difference;
using test::StackSink;
using test::vision_array;
using test::vision_index;
using test::vision_input;

std::unique_ptr<VisionModel> load(const std::string& name, std::size_t threads = 0) {
  return ModelFiles(golden_vision() / name).load_vision({.threads = threads});
}

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
      sink.expect_close_to(attention);
      ++cases;
      if (!classifies) {
        EXPECT_TRUE(output.logits.empty());
        continue;
      }
      test::expect_within(output.logits, vision_array(name, number, "logits").to_float("logits"), kPredictionTolerance);
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
        const auto array = [&](const std::string& key) { return vision_array(name, c, key); };
        test::expect_gradient(found[c], kTargetNames.at(t), array, std::abs(found[c].value));
        ++checked;
      }
    }
  });
  EXPECT_GE(checked, 5U * 2U * 3U);
}

// Each size more than once, in mixed order.
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
    test::expect_batch_is_each_alone(model, mixed_sizes(golden));
  });
}

Json wide_config(const std::string& model_type) {
  return {{"model_type", model_type}, {"hidden_size", 256},    {"num_hidden_layers", 2},    {"num_attention_heads", 4},
          {"image_size", 128},        {"patch_size", 8},       {"intermediate_size", 1024}, {"num_channels", 3},
          {"num_register_tokens", 4}, {"use_swiglu_ffn", true}};
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
    test::expect_same_bits([&](std::size_t threads) {
      const std::unique_ptr<VisionModel> model = ModelFiles(vision.path()).load_vision({.threads = threads});
      StackSink sink;
      std::vector<Tensor<float>> found = model->classify(inputs);
      found.push_back(model->run(inputs[0], &sink).logits);
      for (const InputGradient& one : gradients_of(*model).input_gradients(inputs, targets))
        found.push_back(one.gradient);
      return std::pair(sink.values, found);
    });
  }
}

TEST(Vision, AttentionRowsSumToOne) {
  each_model([&](VisionModel& model, const Json&, const std::string& name) {
    StackSink sink;
    model.run(vision_input(name, 0), &sink);
    sink.expect_rows_sum_to_one();
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
