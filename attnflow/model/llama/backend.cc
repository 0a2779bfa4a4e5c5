// The function that libattnflow_llama.so exports: see attnflow/model/backend.h.
#include "attnflow/model/backend.h"

#include "attnflow/model/fail.h"
#include "attnflow/model/llama/decoder.h"
#include "attnflow/model/llama/dequantise.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/weights.h"

namespace attnflow {
namespace {

std::unique_ptr<Decoder> open_gguf(const GgufFile& file, const LoadOptions& options) {
  if (options.device != "cpu") {
    internal::fail(ErrorKind::kUsage, "expected the device cpu, which GGUF models run on here, found \"{}\"",
                   options.device);
  }
  start_llama_library();
  return std::make_unique<LlamaDecoder>(load_llama_weights(file, options.copy_weights), options);
}

void dequantise(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values) {
  start_llama_library();
  dequantise_blocks(type, blocks, values);
}

}  // namespace
}  // namespace attnflow

extern "C" __attribute__((visibility("default"))) const attnflow::Backend* attnflow_backend() {
  static constexpr attnflow::Backend backend = {.gguf = attnflow::open_gguf, .dequantise = attnflow::dequantise};
  return &backend;
}
