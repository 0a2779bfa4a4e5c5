#include "attnflow/model/model_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/model/generation_rules.h"
#include "attnflow/model/lora.h"
#include "attnflow/model/sentence_modules.h"

namespace attnflow {

namespace {

using Planned = PlannedTensor::Kind;

// Finds the parts of a stack: of an encoder, of a decoder, or of either half of an encoder-decoder.
class StackFinder {
 public:
  StackFinder(internal::TensorFinder& finder, const ModelConfig& config, std::string_view prefix)
      : finder_(finder),
        config_(config),
        row_(*config.architecture),
        names_(row_.names),
        hidden_key_(row_.keys.hidden),
        width_key_(row_.keys.embedding.empty() ? row_.keys.hidden : row_.keys.embedding),
        prefix_(prefix),
        layer_prefix_(prefix) {
    // transformers 5 writes MSN's classifier with no prefix on its layers only, and can read that form.
    const std::string first(names_.layer.substr(0, names_.layer.find('.') + 1));
    if (row_.image && !finder.has_prefix(prefix_ + first) && finder.has_prefix(first)) layer_prefix_.clear();
  }

  void find_all(ModelWeights& weights) {
    if (config_.image) {
      find_image_embeddings(weights);
    } else {
      find_embeddings(weights);
    }
    find_distances(weights);
    for (std::size_t group = 0; group < config_.layer_groups; ++group) {
      for (std::size_t inner = 0; inner < config_.inner_layers; ++inner) {
        weights.layers.push_back(find_layer(group, inner));
      }
    }
    weights.final_norm = norm(prefix_, names_.final_norm);
  }

  void refuse_unused() const {
    const std::string_view word = row_.image ? row_.image->patches : names_.word;
    finder_.throw_if_unused(layer_prefix_, {names_.layer}, config_.layers);
    finder_.throw_if_unused(prefix_, {word, names_.embedding_norm, names_.position, names_.final_norm}, config_.layers);
  }

 private:
  std::string in_base(std::string_view name) const { return prefix_ + std::string(name); }

  const StoredTensor* table(std::string_view name, std::size_t rows, std::size_t width, const std::string& source) {
    return finder_.tensor({in_base(name) + ".weight"}, {rows, width}, source);
  }

  NormWeights norm(const std::string& prefix, std::string_view name) {
    return name.empty() ? NormWeights()
                        : finder_.norm(prefix + std::string(name), config_.hidden, hidden_key_, row_.norm);
  }

  LinearWeights linear(const std::string& name, std::size_t out, std::size_t in, bool bias, const std::string& source) {
    return finder_.linear(name, out, in, source, bias, row_.layout);
  }

  // Two tied tables may be stored under either name.
  const StoredTensor* find_word_embedding() {
    const std::string own = in_base(names_.word) + ".weight";
    const auto full = [&](std::string_view name) { return name.empty() ? own : std::string(name) + ".weight"; };
    std::string found = full(names_.shared_word);
    const bool alone = !finder_.has(own) && !finder_.has(full(names_.other_word)) && !finder_.has(found);
    for (const std::string_view tied :
         {names_.output, names_.output_before, names_.tied_word, row_.masked_lm.decoder}) {
      if (alone && config_.tied && !tied.empty() && finder_.has(full(tied))) found = full(tied);
    }
    return finder_.tensor({own, full(names_.other_word), found}, {config_.vocabulary, config_.embedding},
                          "vocab_size and " + width_key_);
  }

