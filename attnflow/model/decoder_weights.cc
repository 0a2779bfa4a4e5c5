#include "attnflow/model/decoder_weights.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/model/decoder_stack.h"
#include "attnflow/model/generation_rules.h"
#include "attnflow/model/lora.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow {

namespace {

class DecoderTensorFinder {
 public:
  DecoderTensorFinder(internal::TensorFinder& finder, const DecoderConfig& config, std::string_view prefix)
      : config_(config), row_(*config.architecture), finder_(finder), hidden_key_(row_.keys.hidden), prefix_(prefix) {}

  void find_all(DecoderWeights& weights) {
    const DecoderNames& names = row_.names;
    weights.word_embedding = find_word_embedding();
    weights.embedding_norm = norm(prefix_, names.embedding_norm);
    if (config_.position_kind == PositionKind::kLearnt) {
      weights.position_embedding = finder_.tensor({in_base(names.position) + ".weight"},
                                                  {config_.positions + config_.position_offset, config_.hidden},
                                                  std::string(row_.keys.positions) + " and " + hidden_key_);
    }
    if (config_.position_kind == PositionKind::kDistance) {
      weights.distance_bias = finder_.tensor({in_base(names.distance) + ".weight"},
                                             {config_.buckets.count, config_.heads}, "the buckets and the heads");
    }
    for (std::size_t layer = 0; layer < config_.layers; ++layer) weights.layers.push_back(find_layer(layer));
    weights.final_norm = norm(prefix_, names.final_norm);
    find_output(weights);
  }

 private:
  void find_output(DecoderWeights& weights) {
    if (row_.names.output.empty()) return;
    if (config_.classifies) {
      weights.output = finder_.classes("score", config_.labels, config_.hidden, "id2label and " + hidden_key_,
                                       /*bias=*/false);
      return;
    }
    const std::string tables = "vocab_size and " + hidden_key_;
    const auto in_files = [&](std::string_view name) { return finder_.has(std::string(name) + ".weight"); };
    const std::string_view before = row_.names.output_before;
    const std::string name(!before.empty() && in_files(before) ? before : row_.names.output);
    const std::string output = name + ".weight";
    const bool stored = in_files(name);
    if (!stored && !config_.tied && config_.base_model) return;  // saved without its head
    weights.output.out = config_.vocabulary;
    weights.output.weight = !stored && config_.tied
                                ? weights.word_embedding
                                : finder_.tensor({output}, {config_.vocabulary, config_.hidden}, tables);
    if (config_.output_bias) {
      weights.output.bias =
          finder_.tensor({name + ".bias"}, {config_.vocabulary}, "vocab_size", PlannedTensor::Kind::kBias);
    }
    if (const std::string bias(row_.names.logit_bias); !bias.empty() && finder_.has(bias)) {
      weights.output.bias = finder_.tensor({bias}, {1, config_.vocabulary}, "vocab_size", PlannedTensor::Kind::kBias);
    }
  }

  const StoredTensor* find_word_embedding() {
    const DecoderNames& names = row_.names;
    const std::string own = in_base(names.word) + ".weight";
    const auto full = [&](std::string_view name) { return name.empty() ? own : std::string(name) + ".weight"; };
    std::string found = full(names.shared_word);
    const bool alone = !finder_.has(own) && !finder_.has(full(names.other_word)) && !finder_.has(found);
    // Two tied tables may be stored under either name.
    for (const std::string_view tied : {names.output, names.output_before, names.tied_word}) {
      if (alone && config_.tied && !tied.empty() && finder_.has(full(tied))) found = full(tied);
    }
    return finder_.tensor({own, full(names.other_word), found}, {config_.vocabulary, config_.hidden},
                          "vocab_size and " + hidden_key_);
  }

  std::string in_base(std::string_view name) const { return prefix_ + std::string(name); }

  NormWeights norm(const std::string& prefix, std::string_view name) {
    if (name.empty()) return {};
    NormWeights found =
        finder_.norm(prefix + std::string(name), config_.hidden, hidden_key_, row_.norm != NormKind::kLayer);
    found.centres = row_.norm == NormKind::kLayerNoShift;
    return found;
  }

