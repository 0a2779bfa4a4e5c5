#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attnflow/base/error_for_test.h"
#include "attnflow/model/config_for_test.h"
#include "attnflow/model/model_weights.h"

namespace attnflow::encoder_decoder_weights_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::with;
using test::without;

Json t5() {
  return {{"model_type", "t5"},
          {"d_model", 24},
          {"d_kv", 5},
          {"d_ff", 40},
          {"num_layers", 3},
          {"num_heads", 4},
          {"vocab_size", 77},
          {"decoder_start_token_id", 0},
          {"architectures", {"T5ForConditionalGeneration"}}};
}

Json bart() {
  return {{"model_type", "bart"},          {"d_model", 24},
          {"encoder_layers", 3},           {"decoder_layers", 2},
          {"encoder_attention_heads", 4},  {"decoder_attention_heads", 6},
          {"encoder_ffn_dim", 40},         {"decoder_ffn_dim", 48},
          {"max_position_embeddings", 30}, {"vocab_size", 77},
          {"decoder_start_token_id", 2}};
}

EncoderDecoderConfig parse(const Json& json, const std::string& generation = "") {
  return parse_encoder_decoder_config(json.dump(), "config.json", generation, "generation_config.json");
}

void expect_refused(ErrorKind kind, const Json& json, const std::vector<std::string>& words,
                    const std::string& generation = "") {
  expect_error(kind, words, [&] { parse(json, generation); });
}

TEST(EncoderDecoderConfig, ReadsT5WithItsDefaults) {
  const EncoderDecoderConfig config = parse(t5());
  EXPECT_EQ(config.encoder.layers, 3U);
  EXPECT_EQ(config.decoder.layers, 3U);  // the same number, unless num_decoder_layers is set
  EXPECT_EQ(config.decoder.head_width, 5U);
  EXPECT_EQ(config.decoder.score_factor, 1.0);
  EXPECT_EQ(config.decoder.activation, Activation::kRelu);
  EXPECT_FALSE(config.decoder.gated);
  EXPECT_NEAR(config.decoder.logit_factor, 1.0 / std::sqrt(24.0), 1e-15);
  EXPECT_FALSE(config.encoder.buckets->causal);
  EXPECT_TRUE(config.decoder.buckets->causal);
  EXPECT_EQ(config.begin, std::vector<std::int64_t>{0});
  EXPECT_EQ(parse(with(t5(), "num_decoder_layers", 2)).decoder.layers, 2U);
}

TEST(EncoderDecoderConfig, ReadsT5OfVersion11) {
  const EncoderDecoderConfig config =
      parse(with(with(t5(), "feed_forward_proj", "gated-gelu"), "tie_word_embeddings", false));
  EXPECT_TRUE(config.encoder.gated);
  EXPECT_EQ(config.encoder.activation, Activation::kGeluTanh);
  EXPECT_EQ(config.decoder.logit_factor, 1.0);
  EXPECT_FALSE(config.decoder.tied);
  // transformers 5 has a separate key for it.
  EXPECT_EQ(parse(with(t5(), "scale_decoder_outputs", false)).decoder.logit_factor, 1.0);
  expect_refused(ErrorKind::kUnsupportedModel, with(t5(), "feed_forward_proj", "gated-none"),
                 {"feed_forward_proj", "gated-none", "relu"});
}

// As T5Config resolves them.
TEST(EncoderDecoderConfig, EitherHalfOfTheActivationMayBeStatedByItself) {
  struct Row {
    Json settings;
    bool gated;
    Activation activation;
  };
  const std::vector<Row> rows = {
      {{{"feed_forward_proj", "gated-gelu"}}, true, Activation::kGeluTanh},
      {{{"feed_forward_proj", "gated-gelu_python"}}, true, Activation::kGelu},
      {{{"feed_forward_proj", "gelu"}}, false, Activation::kGelu},
      {{{"feed_forward_proj", "gated-gelu"}, {"dense_act_fn", "silu"}}, true, Activation::kSilu},
      {{{"feed_forward_proj", "gated-gelu"}, {"dense_act_fn", "gelu"}}, true, Activation::kGelu},
      {{{"feed_forward_proj", "gelu"}, {"is_gated_act", true}}, true, Activation::kGelu},
      {{{"feed_forward_proj", "gated-silu"}, {"is_gated_act", false}}, false, Activation::kSilu},
      {{{"feed_forward_proj", "gated-silu"}, {"is_gated_act", nullptr}}, false, Activation::kSilu},
      {{{"dense_act_fn", "gelu_new"}, {"is_gated_act", true}}, true, Activation::kGeluTanh},
  };
  for (const Row& row : rows) {
    const EncoderDecoderConfig config = parse(with(t5(), row.settings));
    EXPECT_EQ(config.encoder.gated, row.gated) << row.settings;
    EXPECT_EQ(config.decoder.activation, row.activation) << row.settings;
  }
  expect_refused(ErrorKind::kUnsupportedModel, with(t5(), "dense_act_fn", "relu2"), {"dense_act_fn is \"relu2\""});
  expect_refused(ErrorKind::kUnsupportedModel, with(t5(), "feed_forward_proj", "silu-gelu"), {"silu-gelu"});
}

