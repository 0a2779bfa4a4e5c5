#include "attnflow/model/encoder_weights.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "attnflow/model/tensor_finder.h"

namespace attnflow {

namespace {

// The tensors of an encoder; or, without a checkpoint, a list of those that a model yet to be made has: plan().
class Finder {
 public:
  // Finds nothing and lists in plan() what it is asked for.
  explicit Finder(const ModelConfig& config) : prefix_(config.architecture->prefix) {}

  // Files of a base model alone (BertModel) carry no prefix.
  Finder(const Checkpoint& checkpoint, const ModelConfig& config)
      : finder_(std::in_place, checkpoint, config.architecture->model_type),
        prefix_(finder_->has_prefix(config.architecture->prefix) ? config.architecture->prefix : "") {}

  const std::vector<TensorPlan>& plan() const { return plan_; }

  bool has(const std::string& name) const { return finder_ && finder_->has(name); }
  std::string in_base(std::string_view name) const { return prefix_ + std::string(name); }

  const StoredTensor* tensor(std::initializer_list<std::string> names, const Shape& shape,
                             std::string_view shape_source, TensorPlan::Kind kind = TensorPlan::Kind::kMatrix) {
    if (finder_) return finder_->tensor(names, shape, shape_source);
    plan_.push_back({*(names.end() - 1), shape, kind});
    return nullptr;
  }

  const StoredTensor* table(const std::string& name, std::size_t rows, std::size_t width, std::string_view source) {
    return tensor({name + ".weight"}, {rows, width}, source);
  }

  LinearWeights linear(const std::string& name, std::size_t out, std::size_t in, std::string_view source) {
    LinearWeights weights;
    weights.weight = tensor({name + ".weight"}, {out, in}, source);
    weights.bias = tensor({name + ".bias"}, {out}, source, TensorPlan::Kind::kBias);
    return weights;
  }

  // Early TensorFlow checkpoints call the scale gamma and the shift beta.
  NormWeights norm(const std::string& name, std::size_t width, std::string_view source) {
    NormWeights weights;
    weights.scale = tensor({name + ".gamma", name + ".weight"}, {width}, source, TensorPlan::Kind::kNormScale);
    weights.shift = tensor({name + ".beta", name + ".bias"}, {width}, source, TensorPlan::Kind::kNormShift);
    return weights;
  }

  void throw_if_missing() const {
    if (finder_) finder_->throw_if_missing();
  }

