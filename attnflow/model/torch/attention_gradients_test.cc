// Tests attention_gradients() against PyTorch's autograd (tests/golden/attention_gradients) and against its contract.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/torch/vision_for_test.h"

namespace attnflow::attention_gradients_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::kGradientTolerance;
using test::kRoundings;
using test::largest;
using test::largest_difference;
using test::StackSink;

// Keeps everything, bottom layer first, and checks that layers arrive as the interface promises.
class GradientStack : public AttentionGradientSink {
 public:
  explicit GradientStack(std::size_t layers) : next_(layers) {}

  void layer(const LayerGradients& gradients) override {
    const TensorView<const float> weights = gradients.attention;
    const TensorView<const float> slopes = gradients.attention_gradient;
    EXPECT_EQ(gradients.layer, next_--);
    ASSERT_EQ(weights.rank(), 3U);
    EXPECT_EQ(weights.extent(1), weights.extent(2));
    EXPECT_EQ(weights.shape(), slopes.shape());
    shape = weights.shape();
    attention.insert(attention.begin(), weights.span().begin(), weights.span().end());
    gradient.insert(gradient.begin(), slopes.span().begin(), slopes.span().end());
  }

  bool complete() const { return next_ == 0; }

  Shape shape;                   // [head, query, key]
  std::vector<float> attention;  // [layer, head, query, key]
  std::vector<float> gradient;

 private:
  std::size_t next_;
};

template <typename Input>
GradientStack differentiate(ModelOf<Input>& model, const Input& input, const ScoreTarget& target) {
  GradientStack sink(model.info().layers);
  gradients_of(model).attention_gradients(input, target, sink);
  EXPECT_TRUE(sink.complete());
  return sink;
}

struct Case {
  std::string family;  // folder of tests/golden: models, vision, decoders
  std::string model;
  std::size_t number = 0;
  TextInput text;
  PixelInput image;
  ScoreTarget target;
};

template <typename Call>
auto with_model(const Case& one, const Call& call, std::size_t threads = 0) {
  const LoadOptions options = {.threads = threads};
  const ModelFiles files(test::golden_folder(one.family) / one.model);
  if (files.info().image) return call(*files.load_vision(options), one.image);
  return call(*files.load_text(options), one.text);
}

GradientStack differentiate(const Case& one, std::size_t threads = 0) {
  return with_model(
      one, [&](auto& model, const auto& input) { return differentiate(model, input, one.target); }, threads);
}

// Cases of up to 29 tokens, for all models that give a score.
std::vector<Case> golden_cases() {
  constexpr std::size_t kMaxTokens = 29;
  std::vector<Case> cases;
  for (const std::string family : {"models", "vision", "decoders"}) {
    for (const Json& model : test::models_of(test::golden_folder(family))) {
      if (family != "decoders" && model.at("head") != "classification") continue;
      for (std::size_t number = 0; number < model.at("cases").size(); ++number) {
        const Json& about = model.at("cases")[number];
        if (about.at("n").get<std::size_t>() > kMaxTokens) continue;
        Case one{family, model.at("name").get<std::string>(), number, {}, {}, {}};
        if (family == "vision") {
          one.image = test::vision_input(one.model, number);
        } else {
          about.at("ids").get_to(one.text.ids);
        }
        if (family == "models") about.at("type_ids").get_to(one.text.type_ids);
        one.target = {ScoreTarget::Kind::kProbabilityDifference, 2, {0}};
        if (family == "decoders") {
          model.at("label").get_to(one.target.label);
          one.target.others = {model.at("other").get<std::size_t>()};
        }
        cases.push_back(std::move(one));
      }
    }
  }
  return cases;
}

