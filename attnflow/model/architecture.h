// Describes every model family as data: one row of names and a few switches for each.
//
// Problem. Families of Transformers compute nearly the same, but spell the settings of config.json and the tensors of
// the files differently, and vary where norms stand, which maps have biases, how positions come in and who sees whom.
//
// Method. All of them are stacks of one layer (torch/transformer_layer.h) between embeddings and a head, so one kind of
// row describes all: names of settings (ConfigKeys), names of tensors (TensorNames), and how the layer's parts are put
// together. Defaults are Llama's, and a row states what differs. An empty name means that the family has no such part
// or setting. model_config.h reads config.json by a row, model_weights.h finds the weights by it, and a relative that
// varies only what rows can say needs no new code.
//
// Encoders. Every token sees all others. BERT, RoBERTa (with XLM-R, CamemBERT and data2vec), ERNIE, ELECTRA, DistilBERT
// and ALBERT add the embeddings of the token, its position and its segment, and have a layer norm after each of a
// layer's two residual additions. Megatron-BERT instead has GPT-2's blocks without the causal mask: a layer norm before
// self-attention and before the feed-forward network, none after the embeddings, and one after the last layer. ViT,
// MSN, DeiT and DINOv2 apply those blocks to the patches of an image. So do BEiT, which adds a number to every score
// for the distance between two patches, and CLIP's vision part, whose tokens are normalized before the first layer.
// ModernBERT has decoder blocks without the causal mask: rotary, gated, no biases. MPNet adds to every score a number
// for the distance between the two tokens; DeBERTa adds products of the query and the key with an embedding of that
// distance.
//
// Decoders. A position sees itself and those before it, norms stand before the blocks, and one matrix gives the logits
// of the next token. GPT-2 learns a vector for each position and adds it to the embedding. Llama and its relatives
// rotate queries and keys by angles that grow with the position (rotary embedding), omit the mean from the norms and
// drop most biases, gate the feed-forward network, and let groups of heads share keys and values. In GPT-J, GPT-NeoX
// and Phi both halves of a layer have the same input; Gemma 2 and OLMo 2 normalize the output of each half. In a
// mixture of experts (Mixtral) a layer has many feed-forward networks, of which each token passes a few. In gpt-oss
// each head has a learned sink, and gates have a limit.
//
// Encoder-decoders. The encoder reads a source text. The decoder writes a target text: in each of its layers a token
// attends to the target tokens before it, then to the encoder's output for the source. Each half has a row; both embed
// the same words. T5 has RMS norms before its blocks, no biases, and scores that depend on the distance between two
// tokens. BART has learned or sinusoidal positions, and layer norms after its blocks or, in its relatives, before them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attnflow {

enum class ArchitectureKind { kEncoder, kDecoder, kEncoderDecoder };

enum class Activation {
  kGelu,      // x Phi(x), with the error function
  kGeluTanh,  // its tanh approximation ("gelu_new" and others)
  kRelu,
  kSilu,       // x sigmoid(x)
  kQuickGelu,  // x sigmoid(1.702 x)
  kTanh,
};

// Placement of a layer's norms. x is the residual stream, f self-attention or the feed-forward network.
enum class NormPlace {
  kAfter,   // x = norm(x + f(x))
  kBefore,  // x = x + f(norm(x)), and usually a norm after the last layer
};

enum class NormKind {
  kLayer,         // (x - mean) / sqrt(variance + eps) * scale + shift
  kLayerNoShift,  // the same without a shift
  kRms,           // x / sqrt(mean of squares + eps) * scale
  kRmsPlusOne,    // the same, times 1 + scale
};

// How the matrix of y = x W^T + b, from `in` to `out` numbers, is stored.
enum class MatrixLayout { kOutIn, kInOut };

// Order of the rows in a combined map of queries, keys and values.
enum class QueryKeyValueOrder {
  kSideBySide,  // all queries, all keys, all values
  kByHead,      // for each key-value head: its queries, its key, its value
};

