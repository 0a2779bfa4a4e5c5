// Measures the cost of reading attention during generation.
//
//   attnflow_generation_benchmark MODEL.gguf MODE TEXT_FILE PROMPT_TOKENS TOKENS [THREADS]
//
// Processes the first tokens of a text, generates greedily, and prints wall and CPU times of both as JSON. Modes:
//
//   bare     libllama by itself with the settings of the backend (no flash attention), no callback
//   plain    the backend without a sink
//   capture  the backend with a sink that ignores the data
//   rollout  the backend with the incremental rollout of all layers over the prompt's columns
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/model/llama/codec.h"
#include "attnflow/model/llama/decoder.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/rollout/incremental_rollout.h"

namespace {

struct Arguments {
  std::string model;
  std::string mode;
  std::string text;
  std::size_t prompt = 0;
  std::size_t tokens = 0;
  std::size_t threads = 1;
};

// Appends ids and returns the most probable next one.
using Step = std::function<std::int64_t(const std::vector<std::int64_t>& ids)>;

class NoSink : public attnflow::AttentionSink {
 public:
  void layer(std::size_t /*layer*/, std::size_t /*query_begin*/,
             attnflow::TensorView<const float> /*attention*/) override {}
};

struct Clock {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  std::clock_t cpu = std::clock();  // for all threads

  double wall_seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(); }
  double cpu_seconds() const { return static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC; }
};

std::int64_t best_of(const float* logits, std::size_t count) {
  return std::max_element(logits, logits + count) - logits;
}

// The prompt's ids, and its text without special tokens.
struct Prompt {
  std::vector<std::int64_t> ids;
  std::string text;
};