  void find_embeddings(ModelWeights& weights) {
    weights.word_embedding = find_word_embedding();
    if (config_.position_kind == PositionKind::kLearnt) {
      weights.position_embedding = table(names_.position, config_.positions + config_.position_offset,
                                         config_.embedding, std::string(row_.keys.positions) + " and " + width_key_);
    } else if (!row_.keys.position_input.empty()) {  // some files store them anyway
      finder_.pass_over(in_base(names_.position) + ".weight");
      finder_.pass_over(in_base(names_.word) + "._weight");
    }
    if (!names_.token_type.empty() && config_.token_types > 0) {
      weights.token_type_embedding =
          table(names_.token_type, config_.token_types, config_.embedding, "type_vocab_size and " + width_key_);
    }
    if (!names_.embedding_norm.empty()) {
      weights.embedding_norm = finder_.norm(in_base(names_.embedding_norm), config_.embedding, width_key_, row_.norm);
    }
    const std::string projection = in_base(names_.embedding_projection);
    // Some are present only if the two widths differ.
    const bool projected = config_.embedding != config_.hidden || finder_.has(projection + ".weight");
    if (!names_.embedding_projection.empty() && projected) {
      weights.embedding_projection =
          finder_.linear(projection, config_.hidden, config_.embedding, width_key_ + " and " + hidden_key_);
    }
  }

  void find_image_embeddings(ModelWeights& weights) {
    const ImageNames& names = *row_.image;
    const ImageInfo& image = *config_.image;
    const auto tokens = [&](std::string_view name, std::size_t count) {
      return finder_.tensor({in_base(name)}, {1, count, config_.hidden}, hidden_key_);
    };
    ImageWeights& found = weights.image.emplace();
    if (!names.class_token.empty()) {
      found.class_token = names.batched ? tokens(names.class_token, 1)
                                        : finder_.tensor({in_base(names.class_token)}, {config_.hidden}, hidden_key_);
    }
    if (!names.distillation_token.empty()) found.distillation_token = tokens(names.distillation_token, 1);
    const auto registers =
        static_cast<std::size_t>(std::count(image.leading.begin(), image.leading.end(), TokenRole::kRegister));
    if (registers != 0) {
      found.register_tokens = finder_.tensor({in_base(names.register_tokens)}, {1, registers, config_.hidden},
                                             std::string(row_.keys.registers) + " and " + hidden_key_);
    }
    const std::string patches = in_base(names.patches);
    const std::string source = hidden_key_ + ", num_channels and patch_size";
    found.patches.weight = finder_.tensor(
        {patches + ".weight"}, {config_.hidden, image.channels, image.patch_height, image.patch_width}, source);
    found.patches.out = config_.hidden;
    if (names.patch_bias) {
      found.patches.bias = finder_.tensor({patches + ".bias"}, {config_.hidden}, source, Planned::kBias);
    }
    weights.embedding_norm = norm(prefix_, names.norm);
    if (names.position.empty()) return;
    const std::size_t grid = image.rows() * image.columns();
    const Shape positions = {config_.positions, config_.hidden};
    found.position = finder_.tensor(
        {in_base(names.position)}, names.batched ? Shape{1, config_.positions, config_.hidden} : positions,
        fmt::format("image_size, patch_size and {} ({} x {} = {} patches, and {} before them)", hidden_key_,
                    image.rows(), image.columns(), grid, config_.positions - grid));
  }

  void find_distances(ModelWeights& weights) {
    if (config_.buckets) {
      weights.distance_bias = table(names_.distance, config_.buckets->count, config_.heads,
                                    fmt::format("{} and {}", row_.keys.buckets, row_.keys.heads));
    }
    if (!row_.distances) return;
    const DistanceNames& names = *row_.distances;
    weights.distance_embedding =
        table(names.table, 2 * config_.distances.span, config_.hidden,
              fmt::format("twice {}{} and {}", names.buckets.empty() ? "" : std::string(names.buckets) + " or ",
                          names.farthest, hidden_key_));
    if (config_.distance_norm) weights.distance_norm = norm(prefix_, names.norm);
  }

