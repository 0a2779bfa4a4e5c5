#include "attnflow/graph/mixing.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/graph/remove_weights.h"

namespace attnflow {
namespace {

template <typename Weight>
Tensor<double> fused(TensorView<const Weight> attention, HeadFusion fusion, std::size_t head, std::size_t query_begin) {
  const std::size_t heads = attention.extent(0);
  const std::size_t queries = attention.extent(1);
  const std::size_t keys = attention.extent(2);
  const std::size_t size = queries * keys;
  Tensor<double> fused({queries, keys});
  double* out = fused.data();
  if (fusion == HeadFusion::kSingle) {
    if (head >= heads) fail_with(ErrorKind::kUsage, "heads: expected a head from 0 to {}, found {}", heads - 1, head);
    const Weight* in = attention.data() + head * size;
    for (std::size_t e = 0; e < size; ++e) out[e] = static_cast<double>(in[e]);
    return fused;
  }
  for (std::size_t e = 0; e < size; ++e) out[e] = static_cast<double>(attention.data()[e]);
  for (std::size_t h = 1; h < heads; ++h) {
    const Weight* in = attention.data() + h * size;
    switch (fusion) {
      case HeadFusion::kMean:
        for (std::size_t e = 0; e < size; ++e) out[e] += static_cast<double>(in[e]);
        break;
      case HeadFusion::kMax:
        for (std::size_t e = 0; e < size; ++e) out[e] = std::max(out[e], static_cast<double>(in[e]));
        break;
      case HeadFusion::kMin:
        for (std::size_t e = 0; e < size; ++e) out[e] = std::min(out[e], static_cast<double>(in[e]));
        break;
      case HeadFusion::kSingle:
        break;
    }
  }
  if (fusion == HeadFusion::kMean) {
    for (std::size_t e = 0; e < size; ++e) out[e] /= static_cast<double>(heads);
  } else {
    for (std::size_t q = 0; q < queries; ++q) renormalize_row({out + q * keys, keys}, query_begin + q);
  }
  return fused;
}

template <typename Weight>
Tensor<double> fused(TensorView<const Weight> attention, const MixingOptions& options, std::size_t query_begin) {
  const std::size_t keys = attention.extent(2);
  internal::check_removal(options.removal(), keys);
  // Checked before heads are fused: a maximum would hide a NaN, and a sum a negative weight.
  const auto is_wrong = [](Weight w) {  // written so that NaN is wrong
    return !((w >= 0) & (w <= std::numeric_limits<Weight>::max()));
  };
  unsigned wrong = 0;  // checks all without stopping early, because such a loop is vectorized
  for (const Weight w : attention.span()) wrong |= static_cast<unsigned>(is_wrong(w));
  if (wrong != 0) {
    fail_with(ErrorKind::kBadFile,
              "expected attention weights that are finite and at least 0, found {}; "
              "the model's weights are damaged or overflow in float32",
              *std::find_if(attention.span().begin(), attention.span().end(), is_wrong));
  }
  return finish_fused(fused(attention, options.heads, options.head, query_begin), options, query_begin);
}

}  // namespace

MixingOptions below_top(MixingOptions options) {
  if (options.heads == HeadFusion::kSingle) options.heads = HeadFusion::kMean;
  return options;
}

Tensor<double> fuse_heads(TensorView<const float> attention, HeadFusion fusion, std::size_t head,
                          std::size_t query_begin) {
  return fused(attention, fusion, head, query_begin);
}
Tensor<double> fuse_heads(TensorView<const double> attention, HeadFusion fusion, std::size_t head,
                          std::size_t query_begin) {
  return fused(attention, fusion, head, query_begin);
}

Tensor<double> fused_weights(TensorView<const float> attention, const MixingOptions& options, std::size_t query_begin) {
  return fused(attention, options, query_begin);
}
Tensor<double> fused_weights(TensorView<const double> attention, const MixingOptions& options,
                             std::size_t query_begin) {
  return fused(attention, options, query_begin);
}

Tensor<double> finish_fused(Tensor<double> weights, const MixingOptions& options, std::size_t query_begin) {
  internal::remove_and_renormalize(weights, options.removal(), internal::Diagonal::kGoes, query_begin);
  return weights;
}

Tensor<double> fused_rows(TensorView<const float> attention, const MixingOptions& options, std::size_t query_begin) {
  if (options.discard > 0.0) {
    throw Error(
        ErrorKind::kUsage,
        "discard: expected whole layers, whose smallest weights it drops, found chunks of queries; remove --discard");
  }
  MixingOptions seen = options;
  const std::size_t keys = attention.extent(2);
  std::erase_if(seen.mask_columns, [keys](std::size_t k) { return k >= keys; });
  return fused_weights(attention, seen, query_begin);
}

void check_residual(double residual) {
  if (residual >= 0.0 && residual <= 1.0) return;  // written so that NaN throws
  fail_with(ErrorKind::kUsage, "residual: expected a weight from 0 to 1, found {}", residual);
}

void add_residual(std::span<double> row, std::size_t position, double residual) {
  check_residual(residual);
  for (double& weight : row) weight *= 1.0 - residual;
  if (position < row.size()) row[position] += residual;
}

Tensor<double> add_residual(TensorView<const double> weights, double residual) {
  Tensor<double> mixed(weights.shape(), {weights.span().begin(), weights.span().end()});
  const std::size_t n = weights.extent(1);
  for (std::size_t q = 0; q < weights.extent(0); ++q) add_residual({mixed.data() + q * n, n}, q, residual);
  return mixed;
}

RowRule row_rule(ResidualRule rule, double sum) {
  switch (rule) {
    case ResidualRule::kAdded:
      return {.identity = 1.0, .divisor = 1.0};
    case ResidualRule::kAddedNormalized:
      return {.identity = 1.0, .divisor = 1.0 + sum};
    case ResidualRule::kContainedNormalized:
      return sum == 0.0 ? RowRule{.identity = 1.0, .divisor = 1.0} : RowRule{.identity = 0.0, .divisor = sum};
    case ResidualRule::kConvex:
    case ResidualRule::kContained:
      break;
  }
  return {};
}

ResidualRule flow_rule(ResidualRule rule) {
  if (rule == ResidualRule::kAdded) return ResidualRule::kAddedNormalized;
  return rule == ResidualRule::kContainedNormalized ? ResidualRule::kContained : rule;
}

Tensor<double> add_residual(TensorView<const double> weights, ResidualRule rule, double residual) {
  if (rule == ResidualRule::kConvex) return add_residual(weights, residual);
  const std::size_t n = weights.extent(1);
  Tensor<double> added(weights.shape(), {weights.span().begin(), weights.span().end()});
  for (std::size_t q = 0; q < weights.extent(0); ++q) {
    const std::span<double> row(added.data() + q * n, n);
    const RowRule how = row_rule(rule, std::accumulate(row.begin(), row.end(), 0.0));
    if (q < n) row[q] += how.identity;
    if (how.divisor == 1.0) continue;
    for (double& weight : row) weight /= how.divisor;
  }
  return added;
}

void GraphSink::keep(std::size_t layer, std::size_t query_begin, const Shape& attention, const auto& fused) {
  const std::size_t queries = attention[1];
  const std::size_t keys = attention[2];
  const std::size_t n = tokens_ == 0 ? keys : tokens_;
  if (tokens_ == 0 && (query_begin != 0 || queries != n)) {
    throw Error(ErrorKind::kOther,
                "a graph needs whole layers, but attention came in chunks of queries, and the number of tokens was "
                "not given beforehand");
  }
  const bool one_head = options_.heads == HeadFusion::kSingle;
  if (graph_.weights.empty()) {
    graph_.residual = options_.residual;
    graph_.weights = Tensor<double>({layers_, n, n});
    if (one_head) graph_.weights_below = Tensor<double>({layers_, n, n});
  }
  assert(layer >= 1 && layer <= layers_ && graph_.tokens() == n && query_begin + queries <= n && keys <= n);
  const auto copy = [&](const Tensor<double>& weights, Tensor<double>& matrices) {
    double* rows = matrices.data() + ((layer - 1) * n + query_begin) * n;
    for (std::size_t q = 0; q < queries; ++q) std::copy_n(weights.data() + q * keys, keys, rows + q * n);
  };
  copy(fused(options_), graph_.weights);
  if (one_head) copy(fused(below_top(options_)), graph_.weights_below);
}

void GraphSink::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  keep(layer, query_begin, attention.shape(), [&](const MixingOptions& options) {
    return tokens_ == 0 ? fused_weights(attention, options) : fused_rows(attention, options, query_begin);
  });
}

