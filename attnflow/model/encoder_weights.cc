#include "attnflow/model/encoder_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/model/lora.h"
#include "attnflow/model/sentence_modules.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow {

namespace {

class EncoderTensorFinder : public internal::TensorFinder {
 public:
  explicit EncoderTensorFinder(const ModelConfig& config)
      : biases_(config.architecture->biases), prefix_(config.architecture->prefix), layer_prefix_(prefix_) {}

  // Files of a base model alone (BertModel) have no prefix.
  EncoderTensorFinder(const Checkpoint& checkpoint, const ModelConfig& config)
      : TensorFinder(checkpoint, config.architecture->model_type),
        biases_(config.architecture->biases),
        prefix_(has_prefix(config.architecture->prefix) ? config.architecture->prefix : ""),
        layer_prefix_(prefix_) {
    // transformers 5 writes MSN's classifier with no prefix on its layers only, and can read that form.
    const std::string_view layer = config.architecture->layer.prefix;
    const std::string first(layer.substr(0, layer.find('.') + 1));
    if (!has_prefix(prefix_ + first) && has_prefix(first)) layer_prefix_.clear();
  }

  std::string in_base(std::string_view name) const { return prefix_ + std::string(name); }
  std::string in_layers(const std::string& name) const { return layer_prefix_ + name; }

  // The map and the norm have a bias and a shift only if the architecture does.
  LinearWeights map(const std::string& name, std::size_t out, std::size_t in, std::string_view source,
                    bool bias = true) {
    return linear(name, out, in, source, bias && biases_);
  }
  NormWeights layer_norm(const std::string& name, std::size_t width, std::string_view source) {
    NormWeights found = norm(name, width, source, !biases_);
    found.centres = !biases_;
    return found;
  }

  const StoredTensor* table(const std::string& name, std::size_t rows, std::size_t width, std::string_view source) {
    return tensor({name + ".weight"}, {rows, width}, source);
  }

  void refuse_unused(const ModelConfig& config) const {
    const Architecture& row = *config.architecture;
    const std::string_view embeddings = row.image ? row.image->patches : row.embeddings.word;
    throw_if_unused(layer_prefix_, {row.layer.prefix}, config.layers);
    throw_if_unused(prefix_, {embeddings, row.final_norm}, config.layers);
  }