  void find_query_key_value(const std::string& prefix, LayerWeights& layer) {
    const std::size_t queries = config_.heads * config_.head_width;
    const std::size_t keys = config_.key_value_heads * config_.head_width;
    const std::string source = hidden_key_ + " and the heads";
    const bool is_joint = is_one_map(names_.query_key_value);
    LinearWeights joint;
    if (is_joint) {
      const bool bias = config_.query_bias && names_.query_bias.empty();
      joint = linear(prefix + std::string(names_.query_key_value), queries + 2 * keys, config_.hidden, bias, source);
    }
    const bool by_head = row_.query_key_value_order == QueryKeyValueOrder::kByHead;
    const std::size_t groups = by_head ? config_.key_value_heads : 1;
    std::size_t begin = 0;
    for (const auto& [map, letter, word, out, bias] :
         {std::tuple(&LayerWeights::query, "q", "query", queries, config_.query_bias),
          std::tuple(&LayerWeights::key, "k", "key", keys, config_.key_bias),
          std::tuple(&LayerWeights::value, "v", "value", keys, config_.value_bias)}) {
      const std::string name = prefix + fmt::format(fmt::runtime(names_.query_key_value), letter, word);
      layer.*map =
          is_joint ? joint.rows_of_each(groups, begin, out / groups) : linear(name, out, config_.hidden, bias, source);
      begin += out / groups;
    }
    if (!names_.query_bias.empty()) layer.query.bias = numbers(prefix, names_.query_bias, queries, Planned::kBias);
    if (!names_.value_bias.empty()) layer.value.bias = numbers(prefix, names_.value_bias, keys, Planned::kBias);
    if (!names_.query_norm.empty()) {
      const NormKind kind = row_.norm == NormKind::kRmsPlusOne ? row_.norm : NormKind::kRms;
      const auto head_norm = [&](std::string_view name, std::size_t all) {
        return finder_.norm(prefix + std::string(name), row_.head_norms ? config_.head_width : all,
                            row_.head_norms ? "the size of a head" : "the heads", kind);
      };
      layer.query_norm = head_norm(names_.query_norm, queries);
      layer.key_norm = head_norm(names_.key_norm, keys);
    }
    if (config_.distance_maps) {
      const DistanceNames& names = *row_.distances;
      layer.distance_query = linear(prefix + std::string(names.query), queries, config_.hidden, true, hidden_key_);
      layer.distance_key = linear(prefix + std::string(names.key), keys, config_.hidden, names.key_bias, hidden_key_);
    }
    layer.attention_output = linear(prefix + std::string(names_.attention_output), config_.hidden, queries,
                                    config_.attention_output_bias, source);
  }

  void find_cross_attention(const std::string& prefix, LayerWeights& layer) {
    if (names_.cross_query_key_value.empty()) return;
    const std::size_t width = config_.heads * config_.head_width;
    const std::string source = hidden_key_ + " and the heads";
    const auto map = [&](std::string_view letter) {
      const std::string name = prefix + fmt::format(fmt::runtime(names_.cross_query_key_value), letter);
      return linear(name, width, config_.hidden, config_.query_bias, source);
    };
    layer.cross_norm = norm(prefix, names_.cross_norm);
    layer.cross_query = map("q");
    layer.cross_key = map("k");
    layer.cross_value = map("v");
    layer.cross_output =
        linear(prefix + std::string(names_.cross_output), config_.hidden, width, config_.attention_output_bias, source);
  }

  void find_experts(const std::string& prefix, LayerWeights& layer) {
    const ExpertRow& row = row_.experts;
    const bool bias = config_.feed_forward_bias;
    layer.router = linear(prefix + std::string(row.router), config_.experts, config_.hidden, bias,
                          std::string(row.count) + " and " + hidden_key_);
    if (layer.router.weight == nullptr) return;  // noted as missing, which is enough: experts may be many
    if (!row.stacked_out.empty() && finder_.has(prefix + std::string(row.stacked_out))) {
      find_stacked_experts(prefix, layer);
      return;
    }
    const std::string sizes = hidden_key_ + " and " + std::string(row_.keys.intermediate);
    for (std::size_t expert = 0; expert < config_.experts; ++expert) {
      const auto map = [&](std::string_view name, std::size_t out, std::size_t in) {
        return linear(prefix + fmt::format(fmt::runtime(name), expert), out, in, bias, sizes);
      };
      layer.experts.push_back({.gate = map(row.gate, config_.intermediate, config_.hidden),
                               .in = map(row.in, config_.intermediate, config_.hidden),
                               .out = map(row.out, config_.hidden, config_.intermediate)});
    }
  }

