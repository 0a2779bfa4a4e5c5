// What distinguishes one encoder architecture from another: names and a few switches, as data.
//
// BERT, RoBERTa (with XLM-R, CamemBERT and data2vec), ERNIE, ELECTRA, DistilBERT and ALBERT are one computation.
// Embeddings of the token, its position and its segment are added and normalised; every layer then mixes positions by
// self-attention and transforms each position by a two-layer feed-forward net, with a layer norm after each of the two
// residual additions; a head turns the last hidden states into logits. Megatron-BERT has GPT-2's blocks instead,
// without the causal mask: a layer norm before self-attention and before the feed-forward net, none after the
// embeddings, and one after the last layer. ViT, MSN, DeiT and DINOv2 are those blocks over the patches of a picture.
// So is BEiT, which adds to every score a number for how far apart two patches stand, and the part of CLIP that sees
// pictures, whose tokens are normalised before the first layer.
// ModernBERT's blocks are those of decoders, without the causal mask: rotary, gated, no biases.
// MPNet adds to every score a number that depends on how far apart the two tokens stand; DeBERTa adds what query and
// key make of an embedding of that distance.
// What else differs is how config.json and the weights spell things, and a handful of choices. One row of the table
// below holds all of that, so a new architecture of this family is a new row and no new code.
#ifndef ATTNFLOW_MODEL_ARCHITECTURE_H_
#define ATTNFLOW_MODEL_ARCHITECTURE_H_

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

// Where the layer norms of a layer stand. x is the residual stream, f self-attention or the feed-forward net.
enum class NormPlace {
  kAfter,   // x = norm(x + f(x))
  kBefore,  // x = x + f(norm(x)), and a norm after the last layer
};

// How the matrix of y = x W^T + b from `in` to `out` numbers is stored.
enum class MatrixLayout { kOutIn, kInOut };

// How the rows of a common map of queries, keys and values stand.
enum class QueryKeyValueOrder {
  kSideBySide,  // all queries, all keys, all values
  kByHead,      // for each key-value head: the queries that use it, its key, its value
};

// Keys of config.json. Empty: the architecture has no such setting.
struct ConfigKeys {
  std::string_view hidden = "hidden_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view intermediate = "intermediate_size";
  std::string_view activation = "hidden_act";
  std::string_view token_types = "type_vocab_size";
  std::string_view position_input = {};  // false: embeddings say nothing of the position
  std::string_view norm_eps = "layer_norm_eps";
  std::string_view embedding = {};   // width of the embeddings where it differs from the hidden size
  std::string_view groups = {};      // number of groups of layers that share weights
  std::string_view inner = {};       // layers inside a group
  std::string_view padding_id = {};  // positions count from this id + 1
  std::string_view buckets = {};     // of distances between tokens: Architecture::distance_bias
  std::string_view query_bias = {};  // false: the map has no bias; one key may be that of several
  std::string_view key_bias = {};
  std::string_view value_bias = {};
  std::string_view patch_distances = {};  // true: LayerNames::patch_distances are there
  std::string_view layer_scale = {};      // 0: LayerNames::attention_scale and feed_forward_scale are not there
  std::string_view mlp_ratio = {};        // the intermediate size divided by the hidden size, where it is stated so
  std::string_view gated = {};            // true: a gated feed-forward net (SwiGLU)
  std::string_view registers = {};        // number of register tokens
  std::string_view pooling = {};          // what a classification head reads: "cls" or "mean"
};

// Queries and keys that are turned by their positions (transformer_layer.h), and layers whose tokens see no others than
// those near them. Keys of config.json, and what holds where they are absent. Of a picture the patches' rows and
// columns are positions (TokenPlaces), and there are no such layers.
struct RotaryKeys {
  std::string_view theta = {};        // of layers whose tokens see all others
  std::string_view local_theta = {};  // of the others
  std::string_view window = {};       // tokens that are seen there, half of them to either side
  std::string_view half_window = {};  // that half; where it is stated, it holds
  std::string_view interval = {};     // of so many layers the first sees all
  double default_theta = 10000.0;
  double default_local_theta = 10000.0;
  std::size_t default_window = 0;
  std::size_t default_interval = 1;
};

