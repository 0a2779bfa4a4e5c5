#include "attnflow/graph/contribution_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/base/fail.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/contribution_kernels.h"

namespace attnflow::internal {
namespace {

[[noreturn]] void refuse_shape(const std::string& method, std::size_t layer, const char* what, const char* expected,
                               const Shape& found) {
  fail_with(ErrorKind::kOther, "mixing {}: expected {} {} in layer {}, found {}", method, what, expected, layer,
            shape_to_string(found));
}

void check_norm(const NormTerms& norm, std::size_t hidden, const std::string& method, std::size_t layer) {
  if (norm.scale.empty()) return;
  if (norm.scale.size() != hidden) refuse_shape(method, layer, "a norm's scale", "[hidden]", norm.scale.shape());
  if (!norm.shift.empty() && norm.shift.size() != hidden) {
    refuse_shape(method, layer, "a norm's shift", "[hidden]", norm.shift.shape());
  }
}

void check_shapes(const LayerTerms& terms, const std::string& method) {
  const Shape& attention = terms.attention.shape();
  const Shape& values = terms.values.shape();
  const Shape& projection = terms.output_projection.shape();
  const std::size_t layer = terms.layer;
  if (attention.size() != 3 || terms.attention.empty()) {
    refuse_shape(method, layer, "attention", "[head, query, key]", attention);
  }
  const std::size_t heads = attention[0];
  const std::size_t queries = attention[1];
  if (values.size() != 3 || values[0] != queries || values[1] == 0 || heads % values[1] != 0 || values[2] == 0) {
    refuse_shape(method, layer, "values", "[query, key-value head, width] of the queries of its attention", values);
  }
  if (projection.size() != 3 || projection[0] != heads || projection[1] != values[2] || projection[2] == 0) {
    refuse_shape(method, layer, "an output projection", "[head, width, hidden] for its attention and values",
                 projection);
  }
  const Shape states = {queries, projection[2]};
  if (terms.residual.shape() != states) {
    refuse_shape(method, layer, "a residual", "[query, hidden]", terms.residual.shape());
  }
  if (!terms.block_scale.empty() && terms.block_scale.shape() != Shape{states[0]}) {
    refuse_shape(method, layer, "a scale of the block", "[query]", terms.block_scale.shape());
  }
  if (terms.output.shape() != states) refuse_shape(method, layer, "an output", "[query, hidden]", terms.output.shape());
  check_norm(terms.norm, projection[2], method, layer);
  check_norm(terms.feed_forward_norm, projection[2], method, layer);
}

// Whether all numbers are finite. The loop has no branch, so that it can be vectorized: x - x is 0 or NaN.
bool all_finite(const float* data, std::size_t count) {
  bool finite = true;
  for (std::size_t e = 0; e < count; ++e) finite &= data[e] - data[e] == 0.0F;
  return finite;
}

[[noreturn]] void refuse_number(const std::string& method, const char* what, std::size_t layer,
                                const std::string& where, float found) {
  fail_with(ErrorKind::kBadFile,
            "mixing {}: expected {} that are finite in layer {}, found {}{}; the model's weights are "
            "damaged or overflow in float32",
            method, what, layer, found, where);
}

void check_finite(TensorView<const float> data, const char* what, const LayerTerms& terms, const std::string& method) {
  if (all_finite(data.data(), data.size())) return;
  const auto bad = std::find_if(data.span().begin(), data.span().end(), [](float v) { return !std::isfinite(v); });
  const auto row = static_cast<std::size_t>(bad - data.span().begin()) / (data.size() / data.extent(0));
  const bool weights = data.data() == terms.output_projection.data();
  refuse_number(method, what, terms.layer,
                weights ? fmt::format(" in head {}", row) : fmt::format(" at position {}", terms.query_begin + row),
                *bad);
}

std::size_t check_attention(const LayerTerms& terms, const ContributionLayer& layer, std::size_t query,
                            const std::string& method) {
  std::size_t used = 0;
  for (std::size_t h = 0; h < layer.heads; ++h) {
    const float* row = layer.attention_row(h, query);
    bool good = true;
    for (std::size_t k = 0; k < layer.keys; ++k) good &= row[k] >= 0.0F && row[k] - row[k] == 0.0F;
    if (!good) {
      const float bad = *std::find_if(row, row + layer.keys, [](float w) { return !(w >= 0.0F && std::isfinite(w)); });
      fail_with(ErrorKind::kBadFile,
                "mixing {}: expected attention weights that are finite and at least 0 in layer {}, found "
                "{} at position {}; the model's weights are damaged or overflow in float32",
                method, terms.layer, bad, terms.query_begin + query);
    }
    std::size_t k = layer.keys;
    while (k > used && row[k - 1] == 0.0F) --k;
    used = k;
  }
  if (used > layer.positions) {
    fail_with(ErrorKind::kOther,
              "mixing {}: expected attention to positions whose values have come, below {}, found some to "
              "position {} in layer {}; layers in which positions look ahead have to come whole",
              method, layer.positions, used - 1, terms.layer);
  }
  return used;
}

struct Statistics {
  double mean = 0.0;
  double sigma = 1.0;
};

Statistics statistics(const NormTerms& norm, std::span<const float> row) {
  const auto d = static_cast<double>(row.size());
  Statistics found;
  if (!norm.shift.empty()) found.mean = std::accumulate(row.begin(), row.end(), 0.0) / d;
  double squares = 0.0;
  for (const float v : row) squares += (static_cast<double>(v) - found.mean) * (static_cast<double>(v) - found.mean);
  found.sigma = std::sqrt(squares / d + norm.epsilon);
  return found;
}

void fold(std::vector<double>& row, std::span<const NormTerms* const> norms) {
  for (const NormTerms* norm : norms) {
    double mean = 0.0;
    if (!norm->shift.empty()) {
      mean = std::accumulate(row.begin(), row.end(), 0.0) / static_cast<double>(row.size());
    }
    for (std::size_t c = 0; c < row.size(); ++c) row[c] = (row[c] - mean) * static_cast<double>(norm->scale.data()[c]);
  }
}

const float* folded_rows(const float* rows, std::size_t count, const ContributionLayer& layer,
                         std::span<const NormTerms* const> norms, std::vector<float>& own) {
  if (norms.empty() && layer.stride == layer.hidden) return rows;
  own.assign(count * layer.stride, 0.0F);
  constexpr std::size_t kRows = 64;
  parallel_for((count + kRows - 1) / kRows, {.threads = layer.threads}, [&](std::size_t block, std::size_t) {
    std::vector<double> row(layer.hidden);
    for (std::size_t r = block * kRows; r < std::min(count, (block + 1) * kRows); ++r) {
      const float* from = rows + r * layer.hidden;
      std::copy_n(from, layer.hidden, row.begin());
      fold(row, norms);
      std::transform(row.begin(), row.end(), own.begin() + static_cast<std::ptrdiff_t>(r * layer.stride),
                     [](double v) { return static_cast<float>(v); });
    }
  });
  return own.data();
}

std::vector<float> folded_projection(const float* rows, const ContributionLayer& layer,
                                     std::span<const NormTerms* const> norms) {
  std::vector<float> panels(layer.heads * layer.width * layer.stride, 0.0F);
  parallel_for(layer.heads, {.threads = layer.threads}, [&](std::size_t head, std::size_t) {
    std::vector<double> row(layer.hidden);
    for (std::size_t w = 0; w < layer.width; ++w) {
      const float* from = rows + (head * layer.width + w) * layer.hidden;
      float* to = panels.data() + head * layer.stride * layer.width + w * kVectorBlock;
      if (!norms.empty()) {
        std::copy_n(from, layer.hidden, row.begin());
        fold(row, norms);
      }
      for (std::size_t c = 0; c < layer.hidden; c += kVectorBlock, to += kVectorBlock * layer.width) {
        const std::size_t count = std::min(kVectorBlock, layer.hidden - c);
        for (std::size_t e = 0; e < count; ++e) to[e] = norms.empty() ? from[c + e] : static_cast<float>(row[c + e]);
      }
    }
  });
  return panels;
}

void normed_output(const LayerTerms& terms, ContributionLayer& layer) {
  layer.own_output.assign(layer.queries * layer.stride, 0.0F);
  for (std::size_t q = 0; q < layer.queries; ++q) {
    const std::span<const float> row(terms.output.data() + q * layer.hidden, layer.hidden);
    const Statistics found = statistics(terms.norm, row);
    float* out = layer.own_output.data() + q * layer.stride;
    for (std::size_t c = 0; c < layer.hidden; ++c) {
      const double shift = terms.norm.shift.empty() ? 0.0 : static_cast<double>(terms.norm.shift.data()[c]);
      out[c] = static_cast<float>((static_cast<double>(row[c]) - found.mean) *
                                      static_cast<double>(terms.norm.scale.data()[c]) +
                                  found.sigma * shift);
    }
  }
  layer.output = layer.own_output.data();
}

void scale_attention(const LayerTerms& terms, ContributionLayer& layer) {
  if (terms.block_scale.empty()) return;
  const auto weights = terms.attention.span();
  layer.own_attention.resize(weights.size());
  for (std::size_t h = 0; h < layer.heads; ++h) {
    for (std::size_t q = 0; q < layer.queries; ++q) {
      const auto row = weights.subspan((h * layer.queries + q) * layer.keys, layer.keys);
      std::transform(row.begin(), row.end(), layer.own_attention.begin() + (row.data() - weights.data()),
                     [factor = terms.block_scale(q)](float weight) { return weight * factor; });
    }
  }
  layer.attention = layer.own_attention.data();
}

}  // namespace

ContributionLayer contribution_layer(const LayerTerms& terms, FoldedNorms folded, const std::string& method,
                                     std::size_t threads) {
  check_shapes(terms, method);
  ContributionLayer layer;
  layer.number = terms.layer;
  layer.query_begin = terms.query_begin;
  layer.value_begin = terms.query_begin;
  layer.queries = terms.attention.extent(1);
  layer.positions = terms.query_begin + layer.queries;
  layer.keys = terms.attention.extent(2);
  layer.heads = terms.attention.extent(0);
  layer.key_heads = terms.values.extent(1);
  layer.width = terms.values.extent(2);
  layer.hidden = terms.output_projection.extent(2);
  layer.stride = (layer.hidden + kVectorBlock - 1) / kVectorBlock * kVectorBlock;
  layer.attention = terms.attention.data();
  layer.values = terms.values.data();
  layer.threads = resolve_threads(threads);

  check_finite(terms.values, "values", terms, method);
  check_finite(terms.residual, "residuals", terms, method);
  check_finite(terms.output, "outputs", terms, method);
  check_finite(terms.output_projection, "output projections", terms, method);
  layer.used_keys.resize(layer.queries);
  const std::size_t checking = layer.queries < kGroup ? 1 : layer.threads;
  parallel_for(layer.queries, {.threads = checking}, [&](std::size_t query, std::size_t) {
    layer.used_keys[query] = check_attention(terms, layer, query, method);
  });

  scale_attention(terms, layer);

  std::vector<const NormTerms*> norms;
  if (folded != FoldedNorms::kNone && !terms.norm.scale.empty()) norms.push_back(&terms.norm);
  if (folded == FoldedNorms::kBoth && !terms.feed_forward_norm.scale.empty()) norms.push_back(&terms.feed_forward_norm);
  layer.projection = folded_projection(terms.output_projection.data(), layer, norms);
  layer.residual = folded_rows(terms.residual.data(), layer.queries, layer, norms, layer.own_residual);
  if (folded == FoldedNorms::kFirst && !norms.empty()) {
    normed_output(terms, layer);
  } else {
    layer.output = folded_rows(terms.output.data(), layer.queries, layer, {}, layer.own_output);
  }
  return layer;
}

}  // namespace attnflow::internal
