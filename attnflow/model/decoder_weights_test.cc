#include <gtest/gtest.h>

#include <string>

#include "attnflow/model/decoder.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::decoder_weights_test {
namespace {

using Json = nlohmann::json;
using test::decoder_copy;
using test::expect_error;
using test::ModelCopy;
using test::WeightsFile;

void expect_bad(const ModelCopy& model, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { find_weights(model.path()); });
}

TEST(DecoderWeights, DescribesEveryGoldenModel) {
  std::size_t models = 0;
  for (const Json& expected : test::decoder_index()) {
    const auto name = expected.at("name").get<std::string>();
    SCOPED_TRACE(name);
    const ModelInfo info = ModelFiles(test::golden_decoders() / name).info();
    test::expect_sizes(info, expected);
    EXPECT_EQ(info.head, ModelHead::kCausalLm);
    EXPECT_TRUE(info.causal);
    EXPECT_TRUE(info.labels.empty());
    ++models;
  }
  EXPECT_GE(models, 9U);
}

TEST(DecoderWeights, FusedMapsAreThreeViewsOfOne) {
  const ModelWeights weights = find_weights(test::golden_decoders() / "gpt2_tied");
  const LayerWeights& layer = weights.layers.at(1);
  EXPECT_EQ(layer.query.weight, layer.value.weight);
  EXPECT_EQ(layer.query.weight->name, "transformer.h.1.attn.c_attn.weight");
  EXPECT_EQ(layer.query.weight->shape, (Shape{24, 72}));
  EXPECT_EQ(layer.query.layout, MatrixLayout::kInOut);
  EXPECT_EQ(layer.query.begin, 0U);
  EXPECT_EQ(layer.key.begin, 24U);
  EXPECT_EQ(layer.value.begin, 48U);
  EXPECT_EQ(layer.value.out, 24U);
  EXPECT_EQ(layer.gate.weight, nullptr);
  EXPECT_EQ(weights.head.output.weight, weights.word_embedding);
  EXPECT_EQ(weights.head.output.layout, MatrixLayout::kOutIn);
}

TEST(DecoderWeights, AnOutputMatrixThatIsStoredIsUsed) {
  const ModelWeights weights = find_weights(test::golden_decoders() / "llama_grouped");
  EXPECT_EQ(weights.head.output.weight->name, "lm_head.weight");
  EXPECT_EQ(weights.layers.at(0).query.bias, nullptr);
  EXPECT_EQ(weights.position_embedding, nullptr);
}

TEST(DecoderWeights, LayerNormsMayHaveNoShift) {
  const ModelCopy model = decoder_copy("llama_grouped");
  model.edit_config([](Json& config) {
    config["model_type"] = "cohere";
    config["architectures"] = {"CohereForCausalLM"};
  });
  model.edit_weights([](WeightsFile& weights) {
    for (int layer = 0; layer < 3; ++layer) {
      const std::string number = std::to_string(layer);
      weights.rename("model.layers." + number + ".post_attention_layernorm.weight", "other." + number);
    }
  });
  const ModelWeights weights = find_weights(model.path());
  const LayerWeights& layer = weights.layers.at(1);
  for (const NormWeights& norm : {layer.attention_norm, layer.feed_forward_norm, weights.final_norm}) {
    EXPECT_NE(norm.scale, nullptr);
    EXPECT_EQ(norm.shift, nullptr);
    EXPECT_EQ(norm.kind, NormKind::kLayerNoShift);
  }
  EXPECT_EQ(layer.feed_forward_norm.scale, layer.attention_norm.scale);
}

TEST(DecoderWeights, HalvesGivenTheSameMayHaveNormsOfTheirOwn) {
  const ModelCopy model = decoder_copy("llama_grouped");
  model.edit_config([](Json& config) {
    config.update({{"model_type", "falcon"},
                   {"architectures", {"FalconForCausalLM"}},
                   {"new_decoder_architecture", true},
                   {"num_kv_heads", 2},
                   {"ffn_hidden_size", 40}});
  });
  expect_bad(model, {"model type falcon", "\"h.0.ln_attn.weight\"", "\"h.0.ln_mlp.bias\""});
  model.edit_config([](Json& config) { config["num_ln_in_parallel_attn"] = 1; });
  expect_bad(model, {"\"h.0.input_layernorm.weight\""});
}

