// Describes the differences between encoder architectures as data: names and a few switches.
//
// BERT, RoBERTa (with XLM-R, CamemBERT and data2vec), ERNIE, ELECTRA, DistilBERT and ALBERT share one computation.
// Embeddings of the token, its position and its segment are added and normalized. Every layer then mixes positions by
// self-attention and transforms each position by a two-layer feed-forward network, with a layer norm after each of the
// two residual additions. A head turns the last hidden states into logits.
// Megatron-BERT instead has GPT-2's blocks without the causal mask: a layer norm before self-attention and before the
// feed-forward network, none after the embeddings, and one after the last layer. ViT, MSN, DeiT and DINOv2 apply those
// blocks to the patches of an image. So do BEiT, which adds a number to every score for the distance between two
// patches, and CLIP's vision part, whose tokens are normalized before the first layer. ModernBERT has decoder blocks
// without the causal mask: rotary, gated, no biases. MPNet adds to every score a number for the distance between the
// two tokens; DeBERTa adds products of the query and the key with an embedding of that distance.
// One row of the table below holds all names and choices, so a new architecture of this family needs no new code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attnflow {

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
  kBefore,  // x = x + f(norm(x)), and a norm after the last layer
};

// How the matrix of y = x W^T + b, from `in` to `out` numbers, is stored.
enum class MatrixLayout { kOutIn, kInOut };

// Order of the rows in a combined map of queries, keys and values.
enum class QueryKeyValueOrder {
  kSideBySide,  // all queries, all keys, all values
  kByHead,      // for each key-value head: its queries, its key, its value
};

// Keys of config.json. Empty: the architecture has no such setting.
struct ConfigKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view intermediate = "intermediate_size";
  std::string_view activation = "hidden_act";
  std::string_view token_types = "type_vocab_size";
  std::string_view position_input = {};  // false: embeddings do not include the position
  std::string_view norm_eps = "layer_norm_eps";
  std::string_view embedding = {};   // width of the embeddings if it differs from the hidden size
  std::string_view groups = {};      // number of groups of layers that share weights
  std::string_view inner = {};       // layers inside a group
  std::string_view padding_id = {};  // positions count from this id + 1
  std::string_view buckets = {};     // of distances between tokens: Architecture::distance_bias
  std::string_view query_bias = {};  // false: the map has no bias; several maps may have the same key of config.json
  std::string_view key_bias = {};
  std::string_view value_bias = {};
  std::string_view patch_distances = {};  // true: LayerNames::patch_distances are present
  std::string_view layer_scale = {};      // 0: LayerNames::attention_scale and feed_forward_scale are absent
  std::string_view mlp_ratio = {};        // the intermediate size divided by the hidden size, if given that way
  std::string_view gated = {};            // true: a gated feed-forward network (SwiGLU)
  std::string_view registers = {};        // number of register tokens
  std::string_view pooling = {};          // input of a classification head: "cls" or "mean"
};

