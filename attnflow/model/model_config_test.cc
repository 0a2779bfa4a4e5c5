#include "attnflow/model/model_config.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <tuple>

#include "attnflow/model/config_for_test.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::model_config_test {
namespace {

using Json = nlohmann::json;
using test::bert;
using test::deberta;
using test::expect_error;
using test::with;
using test::without;

Json roberta() { return bert("roberta"); }
Json albert() { return with(bert("albert"), "embedding_size", 12); }

Json distilbert() {
  return {{"model_type", "distilbert"}, {"dim", 24},        {"n_layers", 2},        {"n_heads", 4},
          {"hidden_dim", 40},           {"vocab_size", 77}, {"activation", "relu"}, {"max_position_embeddings", 20}};
}

ModelConfig parse(const Json& config) { return parse_model_config(config.dump(), "config.json"); }

void expect_bad(const Json& config, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { parse(config); });
}

void expect_unsupported(const Json& config, std::vector<std::string> words) {
  words.insert(words.end(), {"attnflow.explain(model, tokenizer, text)", "--attention FILE.npz"});  // the alternatives
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { parse(config); });
}

TEST(ModelConfig, ReadsBertWithDefaults) {
  const ModelConfig config = parse(bert());
  EXPECT_EQ(config.architecture->model_type, "bert");
  EXPECT_EQ(config.layers, 2U);
  EXPECT_EQ(config.layer_groups, 2U);
  EXPECT_EQ(config.inner_layers, 1U);
  EXPECT_EQ(config.heads, 4U);
  EXPECT_EQ(config.hidden, 24U);
  EXPECT_EQ(config.embedding, 24U);
  EXPECT_EQ(config.intermediate, 40U);
  EXPECT_EQ(config.vocabulary, 77U);
  EXPECT_EQ(config.max_tokens(), 20U);
  EXPECT_EQ(config.token_types, 2U);
  EXPECT_EQ(config.activation, Activation::kGelu);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-12);
  EXPECT_TRUE(config.tied);
  EXPECT_FALSE(config.padding_id);
  EXPECT_FALSE(config.labels);
  EXPECT_FALSE(config.multi_label);
}

TEST(ModelConfig, ReadsStatedSettings) {
  const ModelConfig config = parse(with(bert(), {{"layer_norm_eps", 1e-5},
                                                 {"hidden_act", "gelu_new"},
                                                 {"type_vocab_size", 3},
                                                 {"tie_word_embeddings", false},
                                                 {"architectures", {"BertForMaskedLM"}},
                                                 {"problem_type", "multi_label_classification"}}));
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_EQ(config.token_types, 3U);
  EXPECT_FALSE(config.tied);
  EXPECT_EQ(config.classes, std::vector<std::string>{"BertForMaskedLM"});
  EXPECT_TRUE(config.multi_label);
}

TEST(ModelConfig, NullMeansAbsent) {
  const ModelConfig config = parse(with(bert(), "hidden_act", nullptr));
  EXPECT_EQ(config.activation, Activation::kGelu);
  expect_bad(with(bert(), "hidden_size", nullptr), {"missing", "hidden_size"});
}

TEST(ModelConfig, KnowsTheActivationsOfTransformers) {
  const std::vector<std::pair<std::string, Activation>> names = {
      {"gelu", Activation::kGelu}, {"gelu_new", Activation::kGeluTanh}, {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"relu", Activation::kRelu}, {"silu", Activation::kSilu},         {"tanh", Activation::kTanh}};
  for (const auto& [name, activation] : names) {
    EXPECT_EQ(parse(with(bert(), "hidden_act", name)).activation, activation) << name;
  }
  EXPECT_EQ(parse(distilbert()).activation, Activation::kRelu);
}

