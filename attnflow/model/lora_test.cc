#include "attnflow/model/lora.h"

#include <gtest/gtest.h>

#include <cstring>

#include "attnflow/base/error.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/pytorch_for_test.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow {
namespace {

using internal::LoraAdapter;
using internal::parse_lora_config;
using Json = nlohmann::json;

Array array(const Shape& shape, const std::vector<float>& values) {
  return Array::from(Tensor<float>(shape, values).view());
}

class Adapted {
 public:
  Adapted() { config["r"] = 1; }

  Checkpoint open() const {
    write_safetensors(folder_ / "model.safetensors", weights);
    write_safetensors(folder_ / "adapter_model.safetensors", adapter);
    test::put(folder_ / "adapter_config.json", config.dump());
    return Checkpoint(folder_.path());
  }
  void add(const std::string& module, const Array& a, const Array& b) {
    adapter.push_back({"base_model.model." + module + ".lora_A.weight", a});
    adapter.push_back({"base_model.model." + module + ".lora_B.weight", b});
  }
  void expect_bad(ErrorKind kind, const std::vector<std::string>& words) const {
    test::expect_error(kind, words, [&] { open(); });
  }

  std::vector<NamedArray> weights, adapter;
  Json config = {{"peft_type", "LORA"}, {"lora_alpha", 2}};

