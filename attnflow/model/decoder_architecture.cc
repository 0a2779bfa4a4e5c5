#include "attnflow/model/decoder_architecture.h"

#include <array>

namespace attnflow {

namespace {

constexpr std::array kDecoders = {
    DecoderArchitecture{
        .model_type = "gpt2",
        .class_name = "GPT2",
        .prefix = "transformer.",
        .keys = {.hidden = "n_embd",
                 .layers = "n_layer",
                 .heads = "n_head",
                 .key_value_heads = {},
                 .head_width = {},
                 .intermediate = "n_inner",
                 .positions = "n_positions",
                 .activation = "activation_function",
                 .norm_eps = "layer_norm_epsilon",
                 .attention_bias = {},
                 .feed_forward_bias = {}},
        .names = {.word = "wte",
                  .position = "wpe",
                  .layer = "h.{}.",
                  .attention_norm = "ln_1",
                  .query_key_value = "attn.c_attn",
                  .attention_output = "attn.c_proj",
                  .feed_forward_norm = "ln_2",
                  .gate = {},
                  .feed_forward_in = "mlp.c_fc",
                  .feed_forward_out = "mlp.c_proj",
                  .final_norm = "ln_f"},
        .positions = PositionKind::kLearnt,
        .norm = NormKind::kLayer,
        .layout = MatrixLayout::kInOut,
        .query_key_value_bias = BiasRule::kAlways,
        .attention_output_bias = BiasRule::kAlways,
        .feed_forward_bias = BiasRule::kAlways,
        .norm_eps = 1e-5,
        .activation = "gelu_new",
        .intermediate_factor = 4,
        .tied = true,
    },
    DecoderArchitecture{
        .model_type = "llama",
        .class_name = "Llama",
        .query_key_value_bias = BiasRule::kSetting,
        .attention_output_bias = BiasRule::kSetting,
        .feed_forward_bias = BiasRule::kSetting,
    },
    DecoderArchitecture{
        .model_type = "mistral",
        .class_name = "Mistral",
        .window = WindowRule::kAll,
        .window_size = 4096,
    },
    DecoderArchitecture{
        .model_type = "qwen2",
        .class_name = "Qwen2",
        .query_key_value_bias = BiasRule::kAlways,
        .window = WindowRule::kSwitched,
        .window_size = 4096,
    },
    DecoderArchitecture{
        .model_type = "qwen3",
        .class_name = "Qwen3",
        .names = {.query_norm = "self_attn.q_norm", .key_norm = "self_attn.k_norm"},
        .query_key_value_bias = BiasRule::kSetting,
        .attention_output_bias = BiasRule::kSetting,
        .window = WindowRule::kSwitched,
        .window_size = 4096,
    },
    DecoderArchitecture{
        .model_type = "smollm3",
        .class_name = "SmolLM3",
        .keys = {.rotary_layers = "no_rope_layers", .rotary_interval = "no_rope_layer_interval"},
        .query_key_value_bias = BiasRule::kSetting,
        .attention_output_bias = BiasRule::kSetting,
        .feed_forward_bias = BiasRule::kSetting,
        .rotary_theta = 2e6,
        .tied = true,
    },
    DecoderArchitecture{
        .model_type = "granite",
        .class_name = "Granite",
        .keys = {.embedding_factor = "embedding_multiplier",
                 .score_factor = "attention_multiplier",
                 .residual_factor = "residual_multiplier",
                 .logit_divisor = "logits_scaling"},
        .query_key_value_bias = BiasRule::kSetting,
        .attention_output_bias = BiasRule::kSetting,
        .feed_forward_bias = BiasRule::kSetting,
    },
    DecoderArchitecture{
        .model_type = "phi3",
        .class_name = "Phi3",
        .keys = {.head_width = {}},
        .names = {.query_key_value = "self_attn.qkv_proj", .gate_and_in = "mlp.gate_up_proj"},
        .window = WindowRule::kAll,
        .partial_rotary = true,
        .norm_eps = 1e-5,
    },
    DecoderArchitecture{
        .model_type = "gemma",
        .class_name = "Gemma",
        .norm = NormKind::kRmsPlusOne,
        .query_key_value_bias = BiasRule::kSetting,
        .attention_output_bias = BiasRule::kSetting,
        .root_embedding = true,
        .gelu_is_tanh = true,
        .activation = "gelu",
        .tied = true,
    },
    DecoderArchitecture{
        .model_type = "starcoder2",
        .class_name = "Starcoder2",
        .keys = {.head_width = {}, .norm_eps = "norm_epsilon"},
        .names = {.gate = {}, .feed_forward_in = "mlp.c_fc", .feed_forward_out = "mlp.c_proj"},
        .norm = NormKind::kLayer,
        .query_key_value_bias = BiasRule::kAlways,
        .attention_output_bias = BiasRule::kAlways,
        .feed_forward_bias = BiasRule::kAlways,
        .window = WindowRule::kAll,
        .norm_eps = 1e-5,
        .activation = "gelu_pytorch_tanh",
        .tied = true,
    },
    DecoderArchitecture{
        .model_type = "stablelm",
        .class_name = "StableLm",
        .keys = {.head_width = {}, .norm_eps = "layer_norm_eps", .attention_bias = "use_qkv_bias"},
        .norm = NormKind::kLayer,
        .query_key_value_bias = BiasRule::kSetting,
        .partial_rotary = true,
        .norm_eps = 1e-5,
        .rotary_share = 0.25,
    },
    DecoderArchitecture{
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
        .query_key_value_bias = BiasRule::kAlways,
        .attention_output_bias = BiasRule::kAlways,
        .feed_forward_bias = BiasRule::kAlways,
        .position_offset = 2,
        .norm_eps = 1e-5,
        .activation = "relu",
        .tied = true,
    },
};

}  // namespace

std::span<const DecoderArchitecture> decoder_architectures() { return kDecoders; }

const DecoderArchitecture* find_decoder_architecture(std::string_view model_type) {
  for (const DecoderArchitecture& row : kDecoders) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

std::string decoder_architecture_list() {
  std::string list;
  for (const DecoderArchitecture& row : kDecoders) {
    if (!list.empty()) list += ", ";
    list += row.model_type;
  }
  return list;
}

}  // namespace attnflow
