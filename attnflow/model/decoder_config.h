// config.json of a decoder's Hugging Face folder, read and checked.
//
// A setting that changes what the model computes is either understood or refused: nothing is skipped in silence that
// would make attention differ from the model's own.
#ifndef ATTNFLOW_MODEL_DECODER_CONFIG_H_
#define ATTNFLOW_MODEL_DECODER_CONFIG_H_

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
// position p are turned by the angle p f_i, where f_i = theta^(-2i/d) for i in [0, d/2), unless it is scaled:
//   linear   f_i / factor
//   llama3   by the wavelength w_i = 2 pi / f_i and the length c of the texts of the first training: f_i where
//            w_i < c / high; f_i / factor where w_i > c / low; between them (1 - s) f_i / factor + s f_i with
//            s = (c / w_i - low) / (high - low)
//   yarn     (1 - s) f_i / factor + s f_i with s = 1 below number `low` of the pairs, 0 above `high`, and falling
//            evenly between (Peng et al., 2023, https://arxiv.org/abs/2309.00071)
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

  // f_i for d = `width` numbers, rounded to float32 as transformers does, which the angles of late positions show.
  std::vector<float> frequencies(std::size_t width) const;
};

// Slopes of scores over the position of the key, [heads]: powers of 2^(-8 / h) for the largest power of two h <= heads,
// then every other power of 2^(-4 / h) (Press, Smith and Lewis, ICLR 2022, https://arxiv.org/abs/2108.12409).
std::vector<float> alibi_slopes(std::size_t heads);

struct DecoderConfig {
  const DecoderArchitecture* architecture = nullptr;  // the row of config.json's model_type; never null once read

  std::size_t layers = 0;
  std::size_t hidden = 0;
  std::size_t heads = 0;            // a multiple of key_value_heads
  std::size_t key_value_heads = 0;  // heads h * heads / key_value_heads and on share key-value head h
  std::size_t head_width = 0;       // numbers of a query, a key or a value
  std::size_t rotary_width = 0;     // the first of them, which are turned; with PositionKind::kRotary
  std::size_t intermediate = 0;     // width inside the feed-forward net
  std::size_t vocabulary = 0;       // rows of the word embedding
  PositionKind position_kind = PositionKind::kRotary;
  std::size_t positions = 0;        // tokens that a sequence may have
  std::size_t position_offset = 0;  // rows of the table of positions before that of position 0
  DistanceBuckets buckets;          // with PositionKind::kDistance

  RotaryConfig rotary;               // with PositionKind::kRotary
  RotaryConfig local_rotary;         // of layers with a window; mostly the same
  std::vector<bool> rotary_layers;   // [layers]: whether queries and keys are turned there
  std::vector<std::size_t> windows;  // [layers]: positions that a query sees, itself among them; 0: all before it

  double embedding_factor = 1.0;  // of embeddings
  double score_factor = 0.0;      // of q k^T
  double residual_factor = 1.0;   // of what each half of a layer adds
  double logit_factor = 1.0;
  double score_cap = 0.0;    // of scores s, which become c tanh(s / c); 0: none
  double logit_cap = 0.0;    // of logits, likewise
  bool parallel = false;     // a layer's halves are given the same
  bool shared_norm = false;  // and normed the same
  bool gated = false;        // the feed-forward net has a gate

  double norm_eps = 0.0;
  Activation activation = Activation::kSilu;
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool output_bias = false;
  bool tied = false;        // the output matrix is the word embedding where the files hold no other
  bool base_model = false;  // "architectures" names the model without a head (LlamaModel), or nothing
  bool classifies = false;  // "architectures" names one whose logits are those of classes of the text
  std::optional<std::vector<std::string>> labels = {};  // of a classifier: "id2label" in the order of its numbers
  bool multi_label = false;                             // "problem_type" is multi_label_classification
  std::optional<std::int64_t> padding = {};             // of a classifier: ModelInfo::padding
};

// Parses the text of a config.json; `source` names it in messages.
// Throws Error(kBadFile): not JSON, missing keys (all are named), values of the wrong type or out of range.
// Throws Error(kUnsupportedModel): a model type that is no decoder of the table, or a variant that no backend computes.
DecoderConfig parse_decoder_config(std::string_view text, const std::string& source);

// Reads `folder`/config.json. Throws as above, and Error(kBadFile) when the folder or the file is missing.
DecoderConfig read_decoder_config(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DECODER_CONFIG_H_
