// What distinguishes one decoder architecture from another: names and a few switches, as data.
//
// A decoder's layer adds to the residual stream x first self-attention of a norm of x, in which a position sees itself
// and those before it, then a feed-forward net of a norm of x; a norm after the last layer and one matrix give the
// logits of the next token. GPT-2 learns a vector for each position and adds it to the embedding. Llama and its
// relatives turn queries and keys by angles that grow with the position (rotary embedding), drop the mean from the
// norms and most biases, gate the feed-forward net, and let groups of heads share keys and values. In GPT-J, GPT-NeoX
// and Phi both halves of a layer are given the same; Gemma 2 and OLMo 2 norm what each adds. One row of the table holds
// all of that and how config.json and the weights spell it, so a relative is a new row and no new code.
#ifndef ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_
#define ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_

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
  kRotary,  // queries and keys turned by position x frequency
  kAlibi,   // scores grow with the key's position, by a slope of the head
  // d numbers added to the embedding: sin(p f_i), then cos(p f_i), of the position p. With h = d / 2,
  kSinusoidal,        // f_i = 10000^(-i / h)
  kSinusoidalClosed,  // f_i = 10000^(-i / (h - 1)): the last is 1 / 10000 (M2M100)
  kDistance,          // scores get a number that is learnt for a head and a bucket of distances (distance_bucket.h)
};

enum class NormKind {
  kLayer,         // (x - mean) / sqrt(variance + eps) * scale + shift
  kLayerNoShift,  // the same without a shift
  kRms,           // x / sqrt(mean of squares + eps) * scale
  kRmsPlusOne,    // the same, times 1 + scale
};

// Which maps have a bias.
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
  kNone,        // none; a config.json that asks for some is refused
  kAll,         // all, where sliding_window is set, whatever layer_types says
  kAllOrNamed,  // those that layer_types names, else all
  kSwitched,    // where use_sliding_window is true: those that layer_types names, else from max_window_layers on
  kInterval,    // those that layer_types names, else all but every so many-th
  kNamed,       // those that attention_layers or attention_types name "local" (GPT-Neo)
};

// Keys of config.json. Empty: the architecture has no such setting.
struct DecoderKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view key_value_heads = "num_key_value_heads";
  std::string_view multi_query = {};  // true, or absent: all heads share one key and value
  // true: key_value_heads says how many there are, whatever multi_query says, and a layer's halves are given the same.
  std::string_view grouped = {};
  std::string_view head_width = "head_dim";
  std::string_view intermediate = "intermediate_size";
  std::string_view positions = "max_position_embeddings";
  std::string_view padding_id = {};  // positions count from this id + 1, in place of position_offset
  std::string_view activation = "hidden_act";
  std::string_view gated_activation = {};  // in its place: "gelu", or "gated-gelu" of a net with a gate
  // Each of these holds over what that says.
  std::string_view gated = {};             // true: a net with a gate
  std::string_view inner_activation = {};  // "gelu", in a net with a gate as well
  std::string_view norm_eps = "rms_norm_eps";
  std::string_view attention_bias = "attention_bias";  // with BiasRule::kSetting
  std::string_view feed_forward_bias = "mlp_bias";
  std::string_view embedding_factor = {};  // of embeddings
  std::string_view root_embedding = {};    // true: embeddings are multiplied by sqrt(hidden)
  std::string_view score_factor = {};      // of q k^T, in place of 1 / sqrt(head width)
  std::string_view residual_factor = {};   // of what each half of a layer adds
  std::string_view logit_factor = {};
  std::string_view logit_divisor = {};
  std::string_view root_logits = {};  // true: logits are divided by sqrt(hidden)
  std::string_view score_width = {};  // scores are divided by its root
  std::string_view score_cap = {};
  std::string_view logit_cap = {};
  std::string_view parallel = {};        // true: a layer's halves are given the same
  std::string_view parallel_norms = {};  // with `grouped`: 1 where they share a norm, 2 (or absent) where they do not
  std::string_view alibi = {};           // true: positions come in by PositionKind::kAlibi
  std::string_view window = "sliding_window";
  std::string_view window_interval = {};
  std::string_view rotary_theta = "rope_theta";  // empty: config.json cannot change the angles at all
  std::string_view rotary_share = "partial_rotary_factor";
  std::string_view rotary_width = {};        // in place of a share
  std::string_view local_rotary_theta = {};  // of layers with a window
  // Which layers turn queries and keys, a list of 0 and 1; without it all but every so many-th.
  std::string_view rotary_layers = {};
  std::string_view rotary_interval = {};
  std::string_view buckets = {};          // with PositionKind::kDistance
  std::string_view farthest_bucket = {};  // the distance that the last of them begins with
};