 private:
  bool biases_;
  std::string prefix_;
  std::string layer_prefix_;
};

void find_embeddings(EncoderTensorFinder& finder, EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const EmbeddingNames& names = config.architecture->embeddings;
  const std::string width(config.architecture->keys.embedding.empty() ? config.architecture->keys.hidden
                                                                      : config.architecture->keys.embedding);
  // Two tied tables may be stored under either name.
  const std::string decoder(config.architecture->masked_lm.decoder);
  std::string word = finder.in_base(names.word);
  if (config.tied_decoder && !finder.has(word + ".weight") && finder.has(decoder + ".weight")) word = decoder;
  weights.word_embedding = finder.table(word, config.vocabulary, config.embedding, "vocab_size and " + width);
  if (!names.position.empty() && config.position_input) {
    weights.position_embedding = finder.table(finder.in_base(names.position), config.positions, config.embedding,
                                              "max_position_embeddings and " + width);
  }
  if (!config.position_input) {  // some files store them anyway
    finder.pass_over(finder.in_base(names.position) + ".weight");
    finder.pass_over(finder.in_base(names.word) + "._weight");
  }
  if (!names.token_type.empty() && config.token_types > 0) {
    weights.token_type_embedding = finder.table(finder.in_base(names.token_type), config.token_types, config.embedding,
                                                "type_vocab_size and " + width);
  }
  if (!names.norm.empty()) {
    weights.embedding_norm = finder.layer_norm(finder.in_base(names.norm), config.embedding, width);
  }
  const std::string projection = finder.in_base(names.projection);
  // Some are present only if the two widths differ.
  const bool projected = config.embedding != config.hidden || finder.has(projection + ".weight");
  if (!names.projection.empty() && projected) {
    weights.embedding_projection = finder.linear(projection, config.hidden, config.embedding,
                                                 width + " and " + std::string(config.architecture->keys.hidden));
  }
}

void find_image_embeddings(EncoderTensorFinder& finder, EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const ImageNames& names = *config.architecture->image;
  const ImageInfo& image = *config.image;
  const std::string hidden(config.architecture->keys.hidden);
  const auto tokens = [&](std::string_view name, std::size_t count) {
    return finder.tensor({finder.in_base(name)}, {1, count, config.hidden}, hidden);
  };
  ImageWeights& found = weights.image.emplace();
  if (!names.class_token.empty()) {
    found.class_token = names.batched ? tokens(names.class_token, 1)
                                      : finder.tensor({finder.in_base(names.class_token)}, {config.hidden}, hidden);
  }
  if (!names.distillation_token.empty()) found.distillation_token = tokens(names.distillation_token, 1);
  const auto registers =
      static_cast<std::size_t>(std::count(image.leading.begin(), image.leading.end(), TokenRole::kRegister));
  if (registers != 0) {
    found.register_tokens = finder.tensor({finder.in_base(names.register_tokens)}, {1, registers, config.hidden},
                                          std::string(config.architecture->keys.registers) + " and " + hidden);
  }
  const std::string patches = finder.in_base(names.patches);
  const std::string source = hidden + ", num_channels and patch_size";
  found.patches.weight = finder.tensor({patches + ".weight"},
                                       {config.hidden, image.channels, image.patch_height, image.patch_width}, source);
  found.patches.out = config.hidden;
  if (names.patch_bias) {
    found.patches.bias = finder.tensor({patches + ".bias"}, {config.hidden}, source, PlannedTensor::Kind::kBias);
  }
  if (!names.norm.empty()) weights.embedding_norm = finder.norm(finder.in_base(names.norm), config.hidden, hidden);
  if (names.position.empty()) return;
  const std::size_t grid = image.rows() * image.columns();
  const Shape positions = {config.positions, config.hidden};
  found.position = finder.tensor({finder.in_base(names.position)},
                                 names.batched ? Shape{1, config.positions, config.hidden} : positions,
                                 fmt::format("image_size, patch_size and {} ({} x {} = {} patches, and {} before them)",
                                             hidden, image.rows(), image.columns(), grid, config.positions - grid));
}

LayerWeights find_layer(EncoderTensorFinder& finder, const ModelConfig& config, std::size_t group, std::size_t place) {
  const LayerNames& names = config.architecture->layer;
  const std::string hidden(config.architecture->keys.hidden);
  const ConfigKeys& keys = config.architecture->keys;
  const std::string both = hidden + " and " + std::string(keys.mlp_ratio.empty() ? keys.intermediate : keys.mlp_ratio);
  const std::string prefix = finder.in_layers(fmt::format(fmt::runtime(names.prefix), group, place));
  const auto full = [&](std::string_view name) { return prefix + std::string(name); };

  LayerWeights layer;
  const bool joint = is_one_map(names.query_key_value);
  LinearWeights all;
  if (joint) {
    const bool bias = config.query_bias && names.query_bias.empty();
    all = finder.map(full(names.query_key_value), 3 * config.hidden, config.hidden, hidden, bias);
  }
  const bool by_head = config.architecture->query_key_value_order == QueryKeyValueOrder::kByHead;
  const std::size_t parts = by_head ? config.heads : 1;
  const std::size_t rows_of_part = config.hidden / parts;
  std::size_t rows = 0;
  for (const auto& [map, letter, word, bias] : {std::tuple(&LayerWeights::query, "q", "query", config.query_bias),
                                                std::tuple(&LayerWeights::key, "k", "key", config.key_bias),
                                                std::tuple(&LayerWeights::value, "v", "value", config.value_bias)}) {
    const std::string name = full(fmt::format(fmt::runtime(names.query_key_value), letter, word));
    layer.*map = joint ? all.rows_of_each(parts, rows, rows_of_part)
                       : finder.map(name, config.hidden, config.hidden, hidden, bias);
    rows += rows_of_part;
  }
  const auto numbers = [&](std::string_view name, PlannedTensor::Kind kind) -> const StoredTensor* {
    return name.empty() ? nullptr : finder.tensor({full(name)}, {config.hidden}, hidden, kind);
  };
  if (!names.query_bias.empty()) layer.query.bias = numbers(names.query_bias, PlannedTensor::Kind::kBias);
  if (!names.value_bias.empty()) layer.value.bias = numbers(names.value_bias, PlannedTensor::Kind::kBias);
  if (const auto& distances = config.architecture->distances; distances && config.distance_maps) {
    layer.distance_query = finder.map(full(distances->query), config.hidden, config.hidden, hidden);
    layer.distance_key = finder.map(full(distances->key), config.hidden, config.hidden, hidden, distances->key_bias);
  }
  layer.attention_output = finder.map(full(names.attention_output), config.hidden, config.hidden, hidden);
  if (group > 0 || config.architecture->first_norm) {
    layer.attention_norm = finder.layer_norm(full(names.attention_norm), config.hidden, hidden);
  }
  const std::string_view in = config.gated ? names.gated_in : names.feed_forward_in;
  const std::string_view out = config.gated ? names.gated_out : names.feed_forward_out;
  const std::size_t inner = config.intermediate;
  const bool as_one = config.gated && names.gate.empty();  // the gate and its multiplicand
  layer.feed_forward_in = finder.map(full(in), inner * (as_one ? 2 : 1), config.hidden, both);
  if (as_one) {
    layer.gate = layer.feed_forward_in.rows(0, inner);
    layer.feed_forward_in = layer.feed_forward_in.rows(inner, inner);
  } else if (config.gated) {
    layer.gate = finder.map(full(names.gate), inner, config.hidden, both);
  }
  layer.feed_forward_out = finder.map(full(out), config.hidden, config.intermediate, both);
  layer.feed_forward_norm = finder.layer_norm(full(names.feed_forward_norm), config.hidden, hidden);
  if (config.layer_scale) {
    layer.attention_scale = numbers(names.attention_scale, PlannedTensor::Kind::kNormScale);
    layer.feed_forward_scale = numbers(names.feed_forward_scale, PlannedTensor::Kind::kNormScale);
  }
  if (config.patch_distances) {
    const std::size_t apart = (2 * config.image->rows() - 1) * (2 * config.image->columns() - 1);
    layer.patch_distances = finder.tensor({full(names.patch_distances)}, {apart + 3, config.heads},
                                          "image_size, patch_size and " + std::string(keys.heads));
  }
  return layer;
}

void find_base(EncoderTensorFinder& finder, EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  if (config.image) {
    find_image_embeddings(finder, weights);
  } else {
    find_embeddings(finder, weights);
  }
  if (const std::string_view bias = config.architecture->distance_bias; !bias.empty()) {
    const ConfigKeys& keys = config.architecture->keys;
    weights.distance_bias = finder.table(finder.in_base(bias), config.buckets, config.heads,
                                         std::string(keys.buckets) + " and " + std::string(keys.heads));
  }
  if (const std::optional<DistanceNames>& names = config.architecture->distances) {
    const std::string hidden(config.architecture->keys.hidden);
    weights.distance_embedding = finder.table(
        finder.in_base(names->table), 2 * config.distances.span, config.hidden,
        fmt::format("twice {}{} and {}", names->buckets.empty() ? "" : std::string(names->buckets) + " or ",
                    names->farthest, hidden));
    if (config.distance_norm) {
      weights.distance_norm = finder.layer_norm(finder.in_base(names->norm), config.hidden, hidden);
    }
  }
  for (std::size_t group = 0; group < config.layer_groups; ++group) {
    for (std::size_t inner = 0; inner < config.inner_layers; ++inner) {
      weights.layers.push_back(find_layer(finder, config, group, inner));
    }
  }
  if (const std::string_view norm = config.architecture->final_norm; !norm.empty()) {
    weights.final_norm =
        finder.layer_norm(finder.in_base(norm), config.hidden, std::string(config.architecture->keys.hidden));
  }
}

// Returns the task of the model class: "ForMaskedLM" for BertForMaskedLM, none for BertModel.
std::string task_of(const ModelConfig& config) {
  if (config.classes.empty()) return "";
  const std::string& name = config.classes.front();
  const std::size_t at = name.find("For");
  return at == std::string::npos ? "" : name.substr(at);
}

// Whether the pair of ClassifierNames::teacher_first is the head: a model can be saved with either kind.
bool has_teacher_heads(const EncoderTensorFinder& finder, const ModelConfig& config) {
  const ClassifierNames& names = config.architecture->classifier;
  if (names.teacher_task.empty()) return false;
  const std::string task = task_of(config);
  if (!task.empty()) return task == names.teacher_task;
  return finder.has(std::string(names.teacher_first) + ".weight");
}

ModelHead find_head(const EncoderTensorFinder& finder, const ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const auto stored = [&](std::string_view name) { return finder.has(std::string(name) + ".weight"); };
  const ClassifierNames& names = architecture.classifier;
  const bool masked_lm = !architecture.image && stored(architecture.masked_lm.dense);
  const bool classifier = has_teacher_heads(finder, config)
                              ? stored(names.teacher_first) && stored(names.teacher_second)
                              : (names.dense.empty() || stored(names.dense)) && stored(names.output);

  // Multiple choice and tagging share tensor names with sentence classification, so a class name decides.
  const std::string task = task_of(config);
  if (task == "ForMaskedLM" || task == "ForPreTraining") return masked_lm ? ModelHead::kMaskedLm : ModelHead::kNone;
  const bool classifies = task == names.task || (!names.teacher_task.empty() && task == names.teacher_task);
  if (task == names.token_task && !architecture.image) {
    return stored(names.token_output) ? ModelHead::kTokenClassification : ModelHead::kNone;
  }
  if (task == names.answer_task && !architecture.image) {
    return stored(names.answer_output) ? ModelHead::kQuestionAnswering : ModelHead::kNone;
  }
  if (!task.empty() && !classifies) return ModelHead::kNone;
  // Both heads may begin with the same map; then the other head's tensors are also present.
  const bool alike = names.dense == architecture.masked_lm.dense && classifier;
  if (task.empty() && masked_lm && !alike) return ModelHead::kMaskedLm;
  return classifier ? ModelHead::kClassification : ModelHead::kNone;
}

// A folder of sentence-transformers runs the encoder below whatever head it is stored with. Other encoders have an
// embedding where they have no head and none is named.
ModelHead with_embedding(ModelHead head, const ModelConfig& config, const SentencePooling& pooling) {
  if (config.image || !pooling.unknown.empty()) return head;
  const bool is_bare = head == ModelHead::kNone && task_of(config).empty();
  return is_bare || pooling.is_declared ? ModelHead::kEmbedding : head;
}

HeadWeights find_masked_lm(EncoderTensorFinder& finder, const EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const MaskedLmNames& names = config.architecture->masked_lm;
  HeadWeights head;
  head.activation = names.activation.value_or(config.activation);
  head.dense = finder.map(std::string(names.dense), config.embedding, config.hidden, "the sizes");
  head.norm = finder.layer_norm(std::string(names.norm), config.embedding, "the sizes");
  const std::string decoder(names.decoder);
  head.output.out = config.vocabulary;
  head.output.weight = config.tied_decoder && !finder.has(decoder + ".weight")
                           ? weights.word_embedding
                           : finder.table(decoder, config.vocabulary, config.embedding, "vocab_size and the sizes");
  // If both biases are stored, transformers adds the decoder's own.
  head.output.bias = finder.tensor({decoder + ".bias", std::string(names.bias)}, {config.vocabulary}, "vocab_size",
                                   PlannedTensor::Kind::kBias);
  return head;
}

HeadWeights find_classifier(EncoderTensorFinder& finder, const ModelConfig& config, ModelHead kind) {
  const ClassifierNames& names = config.architecture->classifier;
  const bool answers = kind == ModelHead::kQuestionAnswering;
  const bool of_tokens = kind == ModelHead::kTokenClassification || answers;
  const bool all = !of_tokens || names.all_of_tokens;
  HeadWeights head;
  head.activation = names.activation;
  if (!names.dense.empty() && all) {
    head.dense = finder.map(std::string(names.dense), config.hidden, config.hidden, "the hidden size");
  }
  if (!names.norm.empty() && all) {
    head.norm = finder.layer_norm(std::string(names.norm), config.hidden, "the hidden size");
  }
  if (answers) {
    constexpr std::size_t kBeginAndEnd = 2;
    head.output = finder.linear(std::string(names.answer_output), kBeginAndEnd, config.hidden,
                                "the begin and end of an answer and the hidden size");
    return head;
  }
  const bool teacher = !of_tokens && has_teacher_heads(finder, config);
  const std::string output(teacher ? names.teacher_first : of_tokens ? names.token_output : names.output);
  const bool twice = !of_tokens && config.classifier_input == ClassifierInput::kFirstTokenAndPatches;
  const std::size_t width = config.hidden * (twice ? 2 : 1);
  constexpr std::string_view kSource = "id2label and the hidden size";
  head.output = finder.classes(output, config.labels, width, kSource);
  if (teacher) {
    head.second = finder.linear(std::string(names.teacher_second), head.output.out, config.hidden, kSource);
  }
  return head;
}

void find_all(EncoderTensorFinder& finder, EncoderWeights& weights, ModelHead head) {
  find_base(finder, weights);
  if (head == ModelHead::kMaskedLm) {
    weights.head = find_masked_lm(finder, weights);
  } else if (head != ModelHead::kNone && head != ModelHead::kEmbedding) {
    weights.head = find_classifier(finder, weights.config, head);
  }
}

}  // namespace