TEST(ModelConfig, RobertaPositionsStartAfterThePaddingId) {
  EXPECT_EQ(parse(roberta()).max_tokens(), 18U);  // padding id 1 by default
  EXPECT_EQ(parse(with(roberta(), "pad_token_id", 4)).max_tokens(), 15U);
  EXPECT_EQ(parse(with(roberta(), "pad_token_id", 18)).max_tokens(), 1U);
  for (const Json& id : {Json(19), Json(20), Json(-1), Json("1"), Json(18446744073709551615U)}) {
    expect_bad(with(roberta(), "pad_token_id", id), {"pad_token_id", id.dump().substr(0, 2)});
  }
  expect_bad(with(roberta(), "max_position_embeddings", 2), {"max_position_embeddings", "at least 3", "found 2"});
  EXPECT_EQ(parse(with(bert(), "pad_token_id", 4)).max_tokens(), 20U);
}

TEST(ModelConfig, DistilbertHasItsOwnKeysAndNoTokenTypes) {
  const ModelConfig config = parse(with(distilbert(), "layer_norm_eps", 0.5));
  EXPECT_EQ(config.hidden, 24U);
  EXPECT_EQ(config.intermediate, 40U);
  EXPECT_EQ(config.token_types, 0U);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-12);                  // a constant in its code
  expect_bad(bert("distilbert"), {"missing: hidden_dim."});  // the other keys of DistilBERT also have BERT's names
  expect_bad({{"model_type", "distilbert"}}, {"missing", "n_layers", "n_heads", "hidden_dim"});
}

TEST(ModelConfig, AlbertSharesLayersInGroups) {
  const Json json = with(albert(), {{"num_hidden_layers", 4}, {"num_hidden_groups", 2}, {"inner_group_num", 3}});
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.embedding, 12U);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);  // its default
  EXPECT_EQ(config.layers, 12U);
  // Repetitions 0 1 | 2 3 of groups 0 | 1, three inner layers each.
  const std::vector<std::size_t> groups = {0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  for (std::size_t index = 0; index < config.layers; ++index) {
    EXPECT_EQ(config.stored_layer(index), groups[index] * 3 + index % 3);
  }
  EXPECT_EQ(parse(albert()).layer_groups, 1U);
  expect_bad(with(json, "num_hidden_groups", 5), {"num_hidden_groups 5", "num_hidden_layers 4"});
  expect_bad(with(albert(), {{"num_hidden_layers", 4000}, {"inner_group_num", 4000}}), {"at most 4096 layers"});
  expect_bad(without(albert(), "embedding_size"), {"missing", "embedding_size"});
}

TEST(ModelConfig, MpnetCountsFromAFixedIdAndPutsDistancesIntoBuckets) {
  const Json mpnet = bert("mpnet");
  const ModelConfig config = parse(with(mpnet, "pad_token_id", 7));
  EXPECT_EQ(config.padding_id, 1);  // regardless of the padding token
  EXPECT_EQ(config.max_tokens(), 18U);
  EXPECT_EQ(config.token_types, 0U);
  EXPECT_EQ(config.buckets->count, 32U);
  EXPECT_FALSE(parse(bert()).buckets.has_value());
  EXPECT_EQ(parse(with(mpnet, "relative_attention_num_buckets", 32)).buckets->count, 32U);
  expect_unsupported(with(mpnet, "relative_attention_num_buckets", 16),
                     {"relative_attention_num_buckets is 16", "supported is 32"});
  expect_bad(with(mpnet, "relative_attention_num_buckets", "32"), {"relative_attention_num_buckets", "whole number"});
  expect_bad(with(mpnet, "max_position_embeddings", 2), {"max_position_embeddings", "at least 3"});
}

