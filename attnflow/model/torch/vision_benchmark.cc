// Measures the cost of rollout and flow relative to a vision transformer's forward pass; run by `./dev bench vision`.
//
//   attnflow_vision_benchmark MODEL_FOLDER RUNS THREADS
//
// The model's weights are random and its image is noise. Both affect how hard flow is, so attention is made as peaked
// as that of trained models (tools/bench/vision.py). Prints as JSON the median wall seconds of the forward pass, of
// rollout of all pairs of all layers, and of flow from the class token to every token from the last layer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model_files.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

template <typename Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void expect(bool holds, const char* what) {
  if (!holds) throw Error(ErrorKind::kOther, fmt::format("vision benchmark: expected that {}", what));
}

void check(const Tensor<double>& rolled, const FlowResult& flow) {
  const std::size_t last = rolled.extent(0) - 1;
  const std::size_t n = rolled.extent(1);
  double sum = 0.0;
  for (std::size_t j = 0; j < n; ++j) {
    sum += rolled(last, 0, j);
    const double high = flow.flow(0, 0, j) + flow.flow_gap(0, 0, j);
    expect(high + 1e-9 >= rolled(last, 0, j) && flow.flow(0, 0, j) <= 1.0 + 1e-5, "rollout <= flow <= 1");
  }
  expect(std::fabs(sum - 1.0) < 1e-5, "a row of rollout sums to 1");
}

int run(const std::string& folder, std::size_t runs, std::size_t threads) {
  LoadOptions load;
  load.threads = threads;
  const std::unique_ptr<VisionModel> model = ModelFiles(folder).load_vision(load);
  const ModelInfo& info = model->info();
  PixelInput input;
  input.pixels = Tensor<float>({info.image->channels, info.image->height, info.image->width});
  Random random(1);
  for (float& pixel : input.pixels.span()) pixel = static_cast<float>(random.normal());

  std::vector<double> forward;
  std::vector<double> with_graph;
  std::vector<double> rollouts;
  std::vector<double> flows;
  FlowOptions ask;
  ask.layers = {info.layers};
  ask.output_token = 0;
  ask.threads = threads;
  for (std::size_t r = 0; r < runs; ++r) {
    forward.push_back(seconds_of([&] { model->run(input, nullptr); }));
    AttentionGraph graph;
    with_graph.push_back(seconds_of([&] {
      GraphSink sink(info.layers, {});
      model->run(input, &sink);
      graph = sink.take();
    }));
    Tensor<double> rolled;
    rollouts.push_back(seconds_of([&] { rolled = rollout(graph, {{}, 0, threads}); }));
    FlowResult flow;
    flows.push_back(seconds_of([&] { flow = attention_flow(graph, ask); }));
    check(rolled, flow);
  }
  fmt::print("{{\"tokens\": {}, \"layers\": {}, \"threads\": {}, \"forward\": {}, \"forward_with_graph\": {}, ",
             info.max_tokens, info.layers, threads, median(forward), median(with_graph));
  fmt::print("\"rollout\": {}, \"flow\": {}}}\n", median(rollouts), median(flows));
  return 0;
}

}  // namespace
}  // namespace attnflow

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: attnflow_vision_benchmark MODEL_FOLDER RUNS THREADS\n");
    return 2;
  }
  try {
    return attnflow::run(argv[1], static_cast<std::size_t>(std::max(1, std::atoi(argv[2]))),
                         static_cast<std::size_t>(std::max(1, std::atoi(argv[3]))));
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