// How a position comes in. Scores may depend on distances as well (TensorNames::distance and others).
enum class PositionKind {
  kNone,
  kLearnt,  // a row of a table, added to the embedding
  kRotary,  // queries and keys are rotated by position x frequency
  kAlibi,   // scores grow with the key's position, with a slope for each head
  // d numbers added to the embedding: sin(p f_i), then cos(p f_i), for position p. With h = d / 2,
  kSinusoidal,        // f_i = 10000^(-i / h)
  kSinusoidalClosed,  // f_i = 10000^(-i / (h - 1)): the last is 1 / 10000 (M2M100)
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
  std::optional<BiasRule> key = {};  // of the map to keys; absent: query_key_value
};
inline constexpr BiasRules kAllBiases = {BiasRule::kAlways, BiasRule::kAlways, BiasRule::kAlways};
inline constexpr BiasRules kStatedBiases = {BiasRule::kSetting, BiasRule::kSetting, BiasRule::kSetting};
inline constexpr BiasRules kStatedAttentionBiases = {BiasRule::kSetting, BiasRule::kSetting, BiasRule::kNever};

// Which layers see only nearby tokens: in decoders the last `window`, in encoders half as many on either side.
enum class WindowRule {
  kNone,         // none; a decoder's config.json that asks for windows is rejected
  kAll,          // all, if the window is set, regardless of layer_types
  kAllOrNamed,   // those that layer_types names; all if it is absent
  kSwitched,     // none unless use_sliding_window is true; then as layer_types says, or from max_window_layers on
  kAllSwitched,  // none unless use_sliding_window is true; then all, if the window is set
  kInterval,     // those that layer_types names, else all but the last layer in each interval
  kAfterFirst,   // those that layer_types names, else all but the first layer in each interval
  kNamed,        // those that attention_layers or attention_types name "local" (GPT-Neo)
};

constexpr bool is_switched(WindowRule rule) {
  return rule == WindowRule::kSwitched || rule == WindowRule::kAllSwitched;
}

// Keys of config.json. A key with two spellings is written "hidden_size|n_embed".
struct ConfigKeys {
  std::string_view hidden = "hidden_size";
  std::string_view embedding = {};  // width of the embeddings if it differs from the hidden size
  std::string_view layers = "num_hidden_layers";
  std::string_view groups = {};  // number of groups of layers that share weights
  std::string_view inner = {};   // layers inside a group
  std::string_view heads = "num_attention_heads";
  std::string_view key_value_heads = "num_key_value_heads";
  std::string_view multi_query = {};  // true, or absent: all heads share one key and value
  // true: key_value_heads gives their number, whatever multi_query says, and a layer's halves have the same input.
  std::string_view grouped = {};
  std::string_view head_width = "head_dim";
  std::string_view intermediate = "intermediate_size";
  std::string_view mlp_ratio = {};  // the intermediate size divided by the hidden size, if given that way
  std::string_view positions = "max_position_embeddings";
  std::string_view position_input = {};  // false: embeddings do not include the position
  std::string_view padding_id = {};      // positions count from this id + 1, in place of position_offset
  std::string_view token_types = {};
  std::string_view registers = {};  // number of register tokens of an image
  std::string_view activation = "hidden_act";
  // Replaces `activation`: "relu", or "gated-relu" for a gated network. "gated-gelu" is the tanh approximation. If
  // present, `gated` below decides whether the network is gated, and inner_activation which activation it has.
  std::string_view gated_activation = {};
  std::string_view gated = {};             // true: a gated network; empty: gated if the names have a gate
  std::string_view inner_activation = {};  // the activation's name alone, without "gated-"
  std::string_view norm_eps = "rms_norm_eps";
  std::string_view attention_bias = "attention_bias";  // with BiasRule::kSetting
  std::string_view query_bias = {};                    // in place of attention_bias
  std::string_view key_bias = {};
  std::string_view value_bias = {};
  std::string_view feed_forward_bias = "mlp_bias";
  std::string_view layer_scale = {};       // 0: TensorNames::attention_scale and feed_forward_scale are absent
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
  std::string_view half_window = {};  // half of it; takes precedence if given
  std::string_view window_interval = {};
  std::string_view rotary_theta = "rope_theta";  // empty: config.json cannot change the angles
  std::string_view rotary_share = "partial_rotary_factor";
  std::string_view rotary_width = {};        // instead of a share
  std::string_view local_rotary_theta = {};  // for layers with a window
  // Which layers rotate queries and keys, as a list of 0 and 1; without it, all but the last layer in each interval.
  std::string_view rotary_layers = {};
  std::string_view rotary_interval = {};
  std::string_view buckets = {};          // of distances between tokens, with TensorNames::distance
  std::string_view farthest_bucket = {};  // the distance at which the last of them begins; empty: both are fixed
  std::string_view patch_distances = {};  // true: TensorNames::patch_distances are present
  std::string_view pooling = {};          // input of a classification head: "cls" or "mean"
};

