// Owners of the library's objects.
#ifndef ATTNFLOW_MODEL_LLAMA_HANDLES_H_
#define ATTNFLOW_MODEL_LLAMA_HANDLES_H_

#include <ggml-cpu.h>
#include <llama.h>

#include <memory>

namespace attnflow {

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

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_HANDLES_H_
