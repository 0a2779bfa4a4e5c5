// Seeded random problems for attention_flow(): graphs of every shape that attention takes and some that it does not.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/flow/layered_network.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow {

struct RandomFlowOptions {
  std::size_t least_tokens = 1, max_tokens = 8;
  std::size_t least_layers = 1, max_layers = 6;
  bool odd_scales = true;  // a few graphs are scaled by 1e300 or 1e-300
};

struct RandomFlow {
  AttentionGraph graph;
  std::vector<std::size_t> layers;  // requested
  std::size_t start_layer = 0;
  std::optional<TokenGroups> groups;
  std::string name;
};

namespace random_flow {

inline constexpr const char* kKinds[] = {"soft", "peaked", "sparse", "hubs", "ties", "rows", "steps", "heads"};

// The weights W of one layer: nonnegative, and row-stochastic for most kinds.
inline Tensor<double> matrix(std::mt19937_64& random, std::size_t kind, std::size_t n, bool causal,
                             const std::vector<std::size_t>& hubs, double density) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::normal_distribution<double> normal(0.0, 1.0);
  const auto chosen = [&](double probability) { return uniform(random) < probability; };
  const auto integer = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  const std::string name = kKinds[kind];
  Tensor<double> weights({n, n});
  std::vector<bool> empty_row(n), empty_column(n);
  if (name == "sparse") {
    for (std::size_t p = 0; p < n; ++p) {
      empty_row[p] = chosen(0.1);
      empty_column[p] = chosen(0.1);
    }
  }
  for (std::size_t p = 0; p < n; ++p) {
    double sum = 0.0;
    for (std::size_t q = 0; q < (causal ? p + 1 : n); ++q) {
      double w = 0.0;
      if (name == "soft") {
        w = std::exp(0.5 * normal(random));
      } else if (name == "peaked") {
        w = std::exp(6.0 * normal(random));
      } else if (name == "sparse") {
        w = empty_row[p] || empty_column[q] || !chosen(density) ? 0.0 : uniform(random);
      } else if (name == "hubs") {
        w = std::exp(normal(random) + (std::find(hubs.begin(), hubs.end(), q) != hubs.end() ? 4.0 : 0.0));
      } else if (name == "ties") {
        w = integer(4);
      } else if (name == "steps") {
        w = integer(3) == 0 ? 1.0 : 0x1p-20;  // two very different sizes
      } else {
        w = uniform(random);
      }
      weights(p, q) = w;
      sum += w;
    }
    // Ties stay multiples of 1/16, so that sums are exact and equal; some rows have arbitrary sums; the others sum to
    // 1, exactly or as in float32.
    double scale = sum > 0.0 ? 1.0 / sum : 1.0;
    if (name == "ties") scale = 0x1p-4;
    if (name == "rows") {
      const double wanted[] = {1.0, 1.0 + 1e-7, 1.0 - 1e-7, std::pow(10.0, 6.0 * uniform(random) - 3.0)};
      scale *= wanted[integer(3)];
    }
    for (std::size_t q = 0; q < n; ++q) weights(p, q) *= scale;
    if (name == "soft" || name == "hubs") {
      for (std::size_t q = 0; q < n; ++q) weights(p, q) = static_cast<double>(static_cast<float>(weights(p, q)));
    }
  }
  return weights;
}

}  // namespace random_flow

inline RandomFlow random_flow_question(std::uint64_t seed, const RandomFlowOptions& options = {}) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  const auto integer = [&](std::size_t least, std::size_t most) {
    return std::uniform_int_distribution<std::size_t>(least, most)(random);
  };
  const auto chosen = [&](double probability) { return uniform(random) < probability; };

  const std::size_t n = integer(options.least_tokens, options.max_tokens);
  const std::size_t layers = integer(options.least_layers, options.max_layers);
  const std::size_t kind = integer(0, std::size(random_flow::kKinds) - 1);
  const bool causal = chosen(0.4);
  RandomFlow question;
  question.name = std::string("seed ") + std::to_string(seed) + ", " + random_flow::kKinds[kind] +
                  (causal ? ", causal" : "") + ", n = " + std::to_string(n) + ", L = " + std::to_string(layers);
  if (question.name.find("heads") != std::string::npos) {
    // As in `explain`: averaged from float32 heads, with one head selected.
    const AttentionStack stack = random_stack({.layers = layers,
                                               .heads = 3,
                                               .tokens = n,
                                               .causal = causal,
                                               .sharpness = 4.0 * uniform(random),
                                               .sink = chosen(0.3),
                                               .quantum = chosen(0.2) ? 3 : 0,
                                               .seed = seed});
    MixingOptions mixing{.heads = chosen(0.7) ? HeadFusion::kSingle : HeadFusion::kMax,
                         .head = integer(0, 2),
                         .residual = chosen(0.2) ? 0.0 : uniform(random),
                         .discard = chosen(0.2) ? 0.7 : 0.0};
    question.graph = attention_graph(stack, mixing);
  } else {
    std::vector<std::size_t> hubs;
    for (std::size_t h = integer(1, 2); h > 0; --h) hubs.push_back(chosen(0.5) ? 0 : integer(0, n - 1));
    const double density = 0.2 + 0.7 * uniform(random);
    const double residuals[] = {0.0, 0.25, 0.5, 0.5};
    const double residual = residuals[integer(0, 3)];
    double scale = 1.0;
    if (options.odd_scales && chosen(0.15)) {
      const double scales[] = {0x1p-30, 0x1p200, 1e300, 1e-100, 1e-300};
      scale = scales[integer(0, 4)];
      question.name += ", scale " + std::to_string(std::log10(scale));
    }
    const bool one_head = chosen(0.2);
    if (one_head) question.name += ", other tops";
    question.graph.residual = 0.0;
    for (Tensor<double>* weights : {&question.graph.weights, &question.graph.weights_below}) {
      if (weights == &question.graph.weights_below && !one_head) continue;
      *weights = Tensor<double>({layers, n, n});
      for (std::size_t l = 0; l < layers; ++l) {
        const Tensor<double> mixed =
            add_residual(random_flow::matrix(random, kind, n, causal, hubs, density).view(), residual);
        for (std::size_t e = 0; e < n * n; ++e) weights->data()[l * n * n + e] = scale * mixed.data()[e];
      }
    }
  }
  question.start_layer = chosen(0.3) ? integer(0, layers - 1) : 0;
  for (std::size_t l = question.start_layer + 1; l <= layers; ++l) {
    if (!chosen(0.2)) question.layers.push_back(l);
  }
  if (question.layers.empty()) question.layers.push_back(layers);
  question.name += ", to layer " + std::to_string(question.start_layer);
  if (chosen(0.2)) {
    // Words of one to three positions; every third time, arbitrary sets of positions.
    std::vector<std::size_t> order(n);
    for (std::size_t j = 0; j < n; ++j) order[j] = j;
    if (chosen(0.33)) std::shuffle(order.begin(), order.end(), random);
    question.groups.emplace();
    for (std::size_t j = 0; j < n;) {
      const std::size_t end = std::min(n, j + integer(1, 3));
      question.groups->emplace_back(order.begin() + static_cast<std::ptrdiff_t>(j),
                                    order.begin() + static_cast<std::ptrdiff_t>(end));
      j = end;
    }
    question.name += ", words";
  }
  return question;
}

}  // namespace attnflow
