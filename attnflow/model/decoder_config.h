// The config.json of a decoder's Hugging Face folder, read and checked.
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
#include "attnflow/model/decoder_architecture.h"
#include "attnflow/model/distance_bucket.h"

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
// cos and sin are multiplied by an amplitude.
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

struct DecoderConfig {
  const DecoderArchitecture* architecture = nullptr;  // the row of config.json's model_type; never null once read

  std::size_t layers = 0;
  std::size_t hidden = 0;
  std::size_t heads = 0;            // a multiple of key_value_heads
  std::size_t key_value_heads = 0;  // g = heads / key_value_heads heads, from h * g on, share key-value head h
  std::size_t head_width = 0;       // numbers in a query, a key or a value
  std::size_t rotary_width = 0;     // the number of leading ones that are rotated; with PositionKind::kRotary
  std::size_t intermediate = 0;     // width inside the feed-forward network, or inside an expert
  std::size_t experts = 0;          // of each layer; 0: one feed-forward network
  std::size_t chosen_experts = 0;   // of a token, in each layer
  bool normalized_experts = true;   // their weights sum to 1
  std::size_t vocabulary = 0;       // rows of the word embedding
  PositionKind position_kind = PositionKind::kRotary;
  std::size_t positions = 0;        // maximum tokens in a sequence
  std::size_t position_offset = 0;  // rows of the position table before that of position 0
  DistanceBuckets buckets;          // with PositionKind::kDistance

  RotaryConfig rotary;               // with PositionKind::kRotary
  RotaryConfig local_rotary;         // for layers with a window; usually the same
  std::vector<bool> rotary_layers;   // [layers]: whether queries and keys are rotated there
  std::vector<std::size_t> windows;  // [layers]: positions that a query sees, including itself; 0: all before it

  double embedding_factor = 1.0;  // of embeddings
  double score_factor = 0.0;      // of q k^T
  double residual_factor = 1.0;   // of the output of each half of a layer
  double logit_factor = 1.0;
  double score_cap = 0.0;    // of scores s, which become c tanh(s / c); 0: none
  double logit_cap = 0.0;    // of logits, likewise
  bool parallel = false;     // both halves of a layer have the same input
  bool shared_norm = false;  // and share its norm
  bool gated = false;        // the feed-forward network has a gate

  double norm_eps = 0.0;
  Activation activation = Activation::kSilu;
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool output_bias = false;
  bool tied = false;        // the output matrix is the word embedding unless the files hold another
  bool base_model = false;  // "architectures" names the model without a head (LlamaModel), or nothing
  bool classifies = false;  // "architectures" names a model whose logits are those of text classes
  std::optional<std::vector<std::string>> labels = {};  // for a classifier: "id2label" in numerical order
  bool multi_label = false;                             // "problem_type" is multi_label_classification
  std::optional<std::int64_t> padding = {};             // for a classifier: ModelInfo::padding
};

// Parses the text of a config.json; `source` names it in messages. Throws Error(kBadFile): not JSON, missing keys (the
// message names all), values of the wrong type or out of range. Throws Error(kUnsupportedModel): a model type that is
// not a decoder in the table, or a variant that no backend computes.
DecoderConfig parse_decoder_config(std::string_view text, const std::string& source);

// Reads `folder`/config.json. Throws as above, and Error(kBadFile) when the folder or the file is missing.
DecoderConfig read_decoder_config(const Folder& folder);

}  // namespace attnflow
