#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/model/config_for_test.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::vision_weights_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::golden_vision;
using test::ModelCopy;
using test::vision_index;
using test::vit;
using test::WeightsFile;
using test::with;
using test::without;

Json dinov2(const std::string& type = "dinov2") { return without(vit(type), "intermediate_size"); }
Json registers() { return with(dinov2("dinov2_with_registers"), "num_register_tokens", 4); }

ModelConfig parse(const Json& config) { return parse_model_config(config.dump(), "config.json"); }

void expect_bad(const Json& config, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { parse(config); });
}

TEST(VisionConfig, ReadsSizesAndTokens) {
  const ModelConfig config = parse(vit());
  ASSERT_TRUE(config.image.has_value());
  EXPECT_EQ(*config.image, (ImageInfo{3, 20, 20, 4, 4, {TokenRole::kClass}}));
  EXPECT_EQ(config.positions, 26U);
  EXPECT_EQ(config.max_tokens(), 26U);
  EXPECT_EQ(config.vocabulary, 0U);
  EXPECT_EQ(config.embedding, 24U);
  EXPECT_EQ(config.norm_eps, 1e-12);
  EXPECT_TRUE(config.query_bias && config.key_bias && config.value_bias);
  EXPECT_FALSE(config.gated);

  // Unequal sides; pixels that do not fill a whole patch make no patch.
  Json oblong = with(with(with(vit(), "image_size", {12, 24}), "patch_size", {4, 7}), "num_channels", 1);
  EXPECT_EQ(*parse(oblong).image, (ImageInfo{1, 12, 24, 4, 7, {TokenRole::kClass}}));
  EXPECT_EQ(parse(oblong).positions, 10U);

  const ModelConfig deit = parse(vit("deit"));
  EXPECT_EQ(deit.image->leading, (std::vector{TokenRole::kClass, TokenRole::kDistillation}));
  EXPECT_EQ(deit.positions, 27U);

  const ModelConfig four = parse(registers());
  EXPECT_EQ(four.image->leading.size(), 5U);
  EXPECT_EQ(four.image->leading[4], TokenRole::kRegister);
  EXPECT_EQ(four.positions, 26U);
  EXPECT_EQ(four.max_tokens(), 30U);
  EXPECT_EQ(parse(with(registers(), "num_register_tokens", 0)).image->leading.size(), 1U);
}

Json dinov3() { return with(vit("dinov3_vit"), {{"num_register_tokens", 4}, {"hidden_size", 48}}); }

TEST(VisionConfig, Dinov3TurnsPatches) {
  const ModelConfig config = parse(dinov3());
  EXPECT_EQ(config.rotary.theta, 100.0);
  EXPECT_EQ(config.windows, (std::vector<std::size_t>{0, 0}));
  EXPECT_TRUE(config.query_bias && config.value_bias);
  EXPECT_FALSE(config.key_bias);
  EXPECT_FALSE(config.gated);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.image->leading.size(), 5U);
  const Json gated = with(with(dinov3(), "use_gated_mlp", true), "hidden_act", "silu");
  EXPECT_TRUE(parse(gated).gated);
  EXPECT_EQ(parse(gated).intermediate, 40U);
  EXPECT_EQ(parse(gated).activation, Activation::kSilu);
  EXPECT_EQ(parse(with(gated, "hidden_act", "gelu")).activation, Activation::kGelu);  // DINOv2 always uses SiLU
  EXPECT_TRUE(parse(with(dinov3(), "key_bias", true)).key_bias);
  EXPECT_EQ(parse(with(dinov3(), "rope_theta", 10)).rotary.theta, 10.0);
  expect_bad(with(dinov3(), "rope_theta", "100"), {"rope_theta", "a number from 1"});
  expect_bad(with(dinov3(), "hidden_size", 18), {"a multiple of 4", "found 6"});
  expect_error(ErrorKind::kUnsupportedModel, {"proj_bias is false", "supported is true"},
               [&] { parse(with(dinov3(), "proj_bias", false)); });
}

Json beit() { return with(vit("beit"), "use_relative_position_bias", true); }

