// The cost of contributions: seconds for all layers of a model by each method, on random terms of its shape.
//
//   graph_benchmark [LAYERS HIDDEN HEADS KEY_HEADS WIDTH TOKENS [THREADS]]      default: SmolLM2-135M, 512 tokens
//
// Before timing, the rows of each method are compared with those of the simple computation. The attention is causal.
// The timed work, as the median of several runs, is what ContributionGraphSink does with the terms of all layers. As in
// a model, every layer has different numbers, so that each layer's terms come from memory, not from a cache. Value
// zeroing costs as much as the model's feed-forward nets, out of proportion to the others. For comparison, the forward
// pass of a model of these shapes is given in multiplications: the model's own pass (model/torch/long_row_benchmark.cc)
// gives the scale for these times, and graph/contribution_mixing_benchmark.py is a simple PyTorch program for the same
// task.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/terms_for_test.h"

namespace attnflow {
namespace {

constexpr std::array<Contribution, 3> kTimed = {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr};
constexpr std::size_t kRuns = 5;
constexpr double kRowTolerance = 5e-6;  // for shares computed from float32 vectors

// Returns the largest difference from the simple computation.
double check_rows() {
  const OwnedTerms layer =
      random_terms({.heads = 9, .key_heads = 3, .width = 8, .hidden = 96, .tokens = 80, .causal = true})[0];
  double largest = 0.0;
  for (const Contribution method : kTimed) {
    const Tensor<double> found = ContributionRows(1, {.contribution = method}, false).rows(layer.terms());
    const Tensor<double> expected = plain_contributions(layer, method);
    for (std::size_t e = 0; e < found.size(); ++e) {
      const double difference = std::abs(found.data()[e] - expected.data()[e]);
      largest = difference <= largest ? largest : difference;  // keeps NaN
    }
  }
  return largest;
}

// Terms of one layer that need not be complete: the output is an independent random vector.
OwnedTerms incomplete_terms(const RandomTermsOptions& options) {
  RandomTermsOptions small = options;
  small.hidden = 1;  // making complete terms costs more than everything timed
  OwnedTerms layer = random_terms(small)[0];
  std::mt19937_64 random(options.seed);
  std::normal_distribution<float> normal;
  const auto fill = [&](Shape shape, float scale) {
    Tensor<float> tensor(std::move(shape));
    for (float& x : tensor.span()) x = scale * normal(random);
    return tensor;
  };
  layer.projection = fill({options.heads, options.width, options.hidden}, 0.05F);
  layer.residual = fill({options.tokens, options.hidden}, 1.0F);
  layer.output = fill({options.tokens, options.hidden}, 1.0F);
  return layer;
}

struct Seconds {
  double wall = 0.0;
  double cpu = 0.0;  // of all threads: comparable even when others use the processors
};

Seconds median_seconds(const std::vector<OwnedTerms>& layers, std::size_t layer_count, Contribution method,
                       std::size_t threads) {
  std::array<double, kRuns> wall = {};
  std::array<double, kRuns> cpu = {};
  for (std::size_t run = 0; run < kRuns; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const std::clock_t cpu_start = std::clock();
    ContributionGraphSink sink(layer_count, {.contribution = method, .threads = threads});
    for (std::size_t l = 1; l <= layer_count; ++l) sink.terms(layers[l % layers.size()].terms(l));
    const AttentionGraph graph = sink.take();
    wall[run] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    cpu[run] = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  }
  std::sort(wall.begin(), wall.end());
  std::sort(cpu.begin(), cpu.end());
  return {wall[kRuns / 2], cpu[kRuns / 2]};
}

int run_benchmark(std::size_t layer_count, const RandomTermsOptions& shape, std::size_t threads) {
  const double difference = check_rows();
  if (!(difference < kRowTolerance)) {
    fmt::print(stderr, "rows differ from the plain computation by {}\n", difference);
    return static_cast<int>(ErrorKind::kOther);
  }
  fmt::print("rows of 80 tokens: largest difference from the plain computation {:.1e}\n", difference);
  std::vector<OwnedTerms> layers;
  for (std::size_t l = 0; l < std::min<std::size_t>(layer_count, 4); ++l) {
    RandomTermsOptions other = shape;
    other.seed = l + 1;
    layers.push_back(incomplete_terms(other));
  }
  fmt::print("{} layers, hidden {}, {} heads, {} key-value heads of width {}, {} tokens, {} threads\n", layer_count,
             shape.hidden, shape.heads, shape.key_heads, shape.width, shape.tokens,
             threads == 0 ? "all" : fmt::to_string(threads));
  for (const Contribution method : kTimed) {
    const Seconds seconds = median_seconds(layers, layer_count, method, threads);
    fmt::print("{:<5} {:.3f} s, {:.3f} s of processors\n", contribution_name(method), seconds.wall, seconds.cpu);
  }
  return 0;
}

}  // namespace
}  // namespace attnflow

int main(int argc, char** argv) {
  std::array<std::size_t, 7> numbers = {30, 576, 9, 3, 64, 512, 0};
  bool understood = argc == 1 || argc == 7 || argc == 8;
  for (int a = 1; understood && a < argc; ++a) {
    const char* const end = argv[a] + std::strlen(argv[a]);
    const auto [stop, error] = std::from_chars(argv[a], end, numbers[static_cast<std::size_t>(a - 1)]);
    understood = error == std::errc{} && stop == end && numbers[static_cast<std::size_t>(a - 1)] != 0;
  }
  if (!understood || numbers[2] % numbers[3] != 0) {
    fmt::print(stderr, "usage: graph_benchmark [LAYERS HIDDEN HEADS KEY_HEADS WIDTH TOKENS [THREADS]]\n");
    return static_cast<int>(attnflow::ErrorKind::kUsage);
  }
  try {
    attnflow::RandomTermsOptions shape;
    shape.hidden = numbers[1];
    shape.heads = numbers[2];
    shape.key_heads = numbers[3];
    shape.width = numbers[4];
    shape.tokens = numbers[5];
    shape.causal = true;
    return attnflow::run_benchmark(numbers[0], shape, numbers[6]);
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "graph_benchmark: {}\n", error.what());
    return error.exit_code();
  }
}