TEST(EncoderDecoderConfig, OtherNamesHoldOverTheUsualOnes) {
  const EncoderDecoderConfig config =
      parse(with(t5(), {{"num_hidden_layers", 4}, {"hidden_size", 32}, {"num_attention_heads", 8}, {"head_dim", 6}}));
  EXPECT_EQ(config.encoder.layers, 4U);
  EXPECT_EQ(config.encoder.hidden, 32U);
  EXPECT_EQ(config.encoder.heads, 8U);
  EXPECT_EQ(config.decoder.head_width, 6U);
  EXPECT_EQ(parse(with(bart(), "num_hidden_layers", 4)).encoder.layers, 4U);
  EXPECT_EQ(parse(with(bart(), "num_hidden_layers", 4)).decoder.layers, 2U);
  EXPECT_EQ(parse(with(bart(), "num_attention_heads", 8)).encoder.heads, 8U);
}

TEST(EncoderDecoderConfig, ReadsBart) {
  const EncoderDecoderConfig config = parse(with(bart(), "scale_embedding", true));
  EXPECT_EQ(config.encoder.layers, 3U);
  EXPECT_EQ(config.decoder.layers, 2U);
  EXPECT_EQ(config.encoder.heads, 4U);
  EXPECT_EQ(config.decoder.heads, 6U);
  EXPECT_EQ(config.decoder.intermediate, 48U);
  EXPECT_EQ(config.encoder.positions, 30U);
  EXPECT_EQ(config.encoder.position_offset, 2U);
  EXPECT_NEAR(config.encoder.embedding_factor, std::sqrt(24.0), 1e-15);
  EXPECT_NEAR(config.decoder.score_factor, 0.5, 1e-15);
  EXPECT_EQ(config.encoder.architecture->norm_place, NormPlace::kAfter);
}

TEST(EncoderDecoderConfig, ReadsWhatTargetsBeginWith) {
  EXPECT_EQ(parse(with(bart(), "forced_bos_token_id", 5)).begin, (std::vector<std::int64_t>{2, 5}));
  const EncoderDecoderConfig beside =
      parse(bart(), R"({"decoder_start_token_id": 7, "forced_bos_token_id": 8, "bad_words_ids": [[1], [2, 3]]})");
  EXPECT_EQ(beside.begin, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(beside.never, std::vector<std::int64_t>{1});
  // A token that ends a text may be written even if it is named.
  for (const char* const ends : {"1", "[6, 1]"}) {
    const std::string given = R"({"eos_token_id": )" + std::string(ends) + R"(, "bad_words_ids": [[1], [4]]})";
    EXPECT_EQ(parse(bart(), given).never, std::vector<std::int64_t>{4});
  }
  const Json unsaid = without(bart(), "decoder_start_token_id");
  expect_refused(ErrorKind::kBadFile, unsaid, {"decoder_start_token_id", "generation_config.json"});
  EXPECT_EQ(parse(with(unsaid, "bos_token_id", 4)).begin, std::vector<std::int64_t>{4});
  expect_refused(ErrorKind::kBadFile, with(bart(), "decoder_start_token_id", 77), {"from 0 to 76", "77"});
  expect_refused(ErrorKind::kBadFile, bart(), {"bad_words_ids", "lists"}, R"({"bad_words_ids": [3]})");
}

TEST(EncoderDecoderConfig, RefusesWhatIsNotComputed) {
  for (const Json& value : {Json(false), Json(nullptr)}) {
    expect_refused(ErrorKind::kUnsupportedModel, with(bart(), "is_causal", value), {"is_causal is", "later ones"});
  }
  EXPECT_EQ(parse(with(t5(), "scale_decoder_outputs", nullptr)).decoder.logit_factor, 1.0);
  expect_refused(ErrorKind::kUnsupportedModel, with(bart(), "share_encoder_decoder_embeddings", false),
                 {"share_encoder_decoder_embeddings", "one for both"});
  for (const char* name : {"BartForSequenceClassification", "BartModel", "BartForCausalLM"}) {
    expect_refused(ErrorKind::kUnsupportedModel, with(bart(), "architectures", {name}),
                   {name, "BartForConditionalGeneration"});
  }
  expect_refused(ErrorKind::kUnsupportedModel, with(bart(), "architectures", {"BartForSequenceClassification"}),
                 {"attnflow.explain(model, tokenizer, text, target_text=text)"});
  expect_refused(ErrorKind::kUnsupportedModel, with(bart(), "model_type", "fsmt"), {"fsmt", "t5", "m2m_100"});
  expect_refused(ErrorKind::kBadFile, with(t5(), "relative_attention_num_buckets", 6), {"buckets", "6"});
}

}  // namespace
}  // namespace attnflow::encoder_decoder_weights_test