// Distance embeddings (DistanceTerms, transformer_layer.h): a tensor under the base prefix, a norm, config.json's keys.
struct DistanceNames {
  std::string_view table = "encoder.rel_embeddings";
  std::string_view norm = "encoder.LayerNorm";  // empty: none
  // The number of buckets on either side. If it is not above 0, each distance up to `farthest` is a bucket.
  std::string_view buckets = "position_buckets";
  // The farthest distance; if it is not above 0, max_position_embeddings is used instead.
  std::string_view farthest = "max_relative_positions";
  // A layer's maps from these embeddings to keys and to queries. Empty: those of the tokens.
  std::string_view key = {};
  std::string_view query = {};
  bool key_bias = false;
  std::string_view shared = {};        // true: the maps are those of the tokens; empty: they are never shared
  std::string_view norm_setting = {};  // "layer_norm", or "none" or absent: no norm
};

// A setting of config.json that transformers reads and that must have this value, as JSON, if it is present.
struct FixedSetting {
  std::string_view key;
  std::string_view value;
  bool stated = false;  // it must be present
};

// An alternative name that transformers accepts for a setting. If config.json has both, the alias takes precedence.
struct KeyAlias {
  std::string_view alias;
  std::string_view key;
};

// How the position embedding is resampled to another grid: bicubic, without aligned corners, by the two sizes.
enum class PositionResampling {
  kBicubic,             // a = -0.75
  kBicubicAntialiased,  // a = -0.5, and a wider kernel when the grid shrinks
};

// The embeddings of an image model. Full tensor names under the base prefix, `patches` and `norm` without ".weight" and
// ".bias". Tokens are in the order of the fields.
struct ImageNames {
  std::string_view class_token = "embeddings.cls_token";
  std::string_view distillation_token = {};
  std::string_view register_tokens = {};  // these have no position
  std::string_view patches = "embeddings.patch_embeddings.projection";
  std::string_view position = "embeddings.position_embeddings";
  bool batched = true;         // the class token and positions are stored with a batch dimension: [1, count, hidden]
  bool patch_bias = true;      // the map from a patch to its token has a bias
  std::string_view norm = {};  // of all tokens
  PositionResampling resampling = PositionResampling::kBicubic;
};

