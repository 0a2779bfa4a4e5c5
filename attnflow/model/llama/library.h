// Adapts libllama to this project: no output, no avoidable aborts, errors as attnflow::Error, owners of its objects.
#pragma once

#include <ggml-cpu.h>
#include <llama.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "attnflow/model/llama/warnings.h"

namespace attnflow {

// Initializes the library, once per program. Throws Error(kUnsupportedModel) if this processor lacks instructions that
// it was built for.
void start_llama_library();

// Returns the error that the library reported on this thread since the last call, in one line, or an empty string. Its
// messages go nowhere else.
std::string take_llama_error();

LlamaWarnings take_llama_warnings();

// Runs `action` on this thread, and turns a failure of the library's assertions, which would end the program, into
// Error(kBadFile), whose message begins with `source`. Intended for data from files: loading, tokenizing, the first
// run. Memory that the library has allocated by then may be leaked. On other threads, the program still ends.
void with_llama_assertions(const std::string& source, const std::function<void()>& action);

struct LlamaDelete {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* context) const { llama_free(context); }
  void operator()(ggml_threadpool* threads) const { ggml_threadpool_free(threads); }
  void operator()(ggml_context* context) const { ggml_free(context); }
};
using LlamaModelHandle = std::unique_ptr<llama_model, LlamaDelete>;
using LlamaContextHandle = std::unique_ptr<llama_context, LlamaDelete>;
using LlamaThreads = std::unique_ptr<ggml_threadpool, LlamaDelete>;
using GgmlContextHandle = std::unique_ptr<ggml_context, LlamaDelete>;

// Makes a context for up to `objects` tensors and a graph of them, whose numbers lie elsewhere.
GgmlContextHandle make_ggml_context(std::size_t objects);
// Computes `result` and its sources, all made in a context for `objects`. `threads` may be null. Throws Error(kOther)
// if the library fails: `what` could not be computed again.
void compute_again(ggml_context* context, std::size_t objects, ggml_tensor* result, int thread_count,
                   ggml_threadpool* threads, std::string_view what);

}  // namespace attnflow
