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