// Tensor names without ".weight" and ".bias": under the base prefix, those of a layer under `layer` as well, unless
// they are called full.
struct TensorNames {
  std::string_view word = "embed_tokens";
  // Full names under which files may store the same table instead. Messages about a missing table use shared_word.
  std::string_view shared_word = {};
  std::string_view other_word = {};
  // The same, tried last and only if config.json ties the map to logits to this table, along with `output`,
  // output_before and a masked language model's map: such a file may hold the table only as that map.
  std::string_view tied_word = {};
  std::string_view position = {};  // with PositionKind::kLearnt
  std::string_view token_type = {};
  std::string_view embedding_norm = {};
  std::string_view embedding_projection = {};  // from the embedding width to the hidden size
  // A number for each distance bucket (distance_bucket.h) and each head, added to every layer's scores.
  std::string_view distance = {};
  std::string_view layer = "layers.{0}.";  // {0} is the number of the layer, or of its group; {1} its number in that
  std::string_view attention_norm = "input_layernorm";
  // One map each, where {0} is q, k or v and {1} is query, key or value; without either, one combined map.
  std::string_view query_key_value = "self_attn.{0}_proj";
  std::string_view query_bias = {};  // biases of its parts, complete names; empty: it has its own bias, or none
  std::string_view value_bias = {};
  std::string_view query_norm = {};  // RMS norm
  std::string_view key_norm = {};
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view attention_after = {};  // norm of the attention output
  // Complete names: elementwise factors of each half-layer's output (layer scale), numbers added to scores by the
  // distance between patches (PatchDistances in encoder_positions.h), and scores that belong to no token.
  std::string_view attention_scale = {};
  std::string_view feed_forward_scale = {};
  std::string_view patch_distances = {};
  std::string_view sinks = {};
  // Attention to an encoder's output, between self-attention and the feed-forward network.
  std::string_view cross_norm = {};
  std::string_view cross_query_key_value = {};
  std::string_view cross_output = {};
  // Unused in layers whose halves share a norm, which is the attention norm.
  std::string_view feed_forward_norm = "post_attention_layernorm";
  // Replace attention_norm and feed_forward_norm where the halves have one input but separate norms, if not empty.
  std::string_view parallel_attention_norm = {};
  std::string_view parallel_feed_forward_norm = {};
  std::string_view gate = "mlp.gate_proj";  // empty: out(activation(in(x))); else out(activation(gate(x)) * in(x))
  std::string_view gate_and_in = {};        // one combined map, the gate first
  std::string_view feed_forward_in = "mlp.up_proj";
  std::string_view feed_forward_out = "mlp.down_proj";
  std::string_view ungated_in = {};  // used instead if config.json says that there is no gate
  std::string_view ungated_out = {};
  std::string_view feed_forward_after = {};
  std::string_view final_norm = "norm";
  std::string_view output = "lm_head";  // of a decoder: a full name; empty: there are no logits
  std::string_view output_before = {};  // the name in older files
  std::string_view logit_bias = {};     // a full and complete name
};

// A mixture of experts in place of each layer's feed-forward network (torch/transformer_layer.h).
struct ExpertRow {
  // Keys of config.json. The width of an expert is ConfigKeys::intermediate.
  std::string_view count = {};  // how many there are; empty: the architecture has none
  std::string_view chosen = "num_experts_per_tok";
  std::string_view normalized = {};  // true: the weights of a token's experts sum to 1; empty: they do
  // Tensor names, as in TensorNames; {} is the expert's number.
  std::string_view router = "mlp.gate";
  std::string_view gate = "mlp.experts.{}.gate_proj";
  std::string_view in = "mlp.experts.{}.up_proj";
  std::string_view out = "mlp.experts.{}.down_proj";
  // Complete names, and the biases' with _bias, of tensors that hold these maps of all experts, [experts, in, out], the
  // columns of gate and in alternating; used if they are there. Empty: files have none.
  std::string_view stacked_gate_and_in = {};
  std::string_view stacked_out = {};

  bool any() const { return !count.empty(); }
};

// Masked language model head: dense, activation, layer norm, decoder. Full names.
struct MaskedLmNames {
  std::string_view dense;
  std::string_view norm;
  std::string_view decoder;                   // its weight is the word embedding when it is not stored
  std::string_view bias;                      // the decoder's bias under its alternative name, with ".bias"
  std::optional<Activation> activation = {};  // absent: that of the layers
};

// The input of an encoder's classification head, from the last hidden states.
enum class ClassifierInput {
  kFirstToken,
  kFirstTokenAndPatches,  // the first token, concatenated with the mean of the patches
  kPatches,               // the mean of the patches
  kTokens,                // the mean of all tokens
};