  void find_stacked_experts(const std::string& prefix, LayerWeights& layer) {
    const std::size_t inside = config_.intermediate;
    const auto stack = [&](std::string_view name, std::size_t in, std::size_t out) {
      const std::string full = prefix + std::string(name);
      const std::string sizes = fmt::format("{}, {} and {}", row_.experts.count, hidden_key_, row_.keys.intermediate);
      LinearWeights all;
      all.weight = finder_.tensor({full}, {config_.experts, in, out}, sizes);
      all.bias = finder_.tensor({full + "_bias"}, {config_.experts, out}, sizes, Planned::kBias);
      all.layout = MatrixLayout::kInOut;
      all.out = out;
      return all;
    };
    const LinearWeights gate_and_in = stack(row_.experts.stacked_gate_and_in, config_.hidden, 2 * inside);
    const LinearWeights out = stack(row_.experts.stacked_out, inside, config_.hidden);
    for (std::size_t expert = 0; expert < config_.experts; ++expert) {
      layer.experts.push_back(
          {.gate = gate_and_in.rows_of_each(inside, 0, 1), .in = gate_and_in.rows_of_each(inside, 1, 1), .out = out});
      ExpertParts<LinearWeights>& placed = layer.experts.back();
      for (LinearWeights* const map : {&placed.gate, &placed.in, &placed.out}) map->expert = expert;
    }
  }

  void find_feed_forward(const std::string& prefix, LayerWeights& layer) {
    const auto full = [&](std::string_view name) { return prefix + std::string(name); };
    const std::string sizes = fmt::format("{} and {}", hidden_key_,
                                          row_.keys.mlp_ratio.empty() ? row_.keys.intermediate : row_.keys.mlp_ratio);
    const bool bias = config_.feed_forward_bias;
    const std::size_t inside = config_.intermediate;
    if (config_.gated && !names_.gate_and_in.empty()) {
      const LinearWeights both = linear(full(names_.gate_and_in), 2 * inside, config_.hidden, bias, sizes);
      layer.gate = both.rows(0, inside);
      layer.feed_forward_in = both.rows(inside, inside);
    } else {
      if (config_.gated) layer.gate = linear(full(names_.gate), inside, config_.hidden, bias, sizes);
      const bool ungated = !config_.gated && !names_.ungated_in.empty();
      layer.feed_forward_in =
          linear(full(ungated ? names_.ungated_in : names_.feed_forward_in), inside, config_.hidden, bias, sizes);
    }
    const bool ungated = !config_.gated && !names_.ungated_out.empty();
    layer.feed_forward_out =
        linear(full(ungated ? names_.ungated_out : names_.feed_forward_out), config_.hidden, inside, bias, sizes);
  }

  // Numbers under a complete name; null without one.
  const StoredTensor* numbers(const std::string& prefix, std::string_view name, std::size_t count, Planned kind) {
    return name.empty() ? nullptr : finder_.tensor({prefix + std::string(name)}, {count}, hidden_key_, kind);
  }

