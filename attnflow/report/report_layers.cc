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

}  // namespace

void halve_layers(Report* report) {
  const auto halve = [](std::vector<std::size_t>* layers, const std::vector<Tensor<double>*>& arrays) {
    const std::vector<std::size_t> kept = every_other(layers->size());
    *layers = chosen(*layers, kept);
    for (Tensor<double>* const array : arrays) *array = first_of(*array, kept);
    return kept;
  };
  std::vector<Tensor<double>*> arrays = {&report->raw,
                                         &report->rollout,
                                         &report->raw_beside.generated,
                                         &report->raw_beside.normalized,
                                         &report->rollout_beside.generated,
                                         &report->rollout_beside.normalized};
  const std::vector<Tensor<double>*> flow = {&report->flow, &report->flow_gap, &report->flow_beside.generated,
                                             &report->flow_beside.normalized};
  if (report->generation) arrays.push_back(&report->generation->sink_share);
  const bool own_layers = !report->flow_layers.empty();
  if (!own_layers) arrays.insert(arrays.end(), flow.begin(), flow.end());
  std::vector<std::size_t> kept = halve(&report->settings.layers, arrays);
  if (own_layers) kept = halve(&report->flow_layers, flow);
  report->flow_degenerate = first_of(report->flow_degenerate, kept);
}

}  // namespace attnflow::internal
