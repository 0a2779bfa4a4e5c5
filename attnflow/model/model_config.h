// The config.json of a Hugging Face folder, read and checked by the row of its model type (architecture.h).
//
// Every setting that affects the computation is supported or rejected, so attention never differs from the model's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/architecture.h"
#include "attnflow/model/distance_bucket.h"
#include "attnflow/model/image_info.h"

namespace attnflow {

// Angles of the rotary embedding (Su et al., RoFormer, 2021). Numbers i and i + d/2 of a query or key of d numbers at
// position p are rotated by the angle p f_i, where f_i = theta^(-2i/d) for i in [0, d/2), unless scaled:
//   linear   f_i / factor
//   llama3   by the wavelength w_i = 2 pi / f_i and the original training length c: f_i where w_i < c / high;
//            f_i / factor where w_i > c / low; between them (1 - s) f_i / factor + s f_i with
//            s = (c / w_i - low) / (high - low)
//   yarn     (1 - s) f_i / factor + s f_i with s = 1 for pairs below `low`, 0 above `high`, and linear in between
//            (Peng et al., 2023, https://arxiv.org/abs/2309.00071)
//   each     f_i / factors_i (longrope)
// cos and sin are multiplied by an amplitude. An image has rows and columns of patches as positions
// (encoder_positions.h in torch/).
struct RotaryConfig {
  enum class Scaling { kNone, kLinear, kLlama3, kYarn, kEach };
  double theta = 10000.0;
  Scaling scaling = Scaling::kNone;
  double factor = 1.0;
  double low = 1.0;                  // llama3, yarn
  double high = 4.0;                 // llama3, yarn
  double first_length = 0.0;         // llama3: c
  std::vector<double> factors = {};  // each, [d / 2]
  double amplitude = 1.0;

  // Returns f_i for d = `width` numbers, rounded to float32 as in transformers, which affects angles of late positions.
  std::vector<float> frequencies(std::size_t width) const;
};

// Slopes of scores over the key's position, [heads]: powers of 2^(-8 / h) for the largest power of two h <= heads, then
// every other power of 2^(-4 / h) (Press, Smith and Lewis, ICLR 2022, https://arxiv.org/abs/2108.12409).
std::vector<float> alibi_slopes(std::size_t heads);

struct ModelConfig {
  const Architecture* architecture = nullptr;  // the row of config.json's model_type; never null once read

  // A layer group is a set of weights shared by consecutive layers (ALBERT); elsewhere every layer is its own group
  // with one inner layer. `layers` counts the layers that run: repetitions times inner layers.
  std::size_t layers = 0;
  std::size_t layer_groups = 0;
  std::size_t inner_layers = 1;

  std::size_t hidden = 0;
  std::size_t embedding = 0;        // width of the embedding tables; equals hidden if there is no projection
  std::size_t heads = 0;            // a multiple of key_value_heads
  std::size_t key_value_heads = 0;  // g = heads / key_value_heads heads, from h * g on, share key-value head h
  std::size_t head_width = 0;       // numbers in a query, a key or a value
  std::size_t intermediate = 0;     // width inside the feed-forward network, or inside an expert
  std::size_t experts = 0;          // of each layer; 0: one feed-forward network
  std::size_t chosen_experts = 0;   // of a token, in each layer
  bool normalized_experts = true;   // their weights sum to 1
  std::size_t vocabulary = 0;       // rows of the word embedding; 0 for an image model
  std::size_t token_types = 0;      // rows of the token type embedding; 0: the architecture has none
  std::optional<ImageInfo> image;   // for a model that takes images

  PositionKind position_kind = PositionKind::kRotary;
  std::size_t positions = 0;               // maximum tokens in a sequence; of an image, tokens that have a position
  std::size_t position_offset = 0;         // rows of the position table before that of position 0
  std::optional<std::int64_t> padding_id;  // an encoder's padding token, which gets this position whatever precedes it
  std::optional<DistanceBuckets> buckets;  // of the distances that add a number to scores; absent: none do
  SignedBuckets distances;                 // distances that have embeddings; zero span: none
  bool distance_norm = false;              // a norm is applied to those embeddings
  bool distance_maps = false;              // and they have their own maps to keys and queries
  bool patch_distances = false;            // image models: scores depend on the distance between patches