  LayerWeights find_layer(std::size_t group, std::size_t place) {
    const std::string prefix = layer_prefix_ + fmt::format(fmt::runtime(names_.layer), group, place);
    const bool own = config_.parallel && !config_.shared_norm && !names_.parallel_attention_norm.empty();
    LayerWeights layer;
    if (group > 0 || row_.first_norm) {
      layer.attention_norm = norm(prefix, own ? names_.parallel_attention_norm : names_.attention_norm);
    }
    find_query_key_value(prefix, layer);
    if (!names_.sinks.empty()) {
      layer.sinks = finder_.tensor({prefix + std::string(names_.sinks)}, {config_.heads}, "the heads", Planned::kBias);
    }
    layer.attention_after = norm(prefix, names_.attention_after);
    find_cross_attention(prefix, layer);
    layer.feed_forward_norm = config_.shared_norm
                                  ? layer.attention_norm
                                  : norm(prefix, own ? names_.parallel_feed_forward_norm : names_.feed_forward_norm);
    layer.feed_forward_after = norm(prefix, names_.feed_forward_after);
    if (row_.experts.any()) {
      find_experts(prefix, layer);
    } else {
      find_feed_forward(prefix, layer);
    }
    if (config_.layer_scale) {
      layer.attention_scale = numbers(prefix, names_.attention_scale, config_.hidden, Planned::kNormScale);
      layer.feed_forward_scale = numbers(prefix, names_.feed_forward_scale, config_.hidden, Planned::kNormScale);
    }
    if (config_.patch_distances) {
      const std::size_t apart = (2 * config_.image->rows() - 1) * (2 * config_.image->columns() - 1);
      layer.patch_distances = finder_.tensor({prefix + std::string(names_.patch_distances)}, {apart + 3, config_.heads},
                                             "image_size, patch_size and " + std::string(row_.keys.heads));
    }
    return layer;
  }

