#include "attnflow/model/backend.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "attnflow/model/fail.h"

namespace attnflow {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderVariable = "ATTNFLOW_BACKEND_DIR";

[[noreturn]] void unsupported(const std::string& message) { throw Error(ErrorKind::kUnsupportedModel, message); }

std::string linker_reason() {
  const char* reason = ::dlerror();
  return reason == nullptr ? "for an unknown reason" : reason;
}

}  // namespace

std::vector<fs::path> backend_folders() {
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv(kFolderVariable); folder != nullptr && *folder != '\0') {
    folders.emplace_back(folder);
  }
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(program.parent_path());
    folders.push_back((program.parent_path() / "../lib/attnflow").lexically_normal());
  }
  return folders;
}

std::optional<fs::path> find_backend(const std::string& file_name, const std::vector<fs::path>& folders) {
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / file_name, ignored)) return folder / file_name;
  }
  return std::nullopt;
}

const Backend& open_backend(const std::string& file_name, const std::vector<fs::path>& folders,
                            const std::string& remedy) {
  const std::optional<fs::path> found_file = find_backend(file_name, folders);
  if (!found_file) {
    std::vector<std::string> searched;
    for (const fs::path& folder : folders) searched.push_back(folder.string());
    unsupported(
        fmt::format("expected {}, the part of attnflow that runs this model, found none in {}. {}, or set {} to the "
                    "folder that holds it. Attention weights saved to a file can be explained without it (--attention "
                    "FILE)",
                    file_name, fmt::join(searched, ", "), remedy, kFolderVariable));
  }
  const fs::path& file = *found_file;

  // RTLD_LOCAL keeps the symbols of libtorch and its dependencies out of the program's own.
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    unsupported(fmt::format("{}: the backend cannot be opened: {}", file.string(), linker_reason()));
  auto* const backend = reinterpret_cast<const Backend* (*)()>(::dlsym(library, kBackendSymbol));
  const std::string found =
      backend == nullptr ? "a library without a backend version" : fmt::format("one for \"{}\"", backend()->abi);
  if (backend == nullptr || std::string_view(backend()->abi) != kBackendAbi) {
    unsupported(
        fmt::format("{}: expected a backend for \"{}\", found {}. Install the program and its backend from "
                    "the same build",
                    file.string(), kBackendAbi, found));
  }
  return *backend();
}

void check_device(const std::string& device) {
  if (device == "cpu" || device == "cuda") return;
  const std::string_view prefix = "cuda:";
  constexpr std::size_t kMaxDigits = 3;
  const std::string_view number = device.starts_with(prefix) ? std::string_view(device).substr(prefix.size()) : "";
  const bool digits = std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (number.empty() || number.size() > kMaxDigits || !digits) {
    internal::fail(ErrorKind::kUsage, "expected the device cpu, cuda or cuda:N, found \"{}\"", device);
  }
}

const Backend& torch_backend() {
  static const Backend& backend = open_backend(kTorchBackend, backend_folders());
  return backend;
}

const Backend& llama_backend() {
  static const Backend& backend =
      open_backend(kLlamaBackend, backend_folders(),
                   "Build it with './dev build llama' (takes about three minutes; only GGUF models need it)");
  return backend;
}

}  // namespace attnflow
