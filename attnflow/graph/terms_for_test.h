// Seeded random terms of layers, complete by construction, and their contributions in float64 by storing all vectors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/layer_terms.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow {

enum class NormsForTest { kBefore, kAfter, kRmsAfter };

struct RandomTermsOptions {
  std::size_t layers = 1;
  std::size_t heads = 4;
  std::size_t key_heads = 4;
  std::size_t width = 6;
  std::size_t hidden = 24;
  std::size_t tokens = 9;
  bool causal = false;
  NormsForTest norms = NormsForTest::kBefore;
  std::uint64_t seed = 1;
};

struct OwnedTerms {
  Tensor<float> attention, values, projection, residual, output, scale, shift, second_scale, second_shift;
  std::vector<float> bias;
  NormsForTest norms = NormsForTest::kBefore;

  // Views for the queries [begin, end), with keys up to `end` or all; copies noncontiguous rows into `part`.
  LayerTerms terms(std::size_t layer = 1) const {
    LayerTerms result{.layer = layer,
                      .attention = attention.view(),
                      .values = values.view(),
                      .output_projection = projection.view(),
                      .residual = residual.view(),
                      .output = output.view()};
    if (norms != NormsForTest::kBefore) {
      const bool rms = norms == NormsForTest::kRmsAfter;
      result.norm = {scale.view(), rms ? TensorView<const float>() : shift.view(), 1e-5};
      result.feed_forward_norm = {second_scale.view(), rms ? TensorView<const float>() : second_shift.view(), 1e-5};
    }
    return result;
  }

  // Rows [begin, end) of everything that has rows, with attention cut after the last key.
  OwnedTerms chunk(std::size_t begin, std::size_t end) const {
    OwnedTerms part = *this;
    const std::size_t heads = attention.extent(0);
    part.attention = Tensor<float>({heads, end - begin, end});
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t q = begin; q < end; ++q) {
        for (std::size_t k = 0; k < end; ++k) part.attention(h, q - begin, k) = attention(h, q, k);
      }
    }
    const auto rows = [&](const Tensor<float>& from) {
      Shape shape = from.shape();
      const std::size_t row = from.size() / shape[0];
      shape[0] = end - begin;
      const auto first = from.span().begin();
      return Tensor<float>(shape, std::vector<float>(first + static_cast<std::ptrdiff_t>(begin * row),
                                                     first + static_cast<std::ptrdiff_t>(end * row)));
    };
    part.values = rows(values);
    part.residual = rows(residual);
    part.output = rows(output);
    return part;
  }
};

inline Tensor<double> plain_terms(const OwnedTerms& layer) {
  const std::size_t heads = layer.attention.extent(0);
  const std::size_t n = layer.attention.extent(1);
  const std::size_t width = layer.values.extent(2);
  const std::size_t hidden = layer.projection.extent(2);
  const std::size_t shared = heads / layer.values.extent(1);
  Tensor<double> terms({n, n, hidden});
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t c = 0; c < hidden; ++c) {
        double u = 0.0;
        for (std::size_t w = 0; w < width; ++w) {
          u += static_cast<double>(layer.values(j, h / shared, w)) * static_cast<double>(layer.projection(h, w, c));
        }
        for (std::size_t i = 0; i < n; ++i) terms(i, j, c) += static_cast<double>(layer.attention(h, i, j)) * u;
      }
    }
  }
  return terms;
}

