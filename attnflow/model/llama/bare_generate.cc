// Generation and nothing else: what `attnflow generate` is measured against.
//
//   attnflow_bare_generate MODEL.gguf bare|plain|capture PROMPT_TOKENS TOKENS [THREADS]
//
// Processes a prompt and then generates greedily, one token at a time, and prints the times of both. bare: libllama by
// itself with the settings of the backend, no callback; plain: the backend without a sink; capture: the backend with a
// sink that looks at nothing.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/model/llama/decoder.h"
#include "attnflow/model/llama/library.h"

namespace {

struct Arguments {
  std::string model;
  std::string mode;
  std::size_t prompt = 0;
  std::size_t tokens = 0;
  std::size_t threads = 0;
};

// Appends ids and returns the most probable next one.
using Step = std::function<std::int64_t(const std::vector<std::int64_t>& ids)>;

class NoSink : public attnflow::AttentionSink {
 public:
  void layer(std::size_t /*layer*/, std::size_t /*query_begin*/,
             attnflow::TensorView<const float> /*attention*/) override {}
};

std::int64_t best_of(const float* logits, std::size_t count) {
  return std::max_element(logits, logits + count) - logits;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const Arguments& arguments, std::size_t vocabulary, const Step& step) {
  // Which tokens does not matter; a stride that shares no factor with most vocabularies spreads them over the table.
  constexpr std::size_t kStride = 7919;
  std::vector<std::int64_t> prompt;
  for (std::size_t i = 0; i < arguments.prompt; ++i)
    prompt.push_back(static_cast<std::int64_t>((i + 1) * kStride % vocabulary));
  auto start = std::chrono::steady_clock::now();
  std::int64_t id = step(prompt);
  const double prompt_seconds = seconds_since(start);
  start = std::chrono::steady_clock::now();
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < arguments.tokens; ++i) {
    id = step({id});
    hash = hash * 31 + static_cast<std::uint64_t>(id);
  }
  const double seconds = seconds_since(start);
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{{\"mode\": \"{}\", \"prompt_tokens\": {}, \"prompt_seconds\": {:.4f}, \"tokens\": {}, \"seconds\": {:.4f}, "
      "\"tokens_per_second\": {:.2f}, \"peak_memory_kib\": {}, \"hash\": \"{:016x}\"}}\n",
      arguments.mode, arguments.prompt, prompt_seconds, arguments.tokens, seconds,
      static_cast<double>(arguments.tokens) / seconds, usage.ru_maxrss, hash);
}

void run_bare(const Arguments& arguments, const attnflow::LlamaWeights& weights) {
  const std::size_t threads = arguments.threads != 0 ? arguments.threads : 1;
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(arguments.prompt + arguments.tokens + 1);
  params.n_batch = attnflow::kLlamaChunk;
  params.n_ubatch = attnflow::kLlamaChunk;
  params.n_threads = static_cast<std::int32_t>(threads);
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
  measure(arguments, weights.info.vocabulary, step);
  llama_detach_threadpool(context.get());
}

void run(const Arguments& arguments) {
  attnflow::start_llama_library();
  attnflow::LlamaWeights weights = attnflow::load_llama_weights(arguments.model);
  if (arguments.mode == "bare") return run_bare(arguments, weights);
  attnflow::LoadOptions options;
  options.threads = arguments.threads != 0 ? arguments.threads : 1;
  options.context = arguments.prompt + arguments.tokens + 1;
  attnflow::LlamaDecoder decoder(std::move(weights), options);
  NoSink sink;
  measure(arguments, decoder.info().vocabulary, [&](const std::vector<std::int64_t>& ids) {
    const attnflow::Tensor<float> logits = decoder.append(ids, arguments.mode == "capture" ? &sink : nullptr);
    return best_of(logits.data(), logits.size());
  });
}

bool read_count(const char* text, std::size_t& count) {
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, count);
  return error == std::errc{} && stop == end && count != 0;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  bool understood = argc == 5 || argc == 6;
  if (understood) {
    arguments.model = argv[1];
    arguments.mode = argv[2];
    understood = (arguments.mode == "bare" || arguments.mode == "plain" || arguments.mode == "capture") &&
                 read_count(argv[3], arguments.prompt) && read_count(argv[4], arguments.tokens) &&
                 (argc == 5 || read_count(argv[5], arguments.threads));
  }
  if (!understood) {
    fmt::print(stderr, "usage: attnflow_bare_generate MODEL.gguf bare|plain|capture PROMPT_TOKENS TOKENS [THREADS]\n");
    return static_cast<int>(attnflow::ErrorKind::kUsage);
  }
  try {
    run(arguments);
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "attnflow_bare_generate: {}\n", error.what());
    return error.exit_code();
  }
  return 0;
}
