// What distinguishes one decoder architecture from another: names and a few switches, as data.
//
// A decoder's layer adds to the residual stream x first self-attention of a norm of x, in which a position sees itself
// and those before it, then a feed-forward net of a norm of x; a norm after the last layer and one matrix give the
// logits of the next token. GPT-2 learns a vector for each position and adds it to the embedding. Llama and its
// relatives turn queries and keys by angles that grow with the position (rotary embedding), drop the mean from the
// norms and most biases, gate the feed-forward net, and let groups of heads share keys and values. One row of the table
// holds all of that and how config.json and the weights spell it, so a relative is a new row and no new code.
#ifndef ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_
#define ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "attnflow/model/architecture.h"

namespace attnflow {

enum class PositionKind {
  kLearnt,  // a row of a table, added to the embedding
  kRotary,  // queries and keys turned by position x frequency
};

enum class NormKind {
  kLayer,       // (x - mean) / sqrt(variance + eps) * scale + shift
  kRms,         // x / sqrt(mean of squares + eps) * scale
  kRmsPlusOne,  // the same, times 1 + scale
};

// Which maps have a bias.
enum class BiasRule {
  kAlways,
  kNever,
  kSetting,  // as a setting of config.json says, false by default
};

// Which layers see only the last `sliding_window` positions.
enum class WindowRule {
  kNone,      // none; a config.json that asks for some is refused
  kAll,       // all, where sliding_window is set
  kSwitched,  // where use_sliding_window is true: those that layer_types names, else from max_window_layers on
};

// Keys of config.json. Empty: the architecture has no such setting.
struct DecoderKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view key_value_heads = "num_key_value_heads";
  std::string_view head_width = "head_dim";
  std::string_view intermediate = "intermediate_size";
  std::string_view positions = "max_position_embeddings";
  std::string_view activation = "hidden_act";
  std::string_view norm_eps = "rms_norm_eps";
  std::string_view attention_bias = "attention_bias";  // with BiasRule::kSetting
  std::string_view feed_forward_bias = "mlp_bias";
  std::string_view embedding_factor = {};  // of embeddings
  std::string_view score_factor = {};      // of q k^T, in place of 1 / sqrt(head width)
  std::string_view residual_factor = {};   // of what each half of a layer adds
  std::string_view logit_divisor = {};
  // Which layers turn queries and keys, a list of 0 and 1; without it all but every so many-th.
  std::string_view rotary_layers = {};
  std::string_view rotary_interval = {};
};

// Tensors without ".weight" and ".bias", those of a layer below `layer`, in which {} is the layer's number.
struct DecoderNames {
  std::string_view word = "embed_tokens";
  std::string_view position = {};  // with PositionKind::kLearnt
  std::string_view layer = "layers.{}.";
  std::string_view attention_norm = "input_layernorm";
  std::string_view query_key_value = {};  // one map for all three, side by side; else each its own
  std::string_view query = "self_attn.q_proj";
  std::string_view key = "self_attn.k_proj";
  std::string_view value = "self_attn.v_proj";
  std::string_view query_norm = {};  // RMS norm of each head's query; empty: none
  std::string_view key_norm = {};
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view feed_forward_norm = "post_attention_layernorm";
  std::string_view gate = "mlp.gate_proj";  // empty: out(activation(in(x))); else out(activation(gate(x)) * in(x))
  std::string_view gate_and_in = {};        // one map for both, the gate first
  std::string_view feed_forward_in = "mlp.up_proj";
  std::string_view feed_forward_out = "mlp.down_proj";
  std::string_view final_norm = "norm";
  std::string_view output = "lm_head";  // a full name
};

struct DecoderArchitecture {
  std::string_view model_type;         // config.json's "model_type"
  std::string_view class_name;         // of its classes in transformers: "Llama" of "LlamaForCausalLM"
  std::string_view prefix = "model.";  // of all tensors but `output`
  std::string_view base_prefix = {};   // the same in files of a base model alone
  DecoderKeys keys = {};
  DecoderNames names = {};
  PositionKind positions = PositionKind::kRotary;
  NormKind norm = NormKind::kRms;
  MatrixLayout layout = MatrixLayout::kOutIn;  // of the maps inside layers
  BiasRule query_key_value_bias = BiasRule::kNever;
  BiasRule attention_output_bias = BiasRule::kNever;
  BiasRule feed_forward_bias = BiasRule::kNever;
  WindowRule window = WindowRule::kNone;
  bool partial_rotary = false;      // config.json may say that a part of each head is turned
  bool root_embedding = false;      // embeddings are multiplied by sqrt(hidden)
  bool gelu_is_tanh = false;        // the activation "gelu" means its tanh approximation
  std::size_t position_offset = 0;  // rows of the table of positions before that of position 0
  // Where config.json states none.
  double norm_eps = 1e-6;
  std::string_view activation = "silu";
  std::size_t intermediate_factor = 0;  // times hidden; 0: the key must be there
  std::size_t window_size = 0;          // 0: no window
  double rotary_theta = 10000.0;
  double rotary_share = 1.0;  // of each head, with partial_rotary
  bool tied = false;          // the output matrix is the word embedding
};

// All rows, in a fixed order.
std::span<const DecoderArchitecture> decoder_architectures();
// The row of a model type, or null.
const DecoderArchitecture* find_decoder_architecture(std::string_view model_type);
// "gpt2, llama, ...", for messages.
std::string decoder_architecture_list();

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_