TEST(ModelConfig, DebertaHasEmbeddingsOfDistances) {
  const ModelConfig config = parse(deberta());
  EXPECT_EQ(config.distances.span, 4U);
  EXPECT_EQ(config.distances.farthest, 20U);  // positions
  EXPECT_TRUE(config.distances.grow);
  EXPECT_EQ(config.position_kind, PositionKind::kNone);
  EXPECT_EQ(config.token_types, 0U);
  EXPECT_EQ(parse(bert()).distances.span, 0U);
  EXPECT_EQ(parse(bert()).position_kind, PositionKind::kLearnt);
  const ModelConfig other = parse(with(deberta(), {{"position_buckets", -1},
                                                   {"max_relative_positions", 9},
                                                   {"position_biased_input", true},
                                                   {"pos_att_type", {"c2p", "p2c"}}}));
  EXPECT_EQ(other.distances.span, 9U);
  EXPECT_FALSE(other.distances.grow);
  EXPECT_EQ(other.position_kind, PositionKind::kLearnt);
  for (const auto& [key, value, said] : std::vector<std::tuple<std::string, Json, std::string>>{
           {"pos_att_type", "c2p", "pos_att_type is \"c2p\"; supported is \"c2p|p2c\""},
           {"relative_attention", false, "relative_attention is false; supported is true"},
           {"relative_attention", nullptr, "relative_attention is missing; supported is true"},
           {"norm_rel_ebd", "batch_norm", "norm_rel_ebd is \"batch_norm\"; supported are"},
           {"conv_kernel_size", 3, "conv_kernel_size is 3"},
           {"embedding_size", 16, "embedding_size is 16"},
           {"legacy", false, "legacy is false"}}) {
    expect_unsupported(with(deberta(), key, value), {said});
  }
  expect_bad(with(deberta(), "pos_att_type", nullptr), {"pos_att_type", "missing"});
  expect_bad(with(deberta(), "position_buckets", "4"), {"position_buckets", "whole number"});
  expect_bad(with(deberta(), "position_buckets", 18446744073709551615U), {"position_buckets", "whole number"});
  for (const auto& [buckets, farthest] : {std::pair(1, 9), {2, 2}, {4, 3}}) {
    expect_bad(with(with(deberta(), "position_buckets", buckets), "max_relative_positions", farthest),
               {"position_buckets of at least 2", fmt::format("found {} and {}", buckets, farthest)});
  }
  expect_bad(with(deberta(), "type_vocab_size", -1), {"type_vocab_size", "from 0"});
}

TEST(ModelConfig, DebertaFollowsTheDefaultsOfItsClass) {
  const ModelConfig stated = parse(deberta());
  EXPECT_TRUE(stated.distance_norm);
  EXPECT_FALSE(stated.distance_maps);
  const Json absent = without(without(deberta(), "share_att_key"), "norm_rel_ebd");
  EXPECT_FALSE(parse(absent).distance_norm);
  EXPECT_TRUE(parse(absent).distance_maps);
  EXPECT_TRUE(parse(with(absent, "share_att_key", false)).distance_maps);
  EXPECT_FALSE(parse(with(absent, "norm_rel_ebd", "none")).distance_norm);
}

TEST(ModelConfig, OtherNamesHoldOverTheUsualOnes) {
  const ModelConfig config =
      parse(with(distilbert(), {{"hidden_size", 32}, {"num_hidden_layers", 4}, {"num_attention_heads", 8}}));
  EXPECT_EQ(config.hidden, 32U);
  EXPECT_EQ(config.layers, 4U);
  EXPECT_EQ(config.heads, 8U);
}

TEST(ModelConfig, TheFirstDebertaHasNoBuckets) {
  const Json json = test::first_deberta();
  const ModelConfig config = parse(json);
  EXPECT_EQ(config.distances.span, 20U);  // positions
  EXPECT_FALSE(config.distances.grow);
  EXPECT_EQ(config.position_kind, PositionKind::kLearnt);
  EXPECT_EQ(config.norm_eps, 1e-7);
  EXPECT_EQ(parse(with(json, "max_relative_positions", 9)).distances.span, 9U);
  EXPECT_FALSE(parse(with(json, "position_buckets", 4)).distances.grow);  // of DeBERTa-v2
  expect_unsupported(with(json, "talking_head", true), {"talking_head is true; supported is false"});
  expect_unsupported(with(json, "relative_attention", nullptr), {"relative_attention is missing"});
  expect_unsupported(with(json, "pos_att_type", {"c2p"}), {"pos_att_type", "supported is \"c2p|p2c\""});
  expect_unsupported(with(json, "legacy", false), {"legacy is false"});
}

Json modernbert() { return with(bert("modernbert"), "num_hidden_layers", 5); }