// An encoder's classification head: dense, activation, norm if any, output. Full names. Without `dense`, the output
// alone. The heads `token_output`, a class for each token, and `answer_output`, where an answer begins and ends, are
// also just an output, unless `all_of_tokens` is set.
struct ClassifierNames {
  std::string_view dense;
  Activation activation = Activation::kTanh;
  std::string_view norm = {};
  std::string_view output = "classifier";
  ClassifierInput input = ClassifierInput::kFirstToken;
  std::string_view task = "ForSequenceClassification";  // the suffix of the class name in config.json
  std::string_view token_task = "ForTokenClassification";
  std::string_view token_output = "classifier";
  std::string_view answer_task = "ForQuestionAnswering";
  std::string_view answer_output = "qa_outputs";
  bool all_of_tokens = false;  // token heads have the same dense, activation and norm
  // Two heads, for the first and the second token, whose logits are averaged. Empty: there are none.
  std::string_view teacher_task = {};
  std::string_view teacher_first = {};
  std::string_view teacher_second = {};
};

struct Architecture {
  std::string_view model_type;  // config.json's "model_type"
  std::string_view class_name;  // prefix of its classes in transformers: "Bert" of "BertModel" and "BertForMaskedLM"
  ArchitectureKind kind = ArchitectureKind::kDecoder;
  std::string_view prefix = "model.";  // of all tensors of the base model, in files that also hold a head
  std::string_view base_prefix = {};   // the prefix in files that hold only a base model
  ConfigKeys keys = {};
  TensorNames names = {};
  ExpertRow experts = {};
  MaskedLmNames masked_lm = {};
  ClassifierNames classifier = {};
  PositionKind positions = PositionKind::kRotary;
  NormKind norm = NormKind::kRms;
  NormPlace norm_place = NormPlace::kBefore;
  bool first_norm = true;    // the first layer has a norm before self-attention; with NormPlace::kBefore
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
  std::optional<Activation> gated_activation = {};  // of a gated network, whatever config.json says
  std::optional<std::int64_t> padding_id = {};      // in place of ConfigKeys::padding_id: the same in all models
  // Defaults if config.json has none.
  double norm_eps = 1e-6;
  std::string_view activation = "silu";
  std::optional<std::int64_t> padding = {};  // the padding token, which a decoder skips when classifying a text
  std::size_t intermediate_factor = 0;       // times hidden; 0: the key must be present
  std::size_t token_types = 0;               // 0: there may be none
  std::size_t window_size = 0;               // 0: no window
  std::size_t window_interval = 0;           // with WindowRule::kInterval and kAfterFirst
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
  bool tied = false;             // the map to logits is the word embedding, unless another is stored
  // For a model of several parts: the key in config.json of the part to run, and that part's own "model_type".
  std::string_view part = {};
  std::string_view part_type = {};
  std::string_view defaults = {};            // settings that config.json may leave out: a JSON object
  std::span<const FixedSetting> fixed = {};  // settings of which only one value is supported
  std::span<const KeyAlias> aliases = {};
  std::optional<DistanceNames> distances = {};  // absent: scores use no embeddings of distances
  std::optional<ImageNames> image = {};         // set if the model takes images; absent: text

  bool is_encoder() const { return kind == ArchitectureKind::kEncoder; }
  // Whether padding is skipped when positions are counted.
  bool skips_padding() const { return padding_id.has_value() || !keys.padding_id.empty(); }
};

// Returns the row of a model type, or null; of an encoder-decoder, that of its decoder.
const Architecture* find_architecture(std::string_view model_type);
// Returns the row of an encoder-decoder's encoder. `decoder` must be a row of find_architecture().
const Architecture& source_half(const Architecture& decoder);
// "bert, roberta, ...", for messages.
std::string architecture_list(ArchitectureKind kind);

// Returns the activation that transformers calls `name` ("gelu", "gelu_new", "swish", ...), or nothing.
std::optional<Activation> find_activation(std::string_view name);
std::string activation_list();

}  // namespace attnflow
