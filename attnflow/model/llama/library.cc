#include "attnflow/model/llama/library.h"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

constexpr std::size_t kLongestMessage = 300;

thread_local std::string last_error;
thread_local LlamaWarnings last_warnings;
thread_local bool asserting = false;

// Thrown through the library's own frames: they handle std::exception and clean up.
class Assertion : public std::exception {
 public:
  explicit Assertion(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// "llama_model_load: error loading model: ..." without the line end. Messages quote the file, so they are hostile.
std::string clean(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const std::string quoted = internal::quote_name(text, kLongestMessage);
  return quoted.size() > 2 ? quoted.substr(1, quoted.size() - 2) : "";
}

// The first error is the cause; later ones are its consequences.
void keep_message(ggml_log_level level, const char* text, void* /*unused*/) {
  if (level == GGML_LOG_LEVEL_WARN && text != nullptr) last_warnings.add(clean(text));
  if (level == GGML_LOG_LEVEL_ERROR && last_error.empty() && text != nullptr) last_error = clean(text);
}

// "/where/it/was/built/ggml.c:1234: GGML_ASSERT(n > 0) failed" without the path and the line.
std::string_view without_place(std::string_view message) {
  for (std::size_t colon = message.find(':'); colon != std::string_view::npos; colon = message.find(':', colon + 1)) {
    const std::size_t end = message.find_first_not_of("0123456789", colon + 1);
    if (end == std::string_view::npos) break;
    if (end > colon + 1 && message.substr(end, 2) == ": ") return message.substr(end + 2);
  }
  return message;
}

// Outside with_llama_assertions(), the library then ends the program. It leaves the final message to us.
void on_assertion(const char* message) {
  const std::string words = clean(without_place(message == nullptr ? "" : message));
  if (asserting) throw Assertion(words);
  std::fprintf(stderr, "libllama: %s\n", words.c_str());
}

bool processor_is_enough() {
#if defined(__x86_64__)
  // The library reports what it was compiled with, not what the processor supports.
  return (!ggml_cpu_has_avx2() || __builtin_cpu_supports("avx2")) &&
         (!ggml_cpu_has_fma() || __builtin_cpu_supports("fma")) &&
         (!ggml_cpu_has_avx512() || __builtin_cpu_supports("avx512f"));
#else
  return true;
#endif
}

}  // namespace

void start_llama_library() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!processor_is_enough()) {
      throw Error(ErrorKind::kUnsupportedModel,
                  "expected a processor with the instructions that libllama was built for (AVX2, FMA), found one "
                  "without; build attnflow on this machine");
    }
    llama_log_set(keep_message, nullptr);
    ggml_set_abort_callback(on_assertion);
    llama_backend_init();
  });
}

std::string take_llama_error() { return std::exchange(last_error, {}); }

LlamaWarnings take_llama_warnings() { return std::exchange(last_warnings, {}); }

GgmlContextHandle make_ggml_context(std::size_t objects) {
  ggml_init_params params{};
  params.mem_size = objects * ggml_tensor_overhead() + ggml_graph_overhead_custom(objects, false);
  params.no_alloc = true;
  return GgmlContextHandle(ggml_init(params));
}

void compute_again(ggml_context* context, std::size_t objects, ggml_tensor* result, int thread_count,
                   ggml_threadpool* threads, std::string_view what) {
  ggml_cgraph* const graph = ggml_new_graph_custom(context, objects, false);
  ggml_build_forward_expand(graph, result);
  ggml_cplan plan = ggml_graph_plan(graph, thread_count, threads);
  std::vector<std::uint8_t> work(plan.work_size);
  plan.work_data = work.data();
  if (ggml_graph_compute(graph, &plan) == GGML_STATUS_SUCCESS) return;
  internal::fail(ErrorKind::kOther, "libllama could not compute {} again; give a shorter text", what);
}

void with_llama_assertions(const std::string& source, const std::function<void()>& action) {
  struct Scope {
    bool outer = std::exchange(asserting, true);
    ~Scope() { asserting = outer; }
  } scope;
  try {
    action();
  } catch (const Assertion& assertion) {
    internal::fail(ErrorKind::kBadFile,
                   "{}: expected a consistent GGUF file, which libllama finds it is not "
                   "({}); download the file again, or convert the model again",
                   source, assertion.what());
  }
}

}  // namespace attnflow