TEST(ModelConfig, ModernbertTurnsQueriesAndSeesWindows) {
  const ModelConfig config = parse(modernbert());
  EXPECT_EQ(config.rotary.theta, 160000.0);
  EXPECT_EQ(config.local_rotary.theta, 10000.0);
  EXPECT_EQ(config.windows, (std::vector<std::size_t>{0, 65, 65, 0, 65}));  // 64 on either side
  EXPECT_TRUE(config.gated);
  EXPECT_EQ(config.activation, Activation::kGelu);
  EXPECT_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.max_tokens(), 20U);
  EXPECT_EQ(config.classifier_input, ClassifierInput::kFirstToken);
  EXPECT_EQ(parse(bert()).position_kind, PositionKind::kLearnt);
  EXPECT_EQ(parse(bert()).windows[1], 0U);
  Json stated = modernbert();
  stated.update({{"global_rope_theta", 100.0},
                 {"local_rope_theta", 10.0},
                 {"local_attention", 7},
                 {"global_attn_every_n_layers", 2},
                 {"classifier_pooling", "mean"},
                 {"hidden_activation", "silu"},
                 {"attention_bias", false},
                 {"decoder_bias", true}});
  const ModelConfig other = parse(stated);
  EXPECT_EQ(other.rotary.theta, 100.0);
  EXPECT_EQ(other.local_rotary.theta, 10.0);
  EXPECT_EQ(other.windows, (std::vector<std::size_t>{0, 4, 0, 4, 0}));
  EXPECT_EQ(other.classifier_input, ClassifierInput::kTokens);
  EXPECT_EQ(other.activation, Activation::kSilu);
  EXPECT_EQ(parse(with(stated, "local_rope_theta", nullptr)).local_rotary.theta, 100.0);
  EXPECT_EQ(parse(with(stated, "sliding_window", 5)).windows, (std::vector<std::size_t>{0, 6, 0, 6, 0}));
  EXPECT_EQ(parse(with(stated, "sliding_window", 0)).windows, (std::vector<std::size_t>{0, 1, 0, 1, 0}));
  // transformers 5 writes lists and objects instead.
  stated["layer_types"] = {"sliding_attention", "full_attention", "sliding_attention", "full_attention",
                           "full_attention"};
  stated["rope_parameters"] = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 3.0}}},
                               {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 2.0}}}};
  EXPECT_EQ(parse(stated).windows, (std::vector<std::size_t>{4, 0, 4, 0, 0}));
  EXPECT_EQ(parse(stated).rotary.theta, 3.0);
  EXPECT_EQ(parse(stated).local_rotary.theta, 2.0);
}

TEST(ModelConfig, RefusesWhatModernbertMayNotHave) {
  for (const std::string key : {"attention_bias", "mlp_bias", "norm_bias", "classifier_bias"}) {
    expect_unsupported(with(modernbert(), key, true), {key + " is true", "supported is false"});
  }
  expect_unsupported(with(modernbert(), "decoder_bias", false), {"decoder_bias", "supported is true"});
  expect_unsupported(with(modernbert(), "classifier_activation", "relu"),
                     {"classifier_activation", "relu", "\"gelu\""});
  expect_unsupported(with(modernbert(), "classifier_pooling", "max"), {"classifier_pooling", "max", "mean"});
  expect_unsupported(with(modernbert(), "rope_scaling", {{"rope_type", "yarn"}}), {"rope_scaling", "yarn"});
  expect_unsupported(with(modernbert(), "rope_parameters", {{"full_attention", {{"rope_type", "yarn"}}}}),
                     {"rope_parameters of full_attention", "yarn"});
  expect_unsupported(with(modernbert(), "layer_types", Json::array({"a", "a", "a", "a", "a"})),
                     {"layer_types", "\"a\""});
  expect_bad(with(modernbert(), "layer_types", Json::array({"full_attention"})), {"layer_types", "as many names", "5"});
  expect_bad(with(modernbert(), "global_rope_theta", 0), {"global_rope_theta", "a number from 1"});
  expect_bad(with(modernbert(), "local_attention", 0), {"local_attention", "from 1 to"});
  expect_bad(with(modernbert(), "rope_parameters", 3), {"rope_parameters", "an object"});
  expect_bad(with(modernbert(), "num_attention_heads", 8), {"a multiple of 2", "found 3"});
}

