// Describes the differences between decoder architectures as data: names and a few switches.
//
// A decoder layer adds two terms to the residual stream x: self-attention over the normalized x, in which a position
// sees itself and those before it, then a feed-forward network applied to the normalized x. A norm after the last layer
// and one matrix give the logits of the next token. GPT-2 learns a vector for each position and adds it to the
// embedding. Llama and its relatives rotate queries and keys by angles that grow with the position (rotary embedding),
// omit the mean from the norms and drop most biases, gate the feed-forward network, and let groups of heads share keys
// and values. In GPT-J, GPT-NeoX and Phi both halves of a layer have the same input; Gemma 2 and OLMo 2 normalize the
// output of each half. In a mixture of experts (Mixtral) a layer has many feed-forward networks, of which each token
// passes a few. In gpt-oss each head has a learned sink, and gates have a limit. One row of the table holds all names
// and choices, so a relative needs no new code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attnflow/model/architecture.h"

namespace attnflow {

enum class PositionKind {
  kLearnt,  // a row of a table, added to the embedding
  kRotary,  // queries and keys are rotated by position x frequency
  kAlibi,   // scores grow with the key's position, with a slope for each head
  // d numbers added to the embedding: sin(p f_i), then cos(p f_i), for position p. With h = d / 2,
  kSinusoidal,        // f_i = 10000^(-i / h)
  kSinusoidalClosed,  // f_i = 10000^(-i / (h - 1)): the last is 1 / 10000 (M2M100)
  kDistance,          // scores get a learned number for each head and distance bucket (distance_bucket.h)
};

enum class NormKind {
  kLayer,         // (x - mean) / sqrt(variance + eps) * scale + shift
  kLayerNoShift,  // the same without a shift
  kRms,           // x / sqrt(mean of squares + eps) * scale
  kRmsPlusOne,    // the same, times 1 + scale
};

enum class BiasRule {
  kAlways,
  kNever,
  kSetting,  // as a setting of config.json says, false by default
  kSettingOrTrue,
};

struct BiasRules {
  BiasRule query_key_value = BiasRule::kNever;
  BiasRule attention_output = BiasRule::kNever;
  BiasRule feed_forward = BiasRule::kNever;
};
inline constexpr BiasRules kAllBiases = {BiasRule::kAlways, BiasRule::kAlways, BiasRule::kAlways};
inline constexpr BiasRules kStatedBiases = {BiasRule::kSetting, BiasRule::kSetting, BiasRule::kSetting};
inline constexpr BiasRules kStatedAttentionBiases = {BiasRule::kSetting, BiasRule::kSetting, BiasRule::kNever};

// Which layers see only the last `sliding_window` positions.
enum class WindowRule {
  kNone,         // none; a config.json that asks for windows is rejected
  kAll,          // all, if sliding_window is set, regardless of layer_types
  kAllOrNamed,   // those that layer_types names; all if it is absent
  kSwitched,     // none unless use_sliding_window is true; then as layer_types says, or from max_window_layers on
  kAllSwitched,  // none unless use_sliding_window is true; then all, if sliding_window is set
  kInterval,     // those that layer_types names, else all but the last layer in each interval
  kNamed,        // those that attention_layers or attention_types name "local" (GPT-Neo)
};

constexpr bool is_switched(WindowRule rule) {
  return rule == WindowRule::kSwitched || rule == WindowRule::kAllSwitched;
}

// Keys of config.json. Empty: the architecture has no such setting.
struct DecoderKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view key_value_heads = "num_key_value_heads";
  std::string_view multi_query = {};  // true, or absent: all heads share one key and value
  // true: key_value_heads gives their number, whatever multi_query says, and a layer's halves have the same input.
  std::string_view grouped = {};
  std::string_view head_width = "head_dim";
  std::string_view intermediate = "intermediate_size";
  std::string_view positions = "max_position_embeddings";
  std::string_view padding_id = {};  // positions count from this id + 1, in place of position_offset
  std::string_view activation = "hidden_act";
  // Replaces `activation`: "relu", or "gated-relu" for a gated network. "gated-gelu" is the tanh approximation. If
  // present, `gated` below decides whether the network is gated, and inner_activation which activation it has.
  std::string_view gated_activation = {};
  std::string_view gated = {};             // true: a gated network
  std::string_view inner_activation = {};  // the activation's name alone, without "gated-"
  std::string_view norm_eps = "rms_norm_eps";
  std::string_view attention_bias = "attention_bias";  // with BiasRule::kSetting
  std::string_view feed_forward_bias = "mlp_bias";
  std::string_view embedding_factor = {};  // of embeddings
  std::string_view root_embedding = {};    // true: embeddings are multiplied by sqrt(hidden)
  std::string_view score_factor = {};      // of q k^T, in place of 1 / sqrt(head width)
  std::string_view residual_factor = {};   // of the output of each half of a layer
  std::string_view logit_factor = {};
  std::string_view logit_divisor = {};
  std::string_view root_logits = {};  // true: logits are divided by sqrt(hidden)
  std::string_view score_width = {};  // scores are divided by its square root
  std::string_view score_cap = {};
  std::string_view logit_cap = {};
  std::string_view parallel = {};        // true: both halves of a layer have the same input
  std::string_view parallel_norms = {};  // with `grouped`: 1 if they share a norm, 2 (or absent) if not
  std::string_view alibi = {};           // true: PositionKind::kAlibi
  std::string_view window = "sliding_window";
  std::string_view window_interval = {};
  std::string_view rotary_theta = "rope_theta";  // empty: config.json cannot change the angles
  std::string_view rotary_share = "partial_rotary_factor";
  std::string_view rotary_width = {};        // instead of a share
  std::string_view local_rotary_theta = {};  // for layers with a window
  // Which layers rotate queries and keys, as a list of 0 and 1; without it, all but the last layer in each interval.
  std::string_view rotary_layers = {};
  std::string_view rotary_interval = {};
  std::string_view buckets = {};          // with PositionKind::kDistance
  std::string_view farthest_bucket = {};  // the distance at which the last of them begins
};

