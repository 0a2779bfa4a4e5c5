// The config.json of a Hugging Face folder, read and checked.
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

struct ModelConfig {
  const Architecture* architecture = nullptr;  // the row of config.json's model_type; never null once read

  // A layer group is a set of weights shared by consecutive layers (ALBERT); elsewhere every layer is its own group
  // with one inner layer. `layers` counts the layers that run: repetitions times inner layers.
  std::size_t layers = 0;
  std::size_t layer_groups = 0;
  std::size_t inner_layers = 1;

  std::size_t heads = 0;
  std::size_t hidden = 0;          // a multiple of heads
  std::size_t embedding = 0;       // width of the embedding tables; equals hidden if there is no projection
  std::size_t intermediate = 0;    // width inside the feed-forward network
  std::size_t vocabulary = 0;      // rows of the word embedding; 0 for an image model
  std::size_t positions = 0;       // rows of the position embedding
  bool position_input = true;      // token embeddings include the position
  std::size_t buckets = 0;         // of distances between tokens; 0: no score depends on the distance alone
  SignedBuckets distances;         // distances that have embeddings; zero span: none
  bool distance_norm = false;      // a norm is applied to those embeddings
  bool distance_maps = false;      // and they have their own maps to keys and queries
  std::size_t token_types = 0;     // rows of the token type embedding; 0: the architecture has none
  std::optional<ImageInfo> image;  // for a model that takes images

  // Positions count from 0, or from *padding_id + 1; the padding token itself then gets position *padding_id.
  std::optional<std::int64_t> padding_id;

  // The base of the angles that rotate by token position or by a patch's row and column: in layers whose tokens see all
  // others, and in those whose tokens see a window. 0: no rotation.
  double theta = 0.0;
  double local_theta = 0.0;
  std::vector<std::size_t> windows;  // [layers]: a token sees those at a smaller distance; 0, or empty list: all

  double norm_eps = 0.0;
  Activation activation = Activation::kGelu;
  bool query_bias = true;  // the map to queries has a bias
  bool key_bias = true;
  bool value_bias = true;
  bool patch_distances = false;  // image models: scores depend on the distance between patches
  bool layer_scale = true;       // LayerNames::attention_scale and feed_forward_scale are present
  bool gated = false;            // the feed-forward network is act(a) * b, with `intermediate` numbers each
  bool tied_decoder = true;      // the masked-LM decoder may be the word embedding

  ClassifierInput classifier_input = ClassifierInput::kFirstToken;
  std::vector<std::string> classes;                // config.json's "architectures", such as "BertForMaskedLM"
  std::optional<std::vector<std::string>> labels;  // "id2label" in numerical order
  bool multi_label = false;                        // "problem_type" is multi_label_classification

  // Maximum tokens in one text, or tokens in an image of the training size.
  std::size_t max_tokens() const;
  std::size_t window(std::size_t index) const { return windows.empty() ? 0 : windows[index]; }
  // Index of the weights that layer `index` (from 0) uses: inner layer i of group g is at g * inner_layers + i.
  std::size_t stored_layer(std::size_t index) const;
};

// Parses the text of a config.json; `source` names it in messages. Throws Error(kBadFile): not JSON, missing keys (the
// message names all), values of the wrong type or out of range. Throws Error(kUnsupportedModel): a model type,
// activation or attention variant that no backend computes.
ModelConfig parse_model_config(std::string_view text, const std::string& source);

// Reads `folder`/config.json. Throws as above, and Error(kBadFile) when the folder or the file is missing.
ModelConfig read_model_config(const Folder& folder);

}  // namespace attnflow
