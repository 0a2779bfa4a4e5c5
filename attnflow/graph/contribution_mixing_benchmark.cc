// The cost of contributions: seconds for all layers of a model by each method, on random terms of its shape.
//
//   graph_benchmark [LAYERS HIDDEN HEADS KEY_HEADS WIDTH TOKENS [THREADS]]      default: SmolLM2-135M, 512 tokens
//
// Attention is causal. The timed work, as the median of several runs, is what ContributionGraphSink does with the terms
// of all layers. Every layer has different numbers, so that its terms come from memory, as in a model, not from a
// cache. tools/bench/contributions.py compares the times with those of a forward pass (long_row_benchmark.cc) and of a
// simple PyTorch program.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/terms_for_test.h"

namespace attnflow {
namespace {

constexpr std::array<Contribution, 3> kTimed = {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr};
constexpr std::size_t kRuns = 5;

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

void run_benchmark(std::size_t layer_count, const RandomTermsOptions& shape, std::size_t threads) {
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
}

}  // namespace
}  // namespace attnflow

int main(int argc, char** argv) {
  std::array<std::size_t, 7> numbers = {30, 576, 9, 3, 64, 512, 0};
  try {
    for (int a = 1; a < argc; ++a) numbers.at(static_cast<std::size_t>(a - 1)) = std::stoul(argv[a]);
    const auto [layers, hidden, heads, key_heads, width, tokens, threads] = numbers;
    attnflow::run_benchmark(
        layers,
        {.heads = heads, .key_heads = key_heads, .width = width, .hidden = hidden, .tokens = tokens, .causal = true},
        threads);
  } catch (const std::exception& error) {
    fmt::print(stderr, "graph_benchmark: {}\n", error.what());
    return 1;
  }
}
