#include "training/sentiment/every_other_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

Tensor<float> stored_numbers(const StoredTensor& stored) {
  const Array array{stored.dtype, stored.shape, {stored.bytes.begin(), stored.bytes.end()}, {}};
  Tensor<float> numbers = array.to_float(stored.name);
  const auto span = numbers.span();
  if (!std::all_of(span.begin(), span.end(), [](float x) { return std::isfinite(x); })) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected finite numbers in {}, found others", stored.file, stored.name));
  }
  return numbers;
}

class WeightTaker {
 public:
  explicit WeightTaker(WeightMap& weights) : weights_(weights) {}

  void take(const StoredTensor* to, const StoredTensor* from) {
    if (to == nullptr && from == nullptr) return;
    if (to == nullptr || from == nullptr || to->shape != from->shape) {
      throw Error(ErrorKind::kUsage, fmt::format("expected a model of the same width as the BERT that it starts from, "
                                                 "found another shape of {}",
                                                 to != nullptr ? to->name : from->name));
    }
    weights_.at(to->name) = stored_numbers(*from);
  }
  void take(const LinearWeights& to, const LinearWeights& from) {
    take(to.weight, from.weight);
    take(to.bias, from.bias);
  }
  void take(const NormWeights& to, const NormWeights& from) {
    take(to.scale, from.scale);
    take(to.shift, from.shift);
  }

 private:
  WeightMap& weights_;
};

}  // namespace

EncoderShape every_other_layer_shape(const ModelWeights& bert) {
  const ModelConfig& config = bert.config;
  if (bert.info.architecture != "bert" || config.layers == 0 || config.layers % 2 != 0) {
    throw Error(
        ErrorKind::kUnsupportedModel,
        fmt::format("--init-from-bert: expected a BERT (model_type bert) with an even number of layers, found {} "
                    "({}, {} layers)",
                    bert.info.name, bert.info.architecture, config.layers));
  }
  return {.model_type = "distilbert",
          .class_prefix = "DistilBert",
          .layers = config.layers / 2,
          .heads = config.heads,
          .hidden = config.hidden,
          .intermediate = config.intermediate,
          .positions = config.positions,
          .vocabulary = bert.info.vocabulary,
          .activation = "gelu"};
}

void take_every_other_layer(WeightMap& weights, const ModelWeights& stored, const ModelWeights& bert) {
  if (2 * stored.config.layers != bert.config.layers) {
    throw Error(ErrorKind::kUsage, fmt::format("expected a model of {} layers, half of BERT's, found {}",
                                               bert.config.layers / 2, stored.config.layers));
  }
  WeightTaker taker(weights);
  taker.take(stored.word_embedding, bert.word_embedding);
  taker.take(stored.position_embedding, bert.position_embedding);
  Tensor<float>& positions = weights.at(stored.position_embedding->name);
  const Tensor<float> types = stored_numbers(*bert.token_type_embedding);
  for (std::size_t p = 0; p < positions.extent(0); ++p) {
    for (std::size_t d = 0; d < positions.extent(1); ++d) positions(p, d) += types(0, d);
  }
  taker.take(stored.embedding_norm, bert.embedding_norm);
  for (std::size_t l = 0; l < stored.config.layers; ++l) {
    const LayerWeights& to = stored.layer(l);
    const LayerWeights& from = bert.layer(2 * l);
    for (const auto part :
         {&LayerWeights::query, &LayerWeights::key, &LayerWeights::value, &LayerWeights::attention_output,
          &LayerWeights::feed_forward_in, &LayerWeights::feed_forward_out}) {
      taker.take(to.*part, from.*part);
    }
    taker.take(to.attention_norm, from.attention_norm);
    taker.take(to.feed_forward_norm, from.feed_forward_norm);
  }
}

}  // namespace attnflow
