#include <array>

#include "attnflow/model/family_rows.h"

namespace attnflow::internal {

namespace {

// Distances are unbounded; this limits the sizes that may be requested.
constexpr std::size_t kManyPositions = std::size_t{1} << 20;

struct T5Like {
  std::string_view model_type;
  std::string_view class_name;
  std::string_view root_logits = {};  // key of config.json
  bool divides_logits = false;        // if that is absent
  std::string_view activation;
};

constexpr std::array kT5Aliases = {
    KeyAlias{"hidden_size", "d_model"},
    KeyAlias{"num_attention_heads", "num_heads"},
    KeyAlias{"num_hidden_layers", "num_layers"},
    KeyAlias{"head_dim", "d_kv"},
};

constexpr Architecture t5_like(const T5Like& family, bool decodes) {
  return {
      .model_type = family.model_type,
      .class_name = family.class_name,
      .kind = ArchitectureKind::kEncoderDecoder,
      .prefix = decodes ? "decoder." : "encoder.",
      .keys = {.hidden = "d_model",
               .layers = decodes ? "num_decoder_layers|num_layers" : "num_layers",
               .heads = "num_heads",
               .key_value_heads = {},
               .head_width = "d_kv",
               .intermediate = "d_ff",
               .positions = {},
               .activation = {},
               .gated_activation = "feed_forward_proj",
               .gated = "is_gated_act",
               .inner_activation = "dense_act_fn",
               .norm_eps = "layer_norm_epsilon",
               .root_logits = family.root_logits,
               .buckets = "relative_attention_num_buckets",
               .farthest_bucket = "relative_attention_max_distance"},
      .names = {.shared_word = "shared",
                .other_word = decodes ? "encoder.embed_tokens" : "decoder.embed_tokens",
                .tied_word = "lm_head",
                .distance = "block.0.layer.0.SelfAttention.relative_attention_bias",
                .layer = "block.{}.",
                .attention_norm = "layer.0.layer_norm",
                .query_key_value = "layer.0.SelfAttention.{0}",
                .attention_output = "layer.0.SelfAttention.o",
                .cross_norm = decodes ? "layer.1.layer_norm" : "",
                .cross_query_key_value = decodes ? "layer.1.EncDecAttention.{0}" : "",
                .cross_output = decodes ? "layer.1.EncDecAttention.o" : "",
                .feed_forward_norm = decodes ? "layer.2.layer_norm" : "layer.1.layer_norm",
                .gate = decodes ? "layer.2.DenseReluDense.wi_0" : "layer.1.DenseReluDense.wi_0",
                .feed_forward_in = decodes ? "layer.2.DenseReluDense.wi_1" : "layer.1.DenseReluDense.wi_1",
                .feed_forward_out = decodes ? "layer.2.DenseReluDense.wo" : "layer.1.DenseReluDense.wo",
                .ungated_in = decodes ? "layer.2.DenseReluDense.wi" : "layer.1.DenseReluDense.wi",
                .final_norm = "final_layer_norm",
                .output = decodes ? "lm_head" : ""},
      .positions = PositionKind::kNone,
      .divided_scores = false,
      .root_logits = family.divides_logits,
      .activation = family.activation,
      .position_limit = kManyPositions,
      .tied = true,
      .aliases = kT5Aliases,
  };
}

struct BartLike {
  std::string_view model_type;
  std::string_view class_name;
  NormPlace norm_place = NormPlace::kBefore;
  bool embedding_norm = false;
  PositionKind positions = PositionKind::kLearnt;
  std::size_t position_offset = 2;
  std::string_view padding_id = {};  // key of config.json: positions begin after it
  std::string_view activation = "gelu";
  bool root_embedding = false;
};

constexpr std::array kBartAliases = {
    KeyAlias{"num_attention_heads", "encoder_attention_heads"},
    KeyAlias{"hidden_size", "d_model"},
    KeyAlias{"num_hidden_layers", "encoder_layers"},
};

constexpr Architecture bart_like(const BartLike& family, bool decodes) {
  return {
      .model_type = family.model_type,
      .class_name = family.class_name,
      .kind = ArchitectureKind::kEncoderDecoder,
      .prefix = decodes ? "model.decoder." : "model.encoder.",
      .keys = {.hidden = "d_model",
               .layers = decodes ? "decoder_layers" : "encoder_layers",
               .heads = decodes ? "decoder_attention_heads" : "encoder_attention_heads",
               .key_value_heads = {},
               .head_width = {},
               .intermediate = decodes ? "decoder_ffn_dim" : "encoder_ffn_dim",
               .padding_id = family.padding_id,
               .activation = "activation_function",
               .norm_eps = {},
               .root_embedding = "scale_embedding"},
      .names = {.shared_word = "model.shared",
                .other_word = decodes ? "model.encoder.embed_tokens" : "model.decoder.embed_tokens",
                .tied_word = "lm_head",
                .position = "embed_positions",
                .embedding_norm = family.embedding_norm ? "layernorm_embedding" : "",
                .attention_norm = "self_attn_layer_norm",
                .attention_output = "self_attn.out_proj",
                .cross_norm = decodes ? "encoder_attn_layer_norm" : "",
                .cross_query_key_value = decodes ? "encoder_attn.{0}_proj" : "",
                .cross_output = decodes ? "encoder_attn.out_proj" : "",
                .feed_forward_norm = "final_layer_norm",
                .gate = {},
                .feed_forward_in = "fc1",
                .feed_forward_out = "fc2",
                .final_norm = family.norm_place == NormPlace::kBefore ? "layer_norm" : "",
                .output = decodes ? "lm_head" : "",
                .logit_bias = "final_logits_bias"},
      .positions = family.positions,
      .norm = NormKind::kLayer,
      .norm_place = family.norm_place,
      .norm_of_sum = true,
      .biases = kAllBiases,
      .root_embedding = family.root_embedding,
      .position_offset = family.position_offset,
      .norm_eps = 1e-5,
      .activation = family.activation,
      .tied = true,
      .aliases = kBartAliases,
  };
}

constexpr std::array kT5Likes = {
    // Version 1.1 indicates by its untied head that logits are not scaled.
    T5Like{.model_type = "t5",
           .class_name = "T5",
           .root_logits = "scale_decoder_outputs|tie_word_embeddings",
           .divides_logits = true,
           .activation = "relu"},
    T5Like{.model_type = "mt5", .class_name = "MT5", .activation = "gated-gelu"},
};

constexpr std::array kBartLikes = {
    BartLike{.model_type = "bart", .class_name = "Bart", .norm_place = NormPlace::kAfter, .embedding_norm = true},
    BartLike{.model_type = "mbart", .class_name = "MBart", .embedding_norm = true},
    BartLike{.model_type = "marian",
             .class_name = "Marian",
             .norm_place = NormPlace::kAfter,
             .positions = PositionKind::kSinusoidal,
             .position_offset = 0},
    BartLike{
        .model_type = "pegasus", .class_name = "Pegasus", .positions = PositionKind::kSinusoidal, .position_offset = 0},
    BartLike{.model_type = "m2m_100",
             .class_name = "M2M100",
             .positions = PositionKind::kSinusoidalClosed,
             .padding_id = "pad_token_id",
             .activation = "relu",
             .root_embedding = true},
};

constexpr std::array<Architecture, kT5Likes.size() + kBartLikes.size()> halves(bool decodes) {
  std::array<Architecture, kT5Likes.size() + kBartLikes.size()> rows = {};
  std::size_t row = 0;
  for (const T5Like& family : kT5Likes) rows[row++] = t5_like(family, decodes);
  for (const BartLike& family : kBartLikes) rows[row++] = bart_like(family, decodes);
  return rows;
}

constexpr auto kSources = halves(false);
constexpr auto kTargets = halves(true);

}  // namespace

std::span<const Architecture> source_families() { return kSources; }
std::span<const Architecture> target_families() { return kTargets; }

}  // namespace attnflow::internal