  LinearWeights linear(const std::string& name, std::size_t out, std::size_t in, bool bias, const std::string& source) {
    return finder_.linear(name, out, in, source, bias, row_.layout);
  }

  void find_query_key_value(const std::string& prefix, LayerWeights& layer) {
    const DecoderNames& names = row_.names;
    const std::size_t queries = config_.heads * config_.head_width;
    const std::size_t keys = config_.key_value_heads * config_.head_width;
    const bool bias = config_.query_key_value_bias;
    const std::string source = hidden_key_ + " and the heads";
    const bool is_joint = is_one_map(names.query_key_value);
    LinearWeights joint;
    if (is_joint) {
      joint = linear(prefix + std::string(names.query_key_value), queries + 2 * keys, config_.hidden, bias, source);
    }
    const bool by_head = row_.query_key_value_order == QueryKeyValueOrder::kByHead;
    const std::size_t groups = by_head ? config_.key_value_heads : 1;
    std::size_t begin = 0;
    for (const auto& [map, letter, out] :
         {std::tuple(&LayerWeights::query, "q", queries), std::tuple(&LayerWeights::key, "k", keys),
          std::tuple(&LayerWeights::value, "v", keys)}) {
      const std::string name = prefix + fmt::format(fmt::runtime(names.query_key_value), letter);
      layer.*map =
          is_joint ? joint.rows_of_each(groups, begin, out / groups) : linear(name, out, config_.hidden, bias, source);
      begin += out / groups;
    }
    if (!names.query_norm.empty()) {
      const auto head_norm = [&](std::string_view name, std::size_t all) {
        return finder_.norm(prefix + std::string(name), row_.head_norms ? config_.head_width : all,
                            row_.head_norms ? "the size of a head" : "the heads", /*rms=*/true);
      };
      layer.query_norm = head_norm(names.query_norm, queries);
      layer.key_norm = head_norm(names.key_norm, keys);
    }
    layer.attention_output = linear(prefix + std::string(names.attention_output), config_.hidden, queries,
                                    config_.attention_output_bias, source);
    if (!names.sinks.empty()) {
      layer.sinks =
          finder_.tensor({prefix + std::string(names.sinks)}, {config_.heads}, "the heads", PlannedTensor::Kind::kBias);
    }
  }