 private:
  std::optional<internal::TensorFinder> finder_;  // absent: planning
  std::string prefix_;
  std::vector<TensorPlan> plan_;
};

void find_embeddings(Finder& finder, EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const EmbeddingNames& names = config.architecture->embeddings;
  const std::string width(config.architecture->keys.embedding.empty() ? config.architecture->keys.hidden
                                                                      : config.architecture->keys.embedding);
  weights.word_embedding =
      finder.table(finder.in_base(names.word), config.vocabulary, config.embedding, "vocab_size and " + width);
  weights.position_embedding = finder.table(finder.in_base(names.position), config.positions, config.embedding,
                                            "max_position_embeddings and " + width);
  if (!names.token_type.empty()) {
    weights.token_type_embedding = finder.table(finder.in_base(names.token_type), config.token_types, config.embedding,
                                                "type_vocab_size and " + width);
  }
  if (!names.norm.empty()) {
    weights.embedding_norm = finder.norm(finder.in_base(names.norm), config.embedding, width);
  }
  if (!names.projection.empty()) {
    weights.embedding_projection = finder.linear(finder.in_base(names.projection), config.hidden, config.embedding,
                                                 width + " and " + std::string(config.architecture->keys.hidden));
  }
}

LayerWeights find_layer(Finder& finder, const ModelConfig& config, std::size_t group, std::size_t inner) {
  const LayerNames& names = config.architecture->layer;
  const std::string hidden(config.architecture->keys.hidden);
  const std::string both = hidden + " and " + std::string(config.architecture->keys.intermediate);
  const std::string prefix = finder.in_base(fmt::format(fmt::runtime(names.prefix), group, inner));
  const auto full = [&](std::string_view name) { return prefix + std::string(name); };

  LayerWeights layer;
  layer.query = finder.linear(full(names.query), config.hidden, config.hidden, hidden);
  layer.key = finder.linear(full(names.key), config.hidden, config.hidden, hidden);
  layer.value = finder.linear(full(names.value), config.hidden, config.hidden, hidden);
  layer.attention_output = finder.linear(full(names.attention_output), config.hidden, config.hidden, hidden);
  layer.attention_norm = finder.norm(full(names.attention_norm), config.hidden, hidden);
  layer.feed_forward_in = finder.linear(full(names.feed_forward_in), config.intermediate, config.hidden, both);
  layer.feed_forward_out = finder.linear(full(names.feed_forward_out), config.hidden, config.intermediate, both);
  layer.feed_forward_norm = finder.norm(full(names.feed_forward_norm), config.hidden, hidden);
  return layer;
}

// Embeddings, layers and the norm after them.
void find_base(Finder& finder, EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  find_embeddings(finder, weights);
  for (std::size_t group = 0; group < config.layer_groups; ++group) {
    for (std::size_t inner = 0; inner < config.inner_layers; ++inner) {
      weights.layers.push_back(find_layer(finder, config, group, inner));
    }
  }
  if (const std::string_view norm = config.architecture->final_norm; !norm.empty()) {
    weights.final_norm =
        finder.norm(finder.in_base(norm), config.hidden, std::string(config.architecture->keys.hidden));
  }
}

ModelHead find_head(const Finder& finder, const ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const auto stored = [&](std::string_view name) { return finder.has(std::string(name) + ".weight"); };
  const bool masked_lm = stored(architecture.masked_lm.dense);
  const bool classifier = stored(architecture.classifier.dense) && stored(architecture.classifier.output);

  // A class such as BertForMaskedLM states its task after "For"; BertModel states none. Multiple choice and tagging
  // store tensors of the same names as sentence classification, so a class name that is there decides.
  std::string task;
  if (!config.classes.empty()) {
    const std::string& name = config.classes.front();
    const std::size_t at = name.find("For");
    if (at != std::string::npos) task = name.substr(at);
  }
  if (task == "ForMaskedLM" || task == "ForPreTraining") return masked_lm ? ModelHead::kMaskedLm : ModelHead::kNone;
  if (task == "ForSequenceClassification") return classifier ? ModelHead::kClassification : ModelHead::kNone;
  if (!task.empty()) return ModelHead::kNone;
  if (masked_lm) return ModelHead::kMaskedLm;
  return classifier ? ModelHead::kClassification : ModelHead::kNone;
}

MaskedLmWeights find_masked_lm(Finder& finder, const EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const MaskedLmNames& names = config.architecture->masked_lm;
  MaskedLmWeights head;
  head.activation = names.activation.value_or(config.activation);
  head.dense = finder.linear(std::string(names.dense), config.embedding, config.hidden, "the sizes");
  head.norm = finder.norm(std::string(names.norm), config.embedding, "the sizes");
  const std::string decoder(names.decoder);
  head.decoder.weight = config.tied_decoder && !finder.has(decoder + ".weight")
                            ? weights.word_embedding
                            : finder.table(decoder, config.vocabulary, config.embedding, "vocab_size and the sizes");
  // Where both biases are stored, the decoder's own is the one that transformers adds.
  head.decoder.bias = finder.tensor({decoder + ".bias", std::string(names.bias)}, {config.vocabulary}, "vocab_size",
                                    TensorPlan::Kind::kBias);
  return head;
}

ClassifierWeights find_classifier(Finder& finder, const EncoderWeights& weights) {
  const ModelConfig& config = weights.config;
  const ClassifierNames& names = config.architecture->classifier;
  ClassifierWeights head;
  head.activation = names.activation;
  head.dense = finder.linear(std::string(names.dense), config.hidden, config.hidden, "the hidden size");
  // Without names in the config the number of classes is what is stored.
  const std::string output(names.output);
  const StoredTensor* stored = weights.checkpoint ? weights.checkpoint->find(output + ".weight") : nullptr;
  const bool matrix = stored != nullptr && stored->shape.size() == 2 && stored->shape[0] > 0;
  const std::size_t classes = config.labels ? config.labels->size() : matrix ? stored->shape[0] : 2;
  head.output = finder.linear(output, classes, config.hidden, "id2label and the hidden size");
  return head;
}

std::vector<std::string> class_names(const ModelConfig& config, const ClassifierWeights& classifier) {
  if (config.labels) return *config.labels;
  std::vector<std::string> names;
  for (std::size_t c = 0; c < classifier.output.weight->shape[0]; ++c) names.push_back("LABEL_" + std::to_string(c));
  return names;
}

}  // namespace

EncoderWeights find_encoder_weights(const Folder& folder) {
  EncoderWeights weights;
  weights.config = read_model_config(folder);
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  weights.checkpoint = checkpoint;
  const ModelConfig& config = weights.config;

  Finder finder(*checkpoint, config);
  find_base(finder, weights);
  const ModelHead head = find_head(finder, config);
  if (head == ModelHead::kMaskedLm) weights.masked_lm = find_masked_lm(finder, weights);
  if (head == ModelHead::kClassification) weights.classifier = find_classifier(finder, weights);
  finder.throw_if_missing();

  ModelInfo& info = weights.info;
  info.name = folder.name();
  info.architecture = config.architecture->model_type;
  info.layers = config.layers;
  info.heads = config.heads;
  info.hidden = config.hidden;
  info.vocabulary = config.vocabulary;
  info.max_tokens = config.max_tokens();
  info.head = head;
  if (weights.classifier) {
    info.labels = class_names(config, *weights.classifier);
    info.multi_label = config.multi_label;
  }
  info.parameters = checkpoint->parameters();
  return weights;
}

std::vector<TensorPlan> plan_tensors(const ModelConfig& config, ModelHead head, std::size_t classes) {
  EncoderWeights weights;
  weights.config = config;
  Finder finder(weights.config);
  find_base(finder, weights);
  if (head == ModelHead::kMaskedLm) find_masked_lm(finder, weights);
  if (head == ModelHead::kClassification) {
    weights.config.labels.emplace(classes);
    find_classifier(finder, weights);
  }
  return finder.plan();
}

}  // namespace attnflow