void GraphSink::layer(std::size_t layer, TensorView<const double> attention) {
  keep(layer, 0, attention.shape(), [&](const MixingOptions& options) { return fused_weights(attention, options); });
}

AttentionGraph GraphSink::take() { return std::exchange(graph_, {}); }

AttentionGraph attention_graph(const AttentionStack& stack, const MixingOptions& options) {
  GraphSink sink(stack.layers(), options);
  stack.send_to(sink);
  return sink.take();
}

AttentionGraph attention_graph(const WideAttentionStack& stack, const MixingOptions& options) {
  GraphSink sink(stack.layers(), options);
  for (std::size_t l = 1; l <= stack.layers(); ++l) sink.layer(l, stack.layer(l));
  return sink.take();
}

AttentionGraph uniform_graph(std::size_t layers, std::size_t tokens, const AttentionMask& mask, double residual) {
  AttentionGraph graph;
  graph.weights = Tensor<double>({layers, tokens, tokens});
  graph.residual = residual;
  for (std::size_t l = 0; l < layers; ++l) {
    for (std::size_t q = 0; q < tokens; ++q) {
      const AttentionMask::Keys keys = mask.keys(l + 1, q, tokens);
      for (std::size_t k = keys.begin; k < keys.end; ++k)
        graph.weights(l, q, k) = 1.0 / static_cast<double>(keys.size());
    }
  }
  return graph;
}

}  // namespace attnflow
