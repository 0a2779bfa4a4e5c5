#include <filesystem>
#include <memory>

#include "attnflow/files/gguf.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/llama_backend.h"

namespace attnflow {
namespace {

constexpr const char* kLlamaBackend = "libattnflow_llama.so";
constexpr const char* kLlamaBackendRemedy =
    "Build it with './dev build llama' (takes about three minutes; only GGUF models need it)";

}  // namespace

const Backend& internal::llama_backend() {
  static const Backend backend = open_backend(kLlamaBackend, backend_folders(), kLlamaBackendRemedy);
  return backend;
}

std::unique_ptr<Decoder> load_gguf(const std::filesystem::path& file, const LoadOptions& options) {
  check_device(options.device);
  internal::read_gguf(file);  // what is wrong with the file is said whether the backend is there or not
  auto* const open = internal::llama_backend().function<BackendGgufFunction>(kBackendGgufSymbol);
  std::unique_ptr<Decoder> decoder;
  open(file, options, decoder);
  return decoder;
}

}  // namespace attnflow
