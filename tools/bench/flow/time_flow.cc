// Times attnflow's exact flow, and prints its results.
//
//   attnflow_time_flow network STACK.npy OUT.npy         writes the mixing matrices: float64 [layer, from, to]
//   attnflow_time_flow values  STACK.npy [options]       times attention_flow(); prints values of the pairs asked for
//   attnflow_time_flow pairs   STACK.npy PAIRS.json      times flow_of_pair() and checks its certificates
//
// STACK is attention, float32 [layer, head, query, key]; the graph is attention_graph's default: mean over heads,
// residual 0.5. PAIRS is a list of {layer, output_token, input_token}. Prints JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/version.h"
#include "attnflow/files/array_file.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/mixing.h"
#include "tools/bench/flow/peak_memory.h"

namespace {

using attnflow::AttentionGraph;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// For one pair, as in peers.cc.
constexpr std::size_t kMaxRuns = 3;
constexpr double kSecondsOfRuns = 0.02;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Settings {
  std::string stack;
  std::string out;
  std::string pairs;
  std::size_t threads = 1;
  std::size_t runs = 3;
  double seconds = 10.0;
  std::optional<std::size_t> layer = {};
  std::optional<std::size_t> output_token = {};
  double max_gap = 0.0;
  double residual = 0.5;
};

struct Pair {
  std::size_t layer = 0;
  std::size_t output_token = 0;
  std::size_t input_token = 0;
};

AttentionGraph read_graph(const Settings& settings) {
  attnflow::MixingOptions mixing;
  mixing.residual = settings.residual;
  return attnflow::attention_graph(
      attnflow::AttentionStack(attnflow::read_npy(settings.stack).to_float(settings.stack)), mixing);
}

std::vector<Pair> read_pairs(const Settings& settings) {
  std::vector<Pair> pairs;
  if (settings.pairs.empty()) return pairs;
  std::ifstream file(settings.pairs);
  for (const Json& pair : Json::parse(file)) {
    pairs.push_back({pair.at("layer"), pair.at("output_token"), pair.at("input_token")});
  }
  return pairs;
}

Json describe(const AttentionGraph& graph) {
  return {{"version", ATTNFLOW_VERSION},
          {"compiler", __VERSION__},
          {"layers", graph.layers()},
          {"tokens", graph.tokens()},
          {"peak_memory_kib", attnflow_bench::peak_memory_kib()}};
}

Json write_network(const Settings& settings) {
  const AttentionGraph graph = read_graph(settings);
  const std::size_t n = graph.tokens();
  const attnflow::LayeredNetwork network = attnflow::attention_network(graph, graph.layers(), 0);
  attnflow::Tensor<double> all({graph.layers(), n, n});
  for (std::size_t k = 0; k < graph.layers(); ++k) {
    std::copy_n(network.layers[k].data(), n * n, all.data() + k * n * n);
  }
  attnflow::write_npy(settings.out, attnflow::Array::from(all.view()));
  return describe(graph);
}

// The first run is a warm-up (threads, caches, vector code selection) and does not count, unless it takes so long that
// warming up makes no difference and repeating it is too expensive.
Json time_values(const Settings& settings) {
  const AttentionGraph graph = read_graph(settings);
  const std::vector<Pair> pairs = read_pairs(settings);
  attnflow::FlowOptions options;
  options.threads = settings.threads;
  options.output_token = settings.output_token;
  options.max_gap = settings.max_gap;
  if (settings.layer) options.layers = {*settings.layer};

  const Clock::time_point start = Clock::now();
  std::vector<double> seconds;
  bool warmed_up = false;
  attnflow::FlowResult result;
  attnflow::FlowCounts counts;
  options.counts = &counts;
  do {
    result = {};  // keeping two results would double the memory
    counts = {};
    const Clock::time_point before = Clock::now();
    result = attnflow::attention_flow(graph, options);
    seconds.push_back(seconds_since(before));
    if (!warmed_up && seconds.back() * 2.0 < settings.seconds) {
      warmed_up = true;
      seconds.clear();
    }
  } while (seconds.empty() || (seconds.size() < settings.runs && seconds_since(start) < settings.seconds));

  Json values = Json::array();
  for (const Pair& pair : pairs) {
    if (settings.layer.value_or(pair.layer) != pair.layer ||
        settings.output_token.value_or(pair.output_token) != pair.output_token) {
      throw std::runtime_error("a pair lies outside of what was computed: ask for its layer and output token");
    }
    const std::size_t l = settings.layer ? 0 : pair.layer - 1;
    const std::size_t i = settings.output_token ? 0 : pair.output_token;
    values.push_back(
        {{"flow", result.flow(l, i, pair.input_token)}, {"flow_gap", result.flow_gap(l, i, pair.input_token)}});
  }
  Json out = describe(graph);
  out["threads"] = settings.threads;
  out["seconds"] = seconds;
  out["warmed_up"] = warmed_up;
  out["values"] = values;
  out["count"] = result.flow.size();
  out["settled"] = {{"bounds", counts.bounds}, {"pushed", counts.pushed}, {"meetings", counts.meetings},
                    {"greedy", counts.greedy}, {"cuts", counts.cuts},     {"search", counts.search}};
  out["sum"] = std::accumulate(result.flow.span().begin(), result.flow.span().end(), 0.0);
  out["largest_gap"] = *std::max_element(result.flow_gap.span().begin(), result.flow_gap.span().end());
  return out;
}

Json time_pairs(const Settings& settings) {
  const AttentionGraph graph = read_graph(settings);
  const std::vector<Pair> pairs = read_pairs(settings);
  std::vector<attnflow::LayeredNetwork> networks;
  for (std::size_t l = 1; l <= graph.layers(); ++l) networks.push_back(attnflow::attention_network(graph, l, 0));
  Json values = Json::array();
  for (const Pair& pair : pairs) {
    const attnflow::LayeredNetwork& network = networks.at(pair.layer - 1);
    const attnflow::PairFlow flow = attnflow::flow_of_pair(network, pair.output_token, pair.input_token);
    const auto certificate = attnflow::certify(network, pair.output_token, pair.input_token, flow);
    if (!certificate.holds()) throw std::runtime_error("flow_of_pair: certificate: " + certificate.problem);
    std::vector<double> runs;
    const Clock::time_point first = Clock::now();
    do {
      const Clock::time_point before = Clock::now();
      const attnflow::PairFlow again = attnflow::flow_of_pair(network, pair.output_token, pair.input_token);
      runs.push_back(seconds_since(before));
      if (again.flow != flow.flow) throw std::runtime_error("flow_of_pair: two answers to one question");
    } while (runs.size() < kMaxRuns && seconds_since(first) < kSecondsOfRuns);
    std::sort(runs.begin(), runs.end());
    const double median = (runs[(runs.size() - 1) / 2] + runs[runs.size() / 2]) / 2.0;
    values.push_back({{"flow", flow.flow},
                      {"flow_gap", flow.flow_gap},
                      {"certified_low", certificate.low},
                      {"certified_high", certificate.high},
                      {"seconds", median}});
  }
  Json out = describe(graph);
  out["values"] = values;
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app("Times attnflow's exact attention flow.");
    app.require_subcommand(1);
    Settings settings;
    auto* network = app.add_subcommand("network", "write the mixing matrices");
    auto* values = app.add_subcommand("values", "time attention_flow()");
    auto* pairs = app.add_subcommand("pairs", "time flow_of_pair()");
    for (auto* command : {network, values, pairs}) {
      command->add_option("stack", settings.stack)->required()->check(CLI::ExistingFile);
    }
    network->add_option("out", settings.out)->required();
    pairs->add_option("pairs", settings.pairs)->required()->check(CLI::ExistingFile);
    values->add_option("--pairs", settings.pairs, "print the values of these pairs")->check(CLI::ExistingFile);
    values->add_option("--threads", settings.threads, "0: all");
    values->add_option("--runs", settings.runs, "at most this many")->check(CLI::PositiveNumber);
    values->add_option("--seconds", settings.seconds, "no new run after this time")->check(CLI::PositiveNumber);
    values->add_option("--layer", settings.layer, "only this layer, from 1");
    values->add_option("--output-token", settings.output_token, "only this output token");
    values->add_option("--residual", settings.residual, "instead of 0.5");
    values->add_option("--max-gap", settings.max_gap, "how wide an enclosure may stay");
    CLI11_PARSE(app, argc, argv);
    const Json out = network->parsed()  ? write_network(settings)
                     : values->parsed() ? time_values(settings)
                                        : time_pairs(settings);
    fmt::print("{}\n", out.dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "attnflow_time_flow: {}\n", error.what());
    return 1;
  }
}