  internal::TensorFinder& finder_;
  const ModelConfig& config_;
  const Architecture& row_;
  const TensorNames& names_;
  std::string hidden_key_;
  std::string width_key_;
  std::string prefix_;
  std::string layer_prefix_;
};

HeadWeights find_decoder_head(internal::TensorFinder& finder, const ModelWeights& weights) {
  const ModelConfig& config = weights.config;
  const Architecture& row = *config.architecture;
  const std::string hidden_key(row.keys.hidden);
  HeadWeights head;
  if (row.names.output.empty()) return head;
  if (config.classifies) {
    head.output = finder.classes("score", config.labels, config.hidden, "id2label and " + hidden_key,
                                 /*bias=*/false);
    return head;
  }
  const std::string tables = "vocab_size and " + hidden_key;
  const auto in_files = [&](std::string_view name) { return finder.has(std::string(name) + ".weight"); };
  const std::string_view before = row.names.output_before;
  const std::string name(!before.empty() && in_files(before) ? before : row.names.output);
  const std::string output = name + ".weight";
  const bool stored = in_files(name);
  if (!stored && !config.tied && config.base_model) return head;  // saved without its head
  head.output.out = config.vocabulary;
  head.output.weight = !stored && config.tied ? weights.word_embedding
                                              : finder.tensor({output}, {config.vocabulary, config.hidden}, tables);
  if (row.output_bias == BiasRule::kAlways) {
    head.output.bias = finder.tensor({name + ".bias"}, {config.vocabulary}, "vocab_size", Planned::kBias);
  }
  if (const std::string bias(row.names.logit_bias); !bias.empty() && finder.has(bias)) {
    head.output.bias = finder.tensor({bias}, {1, config.vocabulary}, "vocab_size", Planned::kBias);
  }
  return head;
}

// Returns the task of the model class: "ForMaskedLM" for BertForMaskedLM, none for BertModel.
std::string task_of(const ModelConfig& config) {
  if (config.classes.empty()) return "";
  const std::string& name = config.classes.front();
  const std::size_t at = name.find("For");
  return at == std::string::npos ? "" : name.substr(at);
}

// Whether the pair of ClassifierNames::teacher_first is the head: a model can be saved with either kind.
bool has_teacher_heads(const internal::TensorFinder& finder, const ModelConfig& config) {
  const ClassifierNames& names = config.architecture->classifier;
  if (names.teacher_task.empty()) return false;
  const std::string task = task_of(config);
  if (!task.empty()) return task == names.teacher_task;
  return finder.has(std::string(names.teacher_first) + ".weight");
}

ModelHead find_head(const internal::TensorFinder& finder, const ModelConfig& config) {
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

HeadWeights find_masked_lm(internal::TensorFinder& finder, const ModelWeights& weights) {
  const ModelConfig& config = weights.config;
  const MaskedLmNames& names = config.architecture->masked_lm;
  HeadWeights head;
  head.activation = names.activation.value_or(config.activation);
  head.dense =
      finder.linear(std::string(names.dense), config.embedding, config.hidden, "the sizes", config.feed_forward_bias);
  head.norm = finder.norm(std::string(names.norm), config.embedding, "the sizes", config.architecture->norm);
  const std::string decoder(names.decoder);
  head.output.out = config.vocabulary;
  head.output.weight =
      config.tied && !finder.has(decoder + ".weight")
          ? weights.word_embedding
          : finder.tensor({decoder + ".weight"}, {config.vocabulary, config.embedding}, "vocab_size and the sizes");
  // If both biases are stored, transformers adds the decoder's own.
  head.output.bias =
      finder.tensor({decoder + ".bias", std::string(names.bias)}, {config.vocabulary}, "vocab_size", Planned::kBias);
  return head;
}

HeadWeights find_classifier(internal::TensorFinder& finder, const ModelConfig& config, ModelHead kind) {
  const ClassifierNames& names = config.architecture->classifier;
  const bool answers = kind == ModelHead::kQuestionAnswering;
  const bool of_tokens = kind == ModelHead::kTokenClassification || answers;
  const bool all = !of_tokens || names.all_of_tokens;
  HeadWeights head;
  head.activation = names.activation;
  if (!names.dense.empty() && all) {
    head.dense = finder.linear(std::string(names.dense), config.hidden, config.hidden, "the hidden size",
                               config.feed_forward_bias);
  }
  if (!names.norm.empty() && all) {
    head.norm = finder.norm(std::string(names.norm), config.hidden, "the hidden size", config.architecture->norm);
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

HeadWeights find_encoder_head(internal::TensorFinder& finder, const ModelWeights& weights, ModelHead head) {
  if (head == ModelHead::kNone || head == ModelHead::kEmbedding) return {};
  return head == ModelHead::kMaskedLm ? find_masked_lm(finder, weights) : find_classifier(finder, weights.config, head);
}

ModelHead decoder_head(const ModelWeights& weights) {
  if (weights.head.output.weight == nullptr) return ModelHead::kNone;
  return weights.config.classifies ? ModelHead::kClassification : ModelHead::kCausalLm;
}

ModelInfo describe(const ModelWeights& weights, ModelHead head, const SentencePooling& pooling) {
  const ModelConfig& config = weights.config;
  ModelInfo info;
  info.architecture = config.architecture->model_type;
  info.layers = config.layers;
  info.heads = config.heads;
  info.hidden = config.hidden;
  info.vocabulary = config.vocabulary;
  info.max_tokens = config.max_tokens();
  info.image = config.image;
  info.causal = !config.architecture->is_encoder();
  if (info.causal) info.key_value_heads = config.key_value_heads;
  info.norms_after = config.architecture->norm_place == NormPlace::kAfter;
  info.head = head;
  info.pooling = pooling.pooling;
  info.unknown_embedding = pooling.unknown;
  info.classifies_first_token = config.classifier_input == ClassifierInput::kFirstToken;
  if (predicts_classes(head)) info.labels = internal::class_names(config.labels, weights.head.output.out);
  info.multi_label = config.multi_label && head == ModelHead::kClassification;
  info.padding = config.padding;
  info.parameters = weights.checkpoint->parameters();
  constexpr std::size_t kMaps = 3;  // of an expert
  info.idle_parameters =
      config.layers * (config.experts - config.chosen_experts) * kMaps * config.hidden * config.intermediate;
  return info;
}

ModelWeights find_in(const ModelConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                     const SentencePooling& pooling, const OpenOptions& options) {
  ModelWeights weights;
  weights.config = config;
  weights.checkpoint = std::move(checkpoint);
  const Architecture& row = *config.architecture;
  internal::TensorFinder finder(*weights.checkpoint, row.model_type);
  StackFinder stack(finder, config, finder.has_prefix(row.prefix) ? row.prefix : row.base_prefix);
  stack.find_all(weights);
  ModelHead head = ModelHead::kNone;
  if (row.is_encoder()) {
    head = with_embedding(find_head(finder, config), config, pooling);
    weights.head = find_encoder_head(finder, weights, head);
  } else {
    weights.head = find_decoder_head(finder, weights);
    head = decoder_head(weights);
  }
  finder.throw_if_missing();
  weights.unused = finder.unused();
  if (!options.allow_unused_weights) stack.refuse_unused();
  weights.info = describe(weights, head, pooling);
  return weights;
}

// Adds what the other files of the folder say.
void describe_folder(const Folder& folder, ModelInfo& info) {
  info.name = folder.name();
  info.notes = adapter_notes(folder);
  if (info.causal || info.target) info.generation = read_generation_defaults(folder);
}

}  // namespace

ModelWeights find_weights(const Folder& folder, const OpenOptions& options) {
  return find_weights(folder, read_model_config(folder), options);
}

ModelWeights find_weights(const Folder& folder, const ModelConfig& config, const OpenOptions& options) {
  const bool may_pool = config.architecture->is_encoder() && !config.image;
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  ModelWeights weights =
      find_in(config, checkpoint, may_pool ? read_sentence_pooling(folder) : SentencePooling(), options);
  describe_folder(folder, weights.info);
  return weights;
}

ModelWeights find_weights(const ModelConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                          const std::string& name, const OpenOptions& options) {
  ModelWeights weights = find_in(config, std::move(checkpoint), {}, options);
  weights.info.name = name;
  return weights;
}

EncoderDecoderWeights find_encoder_decoder_weights(const Folder& folder, const EncoderDecoderConfig& config,
                                                   const OpenOptions& options) {
  EncoderDecoderWeights weights;
  weights.never = config.never;
  weights.encoder.config = config.encoder;
  weights.decoder.config = config.decoder;
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  weights.checkpoint = checkpoint;

  const Architecture& row = *config.decoder.architecture;
  internal::TensorFinder finder(*checkpoint, row.model_type);
  StackFinder(finder, config.encoder, config.encoder.architecture->prefix).find_all(weights.encoder);
  StackFinder(finder, config.decoder, row.prefix).find_all(weights.decoder);
  weights.decoder.head = find_decoder_head(finder, weights.decoder);
  finder.throw_if_missing();
  const std::size_t layers = config.encoder.layers + config.decoder.layers;
  constexpr std::string_view kDecoder = "decoder.";
  const std::string_view prefix = row.prefix.substr(0, row.prefix.size() - kDecoder.size());
  if (!options.allow_unused_weights) finder.throw_if_unused(prefix, {"encoder.", kDecoder}, layers);

  ModelInfo& info = weights.info;
  info.architecture = row.model_type;
  info.layers = config.encoder.layers + 2 * config.decoder.layers;
  info.heads = std::min(config.encoder.heads, config.decoder.heads);
  info.hidden = config.encoder.hidden;
  info.vocabulary = config.encoder.vocabulary;
  info.max_tokens = config.encoder.positions;
  info.norms_after = row.norm_place == NormPlace::kAfter;
  info.head = ModelHead::kCausalLm;
  info.parameters = checkpoint->parameters();
  info.target = TargetInfo{.begin = config.begin,
                           .max_tokens = config.decoder.positions,
                           .encoder_layers = config.encoder.layers,
                           .decoder_layers = config.decoder.layers};
  describe_folder(folder, info);
  return weights;
}

std::vector<PlannedTensor> plan_tensors(const ModelConfig& config, ModelHead head, std::size_t classes) {
  ModelWeights weights;
  weights.config = config;
  if (predicts_classes(head)) weights.config.labels.emplace(classes);
  internal::TensorFinder finder;
  StackFinder(finder, weights.config, config.architecture->prefix).find_all(weights);
  find_encoder_head(finder, weights, head);
  return finder.plan();
}

}  // namespace attnflow