TEST(DecoderWeights, ABaseModelHasNoHead) {
  const ModelCopy llama = decoder_copy("llama_grouped");
  llama.edit_weights([](WeightsFile& weights) { weights.rename("lm_head.weight", "head.weight"); });
  expect_bad(llama, {"missing", "lm_head.weight"});  // config.json names LlamaForCausalLM
  llama.edit_config([](Json& config) { config["architectures"] = {"LlamaModel"}; });
  const ModelWeights weights = find_weights(llama.path());
  EXPECT_EQ(weights.head.output.weight, nullptr);
  EXPECT_EQ(weights.info.head, ModelHead::kNone);
  EXPECT_TRUE(weights.info.causal);
  expect_error(ErrorKind::kUnsupportedModel, {"lm_head.weight", "explain"}, [&] { check_decoder_head(weights.info); });
  // If the word embedding is the head, nothing is missing.
  const ModelCopy tied = decoder_copy("gpt2_tied");
  tied.edit_config([](Json& config) { config["architectures"] = {"GPT2Model"}; });
  EXPECT_EQ(find_weights(tied.path()).info.head, ModelHead::kCausalLm);
}

TEST(DecoderWeights, ClipReadsTextsAndPredictsNothing) {
  const Json config = {{"model_type", "clip_text_model"},
                       {"architectures", {"CLIPTextModelWithProjection"}},
                       {"hidden_size", 6},
                       {"num_hidden_layers", 1},
                       {"num_attention_heads", 2},
                       {"intermediate_size", 8},
                       {"vocab_size", 9},
                       {"max_position_embeddings", 5},
                       {"tie_word_embeddings", true}};
  std::vector<PlannedTensor> plan = {{"text_model.embeddings.token_embedding.weight", {9, 6}},
                                     {"text_model.embeddings.position_embedding.weight", {5, 6}},
                                     {"text_projection.weight", {6, 6}}};
  const auto add = [&](const std::string& name, const Shape& shape) {
    plan.push_back({"text_model." + name + ".weight", shape});
    plan.push_back({"text_model." + name + ".bias", {shape[0]}});
  };
  const std::string layer = "encoder.layers.0.";
  for (const char* map : {"q_proj", "k_proj", "v_proj", "out_proj"}) add(layer + "self_attn." + map, {6, 6});
  add(layer + "mlp.fc1", {8, 6});
  add(layer + "mlp.fc2", {6, 8});
  for (const std::string& norm : {layer + "layer_norm1", layer + "layer_norm2", std::string("final_layer_norm")}) {
    add(norm, {6});
  }
  const ModelWeights weights = find_weights(ModelCopy(config, plan).path());
  EXPECT_EQ(weights.config.activation, Activation::kQuickGelu);
  EXPECT_EQ(weights.info.max_tokens, 5U);
  EXPECT_EQ(weights.info.head, ModelHead::kNone);  // nothing to tie to
  EXPECT_EQ(weights.unused.size(), 1U);
}

TEST(DecoderWeights, AClassifierHasAMapToItsClasses) {
  const ModelCopy llama = decoder_copy("llama_grouped");
  llama.edit_config([](Json& config) {
    config["architectures"] = {"LlamaForSequenceClassification"};
    config["pad_token_id"] = 2;
  });
  expect_bad(llama, {"missing", "score.weight"});
  llama.edit_weights([](WeightsFile& weights) { weights.rename("lm_head.weight", "score.weight"); });
  const ModelWeights weights = find_weights(llama.path());
  EXPECT_EQ(weights.head.output.weight->name, "score.weight");
  EXPECT_EQ(weights.head.output.bias, nullptr);
  EXPECT_EQ(weights.info.head, ModelHead::kClassification);
  EXPECT_EQ(weights.info.padding, 2);
  ASSERT_EQ(weights.info.labels.size(), weights.info.vocabulary);  // the number stored
  EXPECT_EQ(weights.info.labels.at(1), "LABEL_1");
  EXPECT_TRUE(weights.info.causal);
  expect_error(ErrorKind::kUnsupportedModel, {"next token", "predicts a class", "explain"},
               [&] { check_decoder_head(weights.info); });
  llama.edit_config([](Json& config) { config["id2label"] = {{"0", "no"}, {"1", "yes"}}; });
  expect_bad(llama, {"score.weight", "expected [2, ", "id2label and hidden_size"});
}

