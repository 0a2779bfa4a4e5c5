// The functions that libattnflow_llama.so exports: see attnflow/model/backend.h.
#include "attnflow/model/backend.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"
#include "attnflow/model/llama/decoder.h"
#include "attnflow/model/llama/dequantise.h"
#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/weights.h"

extern "C" __attribute__((visibility("default"))) const char* attnflow_backend_abi() { return attnflow::kBackendAbi; }

extern "C" __attribute__((visibility("default"))) void attnflow_backend_open_gguf(
    const attnflow::GgufFile& file, const attnflow::LoadOptions& options, std::unique_ptr<attnflow::Decoder>& decoder) {
  if (options.device != "cpu") {
    throw attnflow::Error(
        attnflow::ErrorKind::kUsage,
        fmt::format("expected the device cpu, which GGUF models run on here, found \"{}\"", options.device));
  }
  attnflow::start_llama_library();
  decoder = std::make_unique<attnflow::LlamaDecoder>(attnflow::load_llama_weights(file, options.copy_weights), options);
}

extern "C" __attribute__((visibility("default"))) void attnflow_backend_dequantise(std::uint32_t type,
                                                                                   std::span<const std::byte> blocks,
                                                                                   std::span<float> values) {
  attnflow::start_llama_library();
  attnflow::dequantise_blocks(type, blocks, values);
}