// Distances between tokens as embeddings that queries and keys meet (DistanceTerms in transformer_layer.h). A tensor
// below the base prefix, a norm, and keys of config.json.
struct DistanceNames {
  std::string_view table = "encoder.rel_embeddings";
  std::string_view norm = "encoder.LayerNorm";           // empty: none
  std::string_view buckets = "position_buckets";         // on either side; where it is not above 0, all distances up to
  std::string_view farthest = "max_relative_positions";  // this one; where that is not above 0, max_position_embeddings
  // Maps of a layer from these embeddings to keys and to queries. Empty: those of the tokens.
  std::string_view key = {};
  std::string_view query = {};
  bool key_bias = false;
  std::string_view shared = {};        // true: the maps are those of the tokens; empty: they never are
  std::string_view norm_setting = {};  // "layer_norm", or "none", as where it is absent: there is no norm
};

// A setting of config.json that transformers reads and that has to have this value, JSON, where it is there.
struct FixedSetting {
  std::string_view key;
  std::string_view value;
  bool stated = false;  // it has to be there
};

// Another name under which transformers takes a setting. Where both stand in config.json, this one holds.
struct KeyAlias {
  std::string_view alias;
  std::string_view key;
};

// Tensors of the embeddings, below the base prefix, without ".weight" and ".bias". Empty: there is none.
struct EmbeddingNames {
  std::string_view word = "embeddings.word_embeddings";
  std::string_view position = "embeddings.position_embeddings";
  std::string_view token_type = "embeddings.token_type_embeddings";
  std::string_view norm = "embeddings.LayerNorm";
  std::string_view projection = {};  // from the embedding width to the hidden size
};

// How the position embedding of the training pictures' grid becomes that of another grid: bicubic, corners not aligned,
// by the two sizes.
enum class PositionResampling {
  kBicubic,             // a = -0.75
  kBicubicAntialiased,  // a = -0.5, and a wider kernel where the grid gets smaller
};

// The embeddings of a model of pictures, in the place of EmbeddingNames. Full names of tensors below the base prefix,
// `patches` and `norm` without ".weight" and ".bias". Tokens stand in the order of the fields. Empty: there is none.
struct ImageNames {
  std::string_view class_token = "embeddings.cls_token";
  std::string_view distillation_token = {};
  std::string_view register_tokens = {};  // these have no position
  std::string_view patches = "embeddings.patch_embeddings.projection";
  std::string_view position = "embeddings.position_embeddings";
  bool batched = true;         // the class token and positions are stored as of a batch of one: [1, count, hidden]
  bool patch_bias = true;      // the map from a patch to its token has a bias
  std::string_view norm = {};  // of all tokens
  PositionResampling resampling = PositionResampling::kBicubic;
};

// Tensors of one layer, below the base prefix and `prefix`, in which {0} is the layer's group (or the layer itself) and
// {1} the layer's number inside its group.
struct LayerNames {
  std::string_view prefix = "encoder.layer.{0}.";
  // A map for each of the three, where {0} is q, k or v and {1} is query, key or value; without either, one for all.
  std::string_view query_key_value = "attention.self.{1}";
  std::string_view query_bias = {};  // biases of its parts, full names; empty: it has one of its own, or none
  std::string_view value_bias = {};
  std::string_view attention_output = "attention.output.dense";
  std::string_view attention_norm = "attention.output.LayerNorm";
  std::string_view feed_forward_in = "intermediate.dense";
  std::string_view feed_forward_out = "output.dense";
  std::string_view feed_forward_norm = "output.LayerNorm";
  // What each half of a layer adds is multiplied by these, number by number (layer scale). Full names; empty: it is
  // not.
  std::string_view attention_scale = {};
  std::string_view feed_forward_scale = {};
  // Added to the scores of a model of pictures, by how far patches stand apart (PatchDistances in encoder_positions.h).
  // A full name, and empty as above.
  std::string_view patch_distances = {};
  // Of a gated net: act(a) * b, where [a; b] is what `gated_in` gives.
  std::string_view gated_in = {};
  std::string_view gate = {};  // which then gives a, and `gated_in` b
  std::string_view gated_out = {};
};

// Masked language model head: dense, activation, layer norm, decoder. Full names.
struct MaskedLmNames {
  std::string_view dense;
  std::string_view norm;
  std::string_view decoder;                   // its weight is the word embedding when it is not stored
  std::string_view bias;                      // the decoder's bias under its other name, with ".bias"
  std::optional<Activation> activation = {};  // absent: the layers'
};