// Tensors without ".weight" and ".bias", those of a layer below `layer`, in which {} is the layer's number.
struct DecoderNames {
  std::string_view word = "embed_tokens";
  // Full names under which files may have the same table instead, and how messages call it.
  std::string_view shared_word = {};
  std::string_view other_word = {};
  std::string_view tied_word =
      {};  // likewise where logits have the same table, and so have `output` and its older name
  std::string_view embedding_norm = {};
  std::string_view position = {};  // with PositionKind::kLearnt
  std::string_view distance = {};  // with PositionKind::kDistance
  std::string_view layer = "layers.{}.";
  std::string_view attention_norm = "input_layernorm";  // empty: none
  // A map for each of the three, where {0} is q, k or v; without it, one map for all.
  std::string_view query_key_value = "self_attn.{0}_proj";
  std::string_view query_norm = {};  // RMS norm; empty: none
  std::string_view key_norm = {};
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view attention_after = {};  // norm of what attention adds; empty: none
  // Attention to an encoder's output, between self-attention and the feed-forward net; empty: none.
  std::string_view cross_norm = {};
  std::string_view cross_query_key_value = {};
  std::string_view cross_output = {};
  std::string_view feed_forward_norm = "post_attention_layernorm";  // empty: none; in parallel, that of attention
  // Both in layers whose halves are given the same and have norms of their own, where their names are others.
  std::string_view parallel_attention_norm = {};
  std::string_view parallel_feed_forward_norm = {};
  std::string_view gate = "mlp.gate_proj";  // empty: out(activation(in(x))); else out(activation(gate(x)) * in(x))
  std::string_view gate_and_in = {};        // one map for both, the gate first
  std::string_view feed_forward_in = "mlp.up_proj";
  std::string_view ungated_in = {};  // in its place where config.json says that there is no gate
  std::string_view feed_forward_out = "mlp.down_proj";
  std::string_view feed_forward_after = {};
  std::string_view final_norm = "norm";  // empty: none
  std::string_view output = "lm_head";   // a full name; empty: there are no logits
  std::string_view output_before = {};   // that of older files
  std::string_view logit_bias = {};      // a full name, whole; empty: none
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
  NormPlace norm_place = NormPlace::kBefore;
  bool norm_of_sum = false;                    // embedding_norm norms words and positions together, else words alone
  MatrixLayout layout = MatrixLayout::kOutIn;  // of the maps inside layers
  BiasRules biases = {};                       // likewise
  WindowRule window = WindowRule::kNone;
  BiasRule output_bias = BiasRule::kNever;  // of the logits
  QueryKeyValueOrder query_key_value_order = QueryKeyValueOrder::kSideBySide;
  bool head_norms = true;           // query_norm and key_norm norm each head by itself; else all side by side
  bool rotary_neighbors = false;    // numbers 2i and 2i + 1 are turned together, else i and i + half
  bool parallel = false;            // a layer's halves are given the same, where config.json does not say
  bool shared_norm = false;         // and normed the same, when they are
  bool rotary_in_windows = false;   // only layers with a window turn queries and keys
  bool scaled_alibi = false;        // ALiBi is rounded to bfloat16, and scaled as q k^T is
  bool partial_rotary = false;      // config.json may say that a part of each head is turned
  bool divided_scores = true;       // by the root of the head width
  bool root_embedding = false;      // embeddings are multiplied by sqrt(hidden), where config.json does not say
  bool root_logits = false;         // logits are divided by sqrt(hidden), where config.json does not say
  bool gelu_is_tanh = false;        // the name "gelu" means its tanh approximation
  std::size_t position_offset = 0;  // rows of the table of positions before that of position 0
  // Where config.json states none.
  double norm_eps = 1e-6;
  std::string_view activation = "silu";
  std::optional<std::int64_t> padding = {};  // the token that is none of a text that is classified
  std::size_t intermediate_factor = 0;       // times hidden; 0: the key must be there
  std::size_t window_size = 0;               // 0: no window
  std::size_t window_interval = 0;           // with WindowRule::kInterval
  std::size_t position_limit = 0;            // 0: the key must be there
  double score_width = 0.0;                  // with keys.score_width
  double logit_factor = 1.0;                 // with keys.logit_factor
  double score_cap = 0.0;                    // 0: none
  double logit_cap = 0.0;                    // 0: none
  double rotary_theta = 10000.0;
  std::size_t first_length = 0;  // of the texts of the first training, whatever the rotary settings say; 0: they say it
  double local_rotary_theta = 10000.0;
  double rotary_share = 1.0;     // of each head, with partial_rotary
  std::size_t rotary_width = 0;  // with keys.rotary_width
  bool tied = false;             // the output matrix is the word embedding
  std::span<const KeyAlias> aliases = {};
};

// The row of a model type, or null.
const DecoderArchitecture* find_decoder_architecture(std::string_view model_type);
// "gpt2, llama, ...", for messages.
std::string decoder_architecture_list();

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_ARCHITECTURE_H_