TEST(VisionConfig, BeitKnowsHowFarPatchesStandApart) {
  for (const char* type : {"beit", "data2vec-vision"}) {
    const ModelConfig config = parse(with(beit(), "model_type", type));
    EXPECT_TRUE(config.query_bias && config.value_bias);
    EXPECT_FALSE(config.key_bias);
    EXPECT_TRUE(config.patch_distances);
    EXPECT_TRUE(config.layer_scale);
    EXPECT_EQ(config.classifier_input, ClassifierInput::kPatches);
  }
  EXPECT_TRUE(parse(vit()).key_bias);
  EXPECT_FALSE(parse(with(vit(), "use_relative_position_bias", true)).patch_distances);
  EXPECT_FALSE(parse(with(beit(), "layer_scale_init_value", 0)).layer_scale);
  const Json plain = with(beit(), "image_size", {20, 16});
  expect_error(ErrorKind::kUnsupportedModel, {"use_relative_position_bias", "square", "found 5 x 4"},
               [&] { parse(plain); });
  EXPECT_FALSE(parse(without(plain, "use_relative_position_bias")).patch_distances);
  expect_bad(with(beit(), "layer_scale_init_value", "0.1"), {"layer_scale_init_value", "a number from 0"});
  for (const auto& [key, value] : {std::pair("use_absolute_position_embeddings", true),
                                   {"use_shared_relative_position_bias", true},
                                   {"use_mean_pooling", false}}) {
    expect_error(ErrorKind::kUnsupportedModel, {fmt::format("{} is {}; supported is {}", key, value, !value)},
                 [key = key, value = value] { parse(with(beit(), key, value)); });
  }
}

TEST(VisionConfig, WidthOfTheFeedForwardNet) {
  EXPECT_EQ(parse(dinov2()).intermediate, 96U);
  EXPECT_EQ(parse(dinov2()).norm_eps, 1e-6);
  EXPECT_EQ(parse(with(dinov2(), "mlp_ratio", 2)).intermediate, 48U);
  EXPECT_EQ(parse(with(dinov2(), "mlp_ratio", 1.6)).intermediate, 38U);
  // DINOv2 gives it only as a ratio.
  EXPECT_EQ(parse(with(dinov2(), "intermediate_size", 7)).intermediate, 96U);
  const ModelConfig gated = parse(with(dinov2(), "use_swiglu_ffn", true));
  EXPECT_TRUE(gated.gated);
  EXPECT_EQ(gated.intermediate, 64U);
  // DINOv2-giant: 1536 * 4 * 2 / 3 = 4096.
  Json giant = with(with(dinov2(), "use_swiglu_ffn", true), "hidden_size", 1536);
  EXPECT_EQ(parse(giant).intermediate, 4096U);
  EXPECT_EQ(parse(with(with(dinov2(), "use_swiglu_ffn", true), "mlp_ratio", 1)).intermediate, 16U);
  expect_bad(with(dinov2(), "mlp_ratio", 0.01), {"mlp_ratio", "at least 1"});
  expect_bad(with(dinov2(), "mlp_ratio", "4"), {"mlp_ratio", "a number"});
}