inline std::vector<OwnedTerms> random_terms(const RandomTermsOptions& options) {
  const AttentionStack stack = random_stack({.layers = options.layers,
                                             .heads = options.heads,
                                             .tokens = options.tokens,
                                             .causal = options.causal,
                                             .seed = options.seed});
  std::mt19937_64 random(options.seed + 1000);
  std::normal_distribution<float> normal;
  const auto fill = [&](Shape shape, float scale, float offset = 0.0F) {
    Tensor<float> tensor(std::move(shape));
    for (float& x : tensor.span()) x = offset + scale * normal(random);
    return tensor;
  };
  std::vector<OwnedTerms> layers;
  for (std::size_t l = 1; l <= options.layers; ++l) {
    OwnedTerms layer;
    const auto attention = stack.layer(l);
    layer.attention = Tensor<float>(attention.shape(), {attention.span().begin(), attention.span().end()});
    layer.values = fill({options.tokens, options.key_heads, options.width}, 1.0F);
    layer.projection = fill({options.heads, options.width, options.hidden}, 0.3F);
    layer.residual = fill({options.tokens, options.hidden}, 1.0F);
    layer.scale = fill({options.hidden}, 0.3F, 1.0F);
    layer.shift = fill({options.hidden}, 0.3F);
    layer.second_scale = fill({options.hidden}, 0.3F, 1.0F);
    layer.second_shift = fill({options.hidden}, 0.3F);
    layer.norms = options.norms;
    const Tensor<float> bias = fill({options.hidden}, 0.1F);
    layer.bias.assign(bias.span().begin(), bias.span().end());
    layer.output = Tensor<float>({options.tokens, options.hidden});
    const Tensor<double> terms = plain_terms(layer);
    for (std::size_t i = 0; i < options.tokens; ++i) {
      for (std::size_t c = 0; c < options.hidden; ++c) {
        double y = static_cast<double>(layer.residual(i, c)) + static_cast<double>(layer.bias[c]);
        for (std::size_t j = 0; j < options.tokens; ++j) y += terms(i, j, c);
        layer.output(i, c) = static_cast<float>(y);
      }
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

inline std::vector<double> plain_norm(const std::vector<double>& row, const std::vector<double>& like,
                                      const Tensor<float>& scale, const Tensor<float>* shift, bool rms) {
  const auto d = static_cast<double>(row.size());
  const auto mean = [&](const std::vector<double>& v) {
    return rms ? 0.0 : std::accumulate(v.begin(), v.end(), 0.0) / d;
  };
  double variance = 0.0;
  for (const double x : like) variance += (x - mean(like)) * (x - mean(like)) / d;
  const double sigma = std::sqrt(variance + 1e-5);
  std::vector<double> result(row.size());
  for (std::size_t c = 0; c < row.size(); ++c) {
    result[c] = (row[c] - mean(row)) / sigma * static_cast<double>(scale(c)) +
                (shift != nullptr && !rms ? static_cast<double>((*shift)(c)) : 0.0);
  }
  return result;
}

// W_l, computed in the simplest way. `rest`: for value zeroing.
inline Tensor<double> plain_contributions(const OwnedTerms& layer, Contribution method,
                                          const std::function<std::vector<double>(std::vector<double>)>& rest = {}) {
  const std::size_t n = layer.residual.extent(0);
  const std::size_t hidden = layer.residual.extent(1);
  const std::size_t heads = layer.attention.extent(0);
  const bool rms = layer.norms == NormsForTest::kRmsAfter;
  const bool is_ifr = method == Contribution::kIfr;
  const auto l1 = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0, [](double sum, double x) { return sum + std::abs(x); });
  };
  const auto l2 = [](const std::vector<double>& v) {
    return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0));
  };
  const auto minus = [](std::vector<double> a, const std::vector<double>& b) {
    for (std::size_t c = 0; c < a.size(); ++c) a[c] -= b[c];
    return a;
  };
  // T_ij or, for IFR, each head's part.
  std::vector<Tensor<double>> parts;
  for (std::size_t h = 0; h < (is_ifr ? heads : 1); ++h) {
    OwnedTerms one = layer;
    for (std::size_t other = 0; is_ifr && other < heads; ++other) {
      if (other != h) std::fill_n(one.attention[other].data(), n * n, 0.0F);
    }
    parts.push_back(plain_terms(one));
  }
  Tensor<double> result({n, n});
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<double> y(layer.output[i].span().begin(), layer.output[i].span().end());
    const std::vector<double> x(layer.residual[i].span().begin(), layer.residual[i].span().end());
    const auto normed = [&](const std::vector<double>& row, bool shifts) {
      if (layer.norms == NormsForTest::kBefore) return row;
      return plain_norm(row, y, layer.scale, shifts ? &layer.shift : nullptr, rms);
    };
    const auto gain = [&](const std::vector<double>& part) {
      const std::vector<double> whole = normed(y, true);
      return std::max(0.0, l1(whole) - l1(minus(whole, normed(part, false))));
    };
    for (std::size_t j = 0; j < n; ++j) {
      std::vector<double> t(parts[0][i][j].span().begin(), parts[0][i][j].span().end());
      std::vector<double> f = t;
      for (std::size_t c = 0; i == j && c < hidden; ++c) f[c] += x[c];
      if (method == Contribution::kNorm) result(i, j) = l2(normed(f, false));
      if (method == Contribution::kGlobenc) {
        // The second norm's sigma, which depends on an input known only to the model, cancels: any value will do.
        result(i, j) = l2(plain_norm(normed(f, false), y, layer.second_scale, nullptr, rms));
      }
      if (method == Contribution::kAlti) result(i, j) = gain(f);
      if (is_ifr) {
        for (const Tensor<double>& part : parts) {
          result(i, j) += gain({part[i][j].span().begin(), part[i][j].span().end()});
        }
        if (i == j) result(i, j) += gain(x);
      }
      if (method == Contribution::kValueZeroing) {
        const std::vector<double> whole = rest(y);
        const std::vector<double> without = rest(minus(y, t));
        result(i, j) =
            1.0 - std::inner_product(whole.begin(), whole.end(), without.begin(), 0.0) / l2(whole) / l2(without);
      }
    }
    const std::span<double> row = result[i].span();
    const double sum = std::accumulate(row.begin(), row.end(), 0.0);
    for (double& w : row) w /= sum;
  }
  return result;
}

}  // namespace attnflow