Prompt read_prompt(const Arguments& arguments, const attnflow::LlamaWeights& weights) {
  std::ifstream file(arguments.text, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const attnflow::LlamaCodec codec(weights);
  const attnflow::Encoding encoding = codec.encode(text);
  if (encoding.tokens.size() < arguments.prompt) {
    throw attnflow::Error(attnflow::ErrorKind::kUsage,
                          fmt::format("{}: expected a text of at least {} tokens, found {}", arguments.text,
                                      arguments.prompt, encoding.tokens.size()));
  }
  Prompt prompt;
  for (std::size_t i = 0; i < arguments.prompt; ++i) {
    prompt.ids.push_back(encoding.tokens[i].id);
    prompt.text += codec.bytes(encoding.tokens[i].id);
  }
  return prompt;
}

// `prompt_share` returns the prompt's share of the last rollout row. It is timed, because it computes pending rows.
void measure(const Arguments& arguments, const Prompt& prompt, const Step& step,
             const std::function<double()>& prompt_share = {}) {
  const Clock whole;
  std::vector<std::int64_t> ids = {step(prompt.ids)};
  const double prompt_wall = whole.wall_seconds();
  const double prompt_cpu = whole.cpu_seconds();
  const Clock steps;
  for (std::size_t i = 0; i < arguments.tokens; ++i) ids.push_back(step({ids.back()}));
  const double share = prompt_share ? prompt_share() : 0.0;
  const double wall = steps.wall_seconds();
  const double cpu = steps.cpu_seconds();
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  nlohmann::json out = {{"mode", arguments.mode},
                        {"threads", arguments.threads},
                        {"prompt_tokens", arguments.prompt},
                        {"prompt_seconds", prompt_wall},
                        {"prompt_cpu_seconds", prompt_cpu},
                        {"tokens", arguments.tokens},
                        {"seconds", wall},
                        {"cpu_seconds", cpu},
                        {"peak_memory_kib", usage.ru_maxrss},
                        {"prompt", prompt.text},
                        {"ids", ids}};
  if (prompt_share) out["prompt_share"] = share;
  fmt::print("{}\n", out.dump());
}

void run_bare(const Arguments& arguments, const attnflow::LlamaWeights& weights, const Prompt& prompt) {
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(arguments.prompt + arguments.tokens + 1);
  params.n_batch = attnflow::kLlamaChunk;
  params.n_ubatch = attnflow::kLlamaChunk;
  params.n_threads = static_cast<std::int32_t>(arguments.threads);
  params.n_threads_batch = params.n_threads;
  params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
  params.type_k = GGML_TYPE_F32;
  params.type_v = GGML_TYPE_F32;
  params.swa_full = true;
  const attnflow::LlamaContextHandle context(llama_init_from_model(weights.model.get(), params));
  ggml_threadpool_params pool = ggml_threadpool_params_default(params.n_threads);
  const attnflow::LlamaThreads workers(ggml_threadpool_new(&pool));
  llama_attach_threadpool(context.get(), workers.get(), nullptr);
  const auto step = [&](const std::vector<std::int64_t>& ids) {
    std::vector<llama_token> tokens(ids.begin(), ids.end());
    for (std::size_t begin = 0; begin < tokens.size(); begin += attnflow::kLlamaChunk) {
      const std::size_t count = std::min(attnflow::kLlamaChunk, tokens.size() - begin);
      if (llama_decode(context.get(), llama_batch_get_one(tokens.data() + begin, static_cast<std::int32_t>(count))) !=
          0)
        throw attnflow::Error(attnflow::ErrorKind::kOther, "libllama could not compute the tokens");
    }
    return best_of(llama_get_logits_ith(context.get(), -1), weights.info.vocabulary);
  };
  measure(arguments, prompt, step);
  llama_detach_threadpool(context.get());
}

void run(const Arguments& arguments) {
  attnflow::start_llama_library();
  attnflow::LlamaWeights weights = attnflow::load_llama_weights(attnflow::read_gguf_file(arguments.model));
  const Prompt prompt = read_prompt(arguments, weights);
  if (arguments.mode == "bare") return run_bare(arguments, weights, prompt);
  attnflow::LoadOptions options;
  options.threads = arguments.threads;
  options.context = arguments.prompt + arguments.tokens + 1;
  attnflow::LlamaDecoder decoder(std::move(weights), options);
  NoSink nothing;
  attnflow::IncrementalRolloutOptions rows;
  rows.layers = decoder.info().layers;
  rows.columns = arguments.prompt;
  rows.first_row = arguments.prompt - 1;
  rows.threads = arguments.threads;
  attnflow::IncrementalRollout rollout(rows);
  attnflow::AttentionSink* sink = nullptr;
  if (arguments.mode == "capture") sink = &nothing;
  if (arguments.mode == "rollout") sink = &rollout;
  const auto step = [&](const std::vector<std::int64_t>& ids) {
    const attnflow::Tensor<float> logits = decoder.append(ids, sink);
    return best_of(logits.data(), logits.size());
  };
  const auto prompt_share = [&] {
    const auto row = rollout.row(rows.layers, decoder.length() - 1);
    return std::accumulate(row.begin(), row.end(), 0.0);
  };
  if (sink == &rollout) return measure(arguments, prompt, step, prompt_share);
  measure(arguments, prompt, step);
}

bool read_count(const char* text, std::size_t& count) {
  count = attnflow::internal::parse_number(text).value_or(0);
  return count != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bool understood = argc == 6 || argc == 7;
  if (understood) {
    arguments.model = argv[1];
    arguments.mode = argv[2];
    arguments.text = argv[3];
    const std::vector<std::string> modes = {"bare", "plain", "capture", "rollout"};
    understood = std::find(modes.begin(), modes.end(), arguments.mode) != modes.end() &&
                 read_count(argv[4], arguments.prompt) && read_count(argv[5], arguments.tokens) &&
                 (argc == 6 || read_count(argv[6], arguments.threads));
  }
  if (!understood) {
    fmt::print(stderr,
               "usage: attnflow_generation_benchmark MODEL.gguf bare|plain|capture|rollout TEXT_FILE PROMPT_TOKENS "
               "TOKENS [THREADS]\n");
    return static_cast<int>(attnflow::ErrorKind::kUsage);
  }
  try {
    run(arguments);
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "attnflow_generation_benchmark: {}\n", error.what());
    return error.exit_code();
  }
  return 0;
}