TEST(AttentionGradients, AgreeWithAutograd) {
  std::size_t decoders = 0;
  std::size_t pictures = 0;
  std::size_t texts = 0;
  for (const Case& one : golden_cases()) {
    SCOPED_TRACE(one.model + ", case " + std::to_string(one.number));
    const GradientStack found = differentiate(one);
    const auto array = [&](const std::string& key) {
      return test::case_array(test::golden_folder("attention_gradients") / (one.model + ".npz"), one.number, key);
    };
    const Tensor<float> expected = array("gradient").to_float("gradient");
    ASSERT_EQ(Shape(expected.shape().begin() + 1, expected.shape().end()), found.shape);
    const double rounding = array("gradient_rounding").to_double("rounding").data()[0];
    ASSERT_EQ(found.gradient.size(), expected.size());
    for (std::size_t layer = 0; layer < expected.extent(0); ++layer) {
      const std::span<const float> wanted = expected[layer].span();
      const std::span<const float> slopes = std::span(found.gradient).subspan(layer * wanted.size(), wanted.size());
      // If many tokens share the probability, scores are small, and so are their gradients.
      EXPECT_LE(largest_difference(slopes, wanted),
                std::max(kGradientTolerance * largest(wanted), kRoundings * rounding));
    }
    (one.family == "decoders" ? decoders : one.family == "vision" ? pictures : texts) += 1;
  }
  EXPECT_GE(texts, 20U);
  EXPECT_GE(pictures, 15U);
  EXPECT_GE(decoders, 18U);
}

// Targets at every position, some of them twice, so that batches have texts of several lengths and there are several.
std::vector<GradientStack> each_position(const Case& one, BackwardRule rule, std::size_t threads) {
  const auto model = ModelFiles(test::golden_folder(one.family) / one.model).load_decoder({.threads = threads});
  std::vector<ScoreTarget> targets;
  const std::size_t positions = one.text.ids.size();
  for (std::size_t at = 0; at < 2 * positions; ++at) {
    targets.push_back(one.target);
    targets.back().position = (at * 7) % positions;
    targets.back().kind = ScoreTarget::Kind::kLogitDifference;
  }
  std::vector<GradientStack> stacks(targets.size(), GradientStack(model->info().layers));
  std::vector<AttentionGradientSink*> sinks;
  for (GradientStack& stack : stacks) sinks.push_back(&stack);
  std::vector<std::size_t> done;
  const auto progress = [&](std::size_t count, std::size_t all) {
    EXPECT_EQ(all, targets.size());
    done.push_back(count);
  };
  gradients_of<TextInput>(*model).attention_gradients_of_each(one.text, targets, sinks,
                                                              {.rule = rule, .progress = progress});
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), targets.size());
  for (std::size_t k = 0; k < targets.size(); ++k) {
    EXPECT_TRUE(stacks[k].complete());
    GradientStack alone(model->info().layers);
    gradients_of<TextInput>(*model).attention_gradients(one.text.up_to(*targets[k].position), targets[k], alone, rule);
    EXPECT_EQ(stacks[k].shape, alone.shape);
    EXPECT_LE(largest_difference(stacks[k].attention, alone.attention), 2e-6);
    EXPECT_LE(largest_difference(stacks[k].gradient, alone.gradient), 1e-5 * std::max(1.0, largest(alone.gradient)));
  }
  return stacks;
}

TEST(AttentionGradients, OfManyTargetsAreThoseOfEach) {
  std::size_t decoders = 0;
  for (const Case& one : golden_cases()) {
    if (one.family != "decoders" || one.number != 0) continue;
    SCOPED_TRACE(one.model);
    for (const BackwardRule rule : {BackwardRule::kGradient, BackwardRule::kAttnLrp}) {
      const std::vector<GradientStack> first = each_position(one, rule, 1);
      const std::vector<GradientStack> second = each_position(one, rule, 2);
      for (std::size_t k = 0; k < first.size(); ++k) EXPECT_EQ(first[k].gradient, second[k].gradient);
    }
    ++decoders;
  }
  EXPECT_GE(decoders, 5U);
}

TEST(AttentionGradients, AttentionIsThatOfTheModel) {
  for (const Case& one : golden_cases()) {
    SCOPED_TRACE(one.model + ", case " + std::to_string(one.number));
    const StackSink sink = with_model(one, [](auto& model, const auto& input) {
      StackSink kept;
      model.run(input, &kept);
      return kept;
    });
    const GradientStack found = differentiate(one);
    EXPECT_LE(largest_difference(found.attention, sink.values), test::kAttentionTolerance);
  }
}