TEST(ModelConfig, LabelsAreOrderedByNumber) {
  Json labels;
  std::vector<std::string> expected;
  for (int i = 0; i < 12; ++i) {
    expected.push_back("class " + std::to_string(i));
    labels[std::to_string(i)] = expected.back();
  }
  EXPECT_EQ(parse(with(bert(), "id2label", labels)).labels, expected);
  for (const Json& bad : {Json({{"0", "a"}, {"2", "b"}}), Json({{"0", "a"}, {"00", "b"}}), Json({{"x", "a"}}),
                          Json({{"0", 1}}), Json({{"-1", "a"}}), Json::array({"a"}), Json::object(), Json("a")}) {
    expect_bad(with(bert(), "id2label", bad), {"id2label", "an object with the keys", "found"});
  }
}

TEST(ModelConfig, NamesAllMissingKeys) {
  const Json json = without(without(bert(), "hidden_size"), "vocab_size");
  expect_bad(json, {"config.json", "bert", "missing: hidden_size, vocab_size"});
  expect_bad(without(json, "model_type"), {"model_type", "missing", "bert, roberta, xlm-roberta, camembert"});
}

TEST(ModelConfig, RefusesSizesThatAreNoSizes) {
  const std::vector<Json> bad = {Json(0), Json(-3), Json(2.5), Json("24"), Json(true), Json::array(), Json(1ULL << 40)};
  for (const std::string key : {"hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size",
                                "vocab_size", "max_position_embeddings", "type_vocab_size"}) {
    for (const Json& value : bad) expect_bad(with(bert(), key, value), {key, "whole number from 1 to", "found"});
  }
  expect_bad(with(bert(), "num_hidden_layers", 5000), {"num_hidden_layers", "4096"});
  expect_bad(with(bert(), "num_attention_heads", 5), {"hidden_size", "multiple of num_attention_heads", "24 and 5"});
}

TEST(ModelConfig, RefusesValuesOfTheWrongType) {
  expect_bad(with(bert(), "layer_norm_eps", "small"), {"layer_norm_eps", "number"});
  expect_bad(with(bert(), "layer_norm_eps", -1.0), {"layer_norm_eps", "number"});
  expect_bad(with(bert(), "hidden_act", 3), {"hidden_act", "text"});
  expect_bad(with(bert(), "is_decoder", "no"), {"is_decoder", "true or false"});
  expect_bad(with(bert(), "architectures", "BertModel"), {"architectures", "list"});
  expect_bad(with(bert(), "architectures", {1}), {"architectures", "list"});
  expect_bad(with(bert(), "model_type", 7), {"model_type", "text"});
}

TEST(ModelConfig, RefusesCodeOfItsOwn) {
  const Json map = {{"AutoModel", "modeling_own.BertModel"}, {"AutoConfig", "configuration_own.OwnConfig"}};
  expect_unsupported(with(with(bert(), "auto_map", map), "architectures", {"BertOwnModel"}),
                     {"auto_map", "\"BertOwnModel\"", "BertModel", "--attention"});
  expect_unsupported(with(bert(), "auto_map", with(map, "AutoModel", "org/name--modeling_own.OwnModel")),
                     {"auto_map", "\"OwnModel\""});
  expect_unsupported(with(with(bert(), "auto_map", map), "architectures", {"BertForEmbedding"}), {"BertForEmbedding"});
  expect_bad(with(bert(), "auto_map", 3), {"auto_map", "object"});
  // A copy of transformers' own class, custom code for the tokenizer only, and no custom code.
  EXPECT_NO_THROW(parse(with(with(bert(), "auto_map", map), "architectures", {"BertForMaskedLM"})));
  EXPECT_NO_THROW(parse(with(bert(), "auto_map", {{"AutoTokenizer", {"tokenization_own.OwnTokenizer", nullptr}}})));
  EXPECT_NO_THROW(parse(with(with(bert(), "auto_map", Json::object()), "architectures", {"BertOwnModel"})));
}

