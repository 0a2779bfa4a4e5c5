// Tests classify() and input_gradients() against PyTorch's autograd (tests/golden/gradients), and padded batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/model/model_files.h"
#include "attnflow/model/torch/golden_for_test.h"
#include "attnflow/model/torch/vision_for_test.h"

namespace attnflow::gradients_test {
namespace {

using Json = nlohmann::json;
using test::expect_close;
using test::expect_error;
using test::golden_input;
using test::kGradientTolerance;
using test::kTargetNames;
using test::kTargets;

struct GoldenClassifier {
  std::string name;
  std::vector<TextInput> inputs;  // of its cases
};

std::vector<GoldenClassifier> classifiers() {
  std::vector<GoldenClassifier> found;
  for (const Json& golden : test::golden_index()) {
    if (golden.at("head") != "classification") continue;
    GoldenClassifier classifier{golden.at("name").get<std::string>(), {}};
    for (const Json& one : golden.at("cases")) classifier.inputs.push_back(golden_input(one));
    found.push_back(std::move(classifier));
  }
  return found;
}

std::unique_ptr<Encoder> load(const std::string& name, std::size_t threads = 0) {
  return ModelFiles(test::golden_models() / name).load_encoder({.threads = threads});
}

TEST(Gradients, AgreeWithAutograd) {
  std::size_t checked = 0;
  for (const GoldenClassifier& golden : classifiers()) {
    const std::filesystem::path arrays = test::golden_folder("gradients") / (golden.name + ".npz");
    const std::unique_ptr<Encoder> model = load(golden.name);
    for (std::size_t t = 0; t < kTargets.size(); ++t) {
      const std::vector<ScoreTarget> targets(golden.inputs.size(), kTargets.at(t));
      // All cases at once, with 1, 7, 20 and a few tokens, so three of them are padded.
      const std::vector<InputGradient> found = gradients_of(*model).input_gradients(golden.inputs, targets);
      ASSERT_EQ(found.size(), golden.inputs.size());
      for (std::size_t c = 0; c < found.size(); ++c) {
        SCOPED_TRACE(golden.name + ", case " + std::to_string(c) + ", " + kTargetNames.at(t));
        const auto array = [&](const std::string& key) { return test::case_array(arrays, c, key); };
        expect_close(found[c].embedding, array("embedding").to_float("embedding"), kGradientTolerance);
        test::expect_gradient(found[c], kTargetNames.at(t), array, std::abs(found[c].value));
        ++checked;
      }
    }
  }
  EXPECT_GE(checked, 5U * 4U * 3U);
}

// Every length from 1 to the longest, in mixed order.
std::vector<TextInput> mixed_lengths(const GoldenClassifier& golden) {
  const auto longest = std::max_element(golden.inputs.begin(), golden.inputs.end(),
                                        [](const auto& a, const auto& b) { return a.ids.size() < b.ids.size(); });
  const std::size_t count = longest->ids.size();
  std::vector<TextInput> inputs;
  for (std::size_t i = 0; i < count; ++i) {
    const auto length = static_cast<std::ptrdiff_t>(1 + i * 7 % count);
    TextInput input;
    input.ids.assign(longest->ids.begin(), longest->ids.begin() + length);
    if (i % 2 == 0) input.type_ids.assign(longest->type_ids.begin(), longest->type_ids.begin() + length);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

TEST(Gradients, PaddingChangesNothing) {
  for (const GoldenClassifier& golden : classifiers()) {
    SCOPED_TRACE(golden.name);
    test::expect_batch_is_each_alone(*load(golden.name), mixed_lengths(golden));
  }
}

// Distances, windows, and a head that reads all tokens: none may see padding.
TEST(Gradients, PaddingChangesNothingNearAndFar) {
  constexpr std::size_t kLongest = 20;
  for (const char* type : {"mpnet", "modernbert", "deberta", "deberta-v2"}) {
    SCOPED_TRACE(type);
    const test::NewVision made({{"model_type", type},
                                {"hidden_size", 24},
                                {"num_hidden_layers", 4},
                                {"num_attention_heads", 4},
                                {"intermediate_size", 40},
                                {"max_position_embeddings", 30},
                                {"vocab_size", 50},
                                {"local_attention", 4},
                                {"relative_attention", true},
                                {"pos_att_type", "p2c|c2p"},
                                {"share_att_key", true},
                                {"norm_rel_ebd", "layer_norm"},
                                {"position_buckets", 4},
                                {"classifier_pooling", "mean"}},
                               3, 1);
    const std::unique_ptr<Encoder> model = ModelFiles(made.path()).load_encoder();
    std::vector<TextInput> inputs;
    for (std::size_t i = 0; i < kLongest; ++i) {
      TextInput& input = inputs.emplace_back();
      for (std::size_t t = 0; t <= i * 7 % kLongest; ++t)
        input.ids.push_back(static_cast<std::int64_t>(5 + t * 11 % 40));
    }
    test::expect_batch_is_each_alone(*model, inputs);
  }
}

TEST(Gradients, SameBitsWhateverTheThreads) {
  const std::vector<GoldenClassifier> all = classifiers();
  ASSERT_FALSE(all.empty());
  const GoldenClassifier& golden = all.back();
  const std::vector<TextInput> inputs = mixed_lengths(golden);
  const std::vector<ScoreTarget> targets(inputs.size(), kTargets[0]);
  BatchOptions options;
  options.max_tokens = 40;  // many batches
  test::expect_same_bits([&](std::size_t threads) {
    const std::unique_ptr<Encoder> model = load(golden.name, threads);
    std::vector<Tensor<float>> found = model->classify(inputs, options);
    std::vector<double> values;
    for (const InputGradient& one : gradients_of(*model).input_gradients(inputs, targets, options)) {
      found.push_back(one.gradient);
      values.push_back(one.value);
    }
    return std::pair(found, values);
  });
}

// With norms first, adding a number to all dimensions changes nothing, so their sum is no score
// (evaluate/importance.h).
TEST(Gradients, DimensionsSumToZeroWhereNormsComeFirst) {
  for (const GoldenClassifier& golden : classifiers()) {
    const std::unique_ptr<Encoder> model = load(golden.name);
    const std::vector<ScoreTarget> targets(golden.inputs.size(), kTargets[0]);
    double largest_share = 0.0;
    for (const InputGradient& found : gradients_of(*model).input_gradients(golden.inputs, targets)) {
      for (std::size_t j = 0; j < found.gradient.extent(0); ++j) {
        const std::span<const float> row = found.gradient[j].span();
        double sum = 0.0;
        double size = 0.0;
        for (const float g : row) {
          sum += static_cast<double>(g);
          size += std::abs(static_cast<double>(g));
        }
        if (size > 0.0) largest_share = std::max(largest_share, std::abs(sum) / size);
      }
    }
    if (model->info().architecture == "megatron-bert") {
      EXPECT_LT(largest_share, 1e-4) << golden.name;
    } else {
      EXPECT_GT(largest_share, 1e-2) << golden.name;
    }
  }
}

TEST(Gradients, ProgressAndCancelling) {
  const GoldenClassifier golden = classifiers().front();
  const std::unique_ptr<Encoder> model = load(golden.name);
  BatchOptions options;
  options.max_tokens = 1;
  std::vector<std::size_t> done;
  options.progress = [&](std::size_t finished, std::size_t total) {
    EXPECT_EQ(total, golden.inputs.size());
    done.push_back(finished);
  };
  model->classify(golden.inputs, options);
  std::vector<std::size_t> expected(golden.inputs.size());
  std::iota(expected.begin(), expected.end(), std::size_t{1});
  EXPECT_EQ(done, expected);

  std::stop_source stop;
  stop.request_stop();
  options.stop_token = stop.get_token();
  EXPECT_THROW(model->classify(golden.inputs, options), Cancelled);
}

TEST(Gradients, RefuseWhatTheyCannotDo) {
  const std::unique_ptr<Encoder> model = load("bert_classification");
  const std::vector<TextInput> inputs = {{{2, 9, 3}, {}}, {{2, 3}, {}}};
  const std::vector<ScoreTarget> targets(2);
  expect_error(ErrorKind::kUsage, {"a target for each of 2 inputs", "found 1"}, [&] {
    gradients_of(*model).input_gradients(inputs, {targets.data(), 1});
  });
  const std::vector<ScoreTarget> outside = {{}, {ScoreTarget::Kind::kLogit, 3, {}}};
  expect_error(ErrorKind::kUsage, {"labels below 3", "found 3"},
               [&] { gradients_of(*model).input_gradients(inputs, outside); });
  const std::vector<ScoreTarget> other = {{}, {ScoreTarget::Kind::kProbabilityDifference, 0, {7}}};
  expect_error(ErrorKind::kUsage, {"labels below 3", "found 7"},
               [&] { gradients_of(*model).input_gradients(inputs, other); });
  const std::vector<TextInput> too_long = {{std::vector<std::int64_t>(21, 5), {}}};
  expect_error(ErrorKind::kInputTooLong, {"at most 20", "found 21"}, [&] { model->classify(too_long); });
  expect_error(ErrorKind::kUnsupportedModel, {"classification head", "bert_masked_lm"},
               [&] { load("bert_masked_lm")->classify(inputs); });
  EXPECT_TRUE(model->classify({}).empty());
  EXPECT_TRUE(gradients_of(*model).input_gradients({}, {}).empty());
}

}  // namespace
}  // namespace attnflow::gradients_test
