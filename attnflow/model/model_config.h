// config.json of a Hugging Face folder, read and checked.
//
// A setting that changes what the model computes is either understood or refused: nothing is skipped in silence that
// would make attention differ from the model's own.
#ifndef ATTNFLOW_MODEL_MODEL_CONFIG_H_
#define ATTNFLOW_MODEL_MODEL_CONFIG_H_

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

struct ModelConfig {
  const Architecture* architecture = nullptr;  // the row of config.json's model_type; never null once read

  // A layer group is a set of weights that consecutive layers share (ALBERT); elsewhere every layer is a group of its
  // own and has one inner layer. `layers` counts the layers that run: repetitions times inner layers.
  std::size_t layers = 0;
  std::size_t layer_groups = 0;
  std::size_t inner_layers = 1;

  std::size_t heads = 0;
  std::size_t hidden = 0;          // a multiple of heads
  std::size_t embedding = 0;       // width of the embedding tables; hidden where there is no projection
  std::size_t intermediate = 0;    // width inside the feed-forward net
  std::size_t vocabulary = 0;      // rows of the word embedding; 0: takes pictures
  std::size_t positions = 0;       // rows of the position embedding
  bool position_input = true;      // the embedding of a token says where it stands
  std::size_t buckets = 0;         // of distances between tokens; 0: no score of its own for a distance
  SignedBuckets distances;         // that have embeddings; of no span: none have
  bool distance_norm = false;      // those embeddings are normed
  bool distance_maps = false;      // and have maps of their own to keys and queries
  std::size_t token_types = 0;     // rows of the token type embedding; 0: the architecture has none
  std::optional<ImageInfo> image;  // of a model that takes pictures

  // Positions count from 0, or from *padding_id + 1; the padding token itself then stands at *padding_id.
  std::optional<std::int64_t> padding_id;

  // Where queries and keys are turned by positions, or by rows and columns of patches: the base of their angles in
  // layers whose tokens see all others, and in those whose tokens see a window. 0: they are not turned.
  double theta = 0.0;
  double local_theta = 0.0;
  std::vector<std::size_t> windows;  // [layers]: a token sees those less far away; 0, or none at all: all tokens

  double norm_eps = 0.0;
  Activation activation = Activation::kGelu;
  bool query_bias = true;  // the map to queries has a bias
  bool key_bias = true;
  bool value_bias = true;
  bool patch_distances = false;  // of a model of pictures: scores depend on how far patches stand apart
  bool layer_scale = true;       // LayerNames::attention_scale and feed_forward_scale are there
  bool gated = false;            // the feed-forward net is act(a) * b, with `intermediate` numbers each
  bool tied_decoder = true;      // the masked-LM decoder may be the word embedding

  ClassifierInput classifier_input = ClassifierInput::kFirstToken;
  std::vector<std::string> classes;                // config.json's "architectures", such as "BertForMaskedLM"
  std::optional<std::vector<std::string>> labels;  // "id2label" in the order of its numbers
  bool multi_label = false;                        // "problem_type" is multi_label_classification

  // Tokens that one text may have, or that a picture of the training size has.
  std::size_t max_tokens() const;
  // How far the tokens of layer `index` (from 0) see; 0: all.
  std::size_t window(std::size_t index) const { return windows.empty() ? 0 : windows[index]; }
  // The set of weights that layer `index` (from 0) uses: group g's inner layer i is at g * inner_layers + i.
  std::size_t stored_layer(std::size_t index) const;
};

// Parses the text of a config.json; `source` names it in messages.
// Throws Error(kBadFile): not JSON, missing keys (all are named), values of the wrong type or out of range.
// Throws Error(kUnsupportedModel): a model type, activation, or variant of attention that no backend computes.
ModelConfig parse_model_config(std::string_view text, const std::string& source);

// Reads `folder`/config.json. Throws as above, and Error(kBadFile) when the folder or the file is missing.
ModelConfig read_model_config(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_CONFIG_H_