TEST(ModelConfig, RefusesModelsThatComputeSomethingElse) {
  expect_unsupported(with(bert("ernie"), "use_task_id", true), {"use_task_id", "false"});
  expect_unsupported(bert("gpt5"), {"\"gpt5\"", "bert, roberta, xlm-roberta, camembert"});
  expect_unsupported(with(bert(), "position_embedding_type", "relative_key"), {"relative_key", "absolute"});
  expect_unsupported(with(bert(), "is_decoder", true), {"is_decoder", "encoders"});
  expect_unsupported(with(bert(), "add_cross_attention", true), {"add_cross_attention"});
  expect_unsupported(with(bert(), "hidden_act", "mish"), {"hidden_act", "mish", "gelu_new"});
  expect_unsupported(with(distilbert(), "activation", "mish"), {"activation", "mish"});
  expect_unsupported(with(bert(), "pruned_heads", {{"0", {1}}}), {"pruned_heads"});
  expect_unsupported(with(bert(), "quantization_config", {{"bits", 4}}), {"quantization_config"});
  EXPECT_NO_THROW(parse(with(bert(), "pruned_heads", Json::object())));
  EXPECT_NO_THROW(parse(with(bert(), "position_embedding_type", "absolute")));
}

TEST(ModelConfig, RefusesWhatIsNoConfig) {
  for (const std::string text : {"", "{", "[]", "3", "{\"model_type\": \"bert\"", "\xff\xfe", "null"}) {
    expect_error(ErrorKind::kBadFile, {"here/config.json", "JSON"},
                 [&] { parse_model_config(text, "here/config.json"); });
  }
  // Deep nesting must not exhaust the stack.
  const std::string deep(1 << 20, '[');
  expect_error(ErrorKind::kBadFile, {"nested"}, [&] { parse_model_config(deep, "config.json"); });
  expect_error(ErrorKind::kBadFile, {"nested"}, [&] { parse_model_config("{\"a\": " + deep, "config.json"); });
}

TEST(ModelConfig, RefusesFoldersWithoutConfig) {
  const test::TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"absent", "nothing of that name"}, [&] { read_model_config(folder / "absent"); });
  expect_error(ErrorKind::kBadFile, {"no config.json"}, [&] { read_model_config(folder.path()); });
  test::put(folder / "model.safetensors", "x");
  expect_error(ErrorKind::kBadFile, {"found a file", "folder"},
               [&] { read_model_config(folder / "model.safetensors"); });
  test::put(folder / "config.json", bert().dump());
  EXPECT_EQ(read_model_config(folder.path()).hidden, 24U);
}

RC_GTEST_PROP(ModelConfig, SurvivesDamage, ()) {
  std::string text = (*rc::gen::inRange(0, 2) == 0 ? albert() : roberta()).dump();
  const int edits = *rc::gen::inRange(1, 6);
  for (int e = 0; e < edits; ++e) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const std::string characters = "0123456789-.eE\"{}[],:ntrue\\";
    if (*rc::gen::inRange(0, 2) == 0) {
      text[at] = characters[*rc::gen::inRange<std::size_t>(0, characters.size())];
    } else {
      text.insert(at, 1, characters[*rc::gen::inRange<std::size_t>(0, characters.size())]);
    }
  }
  try {
    const ModelConfig config = parse_model_config(text, "config.json");
    RC_ASSERT(config.layers >= 1U && config.layers <= 4096U);
    RC_ASSERT(config.hidden % config.heads == 0U);
    RC_ASSERT(config.max_tokens() >= 1U && config.max_tokens() <= config.positions);
    RC_ASSERT(config.stored_layer(config.layers - 1) == config.layer_groups * config.inner_layers - 1);
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::kBadFile || error.kind() == ErrorKind::kUnsupportedModel);
  }
}

}  // namespace
}  // namespace attnflow::model_config_test