  RotaryConfig rotary;               // with PositionKind::kRotary
  RotaryConfig local_rotary;         // for layers with a window; usually the same
  std::size_t rotary_width = 0;      // the number of leading numbers of a head that are rotated
  std::vector<bool> rotary_layers;   // [layers]: whether queries and keys are rotated there
  std::vector<std::size_t> windows;  // [layers]: a token sees those at a smaller distance; 0: all

  double embedding_factor = 1.0;  // of embeddings
  double score_factor = 0.0;      // of q k^T
  double residual_factor = 1.0;   // of the output of each half of a layer
  double logit_factor = 1.0;
  double score_cap = 0.0;    // of scores s, which become c tanh(s / c); 0: none
  double logit_cap = 0.0;    // of logits, likewise
  bool parallel = false;     // both halves of a layer have the same input
  bool shared_norm = false;  // and share its norm
  bool gated = false;        // the feed-forward network has a gate
  bool layer_scale = true;   // TensorNames::attention_scale and feed_forward_scale are present

  double norm_eps = 0.0;
  Activation activation = Activation::kSilu;
  bool query_bias = false;  // the map to queries has a bias
  bool key_bias = false;
  bool value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool tied = false;  // the map to logits is the word embedding unless the files hold another

  std::vector<std::string> classes;  // config.json's "architectures", such as "BertForMaskedLM"
  ClassifierInput classifier_input = ClassifierInput::kFirstToken;
  bool base_model = false;  // of a decoder: `classes` name the model without a head (LlamaModel), or nothing
  bool classifies = false;  // of a decoder: `classes` name a model whose logits are those of text classes
  std::optional<std::vector<std::string>> labels;  // of a classifier: "id2label" in numerical order
  bool multi_label = false;                        // "problem_type" is multi_label_classification
  std::optional<std::int64_t> padding;             // of a decoder that classifies: ModelInfo::padding

  // Maximum tokens in one text, or tokens in an image of the training size.
  std::size_t max_tokens() const;
  // Index of the weights that layer `index` (from 0) uses: inner layer i of group g is at g * inner_layers + i.
  std::size_t stored_layer(std::size_t index) const;
};

// Parses the text of a config.json of an encoder or a decoder; `source` names it in messages. Throws Error(kBadFile):
// not JSON, missing keys (the message names all), values of the wrong type or out of range. Throws
// Error(kUnsupportedModel): a model type of another kind than `expected`, if that is given, or an activation or
// attention variant that no backend computes.
ModelConfig parse_model_config(std::string_view text, const std::string& source,
                               std::optional<ArchitectureKind> expected = {});

// Reads `folder`/config.json. Throws as above, and Error(kBadFile) when the folder or the file is missing.
ModelConfig read_model_config(const Folder& folder, std::optional<ArchitectureKind> expected = {});

// An encoder-decoder: two stacks of layers.
struct EncoderDecoderConfig {
  ModelConfig encoder;  // `positions` is the maximum number of source tokens
  ModelConfig decoder;
  // The ids that begin a target: decoder_start_token_id and, if set, forced_bos_token_id.
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> never;  // bad_words_ids of one token: ids that are never chosen
};

// The same for an encoder-decoder, whose ids in a generation_config.json ("": there is none) take precedence. Throws as
// above, and Error(kBadFile) if neither gives the ids that a target begins with.
EncoderDecoderConfig parse_encoder_decoder_config(std::string_view text, const std::string& source,
                                                  std::string_view generation = {},
                                                  const std::string& generation_source = {});
EncoderDecoderConfig read_encoder_decoder_config(const Folder& folder);

}  // namespace attnflow
