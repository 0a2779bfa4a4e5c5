#include <array>

#include "attnflow/model/family_rows.h"

namespace attnflow::internal {

namespace {

constexpr TensorNames with_head_norms(TensorNames names) {
  names.query_norm = "self_attn.q_norm";
  names.key_norm = "self_attn.k_norm";
  return names;
}

constexpr Architecture gpt(std::string_view model_type, std::string_view class_name) {
  return {
      .model_type = model_type,
      .class_name = class_name,
      .prefix = "transformer.",
      .keys = {.key_value_heads = {},
               .head_width = {},
               .activation = "activation_function",
               .norm_eps = "layer_norm_epsilon"},
      .names = {.word = "wte",
                .layer = "h.{}.",
                .attention_norm = "ln_1",
                .feed_forward_norm = "ln_2",
                .gate = {},
                .feed_forward_in = "mlp.c_fc",
                .feed_forward_out = "mlp.c_proj",
                .final_norm = "ln_f"},
      .norm = NormKind::kLayer,
      .norm_eps = 1e-5,
      .activation = "gelu_new",
      .intermediate_factor = 4,
  };
}

constexpr std::array kGptAliases = {
    KeyAlias{"hidden_size", "n_embd"},
    KeyAlias{"max_position_embeddings", "n_positions"},
    KeyAlias{"num_attention_heads", "n_head"},
    KeyAlias{"num_hidden_layers", "n_layer"},
};
constexpr std::array kGptNeoAliases = {
    KeyAlias{"num_attention_heads", "num_heads"},
    KeyAlias{"num_hidden_layers", "num_layers"},
};
constexpr std::array kBloomAliases = {
    KeyAlias{"num_attention_heads", "n_head"},
    KeyAlias{"num_hidden_layers", "n_layer"},
};

constexpr Architecture gpt2() {
  Architecture row = gpt("gpt2", "GPT2");
  row.keys.hidden = "n_embd";
  row.keys.layers = "n_layer";
  row.keys.heads = "n_head";
  row.keys.intermediate = "n_inner";
  row.keys.positions = "n_positions";
  row.names.position = "wpe";
  row.names.query_key_value = "attn.c_attn";
  row.names.attention_output = "attn.c_proj";
  row.positions = PositionKind::kLearnt;
  row.layout = MatrixLayout::kInOut;
  row.biases = kAllBiases;
  row.tied = true;
  row.aliases = kGptAliases;
  return row;
}

constexpr Architecture gpt_neo() {
  Architecture row = gpt("gpt_neo", "GPTNeo");
  row.keys.layers = "num_layers";
  row.keys.heads = "num_heads";
  row.keys.window = "window_size";
  row.names.position = "wpe";
  row.names.query_key_value = "attn.attention.{0}_proj";
  row.names.attention_output = "attn.attention.out_proj";
  row.positions = PositionKind::kLearnt;
  row.biases = {.attention_output = BiasRule::kAlways, .feed_forward = BiasRule::kAlways};
  row.window = WindowRule::kNamed;
  row.divided_scores = false;
  row.window_size = 256;
  row.tied = true;
  row.aliases = kGptNeoAliases;
  return row;
}

constexpr Architecture gptj() {
  Architecture row = gpt("gptj", "GPTJ");
  row.keys = gpt2().keys;
  row.keys.rotary_width = "rotary_dim";
  row.keys.rotary_theta = row.keys.rotary_share = {};
  row.names.query_key_value = "attn.{0}_proj";
  row.names.attention_output = "attn.out_proj";
  row.names.feed_forward_norm = {};
  row.names.feed_forward_in = "mlp.fc_in";
  row.names.feed_forward_out = "mlp.fc_out";
  row.biases = {.feed_forward = BiasRule::kAlways};
  row.output_bias = BiasRule::kAlways;
  row.rotary_neighbors = true;
  row.parallel = true;
  row.shared_norm = true;
  row.rotary_width = 64;
  row.aliases = kGptAliases;
  return row;
}

constexpr Architecture bloom() {
  Architecture row = gpt("bloom", "Bloom");
  row.keys.hidden = "n_embed|hidden_size";
  row.keys.layers = "n_layer";
  row.keys.heads = "n_head";
  row.keys.intermediate = {};
  row.keys.positions = "seq_length";
  row.keys.activation = {};
  row.names.word = "word_embeddings";
  row.names.embedding_norm = "word_embeddings_layernorm";
  row.names.attention_norm = "input_layernorm";
  row.names.query_key_value = "self_attention.query_key_value";
  row.names.attention_output = "self_attention.dense";
  row.names.feed_forward_norm = "post_attention_layernorm";
  row.names.feed_forward_in = "mlp.dense_h_to_4h";
  row.names.feed_forward_out = "mlp.dense_4h_to_h";
  row.positions = PositionKind::kAlibi;
  row.biases = kAllBiases;
  row.query_key_value_order = QueryKeyValueOrder::kByHead;
  row.position_limit = 1U << 20U;  // distances are not learned
  row.tied = true;
  row.aliases = kBloomAliases;
  return row;
}

constexpr Architecture falcon() {
  Architecture row = bloom();
  row.model_type = "falcon";
  row.class_name = "Falcon";
  row.keys = {.hidden = "n_embed|hidden_size",
              .key_value_heads = "num_kv_heads",
              .multi_query = "multi_query",
              .grouped = "new_decoder_architecture",
              .head_width = {},
              .intermediate = "ffn_hidden_size",
              .activation = "activation",
              .norm_eps = "layer_norm_epsilon",
              .attention_bias = "bias",
              .feed_forward_bias = "bias",
              .parallel = "parallel_attn",
              .parallel_norms = "num_ln_in_parallel_attn",
              .alibi = "alibi"};
  row.names.embedding_norm = {};
  row.names.parallel_attention_norm = "ln_attn";
  row.names.parallel_feed_forward_norm = "ln_mlp";
  row.positions = PositionKind::kRotary;
  row.biases = kStatedBiases;
  row.parallel = true;
  row.shared_norm = true;
  row.scaled_alibi = true;
  row.activation = "gelu";
  row.position_limit = 2048;
  row.aliases = {};
  return row;
}

constexpr ExpertRow kStatedExperts = {.count = "num_experts|num_local_experts", .normalized = "norm_topk_prob"};

constexpr Architecture qwen3() {
  return {
      .model_type = "qwen3",
      .class_name = "Qwen3",
      .names = with_head_norms({}),
      .biases = kStatedAttentionBiases,
      .window = WindowRule::kSwitched,
      .window_size = 4096,
  };
}

constexpr Architecture qwen3_moe() {
  Architecture row = qwen3();
  row.model_type = "qwen3_moe";
  row.class_name = "Qwen3Moe";
  row.keys.intermediate = "moe_intermediate_size";
  row.window = WindowRule::kAllSwitched;
  row.experts = kStatedExperts;
  return row;
}

constexpr Architecture gemma2() {
  return {
      .model_type = "gemma2",
      .class_name = "Gemma2",
      .keys = {.activation = "hidden_activation",
               .score_width = "query_pre_attn_scalar",
               .score_cap = "attn_logit_softcapping",
               .logit_cap = "final_logit_softcapping"},
      .names = {.attention_after = "post_attention_layernorm",
                .feed_forward_norm = "pre_feedforward_layernorm",
                .feed_forward_after = "post_feedforward_layernorm"},
      .norm = NormKind::kRmsPlusOne,
      .biases = kStatedAttentionBiases,
      .window = WindowRule::kInterval,
      .root_embedding = true,
      .activation = "gelu_pytorch_tanh",
      .padding = 0,
      .window_size = 4096,
      .window_interval = 2,
      .score_width = 256.0,
      .score_cap = 50.0,
      .logit_cap = 30.0,
      .tied = true,
  };
}

constexpr Architecture gemma3() {
  Architecture row = gemma2();
  row.model_type = "gemma3_text";
  row.class_name = "Gemma3";
  row.keys.window_interval = "sliding_window_pattern|_sliding_window_pattern";
  row.keys.local_rotary_theta = "rope_local_base_freq";
  row.names = with_head_norms(row.names);
  row.window_interval = 6;
  row.keys.score_cap = {};              // its class accepts the key, but its code does not use it
  row.score_cap = row.logit_cap = 0.0;  // unless config.json sets it
  row.rotary_theta = 1e6;
  return row;
}

constexpr Architecture gpt_oss() {
  return {
      .model_type = "gpt_oss",
      .class_name = "GptOss",
      .keys = {.activation = {}},  // config.json has the key, but transformers' code does not use it
      .names = {.sinks = "self_attn.sinks"},
      .experts = {.count = "num_local_experts",
                  .router = "mlp.router",
                  .stacked_gate_and_in = "mlp.experts.gate_up_proj",
                  .stacked_out = "mlp.experts.down_proj"},
      .biases = {.query_key_value = BiasRule::kSettingOrTrue,
                 .attention_output = BiasRule::kSettingOrTrue,
                 .feed_forward = BiasRule::kAlways},
      .window = WindowRule::kInterval,
      .stated_rotary = true,
      .gate_limit = 7.0,
      .norm_eps = 1e-5,
      .activation = "quick_gelu",
      .window_size = 128,
      .window_interval = 2,
      .rotary_theta = 150000.0,
  };
}

constexpr std::array kDecoders = {
    gpt2(),
    Architecture{
        .model_type = "llama",
        .class_name = "Llama",
        .biases = kStatedBiases,
    },
    Architecture{
        .model_type = "mistral",
        .class_name = "Mistral",
        .window = WindowRule::kAllOrNamed,
        .window_size = 4096,
    },
    Architecture{
        .model_type = "qwen2",
        .class_name = "Qwen2",
        .biases = {.query_key_value = BiasRule::kAlways},
        .window = WindowRule::kSwitched,
        .window_size = 4096,
    },
    qwen3(),
    qwen3_moe(),
    Architecture{
        .model_type = "mixtral",
        .class_name = "Mixtral",
        .experts = {.count = "num_local_experts",
                    .router = "block_sparse_moe.gate",
                    .gate = "block_sparse_moe.experts.{}.w1",
                    .in = "block_sparse_moe.experts.{}.w3",
                    .out = "block_sparse_moe.experts.{}.w2"},
        .window = WindowRule::kAll,
        .norm_eps = 1e-5,
        .rotary_theta = 1e6,
    },
    gpt_oss(),
    Architecture{
        .model_type = "olmoe",
        .class_name = "Olmoe",
        .keys = {.head_width = {}},
        .names = with_head_norms({}),
        .experts = kStatedExperts,
        .biases = kStatedAttentionBiases,
        .head_norms = false,
        .norm_eps = 1e-5,
        .padding = 1,
    },
    Architecture{
        .model_type = "smollm3",
        .class_name = "SmolLM3",
        .keys = {.rotary_layers = "no_rope_layers", .rotary_interval = "no_rope_layer_interval"},
        .biases = kStatedBiases,
        .padding = 128004,
        .rotary_theta = 2e6,
        .tied = true,
    },
    Architecture{
        .model_type = "granite",
        .class_name = "Granite",
        .keys = {.embedding_factor = "embedding_multiplier",
                 .score_factor = "attention_multiplier",
                 .residual_factor = "residual_multiplier",
                 .logit_divisor = "logits_scaling"},
        .biases = kStatedBiases,
    },
    Architecture{
        .model_type = "phi3",
        .class_name = "Phi3",
        .keys = {.head_width = {}},
        .names = {.query_key_value = "self_attn.qkv_proj", .gate_and_in = "mlp.gate_up_proj"},
        .window = WindowRule::kAll,
        .partial_rotary = true,
        .norm_eps = 1e-5,
        .padding = 32000,
        .first_length = 4096,
    },
    Architecture{
        .model_type = "gemma",
        .class_name = "Gemma",
        .norm = NormKind::kRmsPlusOne,
        .biases = kStatedAttentionBiases,
        .root_embedding = true,
        .gelu_is_tanh = true,
        .activation = "gelu",
        .padding = 0,
        .tied = true,
    },
    Architecture{
        .model_type = "starcoder2",
        .class_name = "Starcoder2",
        .keys = {.head_width = {}, .norm_eps = "norm_epsilon"},
        .names = {.gate = {}, .feed_forward_in = "mlp.c_fc", .feed_forward_out = "mlp.c_proj"},
        .norm = NormKind::kLayer,
        .biases = kAllBiases,
        .window = WindowRule::kAll,
        .norm_eps = 1e-5,
        .activation = "gelu_pytorch_tanh",
        .tied = true,
    },
    Architecture{
        .model_type = "stablelm",
        .class_name = "StableLm",
        .keys = {.head_width = {},
                 .norm_eps = "layer_norm_eps",
                 .attention_bias = "use_qkv_bias",
                 .parallel = "use_parallel_residual"},
        .norm = NormKind::kLayer,
        .biases = {.query_key_value = BiasRule::kSetting},
        .shared_norm = true,
        .partial_rotary = true,
        .norm_eps = 1e-5,
        .rotary_share = 0.25,
    },
    Architecture{
        .model_type = "opt",
        .class_name = "OPT",
        .prefix = "model.decoder.",
        .base_prefix = "decoder.",
        .keys = {.key_value_heads = {},
                 .head_width = {},
                 .intermediate = "ffn_dim",
                 .activation = "activation_function",
                 .norm_eps = {}},
        .names = {.position = "embed_positions",
                  .attention_norm = "self_attn_layer_norm",
                  .attention_output = "self_attn.out_proj",
                  .feed_forward_norm = "final_layer_norm",
                  .gate = {},
                  .feed_forward_in = "fc1",
                  .feed_forward_out = "fc2",
                  .final_norm = "final_layer_norm"},
        .positions = PositionKind::kLearnt,
        .norm = NormKind::kLayer,
        .biases = kAllBiases,
        .position_offset = 2,
        .norm_eps = 1e-5,
        .activation = "relu",
        .padding = 1,
        .tied = true,
    },
    gpt_neo(),
    gptj(),
    Architecture{
        .model_type = "gpt_neox",
        .class_name = "GPTNeoX",
        .prefix = "gpt_neox.",
        .keys = {.key_value_heads = {},
                 .head_width = {},
                 .norm_eps = "layer_norm_eps",
                 .parallel = "use_parallel_residual",
                 .rotary_theta = "rotary_emb_base",
                 .rotary_share = "rotary_pct"},
        .names = {.word = "embed_in",
                  .query_key_value = "attention.query_key_value",
                  .attention_output = "attention.dense",
                  .gate = {},
                  .feed_forward_in = "mlp.dense_h_to_4h",
                  .feed_forward_out = "mlp.dense_4h_to_h",
                  .final_norm = "final_layer_norm",
                  .output_before = "embed_out"},
        .norm = NormKind::kLayer,
        .biases = {BiasRule::kSettingOrTrue, BiasRule::kSettingOrTrue, BiasRule::kAlways},
        .query_key_value_order = QueryKeyValueOrder::kByHead,
        .parallel = true,
        .partial_rotary = true,
        .norm_eps = 1e-5,
        .activation = "gelu",
        .rotary_share = 0.25,
    },
    Architecture{
        .model_type = "phi",
        .class_name = "Phi",
        .keys = {.head_width = {}, .norm_eps = "layer_norm_eps"},
        .names = {.attention_output = "self_attn.dense",
                  .feed_forward_norm = {},
                  .gate = {},
                  .feed_forward_in = "mlp.fc1",
                  .feed_forward_out = "mlp.fc2",
                  .final_norm = "final_layernorm"},
        .norm = NormKind::kLayer,
        .biases = kAllBiases,
        .output_bias = BiasRule::kAlways,
        .parallel = true,
        .shared_norm = true,
        .partial_rotary = true,
        .norm_eps = 1e-5,
        .activation = "gelu_new",
        .rotary_share = 0.5,
    },
    Architecture{
        .model_type = "cohere",
        .class_name = "Cohere",
        .keys = {.norm_eps = "layer_norm_eps", .logit_factor = "logit_scale"},
        .names = {.feed_forward_norm = {}},
        .norm = NormKind::kLayerNoShift,
        .biases = kStatedAttentionBiases,
        .rotary_neighbors = true,
        .parallel = true,
        .shared_norm = true,
        .norm_eps = 1e-5,
        .padding = 0,
        .logit_factor = 0.0625,
        .rotary_theta = 500000.0,
        .tied = true,
    },
    Architecture{
        .model_type = "cohere2",
        .class_name = "Cohere2",
        .keys = {.head_width = {},
                 .norm_eps = "layer_norm_eps",
                 .logit_factor = "logit_scale",
                 .window_interval = "sliding_window_pattern"},
        .names = {.feed_forward_norm = {}},
        .norm = NormKind::kLayerNoShift,
        .biases = kStatedAttentionBiases,
        .window = WindowRule::kInterval,
        .rotary_neighbors = true,
        .parallel = true,
        .shared_norm = true,
        .rotary_in_windows = true,
        .norm_eps = 1e-5,
        .padding = 0,
        .window_size = 4096,
        .window_interval = 4,
        .logit_factor = 0.0625,
        .tied = true,
    },
    bloom(),
    falcon(),
    // CLIP's text encoder by itself: the last token represents the text, and nothing is predicted.
    Architecture{
        .model_type = "clip_text_model",
        .class_name = "CLIPText",
        .prefix = "text_model.",
        .keys = {.key_value_heads = {}, .head_width = {}, .norm_eps = "layer_norm_eps"},
        .names = {.word = "embeddings.token_embedding",
                  .position = "embeddings.position_embedding",
                  .layer = "encoder.layers.{}.",
                  .attention_norm = "layer_norm1",
                  .attention_output = "self_attn.out_proj",
                  .feed_forward_norm = "layer_norm2",
                  .gate = {},
                  .feed_forward_in = "mlp.fc1",
                  .feed_forward_out = "mlp.fc2",
                  .final_norm = "final_layer_norm",
                  .output = {}},
        .positions = PositionKind::kLearnt,
        .norm = NormKind::kLayer,
        .biases = kAllBiases,
        .norm_eps = 1e-5,
        .activation = "quick_gelu",
    },
    Architecture{
        .model_type = "olmo2",
        .class_name = "Olmo2",
        .names = {.attention_norm = {},
                  .query_norm = "self_attn.q_norm",
                  .key_norm = "self_attn.k_norm",
                  .attention_after = "post_attention_layernorm",
                  .feed_forward_norm = {},
                  .feed_forward_after = "post_feedforward_layernorm"},
        .biases = kStatedAttentionBiases,
        .head_norms = false,
        .norm_eps = 1e-5,
        .padding = 1,
    },
    gemma2(),
    gemma3(),
};

}  // namespace

std::span<const Architecture> decoder_families() { return kDecoders; }

}  // namespace attnflow::internal