 private:
  test::TempFolder folder_;
};

std::vector<float> floats(const Checkpoint& checkpoint, const std::string& name) {
  const StoredTensor* const stored = checkpoint.find(name);
  if (stored == nullptr) {
    ADD_FAILURE() << "no " << name;
    return {};
  }
  EXPECT_EQ(stored->dtype, DType::kF32);
  std::vector<float> values(stored->bytes.size() / sizeof(float));
  std::memcpy(values.data(), stored->bytes.data(), stored->bytes.size());
  return values;
}

TEST(Lora, AddsTheProductInEitherLayout) {
  Adapted model;
  model.config["r"] = 2;
  model.config["lora_alpha"] = 6;  // s = 3
  // B A = [[1, 2, 3], [2, 2, 2]], with A = [[1, 2, 3], [1, 1, 1]] and B = [[1, 0], [0, 2]].
  const Array a = array({2, 3}, {1, 2, 3, 1, 1, 1});
  const Array b = array({2, 2}, {1, 0, 0, 2});
  model.weights = {{"plain.weight", array({2, 3}, {0, 0, 0, 1, 1, 1})},
                   {"turned.weight", array({3, 2}, {0, 1, 0, 1, 0, 1})},
                   {"other.weight", array({1}, {5})}};
  model.add("plain", a, b);
  model.add("turned", a, b);
  const Checkpoint checkpoint = model.open();
  EXPECT_EQ(floats(checkpoint, "plain.weight"), (std::vector<float>{3, 6, 9, 7, 7, 7}));
  EXPECT_EQ(floats(checkpoint, "turned.weight"), (std::vector<float>{3, 7, 6, 7, 9, 7}));
  EXPECT_EQ(floats(checkpoint, "other.weight"), (std::vector<float>{5}));
  EXPECT_EQ(checkpoint.find("turned.weight")->shape, (Shape{3, 2}));
}

TEST(Lora, OfASquareMapTheModelSaysHowItIsStored) {
  for (const bool stated : {false, true}) {  // which peft ignores
    for (const std::string name : {"encoder.query", "h.0.attn.c_proj"}) {
      Adapted model;
      model.config["fan_in_fan_out"] = stated;
      model.weights = {{name + ".weight", array({2, 2}, {0, 0, 0, 0})}};
      model.add(name, array({1, 2}, {1, 2}), array({2, 1}, {1, 10}));
      const std::vector<float> plain = {2, 4, 20, 40};
      const bool turned = name == "h.0.attn.c_proj";
      EXPECT_EQ(floats(model.open(), name + ".weight"), turned ? (std::vector<float>{2, 20, 4, 40}) : plain);
    }
  }
}

TEST(Lora, RefusesOneMapInTwoWays) {
  Adapted model;
  model.weights = {{"a.weight", array({1, 1}, {1})}};
  model.add("a", array({1, 1}, {1}), array({1, 1}, {1}));
  model.adapter.push_back({"base_model.model.a.weight", array({1, 1}, {3})});
  model.expect_bad(ErrorKind::kBadFile, {"expected either lora_A and lora_B of \"a\"", "found both"});
}

TEST(Lora, ScalesByTheRankOrItsRoot) {
  const auto scale = [](const Json& config) { return parse_lora_config(config.dump(), "c").scale; };
  EXPECT_EQ(scale({{"r", 4}, {"lora_alpha", 2}}), 0.5);
  EXPECT_EQ(scale({{"r", 4}, {"lora_alpha", 2}, {"use_rslora", true}}), 1.0);
  EXPECT_EQ(scale({{"r", 4}}), 2.0);  // as in peft, whose default is 8
}

TEST(Lora, HalvesBecomeFloats) {
  Adapted model;
  const Tensor<float> weight({1, 2}, {0.5F, 1.5F});
  model.weights = {{"a.weight", Array::half_of(weight.view(), "a")}};
  const Tensor<float> factor({1, 2}, {0.25F, 1.0F});
  model.add("a", Array::half_of(factor.view(), "a"), array({1, 1}, {1}));
  EXPECT_EQ(floats(model.open(), "a.weight"), (std::vector<float>{1.0F, 3.5F}));
}

TEST(Lora, FindsMapsWithoutAndWithThePrefix) {
  Adapted model;
  model.weights = {{"layer.0.query.weight", array({1, 1}, {1})}, {"bert.layer.1.query.weight", array({1, 1}, {1})}};
  model.add("bert.layer.0.query", array({1, 1}, {1}), array({1, 1}, {1}));
  model.add("layer.1.query", array({1, 1}, {1}), array({1, 1}, {2}));
  const Checkpoint checkpoint = model.open();
  EXPECT_EQ(floats(checkpoint, "layer.0.query.weight"), (std::vector<float>{3}));
  EXPECT_EQ(floats(checkpoint, "bert.layer.1.query.weight"), (std::vector<float>{5}));

  model.add("query", array({1, 1}, {1}), array({1, 1}, {1}));
  model.weights.push_back({"a.query.weight", array({1, 1}, {1})});
  model.expect_bad(ErrorKind::kBadFile, {"\"query\"", "found none"});  // several fit
}

TEST(Lora, TakesWholeTensors) {
  Adapted model;
  model.weights = {
      {"a.weight", array({1, 1}, {1})}, {"a.LayerNorm.gamma", array({1}, {1})}, {"classifier.weight", array({1}, {1})}};
  model.add("a", array({1, 1}, {1}), array({1, 1}, {1}));
  model.adapter.push_back({"base_model.model.classifier.weight", array({2}, {7, 8})});
  model.adapter.push_back({"base_model.model.score.modules_to_save.weight", array({1}, {9})});
  model.adapter.push_back({"base_model.model.a.LayerNorm.weight", array({1}, {3})});
  const Checkpoint checkpoint = model.open();
  EXPECT_EQ(floats(checkpoint, "classifier.weight"), (std::vector<float>{7, 8}));
  EXPECT_EQ(floats(checkpoint, "score.weight"), (std::vector<float>{9}));
  EXPECT_EQ(floats(checkpoint, "a.LayerNorm.gamma"), (std::vector<float>{3}));
  EXPECT_EQ(checkpoint.tensors().size(), 4U);
  EXPECT_NE(checkpoint.find("score.weight")->file.find("adapter_model.safetensors"), std::string::npos);
  // Embeddings that the output may share.
  model.adapter.push_back({"base_model.model.model.embed_tokens.weight", array({1}, {3})});
  model.expect_bad(ErrorKind::kUnsupportedModel, {"embed_tokens.weight", "lm_head.weight"});
}

TEST(Lora, RefusesOtherAdaptersByName) {
  const auto expect = [](const std::string& key, const Json& value, const std::vector<std::string>& words) {
    std::vector<std::string> all = {"adapter_config.json", "merge_and_unload", key};
    all.insert(all.end(), words.begin(), words.end());
    Json config = {{"r", 4}, {"peft_type", "LORA"}};
    config[key] = value;
    test::expect_error(ErrorKind::kUnsupportedModel, all,
                       [&] { parse_lora_config(config.dump(), "adapter_config.json"); });
  };
  expect("peft_type", "IA3", {"\"IA3\""});
  expect("bias", "all", {"\"all\""});
  expect("use_dora", true, {"true"});
  expect("lora_bias", true, {});
  expect("alpha_pattern", {{"query", 3}}, {});
  expect("rank_pattern", {{"query", 3}}, {});
  expect("layer_replication", {{0, 1}}, {});
  expect("trainable_token_indices", {1, 2}, {});
  expect("target_parameters", {"experts"}, {});
  expect("megatron_config", {{"a", 1}}, {});
  expect("init_lora_weights", "pissa_niter_16", {"pissa"});
  expect("init_lora_weights", "olora", {});
  expect("something_new", 1, {});
  const Json usual = {{"r", 4},
                      {"peft_type", "LORA"},
                      {"use_dora", false},
                      {"something_new", nullptr},
                      {"loftq_config", Json::object()},
                      {"init_lora_weights", "gaussian"},
                      {"target_modules", {"query"}}};
  EXPECT_NO_THROW(parse_lora_config(usual.dump(), "c"));
  for (const Json& r : {Json(0), Json(-1), Json("4")}) {
    const Json wrong = {{"r", r}};
    test::expect_error(ErrorKind::kBadFile, {"\"r\""}, [&] { parse_lora_config(wrong.dump(), "c"); });
  }
}

TEST(Lora, RefusesTensorsThatDoNotFit) {
  const auto expect = [](ErrorKind kind, const std::string& name, const Array& one,
                         const std::vector<std::string>& words) {
    Adapted model;
    model.weights = {{"a.weight", array({2, 3}, std::vector<float>(6))}};
    model.add("a", array({1, 3}, {1, 1, 1}), array({2, 1}, {1, 1}));
    std::erase_if(model.adapter, [&](const NamedArray& old) { return old.name == name; });
    if (!one.bytes.empty()) model.adapter.push_back({name, one});
    std::vector<std::string> all = {"adapter_model.safetensors"};
    all.insert(all.end(), words.begin(), words.end());
    model.expect_bad(kind, all);
  };
  const Array one = array({1, 1}, {1});
  const std::string start = "base_model.model.";
  expect(ErrorKind::kUnsupportedModel, start + "a.lora_embedding_A", one, {"lora_embedding_A"});
  expect(ErrorKind::kUnsupportedModel, start + "a.lora_magnitude_vector", one, {"lora_magnitude_vector"});
  expect(ErrorKind::kUnsupportedModel, "a.lora_A.weight", one, {"base_model.model."});
  expect(ErrorKind::kUnsupportedModel, start + "a.lora_A.weight", array({1, 3, 1}, {1, 1, 1}), {"matrices"});
  expect(ErrorKind::kBadFile, start + "a.lora_A.weight", {}, {"\"a\"", "one of them"});
  expect(ErrorKind::kBadFile, start + "a.lora_A.weight", array({2, 3}, std::vector<float>(6)),
         {"expected rank 1, as", "[2, 3]"});
  expect(ErrorKind::kBadFile, start + "a.lora_A.weight", array({1, 4}, {1, 1, 1, 1}), {"[2, 4]", "[2, 3]"});
  expect(ErrorKind::kBadFile, start + "b.lora_A.weight", array({1, 3}, {1, 1, 1}), {"\"b\""});
}

TEST(Lora, RefusesSharedNumbers) {
  namespace write = test::pickle;
  const test::TempFolder folder;
  const std::string tensor = write::tensor(write::storage("FloatStorage", "0", 1, false), 0, {1, 1}, {1, 1});
  test::put(folder / "pytorch_model.bin",
            test::pytorch_zip(write::dict({{"a.weight", tensor}, {"b.weight", tensor}}), {{"0", std::string(4, '\0')}})
                .write());
  test::put(folder / "adapter_config.json", R"({"r": 1, "peft_type": "LORA"})");
  const std::string own = write::tensor(write::storage("FloatStorage", "0", 1, false), 0, {1, 1}, {1, 1});
  test::put(folder / "adapter_model.bin", test::pytorch_zip(write::dict({{"base_model.model.a.lora_A.weight", own},
                                                                         {"base_model.model.a.lora_B.weight", own}}),
                                                            {{"0", test::bytes_of(1.0F)}})
                                              .write());
  test::expect_error(ErrorKind::kUnsupportedModel, {"expected maps of their own, found", "\"a\"", "shares its numbers"},
                     [&] { Checkpoint(folder.path()); });
}

}  // namespace
}  // namespace attnflow
