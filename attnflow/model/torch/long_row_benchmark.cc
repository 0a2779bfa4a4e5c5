// Measures the rollout row of one output token over a long prompt, and the forward pass that it needs.
//
//   attnflow_long_row_benchmark MODEL_FOLDER plain|row|check TOKENS [THREADS [DEVICE]]
//
//   plain  one forward pass over a prompt, no attention kept
//   row    the same with the queries kept, then the rollout row of the last position through all layers
//          (rollout/replay_rollout.h)
//   check  compares that row with that of the full rollout, whose matrices it builds: short prompts only
//
// The decoder comes from the backend's shared object. Prints JSON: wall and CPU times without loading, and peak memory.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/files/folder.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model_files.h"
#include "attnflow/rollout/replay_rollout.h"
#include "attnflow/rollout/rollout.h"

namespace {

struct Arguments {
  std::string folder;
  std::string mode;
  std::size_t tokens = 0;
  std::size_t threads = 1;
  std::string device = "cpu";
};

std::vector<double> row_of_last(attnflow::Decoder& decoder, const std::vector<std::int64_t>& ids) {
  attnflow::Tensor<float> logits;
  const auto attention = decoder.run_for_replay(ids, &logits);
  attnflow::ReplayRolloutOptions ask;
  ask.output_token = ids.size() - 1;
  return attnflow::replay_rollout(*attention, ask);
}

void check(attnflow::Decoder& decoder, const std::vector<std::int64_t>& ids) {
  const std::vector<double> found = row_of_last(decoder, ids);
  attnflow::GraphSink sink(decoder.info().layers, {}, ids.size());
  decoder.clear();
  decoder.append(ids, &sink);
  const attnflow::Tensor<double> all = attnflow::rollout(sink.take());
  double difference = 0.0;
  for (std::size_t j = 0; j < ids.size(); ++j) {
    const double one = std::abs(found[j] - all(all.extent(0) - 1, ids.size() - 1, j));
    difference = std::isfinite(one) ? std::max(difference, one) : one;
  }
  fmt::print("{{\"mode\": \"check\", \"tokens\": {}, \"largest_difference\": {:.3g}, \"largest_value\": {:.6g}}}\n",
             ids.size(), difference, *std::max_element(found.begin(), found.end()));
}

void run(const Arguments& arguments) {
  attnflow::LoadOptions options;
  options.threads = arguments.threads;
  options.context = arguments.tokens;
  options.device = arguments.device;
  const auto decoder = attnflow::ModelFiles(arguments.folder).load_decoder(options);
  // A stride coprime to most vocabulary sizes spreads the tokens over the table.
  constexpr std::size_t kStride = 7919;
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < arguments.tokens; ++i)
    ids.push_back(static_cast<std::int64_t>((i + 1) * kStride % decoder->info().vocabulary));
  if (arguments.mode == "check") return check(*decoder, ids);

  // Weights are in a mapped file: the first access to a page must not count toward either time.
  decoder->append(std::span(ids).first(1), nullptr);
  decoder->clear();
  const auto wall_start = std::chrono::steady_clock::now();
  const std::clock_t cpu_start = std::clock();
  double sum = 0.0;
  if (arguments.mode == "row") {
    const std::vector<double> row = row_of_last(*decoder, ids);
    sum = std::accumulate(row.begin(), row.end(), 0.0);
  } else {
    decoder->append(ids, nullptr);
  }
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_start).count();
  const double cpu = static_cast<double>(std::clock() - cpu_start) / CLOCKS_PER_SEC;
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"mode\": \"{}\", \"tokens\": {}, \"threads\": {}, \"seconds\": {:.4f}, \"cpu_seconds\": {:.4f}, "
      "\"peak_memory_kib\": {}, \"row_sum\": {:.12f}}}\n",
      arguments.mode, arguments.tokens, arguments.threads, wall, cpu, usage.ru_maxrss, sum);
}

bool read_count(const char* text, std::size_t& count) {
  count = attnflow::internal::parse_number(text).value_or(0);
  return count != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bool understood = argc >= 4 && argc <= 6;
  if (understood) {
    arguments.folder = argv[1];
    arguments.mode = argv[2];
    understood = (arguments.mode == "plain" || arguments.mode == "row" || arguments.mode == "check") &&
                 read_count(argv[3], arguments.tokens) && (argc == 4 || read_count(argv[4], arguments.threads));
    if (argc == 6) arguments.device = argv[5];
  }
  if (!understood) {
    fmt::print(stderr, "usage: attnflow_long_row_benchmark MODEL_FOLDER plain|row|check TOKENS [THREADS [DEVICE]]\n");
    return static_cast<int>(attnflow::ErrorKind::kUsage);
  }
  try {
    run(arguments);
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "attnflow_long_row_benchmark: {}\n", error.what());
    return error.exit_code();
  }
  return 0;
}