TEST(DecoderWeights, RefusesWeightsThatTheConfigHasNoPlaceFor) {
  OpenOptions allow;
  allow.allow_unused_weights = true;
  for (const auto& [name, key] : {std::pair("llama_grouped", "num_hidden_layers"), std::pair("gpt2_tied", "n_layer")}) {
    const ModelCopy model = decoder_copy(name);
    model.edit_config([key = key](Json& config) { config[key] = 1; });
    expect_bad(model, {"1 layers", "more", "--allow-unused-weights"});
    EXPECT_EQ(find_weights(model.path(), allow).info.layers, 1U);
  }
  // Buffers of older files are not part of the model.
  const ModelCopy gpt2 = decoder_copy("gpt2_tied");
  gpt2.edit_weights([](WeightsFile& weights) {
    for (const char* name : {"transformer.h.0.attn.bias", "transformer.h.0.attn.masked_bias", "score.weight"}) {
      weights.add(name);
    }
  });
  EXPECT_EQ(find_weights(gpt2.path()).unused.size(), 3U);
}

TEST(DecoderWeights, NamesWhatIsMissing) {
  const ModelCopy llama = decoder_copy("llama_grouped");
  llama.edit_weights([](WeightsFile& weights) {
    weights.rename("model.layers.1.self_attn.k_proj.weight", "model.layers.1.self_attn.k.weight");
    weights.rename("lm_head.weight", "head.weight");
  });
  expect_bad(llama, {"model type llama", "2 of them missing", "\"model.layers.1.self_attn.k_proj.weight\"",
                     "\"lm_head.weight\"", "saved together"});

  const ModelCopy gpt2 = decoder_copy("gpt2_base");
  gpt2.edit_weights([](WeightsFile& weights) { weights.rename("h.0.attn.c_attn.bias", "h.0.attn.bias2"); });
  expect_bad(gpt2, {"model type gpt2", "\"h.0.attn.c_attn.bias\""});

  const ModelCopy biased = decoder_copy("llama_grouped");
  biased.edit_config([](Json& config) { config["mlp_bias"] = true; });
  expect_bad(biased, {"9 of them missing", "model.layers.0.mlp.gate_proj.bias"});
}

TEST(DecoderWeights, ChecksShapes) {
  const ModelCopy heads = decoder_copy("llama_grouped");
  heads.edit_config([](Json& config) { config["num_key_value_heads"] = 3; });
  expect_bad(heads, {"k_proj.weight", "[8, 24]", "expected [12, 24]", "hidden_size and the heads"});

  const ModelCopy words = decoder_copy("gpt2_tied");
  words.edit_config([](Json& config) { config["vocab_size"] = 300; });
  expect_bad(words, {"wte.weight", "[298, 24]", "expected [300, 24]", "vocab_size and n_embd"});

  const ModelCopy positions = decoder_copy("gpt2_tied");
  positions.edit_config([](Json& config) { config["n_positions"] = 321; });
  expect_bad(positions, {"wpe.weight", "n_positions and n_embd"});

  const ModelCopy turned = decoder_copy("gpt2_tied");
  turned.edit_weights([](WeightsFile& weights) {
    weights.header["transformer.h.2.mlp.c_fc.weight"]["shape"] = {96, 24};
  });
  expect_bad(turned, {"h.2.mlp.c_fc.weight", "[96, 24]", "expected [24, 96]"});
}

TEST(DecoderWeights, RefusesQuantisedWeights) {
  const ModelCopy model = decoder_copy("qwen2_window");
  model.edit_weights([](WeightsFile& weights) {
    Json& tensor = weights.header["model.norm.weight"];
    tensor["dtype"] = "I32";
  });
  expect_bad(model, {"model.norm.weight", "i32", "expected f32, f16, bf16 or f64"});
}

TEST(DecoderWeights, AnEncoderIsNoDecoder) {
  expect_error(ErrorKind::kUnsupportedModel, {"bert", "expected a decoder"},
               [] { ModelFiles(test::golden_models() / "bert_base").load_decoder(); });
  expect_error(ErrorKind::kUsage, {"cpu, cuda or cuda:N"},
               [] { ModelFiles(test::golden_decoders() / "gpt2_tied").load_decoder({.device = "gpu"}); });
}

}  // namespace
}  // namespace attnflow::decoder_weights_test
