#include <algorithm>
#include <cmath>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/graph/contribution_mixing.h"

namespace attnflow {
namespace {

double block_scale(const LayerTerms& terms, std::size_t query) {
  return terms.block_scale.empty() ? 1.0 : static_cast<double>(terms.block_scale(query));
}

std::vector<double> remainder_of(const LayerTerms& terms, std::size_t query) {
  const std::size_t heads = terms.attention.extent(0);
  const std::size_t width = terms.values.extent(2);
  const std::size_t hidden = terms.output_projection.extent(2);
  std::vector<double> left(hidden);
  for (std::size_t c = 0; c < hidden; ++c) {
    left[c] = static_cast<double>(terms.output(query, c)) - static_cast<double>(terms.residual(query, c));
  }
  const double scale = block_scale(terms, query);
  std::vector<double> mixed(width);
  for (std::size_t h = 0; h < heads; ++h) {
    std::fill(mixed.begin(), mixed.end(), 0.0);
    const std::size_t group = h * terms.values.extent(1) / heads;
    for (std::size_t k = 0; k < terms.values.extent(0); ++k) {
      const double weight = static_cast<double>(terms.attention(h, query, k)) * scale;
      for (std::size_t c = 0; c < width; ++c) mixed[c] += weight * static_cast<double>(terms.values(k, group, c));
    }
    for (std::size_t m = 0; m < width; ++m) {
      const float* row = terms.output_projection.data() + (h * width + m) * hidden;
      for (std::size_t c = 0; c < hidden; ++c) left[c] -= mixed[m] * static_cast<double>(row[c]);
    }
  }
  return left;
}

void check_whole(const LayerTerms& terms, std::span<const float> bias) {
  const Shape& attention = terms.attention.shape();
  const Shape& values = terms.values.shape();
  const Shape& projection = terms.output_projection.shape();
  bool fits = attention.size() == 3 && values.size() == 3 && projection.size() == 3 && !terms.attention.empty() &&
              !terms.values.empty() && !terms.output_projection.empty();
  fits = fits && terms.query_begin == 0 && attention[1] == attention[2] && values[0] == attention[1] &&
         projection[0] == attention[0] && projection[1] == values[2] && attention[0] % values[1] == 0;
  fits = fits && terms.residual.shape() == Shape{attention[1], projection[2]} &&
         terms.output.shape() == terms.residual.shape() && (bias.empty() || bias.size() == projection[2]);
  if (!fits) {
    fail_with(ErrorKind::kOther,
              "completeness: expected the terms of a whole layer, in shapes that fit each other, found "
              "attention {}, values {}, output projection {} from position {}",
              shape_to_string(attention), shape_to_string(values), shape_to_string(projection), terms.query_begin);
  }
}

}  // namespace

double completeness_error(const LayerTerms& terms, std::span<const float> bias) {
  check_whole(terms, bias);
  const std::size_t n = terms.attention.extent(1);
  std::vector<std::vector<double>> left(n);
  for (std::size_t q = 0; q < n; ++q) left[q] = remainder_of(terms, q);
  std::vector<double> constant(bias.begin(), bias.end());
  if (bias.empty()) {
    constant.assign(left[0].size(), 0.0);
    double reached = 0.0;  // positions that the block writes into
    for (std::size_t q = 0; q < n; ++q) reached += block_scale(terms, q) > 0.0 ? 1.0 : 0.0;
    for (std::size_t q = 0; q < n; ++q) {
      const double parts = block_scale(terms, q) * reached;
      for (std::size_t c = 0; parts > 0.0 && c < constant.size(); ++c) constant[c] += left[q][c] / parts;
    }
  }
  double largest = 0.0;
  for (std::size_t q = 0; q < n; ++q) {
    const double scale = block_scale(terms, q);
    for (std::size_t c = 0; c < constant.size(); ++c) {
      const double error = std::abs(left[q][c] - scale * constant[c]);
      largest = error <= largest ? largest : error;  // keeps NaN
    }
  }
  double size = 0.0;
  for (const float y : terms.output.span()) size = std::max(size, std::abs(static_cast<double>(y)));
  return size > 0.0 ? largest / size : largest;
}

}  // namespace attnflow