// Keys of config.json for rotary queries and keys (transformer_layer.h) and for layers whose tokens see only nearby
// tokens, with defaults. An image has rows and columns of patches as positions (TokenPlaces), and no windowed layers.
struct RotaryKeys {
  std::string_view theta = {};        // for layers whose tokens see all others
  std::string_view local_theta = {};  // for the other layers
  std::string_view window = {};       // tokens visible in those layers, half of them on either side
  std::string_view half_window = {};  // that half; takes precedence if given
  std::string_view interval = {};     // one layer in this many, starting with the first, sees all tokens
  double default_theta = 10000.0;
  double default_local_theta = 10000.0;
  std::size_t default_window = 0;
  std::size_t default_interval = 1;
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

// Embedding tensors under the base prefix, without ".weight" and ".bias". Empty: there is none.
struct EmbeddingNames {
  std::string_view word = "embeddings.word_embeddings";
  std::string_view position = "embeddings.position_embeddings";
  std::string_view token_type = "embeddings.token_type_embeddings";
  std::string_view norm = "embeddings.LayerNorm";
  std::string_view projection = {};  // from the embedding width to the hidden size
};

// How the position embedding is resampled to another grid: bicubic, without aligned corners, by the two sizes.
enum class PositionResampling {
  kBicubic,             // a = -0.75
  kBicubicAntialiased,  // a = -0.5, and a wider kernel when the grid shrinks
};

// The embeddings of an image model, in place of EmbeddingNames. Full tensor names under the base prefix, `patches` and
// `norm` without ".weight" and ".bias". Tokens are in the order of the fields. Empty: there is none.
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

// Tensors of one layer, under the base prefix and `prefix`: {0} is the layer's group or the layer, {1} its number in
// it.
struct LayerNames {
  std::string_view prefix = "encoder.layer.{0}.";
  // One map each, where {0} is q, k or v and {1} is query, key or value; without either, one combined map.
  std::string_view query_key_value = "attention.self.{1}";
  std::string_view query_bias = {};  // biases of its parts, full names; empty: it has its own bias, or none
  std::string_view value_bias = {};
  std::string_view attention_output = "attention.output.dense";
  std::string_view attention_norm = "attention.output.LayerNorm";
  std::string_view feed_forward_in = "intermediate.dense";
  std::string_view feed_forward_out = "output.dense";
  std::string_view feed_forward_norm = "output.LayerNorm";
  // Elementwise factors of each half-layer's output (layer scale). Full names; empty: there is none.
  std::string_view attention_scale = {};
  std::string_view feed_forward_scale = {};
  // Added to scores by the distance between patches (PatchDistances in encoder_positions.h). Full name; empty: none.
  std::string_view patch_distances = {};
  // For a gated network: act(a) * b, where [a; b] is the output of `gated_in`.
  std::string_view gated_in = {};
  std::string_view gate = {};  // if set, it gives a, and `gated_in` gives b
  std::string_view gated_out = {};
};

// Masked language model head: dense, activation, layer norm, decoder. Full names.
struct MaskedLmNames {
  std::string_view dense;
  std::string_view norm;
  std::string_view decoder;                   // its weight is the word embedding when it is not stored
  std::string_view bias;                      // the decoder's bias under its alternative name, with ".bias"
  std::optional<Activation> activation = {};  // absent: that of the layers
};

// The input of a classification head, from the last hidden states.
enum class ClassifierInput {
  kFirstToken,
  kFirstTokenAndPatches,  // the first token, concatenated with the mean of the patches
  kPatches,               // the mean of the patches
  kTokens,                // the mean of all tokens
};

// Classification head: dense, activation, norm if any, output. Full names. Without `dense`, the output alone. The heads
// `token_output`, a class for each token, and `answer_output`, where an answer begins and ends, are also just an
// output, unless `all_of_tokens` is set.
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
  std::string_view prefix;  // of the base model's tensors in files that also hold a head; absent from files without one
  ConfigKeys keys = {};
  EmbeddingNames embeddings = {};
  LayerNames layer = {};
  NormPlace norm_place = NormPlace::kAfter;
  bool first_norm = true;  // the first layer has a norm before self-attention; with NormPlace::kBefore
  bool biases = true;      // of maps and norms, except for the last map of a head
  bool key_bias = true;    // if ConfigKeys::key_bias is absent
  QueryKeyValueOrder query_key_value_order = QueryKeyValueOrder::kSideBySide;
  std::optional<Activation> gated_activation = {};  // for a gated network, overriding config.json; absent: no override
  bool gated = false;                // the feed-forward network is gated; otherwise as ConfigKeys::gated says
  std::string_view final_norm = {};  // under the base prefix; with NormPlace::kBefore
  // Added to every layer's scores: a number for each distance bucket (distance_bucket.h) and each head.
  std::string_view distance_bias = {};          // under the base prefix
  std::optional<DistanceNames> distances = {};  // absent: scores use no embeddings of distances
  std::optional<std::int64_t> padding_id = {};  // in place of ConfigKeys::padding_id: the same in all models
  MaskedLmNames masked_lm = {};
  ClassifierNames classifier = {};
  std::string_view default_activation = "gelu";  // if config.json has none
  double default_norm_eps = 1e-12;               // likewise
  std::size_t default_token_types = 2;           // likewise; 0: there may be none
  // For a model of several parts: the key in config.json of the part to run, and that part's own "model_type".
  std::string_view part = {};
  std::string_view part_type = {};
  std::string_view defaults = {};            // settings that config.json may leave out: a JSON object
  std::span<const FixedSetting> fixed = {};  // settings of which only one value is supported
  std::span<const KeyAlias> aliases = {};
  std::optional<RotaryKeys> rotary = {};  // absent: no rotary embedding
  std::optional<ImageNames> image = {};   // set if the model takes images; absent: text

  // Whether padding is skipped when positions are counted.
  bool skips_padding() const { return padding_id.has_value() || !keys.padding_id.empty(); }
};

// Returns the row of a model type, or null.
const Architecture* find_architecture(std::string_view model_type);
// "bert, roberta, ...", for messages.
std::string architecture_list();

// Returns the activation that transformers calls `name` ("gelu", "gelu_new", "swish", ...), or nothing.
std::optional<Activation> find_activation(std::string_view name);
std::string activation_list();

}  // namespace attnflow