// Identical patches without positions have one value vector, so all weights on them have the same effect on the score.
TEST(AttentionGradients, AreOneForKeysOfOneValue) {
  const Json config = {{"model_type", "vit"},      {"hidden_size", 16}, {"num_hidden_layers", 1},
                       {"num_attention_heads", 2}, {"image_size", 12},  {"patch_size", 4},
                       {"intermediate_size", 24},  {"num_channels", 1}};
  const test::NewVision vision(config, 3, 8);
  PixelInput input;
  input.pixels = Tensor<float>({1, 12, 12});
  test::WeightsFile weights = test::WeightsFile::read(vision.path() / "model.safetensors");
  const Json& about = weights.header.at("vit.embeddings.position_embeddings");
  const auto begin = about.at("data_offsets")[0].get<std::size_t>();
  const auto end = about.at("data_offsets")[1].get<std::size_t>();
  std::fill(weights.data.begin() + static_cast<std::ptrdiff_t>(begin),
            weights.data.begin() + static_cast<std::ptrdiff_t>(end), '\0');
  const test::TempFolder folder;
  test::put(folder / "config.json", test::get(vision.path() / "config.json"));
  weights.write(folder / "model.safetensors");
  const GradientStack found =
      differentiate(*ModelFiles(folder.path()).load_vision(), input, {ScoreTarget::Kind::kLogit, 1, {}});
  const std::size_t n = found.shape.at(2);
  ASSERT_EQ(n, 10U);
  for (std::size_t head = 0; head < 2; ++head) {
    for (std::size_t query = 0; query < n; ++query) {
      const float* const row = found.gradient.data() + (head * n + query) * n;
      if (query != 0) {
        EXPECT_EQ(largest({row, n}), 0.0);
        continue;
      }
      EXPECT_GT(largest({row, n}), 1e-4);
      for (std::size_t key = 2; key < n; ++key) EXPECT_NEAR(row[key], row[1], 1e-6F);
    }
  }
}

TEST(AttentionGradients, SameBitsWhateverTheThreads) {
  for (const Case& one : golden_cases()) {
    if (one.number != 1) continue;
    SCOPED_TRACE(one.model);
    test::expect_same_bits([&](std::size_t threads) {
      const GradientStack found = differentiate(one, threads);
      return std::pair(found.attention, found.gradient);
    });
  }
}

TEST(AttentionGradients, RefuseWhatTheyCannotDo) {
  GradientStack sink(2);
  const TextInput text = {{2, 9, 3}, {}};
  const auto refuses = [&](ErrorKind kind, const std::vector<std::string>& words, const char* model,
                           const TextInput& input, const ScoreTarget& target) {
    const auto loaded = ModelFiles(test::golden_folder(model)).load_text();
    expect_error(kind, words, [&] { gradients_of(*loaded).attention_gradients(input, target, sink); });
  };
  const char* const bert = "models/bert_classification";
  refuses(ErrorKind::kUsage, {"position from 0 to 2", "found 3"}, "models/bert_masked_lm", text,
          {.label = 1, .position = 3});
  refuses(ErrorKind::kUsage, {"two different labels"}, bert, text, {ScoreTarget::Kind::kLogitDifference, 1, {1}});
  refuses(ErrorKind::kUsage, {"labels below 3", "found 3"}, bert, text, {ScoreTarget::Kind::kLogit, 3, {}});
  refuses(ErrorKind::kUsage, {"empty"}, bert, {}, {});
  refuses(ErrorKind::kUsage, {"labels below", "100000"}, "decoders/gpt2_tied", text,
          {ScoreTarget::Kind::kLogit, 100000, {}});
  EXPECT_TRUE(sink.attention.empty());
}

TEST(AttentionGradients, ExceptionsOfTheSinkComeThrough) {
  class Stopping : public AttentionGradientSink {
   public:
    void layer(const LayerGradients&) override { throw Error(ErrorKind::kOther, "enough"); }
  };
  const std::unique_ptr<Encoder> bert = ModelFiles(test::golden_models() / "bert_classification").load_encoder();
  const TextInput text = {{2, 9, 3}, {}};
  Stopping stopping;
  expect_error(ErrorKind::kOther, {"enough"}, [&] { gradients_of(*bert).attention_gradients(text, {}, stopping); });
  EXPECT_FALSE(differentiate(*bert, text, {}).gradient.empty());
}

TEST(AttentionGradients, ABackendWithoutThemSaysSo) {
  class NoGradients : public TextModel {
   public:
    NoGradients() { info_.name = "plain"; }
    const ModelInfo& info() const override { return info_; }
    ModelOutput run(const TextInput&, AttentionSink*, const RunOptions&) override { return {}; }

   private:
    ModelInfo info_;
  };
  NoGradients plain;
  expect_error(ErrorKind::kUnsupportedModel, {"plain", "gradients"}, [&] { gradients_of(plain); });
}

}  // namespace
}  // namespace attnflow::attention_gradients_test
