#include "attnflow/report/report_layers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace attnflow::internal {
namespace {

// Every other one of `layers` positions, with the last.
std::vector<std::size_t> every_other(std::size_t layers) {
  std::vector<std::size_t> kept;
  for (std::size_t l = 1 - layers % 2; l < layers; l += 2) kept.push_back(l);
  return kept;
}

std::vector<std::size_t> chosen(const std::vector<std::size_t>& layers, const std::vector<std::size_t>& kept) {
  std::vector<std::size_t> result;
  for (const std::size_t l : kept) result.push_back(layers[l]);
  return result;
}

// Some layers of an array whose first dimension they are.
template <typename T>
Tensor<T> first_of(const Tensor<T>& values, const std::vector<std::size_t>& layers) {
  if (values.empty()) return {};
  Shape shape = values.shape();
  const std::size_t size = values.size() / shape.front();
  shape.front() = layers.size();
  Tensor<T> kept(shape);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    std::copy_n(values.data() + layers[l] * size, size, kept.data() + l * size);
  }
  return kept;
}

// Some layers of an array whose last dimension they are.
Tensor<double> last_of(const Tensor<double>& values, const std::vector<std::size_t>& layers) {
  if (values.empty()) return {};
  Shape shape = values.shape();
  const std::size_t before = shape.back();
  shape.back() = layers.size();
  Tensor<double> kept(shape);
  double* out = kept.data();
  for (std::size_t row = 0; row < values.size() / before; ++row) {
    for (const std::size_t l : layers) *out++ = values.data()[row * before + l];
  }
  return kept;
}

}  // namespace

void halve_layers(Report* report) {
  const std::vector<std::size_t> kept = every_other(report->settings.layers.size());
  report->settings.layers = chosen(report->settings.layers, kept);
  for (Tensor<double>* values : {&report->raw, &report->rollout, &report->flow, &report->flow_gap}) {
    *values = first_of(*values, kept);
  }
  report->flow_degenerate = first_of(report->flow_degenerate, kept);
}

void halve_layers(GenerationReport* report) {
  const std::vector<std::size_t> kept = every_other(report->settings.layers.size());
  report->settings.layers = chosen(report->settings.layers, kept);
  for (GenerationValues* values : {&report->raw, &report->rollout}) {
    for (Tensor<double>* tensor : {&values->prompt, &values->generated, &values->normalized}) {
      *tensor = last_of(*tensor, kept);
    }
  }
  report->sink_share = last_of(report->sink_share, kept);
}

}  // namespace attnflow::internal
