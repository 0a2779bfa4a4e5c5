#include "attnflow/model/decoder_weights.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "attnflow/model/adapter.h"
#include "attnflow/model/tensor_finder.h"

namespace attnflow {

namespace {

class DecoderTensorFinder {
 public:
  DecoderTensorFinder(const Checkpoint& checkpoint, const DecoderConfig& config)
      : config_(config),
        row_(*config.architecture),
        finder_(checkpoint, row_.model_type),
        hidden_key_(row_.keys.hidden),
        prefix_(finder_.has_prefix(row_.prefix) ? row_.prefix : row_.base_prefix) {}

  void find_all(DecoderWeights& weights) {
    const DecoderNames& names = row_.names;
    const std::string tables = "vocab_size and " + hidden_key_;
    weights.word_embedding =
        finder_.tensor({in_base(names.word) + ".weight"}, {config_.vocabulary, config_.hidden}, tables);
    if (row_.positions == PositionKind::kLearnt) {
      weights.position_embedding = finder_.tensor({in_base(names.position) + ".weight"},
                                                  {config_.positions + row_.position_offset, config_.hidden},
                                                  std::string(row_.keys.positions) + " and " + hidden_key_);
    }
    for (std::size_t layer = 0; layer < config_.layers; ++layer) weights.layers.push_back(find_layer(layer));
    weights.final_norm = norm(in_base(names.final_norm));
    find_output(weights, tables);
    finder_.throw_if_missing();
    weights.unused = finder_.unused();
  }

  void throw_if_unused() const {
    const DecoderNames& names = row_.names;
    finder_.throw_if_unused(prefix_, {names.word, names.position, names.layer, names.final_norm}, config_.layers);
  }

 private:
  void find_output(DecoderWeights& weights, const std::string& tables) {
    const std::string output = std::string(row_.names.output) + ".weight";
    const bool stored = finder_.has(output);
    if (!stored && !config_.tied && config_.base_model) return;  // saved without its head
    weights.output.out = config_.vocabulary;
    weights.output.weight = !stored && config_.tied
                                ? weights.word_embedding
                                : finder_.tensor({output}, {config_.vocabulary, config_.hidden}, tables);
  }

  std::string in_base(std::string_view name) const { return prefix_ + std::string(name); }

  NormWeights norm(const std::string& name) {
    return finder_.norm(name, config_.hidden, hidden_key_, row_.norm != NormKind::kLayer);
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
    if (!names.query_key_value.empty()) {
      const LinearWeights all =
          linear(prefix + std::string(names.query_key_value), queries + 2 * keys, config_.hidden, bias, source);
      layer.query = all.rows(0, queries);
      layer.key = all.rows(queries, keys);
      layer.value = all.rows(queries + keys, keys);
    } else {
      layer.query = linear(prefix + std::string(names.query), queries, config_.hidden, bias, source);
      layer.key = linear(prefix + std::string(names.key), keys, config_.hidden, bias, source);
      layer.value = linear(prefix + std::string(names.value), keys, config_.hidden, bias, source);
    }
    if (!names.query_norm.empty()) {
      const auto head_norm = [&](std::string_view name) {
        return finder_.norm(prefix + std::string(name), config_.head_width, "the size of a head", /*rms=*/true);
      };
      layer.query_norm = head_norm(names.query_norm);
      layer.key_norm = head_norm(names.key_norm);
    }
    layer.attention_output = linear(prefix + std::string(names.attention_output), config_.hidden, queries,
                                    config_.attention_output_bias, source);
  }

  LayerWeights find_layer(std::size_t number) {
    const DecoderNames& names = row_.names;
    const std::string prefix = in_base(fmt::format(fmt::runtime(names.layer), number));
    const auto full = [&](std::string_view name) { return prefix + std::string(name); };
    const std::string sizes = hidden_key_ + " and " + std::string(row_.keys.intermediate);
    const bool bias = config_.feed_forward_bias;

    LayerWeights layer;
    layer.attention_norm = norm(full(names.attention_norm));
    find_query_key_value(prefix, layer);
    layer.feed_forward_norm = norm(full(names.feed_forward_norm));
    const std::size_t inside = config_.intermediate;
    if (!names.gate_and_in.empty()) {
      const LinearWeights both = linear(full(names.gate_and_in), 2 * inside, config_.hidden, bias, sizes);
      layer.gate = both.rows(0, inside);
      layer.feed_forward_in = both.rows(inside, inside);
    } else {
      if (!names.gate.empty()) layer.gate = linear(full(names.gate), inside, config_.hidden, bias, sizes);
      layer.feed_forward_in = linear(full(names.feed_forward_in), inside, config_.hidden, bias, sizes);
    }
    layer.feed_forward_out = linear(full(names.feed_forward_out), config_.hidden, config_.intermediate, bias, sizes);
    return layer;
  }

  const DecoderConfig& config_;
  const DecoderArchitecture& row_;
  internal::TensorFinder finder_;
  std::string hidden_key_;
  std::string prefix_;
};

DecoderWeights make_decoder_weights(const DecoderConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                                    const std::string& name, bool allow_unused) {
  DecoderWeights weights;
  weights.config = config;
  DecoderTensorFinder finder(*checkpoint, config);
  finder.find_all(weights);
  if (!allow_unused) finder.throw_if_unused();

  ModelInfo& info = weights.info;
  info.name = name;
  info.architecture = config.architecture->model_type;
  info.layers = config.layers;
  info.heads = config.heads;
  info.key_value_heads = config.key_value_heads;
  info.hidden = config.hidden;
  info.vocabulary = config.vocabulary;
  info.max_tokens = config.positions;
  info.causal = true;
  info.head = weights.output.weight == nullptr ? ModelHead::kNone : ModelHead::kCausalLm;
  info.parameters = checkpoint->parameters();
  weights.checkpoint = std::move(checkpoint);
  return weights;
}

}  // namespace

DecoderWeights find_decoder_weights(const Folder& folder, const OpenOptions& options) {
  return find_decoder_weights(folder, read_decoder_config(folder), options);
}

DecoderWeights find_decoder_weights(const Folder& folder, const DecoderConfig& config, const OpenOptions& options) {
  DecoderWeights weights = make_decoder_weights(config, std::make_shared<const Checkpoint>(folder), folder.name(),
                                                options.allow_unused_weights);
  weights.info.notes = adapter_notes(folder);
  return weights;
}

DecoderWeights find_decoder_weights(const DecoderConfig& config, std::shared_ptr<const Checkpoint> checkpoint,
                                    const std::string& name) {
  return make_decoder_weights(config, std::move(checkpoint), name, true);
}

}  // namespace attnflow