// Tensor names without ".weight" and ".bias", those of a layer under `layer`, in which {} is the layer's number.
struct DecoderNames {
  std::string_view word = "embed_tokens";
  // Full names under which files may store the same table instead. Messages about a missing table use shared_word.
  std::string_view shared_word = {};
  std::string_view other_word = {};
  // The same, tried last and only if config.json ties the map to logits to this table, along with `output` and
  // output_before: such a file may hold the table only as that map.
  std::string_view tied_word = {};
  std::string_view embedding_norm = {};
  std::string_view position = {};  // with PositionKind::kLearnt
  std::string_view distance = {};  // with PositionKind::kDistance
  std::string_view layer = "layers.{}.";
  std::string_view attention_norm = "input_layernorm";  // empty: none
  // One map each, where {0} is q, k or v; without it, one combined map.
  std::string_view query_key_value = "self_attn.{0}_proj";
  std::string_view query_norm = {};  // RMS norm; empty: none
  std::string_view key_norm = {};
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view attention_after = {};  // norm of the attention output; empty: none
  std::string_view sinks = {};            // a full name: scores that belong to no token, one for each head; empty: none
  // Attention to an encoder's output, between self-attention and the feed-forward network; empty: none.
  std::string_view cross_norm = {};
  std::string_view cross_query_key_value = {};
  std::string_view cross_output = {};
  // Empty: none. Unused in layers whose halves share a norm, which is the attention norm.
  std::string_view feed_forward_norm = "post_attention_layernorm";
  // Replace attention_norm and feed_forward_norm where the halves have one input but separate norms, if not empty.
  std::string_view parallel_attention_norm = {};
  std::string_view parallel_feed_forward_norm = {};
  std::string_view gate = "mlp.gate_proj";  // empty: out(activation(in(x))); else out(activation(gate(x)) * in(x))
  std::string_view gate_and_in = {};        // one combined map, the gate first
  std::string_view feed_forward_in = "mlp.up_proj";
  std::string_view ungated_in = {};  // used instead if config.json says that there is no gate
  std::string_view feed_forward_out = "mlp.down_proj";
  std::string_view feed_forward_after = {};
  std::string_view final_norm = "norm";  // empty: none
  std::string_view output = "lm_head";   // a full name; empty: there are no logits
  std::string_view output_before = {};   // the name in older files
  std::string_view logit_bias = {};      // a complete name; empty: none
};