  void find_cross_attention(const std::string& prefix, LayerWeights& layer) {
    const DecoderNames& names = row_.names;
    if (names.cross_query_key_value.empty()) return;
    const std::size_t width = config_.heads * config_.head_width;
    const std::string source = hidden_key_ + " and the heads";
    const auto map = [&](std::string_view letter) {
      const std::string name = prefix + fmt::format(fmt::runtime(names.cross_query_key_value), letter);
      return linear(name, width, config_.hidden, config_.query_key_value_bias, source);
    };
    layer.cross_norm = norm(prefix, names.cross_norm);
    layer.cross_query = map("q");
    layer.cross_key = map("k");
    layer.cross_value = map("v");
    layer.cross_output =
        linear(prefix + std::string(names.cross_output), config_.hidden, width, config_.attention_output_bias, source);
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
      all.bias = finder_.tensor({full + "_bias"}, {config_.experts, out}, sizes, PlannedTensor::Kind::kBias);
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

  LayerWeights find_layer(std::size_t number) {
    const DecoderNames& names = row_.names;
    const std::string prefix = in_base(fmt::format(fmt::runtime(names.layer), number));
    const auto full = [&](std::string_view name) { return prefix + std::string(name); };
    const std::string sizes = hidden_key_ + " and " + std::string(row_.keys.intermediate);
    const bool bias = config_.feed_forward_bias;
    const bool own = config_.parallel && !config_.shared_norm && !names.parallel_attention_norm.empty();

    LayerWeights layer;
    layer.attention_norm = norm(prefix, own ? names.parallel_attention_norm : names.attention_norm);
    find_query_key_value(prefix, layer);
    layer.attention_after = norm(prefix, names.attention_after);
    find_cross_attention(prefix, layer);
    layer.feed_forward_norm = config_.shared_norm
                                  ? layer.attention_norm
                                  : norm(prefix, own ? names.parallel_feed_forward_norm : names.feed_forward_norm);
    layer.feed_forward_after = norm(prefix, names.feed_forward_after);
    if (row_.experts.any()) {
      find_experts(prefix, layer);
      return layer;
    }
    const std::size_t inside = config_.intermediate;
    if (!names.gate_and_in.empty()) {
      const LinearWeights both = linear(full(names.gate_and_in), 2 * inside, config_.hidden, bias, sizes);
      layer.gate = both.rows(0, inside);
      layer.feed_forward_in = both.rows(inside, inside);
    } else {
      if (config_.gated) layer.gate = linear(full(names.gate), inside, config_.hidden, bias, sizes);
      const bool ungated = !config_.gated && !names.ungated_in.empty();
      layer.feed_forward_in =
          linear(full(ungated ? names.ungated_in : names.feed_forward_in), inside, config_.hidden, bias, sizes);
    }
    layer.feed_forward_out = linear(full(names.feed_forward_out), config_.hidden, config_.intermediate, bias, sizes);
    return layer;
  }

  const DecoderConfig& config_;
  const DecoderArchitecture& row_;
  internal::TensorFinder& finder_;
  std::string hidden_key_;
  std::string prefix_;
};

}  // namespace

void internal::find_stack(TensorFinder& finder, std::string_view prefix, DecoderWeights& weights) {
  DecoderTensorFinder(finder, weights.config, prefix).find_all(weights);
}

DecoderWeights find_decoder_weights(const DecoderConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                                    const std::string& name, const OpenOptions& options) {
  DecoderWeights weights;
  weights.config = config;
  const DecoderArchitecture& row = *config.architecture;
  internal::TensorFinder finder(*checkpoint, row.model_type);
  const std::string_view prefix = finder.has_prefix(row.prefix) ? row.prefix : row.base_prefix;
  internal::find_stack(finder, prefix, weights);
  finder.throw_if_missing();
  weights.unused = finder.unused();
  if (!options.allow_unused_weights) {
    const DecoderNames& names = row.names;
    finder.throw_if_unused(prefix, {names.word, names.embedding_norm, names.position, names.layer, names.final_norm},
                           config.layers);
  }

  ModelInfo& info = weights.info;
  info.name = name;
  info.architecture = row.model_type;
  info.layers = config.layers;
  info.heads = config.heads;
  info.key_value_heads = config.key_value_heads;
  info.hidden = config.hidden;
  info.vocabulary = config.vocabulary;
  info.max_tokens = config.positions;
  info.causal = true;
  info.head = weights.output.weight == nullptr ? ModelHead::kNone
              : config.classifies              ? ModelHead::kClassification
                                               : ModelHead::kCausalLm;
  if (config.classifies) info.labels = internal::class_names(config.labels, weights.output.out);
  info.multi_label = config.multi_label;
  info.padding = config.padding;
  info.parameters = checkpoint->parameters();
  constexpr std::size_t kMaps = 3;  // of an expert
  info.idle_parameters =
      config.layers * (config.experts - config.chosen_experts) * kMaps * config.hidden * config.intermediate;
  weights.checkpoint = std::move(checkpoint);
  return weights;
}

DecoderWeights find_decoder_weights(const Folder& folder, const OpenOptions& options) {
  return find_decoder_weights(folder, read_decoder_config(folder), options);
}

DecoderWeights find_decoder_weights(const Folder& folder, const DecoderConfig& config, const OpenOptions& options) {
  DecoderWeights weights =
      find_decoder_weights(config, std::make_shared<const Checkpoint>(folder), folder.name(), options);
  weights.info.notes = adapter_notes(folder);
  weights.info.generation = read_generation_defaults(folder);
  return weights;
}

}  // namespace attnflow