EncoderWeights find_encoder_weights(const Folder& folder, const OpenOptions& options) {
  return find_encoder_weights(folder, read_model_config(folder), options);
}

EncoderWeights find_encoder_weights(const Folder& folder, const ModelConfig& config, const OpenOptions& options) {
  EncoderWeights weights;
  weights.config = config;
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  weights.checkpoint = checkpoint;

  EncoderTensorFinder finder(*checkpoint, config);
  const SentencePooling pooling = config.image ? SentencePooling() : read_sentence_pooling(folder);
  const ModelHead head = with_embedding(find_head(finder, config), config, pooling);
  find_all(finder, weights, head);
  finder.throw_if_missing();
  if (!options.allow_unused_weights) finder.refuse_unused(config);

  ModelInfo& info = weights.info;
  info.name = folder.name();
  info.notes = adapter_notes(folder);
  info.architecture = config.architecture->model_type;
  info.layers = config.layers;
  info.heads = config.heads;
  info.hidden = config.hidden;
  info.vocabulary = config.vocabulary;
  info.max_tokens = config.max_tokens();
  info.image = config.image;
  info.norms_after = config.architecture->norm_place == NormPlace::kAfter;
  info.head = head;
  info.pooling = pooling.pooling;
  info.unknown_embedding = pooling.unknown;
  info.classifies_first_token = config.classifier_input == ClassifierInput::kFirstToken;
  if (predicts_classes(head)) {
    info.labels = internal::class_names(config.labels, weights.head.output.out);
    info.multi_label = config.multi_label && head == ModelHead::kClassification;
  }
  info.parameters = checkpoint->parameters();
  return weights;
}

std::vector<PlannedTensor> plan_tensors(const ModelConfig& config, ModelHead head, std::size_t classes) {
  EncoderWeights weights;
  weights.config = config;
  EncoderTensorFinder finder(weights.config);
  if (predicts_classes(head)) weights.config.labels.emplace(classes);
  find_all(finder, weights, head);
  return finder.plan();
}

}  // namespace attnflow