// A mixture of experts in place of each layer's feed-forward network (torch/transformer_layer.h).
struct ExpertRow {
  // Keys of config.json. The width of an expert is DecoderKeys::intermediate.
  std::string_view count = {};  // how many there are; empty: the architecture has none
  std::string_view chosen = "num_experts_per_tok";
  std::string_view normalized = {};  // true: the weights of a token's experts sum to 1; empty: they do
  // Tensor names, as in DecoderNames; {} is the expert's number.
  std::string_view router = "mlp.gate";
  std::string_view gate = "mlp.experts.{}.gate_proj";
  std::string_view in = "mlp.experts.{}.up_proj";
  std::string_view out = "mlp.experts.{}.down_proj";
  // Full names, and the biases' with _bias, of tensors that hold these maps of all experts, [experts, in, out], the
  // columns of gate and in alternating; used if they are there. Empty: files have none.
  std::string_view stacked_gate_and_in = {};
  std::string_view stacked_out = {};

  bool any() const { return !count.empty(); }
};

struct DecoderArchitecture {
  std::string_view model_type;         // config.json's "model_type"
  std::string_view class_name;         // prefix of its classes in transformers: "Llama" of "LlamaForCausalLM"
  std::string_view prefix = "model.";  // of all tensors except `output`
  std::string_view base_prefix = {};   // the prefix in files that hold only a base model
  DecoderKeys keys = {};
  DecoderNames names = {};
  ExpertRow experts = {};
  PositionKind positions = PositionKind::kRotary;
  NormKind norm = NormKind::kRms;
  NormPlace norm_place = NormPlace::kBefore;
  bool norm_of_sum = false;  // embedding_norm applies to the sum of words and positions, else to words alone
  MatrixLayout layout = MatrixLayout::kOutIn;  // of the maps inside layers
  BiasRules biases = {};                       // likewise
  WindowRule window = WindowRule::kNone;
  BiasRule output_bias = BiasRule::kNever;  // for the logits
  QueryKeyValueOrder query_key_value_order = QueryKeyValueOrder::kSideBySide;
  bool head_norms = true;  // query_norm and key_norm apply to each head separately, else to all heads concatenated
  bool rotary_neighbors = false;    // numbers 2i and 2i + 1 are rotated together, else i and i + half
  bool parallel = false;            // both halves of a layer have the same input, if config.json does not set it
  bool shared_norm = false;         // and share a norm, if they do
  bool rotary_in_windows = false;   // only layers with a window rotate queries and keys
  bool scaled_alibi = false;        // ALiBi is rounded to bfloat16 and scaled like q k^T
  bool partial_rotary = false;      // config.json may limit rotation to a part of each head
  bool divided_scores = true;       // by the square root of the head width
  bool root_embedding = false;      // embeddings are multiplied by sqrt(hidden), if config.json does not set it
  bool root_logits = false;         // logits are divided by sqrt(hidden), if config.json does not set it
  bool gelu_is_tanh = false;        // the name "gelu" means its tanh approximation
  bool stated_rotary = false;       // config.json must have rotary settings: transformers' own are not the usual ones
  double gate_limit = 0.0;          // of both factors of a gated network (torch/transformer_layer.h); 0: none
  std::size_t position_offset = 0;  // rows of the position table before that of position 0
  // Defaults if config.json has none.
  double norm_eps = 1e-6;
  std::string_view activation = "silu";
  std::optional<std::int64_t> padding = {};  // the padding token, which is skipped when classifying a text
  std::size_t intermediate_factor = 0;       // times hidden; 0: the key must be present
  std::size_t window_size = 0;               // 0: no window
  std::size_t window_interval = 0;           // with WindowRule::kInterval
  std::size_t position_limit = 0;            // 0: the key must be present
  double score_width = 0.0;                  // with keys.score_width
  double logit_factor = 1.0;                 // with keys.logit_factor
  double score_cap = 0.0;                    // 0: none
  double logit_cap = 0.0;                    // 0: none
  double rotary_theta = 10000.0;
  std::size_t first_length = 0;  // training text length that overrides the rotary settings; 0: they give it
  double local_rotary_theta = 10000.0;
  double rotary_share = 1.0;     // of each head, with partial_rotary
  std::size_t rotary_width = 0;  // with keys.rotary_width
  bool tied = false;             // the output matrix is the word embedding
  std::span<const KeyAlias> aliases = {};
};

// Returns the row of a model type, or null.
const DecoderArchitecture* find_decoder_architecture(std::string_view model_type);
// "gpt2, llama, ...", for messages.
std::string decoder_architecture_list();

}  // namespace attnflow