// What a classification head reads of the last hidden states.
enum class ClassifierInput {
  kFirstToken,
  kFirstTokenAndPatches,  // the first token, and beside it the mean of the patches
  kPatches,               // the mean of the patches
  kTokens,                // the mean of all tokens
};

// Classification head: dense, activation, norm where there is one, output. Full names. Empty `dense`: the output alone.
// So are the heads that give every token a class of its own, `token_output`, or the logits of an answer that begins and
// of one that ends with it, `answer_output`, but for `all_of_tokens`.
struct ClassifierNames {
  std::string_view dense;
  Activation activation = Activation::kTanh;
  std::string_view norm = {};
  std::string_view output = "classifier";
  ClassifierInput input = ClassifierInput::kFirstToken;
  std::string_view task = "ForSequenceClassification";  // the end of the class's name in config.json
  std::string_view token_task = "ForTokenClassification";
  std::string_view token_output = "classifier";
  std::string_view answer_task = "ForQuestionAnswering";
  std::string_view answer_output = "qa_outputs";
  bool all_of_tokens = false;  // heads of tokens have the same dense, activation and norm
  // Two heads, of the first and of the second token, whose logits are averaged. Empty: there are none.
  std::string_view teacher_task = {};
  std::string_view teacher_first = {};
  std::string_view teacher_second = {};
};

struct Architecture {
  std::string_view model_type;  // config.json's "model_type"
  std::string_view class_name;  // of its classes in transformers: "Bert" of "BertModel" and "BertForMaskedLM"
  std::string_view prefix;      // of the base model's tensors in files that also hold a head; absent without one
  ConfigKeys keys = {};
  EmbeddingNames embeddings = {};
  LayerNames layer = {};
  NormPlace norm_place = NormPlace::kAfter;
  bool first_norm = true;  // the first layer has a norm before self-attention; with NormPlace::kBefore
  bool biases = true;      // of maps and norms, but for the last map of a head
  bool key_bias = true;    // where ConfigKeys::key_bias is not stated
  QueryKeyValueOrder query_key_value_order = QueryKeyValueOrder::kSideBySide;
  std::optional<Activation> gated_activation = {};  // of a gated net, whatever is stated; absent: what is stated
  bool gated = false;                               // the feed-forward net is; elsewhere ConfigKeys::gated says so
  std::string_view final_norm = {};                 // below the base prefix; with NormPlace::kBefore
  // Added to the scores of every layer: a number for each bucket of distances (distance_bucket.h) and each head.
  std::string_view distance_bias = {};          // below the base prefix
  std::optional<DistanceNames> distances = {};  // absent: scores know no embeddings of distances
  std::optional<std::int64_t> padding_id = {};  // in the place of ConfigKeys::padding_id: the same in all models
  MaskedLmNames masked_lm = {};
  ClassifierNames classifier = {};
  std::string_view default_activation = "gelu";  // where config.json states none
  double default_norm_eps = 1e-12;               // likewise
  std::size_t default_token_types = 2;           // likewise; 0: there may be none
  // Of a model of several parts: the key under which config.json has the settings of the one that is run, and the
  // "model_type" of that part alone.
  std::string_view part = {};
  std::string_view part_type = {};
  std::string_view defaults = {};            // settings that config.json may leave out: a JSON object
  std::span<const FixedSetting> fixed = {};  // settings of which no more than one value is understood
  std::span<const KeyAlias> aliases = {};
  std::optional<RotaryKeys> rotary = {};  // absent: queries and keys are not turned
  std::optional<ImageNames> image = {};   // takes pictures; absent: text

  // Is padding left out when positions are counted?
  bool skips_padding() const { return padding_id.has_value() || !keys.padding_id.empty(); }
};

// The row of a model type, or null.
const Architecture* find_architecture(std::string_view model_type);
// "bert, roberta, ...", for messages.
std::string architecture_list();

// The activation of a name that transformers uses ("gelu", "gelu_new", "swish", ...), or nothing.
std::optional<Activation> find_activation(std::string_view name);
std::string activation_list();

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_ARCHITECTURE_H_
