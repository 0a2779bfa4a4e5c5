// Times a general maximum-flow solver on the networks of sampled pairs, after checking its answers.
//
//   attnflow_flow_peers PEER NETWORK.npy PAIRS.json [--parts paths|whole] [--seconds S]
//
// NETWORK is the output of `attnflow_time_flow network`. PAIRS is a list of {round, layer, output_token, input_token,
// low, high}, sorted by round; [low, high] encloses the true value. For each pair the library's graph is built and
// solved once to check the value (and to warm up), then solved again, timed: the median of up to three runs, as long as
// they begin within 20 ms. A wrong value ends the program with an error.
// --parts: the network of a pair, see pair_network.h.
// Work stops at the end of a round after S seconds, and within one after 4 S; incomplete rounds are omitted. Prints
// JSON.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "tools/bench/flow/pair_network.h"
#include "tools/bench/flow/peak_memory.h"
#include "tools/bench/flow/peer.h"

namespace {

using attnflow_bench::NetworkParts;
using attnflow_bench::PairNetwork;
using attnflow_bench::Peer;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr double kMaxTimesSeconds = 4.0;

constexpr std::size_t kMaxRuns = 3;
constexpr double kSecondsOfRuns = 0.02;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

struct Settings {
  std::string peer;
  std::string network;
  std::string pairs;
  std::string parts = "paths";
  double seconds = 5.0;
};

const std::map<std::string, std::unique_ptr<Peer> (*)()> kPeers = {
    {"lemon", attnflow_bench::make_lemon_preflow},
    {"boost-push-relabel", attnflow_bench::make_boost_push_relabel},
    {"boost-boykov-kolmogorov", attnflow_bench::make_boost_boykov_kolmogorov},
    {"igraph", attnflow_bench::make_igraph},
};

const std::map<std::string, NetworkParts> kParts = {{"paths", NetworkParts::kPaths}, {"whole", NetworkParts::kWhole}};

// The distance of the value from the enclosure. Throws if it is more than the number type explains.
double check(const Settings& settings, const Json& pair, double value, double tolerance) {
  const auto low = pair.at("low").get<double>();
  const auto high = pair.at("high").get<double>();
  // Written so that NaN fails.
  if (!(value >= low - tolerance && value <= high + tolerance)) {
    throw std::runtime_error(fmt::format(
        "{} disagrees on {}, layer {}, output token {}, input token {}: expected a value in [{:.15g}, {:.15g}] within "
        "{:.1e}, found {:.15g}",
        settings.peer, settings.network, pair.at("layer").get<std::size_t>(),
        pair.at("output_token").get<std::size_t>(), pair.at("input_token").get<std::size_t>(), low, high, tolerance,
        value));
  }
  return std::max({low - value, value - high, 0.0});
}

Json time_peer(const Settings& settings) {
  const attnflow::Tensor<double> capacities = attnflow::read_npy(settings.network).to_double(settings.network);
  std::ifstream file(settings.pairs);
  const Json pairs = Json::parse(file);
  const std::unique_ptr<Peer> peer = kPeers.at(settings.peer)();

  Json done = Json::array();
  bool stopped = false;
  const Clock::time_point start = Clock::now();
  std::size_t complete = 0;  // pairs in complete rounds
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Json& pair = pairs[i];
    if (i > 0 && pair.at("round") != pairs[i - 1].at("round")) {
      complete = i;
      if (seconds_since(start) > settings.seconds) break;
    }
    if (seconds_since(start) > kMaxTimesSeconds * settings.seconds) {
      stopped = true;
      break;
    }
    const PairNetwork network = attnflow_bench::pair_network(capacities, pair.at("layer"), pair.at("output_token"),
                                                             pair.at("input_token"), kParts.at(settings.parts));
    peer->build(network);
    const double tolerance = peer->tolerance();
    check(settings, pair, peer->solve(), tolerance);
    std::vector<double> runs;
    double value = 0.0;
    const Clock::time_point first = Clock::now();
    do {
      const Clock::time_point before = Clock::now();
      value = peer->solve();
      runs.push_back(seconds_since(before));
    } while (runs.size() < kMaxRuns && seconds_since(first) < kSecondsOfRuns);
    const double off = check(settings, pair, value, tolerance);
    std::sort(runs.begin(), runs.end());
    const double median = (runs[(runs.size() - 1) / 2] + runs[runs.size() / 2]) / 2.0;
    done.push_back({{"seconds", median}, {"value", value}, {"off", off}, {"tolerance", tolerance}});
    if (i + 1 == pairs.size()) complete = pairs.size();
  }
  done.erase(done.begin() + static_cast<std::ptrdiff_t>(complete), done.end());
  return {{"version", peer->version()},
          {"pairs", done},
          {"stopped", stopped},
          {"peak_memory_kib", attnflow_bench::peak_memory_kib()}};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    CLI::App app("Times a general maximum-flow solver on the networks of pairs of an attention graph.");
    Settings settings;
    app.add_option("peer", settings.peer)->required()->check(CLI::IsMember(kPeers));
    app.add_option("network", settings.network)->required()->check(CLI::ExistingFile);
    app.add_option("pairs", settings.pairs)->required()->check(CLI::ExistingFile);
    app.add_option("--parts", settings.parts)->check(CLI::IsMember(kParts));
    app.add_option("--seconds", settings.seconds)->check(CLI::PositiveNumber);
    CLI11_PARSE(app, argc, argv);
    fmt::print("{}\n", time_peer(settings).dump());
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "attnflow_flow_peers: {}\n", error.what());
    return 1;
  }
}
