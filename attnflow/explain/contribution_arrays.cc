#include "attnflow/explain/contribution_arrays.h"

#include <fmt/format.h>

#include <vector>

#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

void check_array_shape(const Tensor<float>& found, const char* name, const Shape& expected) {
  if (found.shape() == expected) return;
  throw internal::file_error("expected {} {} next to the attention, found {}", name, shape_to_string(expected),
                             shape_to_string(found.shape()));
}

void check_terms(const ContributionArrays& arrays, TensorView<const float> attention) {
  if (attention.rank() != 4 || attention.empty()) {
    throw internal::file_error(
        "expected an array \"attention\" [layer, head, query, key] next to values, output_projection and residual, "
        "found none");
  }
  const std::size_t layers = attention.extent(0);
  const std::size_t heads = attention.extent(1);
  const std::size_t n = attention.extent(2);
  const Shape& values = arrays.values.shape();
  if (values.size() != 4 || values[2] == 0 || heads % values[2] != 0 || values[3] == 0) {
    throw internal::file_error(
        "expected values [layer, token, key-value head, width] whose heads divide the {} of the attention, found {}",
        heads, shape_to_string(values));
  }
  check_array_shape(arrays.values, "values", {layers, n, values[2], values[3]});
  const std::size_t hidden = arrays.residual.rank() == 3 ? arrays.residual.extent(2) : 0;
  check_array_shape(arrays.residual, "residual", {layers, n, hidden});
  check_array_shape(arrays.output_projection, "output_projection", {layers, heads, values[3], hidden});
  if (!arrays.output.empty()) check_array_shape(arrays.output, "output", {layers, n, hidden});
}

// x_i + sum_j T_ij: mixes the heads' values before projecting them.
Tensor<float> sum_of_terms(const LayerTerms& terms) {
  const std::size_t heads = terms.attention.extent(0);
  const std::size_t n = terms.attention.extent(1);
  const std::size_t width = terms.values.extent(2);
  const std::size_t hidden = terms.residual.extent(1);
  Tensor<float> output({n, hidden});
  std::vector<double> sum(hidden);
  std::vector<double> mixed(width);
  for (std::size_t i = 0; i < n; ++i) {
    const float* residual = terms.residual.data() + i * hidden;
    sum.assign(residual, residual + hidden);
    for (std::size_t h = 0; h < heads; ++h) {
      mixed.assign(width, 0.0);
      const std::size_t group = h * terms.values.extent(1) / heads;
      for (std::size_t j = 0; j < n; ++j) {
        const auto weight = static_cast<double>(terms.attention(h, i, j));
        const float* value = terms.values.data() + (j * terms.values.extent(1) + group) * width;
        for (std::size_t w = 0; w < width; ++w) mixed[w] += weight * static_cast<double>(value[w]);
      }
      for (std::size_t w = 0; w < width; ++w) {
        const float* row = terms.output_projection.data() + (h * width + w) * hidden;
        for (std::size_t c = 0; c < hidden; ++c) sum[c] += mixed[w] * static_cast<double>(row[c]);
      }
    }
    for (std::size_t c = 0; c < hidden; ++c) output(i, c) = static_cast<float>(sum[c]);
  }
  return output;
}

}  // namespace

Tensor<double> checked_contributions(Tensor<double> contributions, std::string_view source) {
  if (contributions.rank() == 3 && !contributions.empty()) return contributions;
  throw internal::file_error("{}: expected contributions [layer, query, key], found {}", source,
                             shape_to_string(contributions.shape()));
}

ContributionArrays read_contribution_arrays(const std::string& path, const std::function<bool(const char*)>& has,
                                            const std::function<Array(const char*)>& read) {
  ContributionArrays arrays;
  const auto source = [&](const char* name) { return fmt::format("{}: {}", path, name); };
  if (has("contributions")) {
    arrays.contributions = checked_contributions(read("contributions").to_double(source("contributions")), path);
    return arrays;
  }
  for (const char* name : {"values", "output_projection", "residual"}) {
    if (has(name)) continue;
    throw internal::file_error(
        "{}: expected an array \"contributions\", or \"values\", \"output_projection\" and \"residual\" next to "
        "\"attention\", found no \"{}\"; --mixing attention needs none of them",
        path, name);
  }
  arrays.values = read("values").to_float(source("values"));
  arrays.output_projection = read("output_projection").to_float(source("output_projection"));
  arrays.residual = read("residual").to_float(source("residual"));
  if (has("output")) arrays.output = read("output").to_float(source("output"));
  return arrays;
}

Error unnamed_contributions(const std::string& path) {
  return {ErrorKind::kUsage,
          fmt::format("{}: expected --mixing to say what the contributions are ({}), since there is no attention", path,
                      mixings_that_need(MixingNeeds::kTerms))};
}

AttentionGraph graph_of_arrays(const ContributionArrays& arrays, TensorView<const float> attention,
                               const ContributionOptions& options) {
  if (!arrays.contributions.empty()) return contribution_graph(arrays.contributions.view(), options);
  check_terms(arrays, attention);
  ContributionGraphSink sink(attention.extent(0), options);
  for (std::size_t l = 0; l < attention.extent(0); ++l) {
    LayerTerms terms;
    terms.layer = l + 1;
    terms.attention = attention[l];
    terms.values = arrays.values[l];
    terms.output_projection = arrays.output_projection[l];
    terms.residual = arrays.residual[l];
    Tensor<float> sum;
    if (arrays.output.empty()) {
      sum = sum_of_terms(terms);
      terms.output = sum.view();
    } else {
      terms.output = arrays.output[l];
    }
    sink.terms(terms);
  }
  return sink.take();
}

}  // namespace attnflow
