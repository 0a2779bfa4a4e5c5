// The interface between the loader and a backend: a shared object that is opened when a model needs it.
//
// A backend exports one C function, attnflow_backend(), which returns a table: the version it was built for, and
// functions that create the kinds of model it supports. The loader compares the first member with its own kBackendAbi
// before it looks at any other, so a backend of another version is rejected and not misread. The torch backend creates
// encoders, vision models, decoders and encoder-decoders from weights that are already found and checked; the llama
// backend creates a decoder from a GGUF file whose header has been read, and dequantizes its blocks. The same compiler
// and headers build backend and loader, so types and exceptions pass unchanged. A backend is never unloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnflow/base/version.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct EncoderDecoderWeights;
struct GgufFile;
struct ModelWeights;

// Increment the number after "abi" whenever a type used in the interface changes.
inline constexpr const char* kBackendAbi = "attnflow " ATTNFLOW_VERSION ", backend abi 16";

inline constexpr const char* kBackendSymbol = "attnflow_backend";

// A function is null if the backend does not support that kind.
struct Backend {
  const char* abi = kBackendAbi;  // must remain the first member
  std::unique_ptr<Encoder> (*encoder)(const ModelWeights& weights, const LoadOptions& options) = nullptr;
  std::unique_ptr<VisionModel> (*vision)(const ModelWeights& weights, const LoadOptions& options) = nullptr;
  std::unique_ptr<Decoder> (*decoder)(const ModelWeights& weights, const LoadOptions& options) = nullptr;
  std::unique_ptr<Decoder> (*encoder_decoder)(const EncoderDecoderWeights& weights,
                                              const LoadOptions& options) = nullptr;
  std::unique_ptr<Decoder> (*gguf)(const GgufFile& file, const LoadOptions& options) = nullptr;
  // Dequantizes `blocks`, whole blocks of a GGUF tensor type (GgufTensor::type), into `values`.
  void (*dequantise)(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values) = nullptr;
};

// Throws Error(kUsage) unless `device` is "cpu", "cuda" or "cuda:N". Only the backend knows whether it exists.
void check_device(const std::string& device);

inline constexpr const char* kTorchBackend = "libattnflow_torch.so";
inline constexpr const char* kLlamaBackend = "libattnflow_llama.so";
inline constexpr const char* kTorchBackendRemedy = "Build it (cmake -DATTNFLOW_TORCH=ON, needs libtorch-dev)";

// Opened on the first call and never closed, since libtorch cannot be unloaded. Throw as open_backend().
const Backend& torch_backend();
const Backend& llama_backend();

// Returns the folders to search for backends, in order: $ATTNFLOW_BACKEND_DIR, the running program's folder, and
// ../lib/attnflow relative to it, where `cmake --install` puts them.
std::vector<std::filesystem::path> backend_folders();

// Returns `file_name` in the first of `folders` that holds it.
std::optional<std::filesystem::path> find_backend(const std::string& file_name,
                                                  const std::vector<std::filesystem::path>& folders);

// Opens `file_name` in the first of `folders` that holds it. Throws Error(kUnsupportedModel) if none does (the message
// lists them and `remedy`, a sentence that says how to get it), or if it cannot be opened or has another version.
const Backend& open_backend(const std::string& file_name, const std::vector<std::filesystem::path>& folders,
                            const std::string& remedy = kTorchBackendRemedy);

}  // namespace attnflow