TEST(VisionConfig, PartsHaveTheirDefaults) {
  const auto of = [](const char* type, const Json& part) {
    return Json{{"model_type", type}, {"vision_config", part}};
  };
  const ModelConfig clip = parse(of("clip", {{"patch_size", 16}, {"model_type", "clip_vision_model"}}));
  EXPECT_EQ(clip.hidden, 768U);
  EXPECT_EQ(clip.layers, 12U);
  EXPECT_EQ(clip.activation, Activation::kQuickGelu);
  EXPECT_EQ(clip.norm_eps, 1e-5);
  EXPECT_EQ(*clip.image, (ImageInfo{3, 224, 224, 16, 16, {TokenRole::kClass}}));
  EXPECT_EQ(parse({{"model_type", "clip_vision_model"}}).positions, 50U);
  const ModelConfig siglip = parse(of("siglip", Json::object()));
  EXPECT_EQ(*siglip.image, (ImageInfo{3, 224, 224, 16, 16, {}}));
  EXPECT_EQ(siglip.positions, 196U);
  EXPECT_EQ(siglip.max_tokens(), 196U);
  EXPECT_EQ(siglip.activation, Activation::kGeluTanh);
  EXPECT_EQ(siglip.norm_eps, 1e-6);
  // Older files have a second object, which takes precedence with its defaults.
  Json twice = of("clip", {{"patch_size", 16}, {"hidden_size", 1024}, {"hidden_act", "gelu"}});
  twice["vision_config_dict"] = {{"num_hidden_layers", 3}};
  EXPECT_EQ(parse(twice).layers, 3U);
  EXPECT_EQ(parse(twice).hidden, 768U);
  EXPECT_EQ(parse(twice).activation, Activation::kQuickGelu);
  // The class names and the model class belong to the whole model.
  Json classes = of("siglip", {{"id2label", {{"0", "no"}}}, {"architectures", {"SiglipVisionModel"}}});
  EXPECT_FALSE(parse(classes).labels.has_value());
  classes["id2label"] = {{"0", "a"}, {"1", "b"}};
  EXPECT_EQ(parse(classes).labels, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(parse(classes).classes.empty());

  expect_bad(of("clip", 3), {"an object as \"vision_config\"", "found 3"});
  expect_bad(of("clip", {{"hidden_size", 0}}), {"hidden_size", "from 1 to"});
  expect_error(ErrorKind::kUnsupportedModel, {"vision_config", "\"eva_vision\"", "supported is \"clip_vision_model\""},
               [&] {
                 parse(of("clip", {{"model_type", "eva_vision"}}));
               });
}

TEST(VisionConfig, RefusesByName) {
  for (const std::string key :
       {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "image_size", "patch_size"}) {
    expect_bad(without(vit(), key), {"model type vit needs", key});
  }
  expect_bad(without(registers(), "num_register_tokens"), {"num_register_tokens"});
  expect_bad(with(registers(), "num_register_tokens", -1), {"num_register_tokens", "from 0 to"});
  expect_bad(with(vit(), "image_size", 0), {"image_size", "from 1 to"});
  expect_bad(with(vit(), "image_size", 1 << 20), {"image_size", "from 1 to"});
  expect_bad(with(vit(), "image_size", {20}), {"image_size", "a height and a width", "[20]"});
  expect_bad(with(vit(), "image_size", {20, -4}), {"image_size", "-4"});
  expect_bad(with(vit(), "image_size", "20"), {"image_size"});
  expect_bad(with(vit(), "patch_size", 24), {"patch_size", "at most image_size", "24 x 24", "20 x 20"});
  expect_bad(with(vit(), "num_channels", 0), {"num_channels"});
  const auto unsupported = [](const Json& one, const std::vector<std::string>& words) {
    expect_error(ErrorKind::kUnsupportedModel, words, [&] { parse(one); });
  };
  unsupported(with(vit(), "hidden_act", "mish"), {"hidden_act", "mish"});
  unsupported(with(vit(), "head_dim", 4), {"head_dim is 4", "= 8"});
  unsupported(with(vit(), "pruned_heads", {{"0", {1}}}), {"pruned_heads"});
  unsupported(with(vit(), "quantization_config", Json::object()), {"quantization_config"});
  EXPECT_NO_THROW(parse(with(vit(), "head_dim", 8)));
}

bool is_unused(const std::string& name) {
  return name.find("pooler") != name.npos || name.find("mask_token") != name.npos;
}

void expect_each_needed(const ModelCopy& model, const std::vector<PlannedTensor>& plan) {
  test::expect_each_needed(model, plan, [](const std::filesystem::path& folder) { return find_weights(folder); },
                           {"classifier.weight", "cls_classifier.weight", "distillation_classifier.weight"});
}

TEST(VisionWeights, EveryTensorOfEveryGoldenModelIsNeeded) {
  std::size_t removed = 0;
  for (const Json& golden : vision_index()) {
    const auto name = golden.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const std::vector<PlannedTensor> stored = test::stored_tensors(golden_vision() / name, is_unused);
    expect_each_needed(ModelCopy(golden_vision(), name), stored);
    removed += stored.size();
  }
  EXPECT_GT(removed, 250U);
}

TEST(VisionWeights, EveryTensorOfDinov3IsNeeded) {
  for (const bool gated : {false, true}) {
    const Json config = with(dinov3(), "use_gated_mlp", gated);
    const std::vector<PlannedTensor> plan = plan_tensors(parse(config), ModelHead::kNone);
    const ModelCopy copy(config, plan);
    const ModelWeights weights = find_weights(copy.path());
    EXPECT_EQ(weights.image->position, nullptr);
    EXPECT_EQ(weights.layers.at(0).key.bias, nullptr);
    EXPECT_NE(weights.layers.at(0).query.bias, nullptr);
    EXPECT_EQ(weights.layers.at(0).gate.weight != nullptr, gated);
    expect_each_needed(copy, plan);
  }
}

TEST(VisionWeights, EveryTensorOfBeitIsNeeded) {
  for (const bool scaled : {false, true}) {
    const Json config = with(beit(), "layer_scale_init_value", scaled ? 0.1 : 0.0);
    const std::vector<PlannedTensor> plan = plan_tensors(parse(config), ModelHead::kClassification, 3);
    const ModelCopy copy(config, plan);
    const ModelWeights weights = find_weights(copy.path());
    EXPECT_EQ(weights.image->position, nullptr);
    EXPECT_EQ(weights.layers.at(0).key.bias, nullptr);
    EXPECT_EQ(weights.layers.at(1).patch_distances->shape, (Shape{84, 3}));
    EXPECT_EQ(weights.layers.at(1).attention_scale != nullptr, scaled);
    EXPECT_NE(weights.head.norm.scale, nullptr);
    expect_each_needed(copy, plan);
    copy.edit_weights([](WeightsFile& more) {
      more.add("beit.embeddings.mask_token");
      more.add("beit.encoder.layer.0.attention.attention.relative_position_bias.relative_position_index");
    });
    EXPECT_NO_THROW(find_weights(copy.path()));
  }
}

TEST(VisionWeights, EveryTensorOfAPartIsNeeded) {
  const Json part = without(vit(), "model_type");
  for (const std::string type : {"clip", "siglip", "clip_vision_model", "siglip_vision_model"}) {
    const bool whole = !type.ends_with("_vision_model");
    const Json config = whole ? Json{{"model_type", type}, {"vision_config", part}} : with(part, "model_type", type);
    const std::vector<PlannedTensor> plan = plan_tensors(parse(config), ModelHead::kNone);
    const ModelCopy copy(config, plan);
    EXPECT_EQ(find_weights(copy.path()).info.head, ModelHead::kNone);
    SCOPED_TRACE(type);
    for (const PlannedTensor& tensor : plan) EXPECT_TRUE(tensor.name.starts_with("vision_model."));
    expect_each_needed(copy, plan);
    copy.edit_weights([](WeightsFile& more) {
      for (const char* name : {"text_model.final_layer_norm.weight", "visual_projection.weight", "logit_scale",
                               "vision_model.head.probe"}) {
        more.add(name);
      }
    });
    EXPECT_EQ(find_weights(copy.path()).info.head, ModelHead::kNone);
    const ModelCopy classifier(config, plan_tensors(parse(config), ModelHead::kClassification, 3));
    const ModelWeights weights = find_weights(classifier.path());
    EXPECT_EQ(weights.info.labels.size(), 3U);
    EXPECT_EQ(weights.head.output.weight->shape, (Shape{3, 24}));
  }
}

TEST(VisionWeights, PublishedFilesOfMsnHaveThePrefixEverywhere) {
  const ModelCopy copy(golden_vision(), "vit_msn_classification");
  copy.edit_weights([](WeightsFile& weights) {
    const Json before = weights.header;
    for (const auto& [tensor, about] : before.items()) {
      if (tensor.starts_with("encoder.")) weights.rename(tensor, "vit." + tensor);
    }
  });
  const ModelWeights weights = find_weights(copy.path());
  EXPECT_EQ(weights.layers.at(1).query.weight->name, "vit.encoder.layer.1.attention.attention.query.weight");
  EXPECT_EQ(weights.info.head, ModelHead::kClassification);
  // Layers beyond the config's number are detected under either name.
  for (const auto& path : {copy.path(), golden_vision() / "vit_msn_classification"}) {
    const ModelCopy cut(path.parent_path(), "vit_msn_classification");
    cut.edit_config([](Json& config) { config["num_hidden_layers"] = 1; });
    expect_error(ErrorKind::kBadFile, {"encoder.layer.1.", "--allow-unused-weights"},
                 [&] { find_weights(cut.path()); });
  }
}

// The tensors of a new model are those that transformers writes.
TEST(VisionWeights, PlansAreWhatTransformersWrites) {
  for (const Json& golden : vision_index()) {
    const auto name = golden.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const ModelWeights weights = find_weights(golden_vision() / name);
    std::set<std::pair<std::string, Shape>> stored;
    const std::string prefix(weights.config.architecture->prefix);
    for (const auto& [tensor, about] : weights.checkpoint->tensors()) {
      if (is_unused(tensor)) continue;
      // A base model, and in transformers 5 MSN's layers, are stored without the prefix that plans have.
      const bool bare = golden.at("head") == "none" || tensor.starts_with("encoder.");
      stored.insert({(bare ? prefix : "") + tensor, about.shape});
    }
    std::set<std::pair<std::string, Shape>> planned;
    const ModelHead head = weights.info.head;
    for (const PlannedTensor& plan : plan_tensors(weights.config, head, golden.at("labels").size())) {
      planned.insert({plan.name, plan.shape});
      const bool scale = plan.name.find("lambda") != std::string::npos || plan.name.ends_with("norm1.weight");
      EXPECT_TRUE(!scale || plan.kind == PlannedTensor::Kind::kNormScale) << plan.name;
    }
    if (name == "deit_teacher") {
      EXPECT_TRUE(planned.count({"distillation_classifier.weight", Shape{3, 24}}));
    }
    EXPECT_EQ(planned, stored);
  }
}

TEST(VisionWeights, AGridThatDoesNotFitIsRefusedWithBothNumbers) {
  const ModelCopy copy(golden_vision(), "vit_classification");
  copy.edit_config([](Json& config) { config["image_size"] = 24; });
  expect_error(ErrorKind::kBadFile,
               {"vit.embeddings.position_embeddings", "[1, 26, 24]", "[1, 37, 24]", "image_size", "6 x 6 = 36 patches"},
               [&] { find_weights(copy.path()); });
  const ModelCopy deit(golden_vision(), "deit_classification");
  deit.edit_config([](Json& config) { config["patch_size"] = 5; });
  expect_error(ErrorKind::kBadFile, {"[24, 3, 4, 4]", "[24, 3, 5, 5]", "patch_size"},
               [&] { find_weights(deit.path()); });
}

TEST(VisionWeights, WhichHead) {
  const auto head_of = [](const std::string& name, const Json& classes, const auto& edit) {
    const ModelCopy copy(golden_vision(), name);
    copy.edit_config([&](Json& config) { config["architectures"] = classes; });
    copy.edit_weights(edit);
    return find_weights(copy.path());
  };
  const auto keep = [](WeightsFile&) {};
  // Without a class name, the stored tensors decide.
  ModelWeights weights = head_of("deit_teacher", nullptr, keep);
  EXPECT_EQ(weights.info.head, ModelHead::kClassification);
  EXPECT_NE(weights.head.second.weight, nullptr);
  weights = head_of("deit_classification", nullptr, keep);
  EXPECT_EQ(weights.info.head, ModelHead::kClassification);
  EXPECT_EQ(weights.head.second.weight, nullptr);
  // A class name decides: transformers would find no weights for this class's head.
  EXPECT_EQ(head_of("deit_teacher", {"DeiTForImageClassification"}, keep).info.head, ModelHead::kNone);
  EXPECT_EQ(head_of("deit_classification", {"DeiTForMaskedImageModeling"}, keep).info.head, ModelHead::kNone);
  EXPECT_EQ(head_of("vit_classification", {"ViTModel"}, keep).info.head, ModelHead::kClassification);
  const ModelCopy copy(golden_vision(), "dinov2_classification");
  copy.edit_config([](Json& config) { config.erase("id2label"); });
  EXPECT_EQ(find_weights(copy.path()).info.labels, (std::vector<std::string>{"LABEL_0", "LABEL_1", "LABEL_2"}));
}

}  // namespace
}  // namespace attnflow::vision_weights_test
