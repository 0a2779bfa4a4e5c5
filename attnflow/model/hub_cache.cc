#include "attnflow/model/hub_cache.h"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/lora.h"
#include "attnflow/model/sentence_modules.h"

namespace attnflow {

namespace {

namespace fs = std::filesystem;

constexpr const char* kModelConfig = "config.json";
constexpr std::string_view kModelPrefix = "models--";
constexpr std::string_view kHubSeparator = "--";

constexpr const char* kAdapterConfigFile = "adapter_config.json";

std::optional<fs::path> folder_in_variable(const char* name, const char* below) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value) / below;
}

bool is_plain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

fs::path full_path(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error).lexically_normal();
  return path.filename().empty() ? path.parent_path() : path;
}

std::optional<std::string> name_of_cached(const fs::path& folder) {
  std::string name = full_path(folder).filename().string();
  if (!name.starts_with(kModelPrefix)) return std::nullopt;
  name.erase(0, kModelPrefix.size());
  if (const std::size_t at = name.find(kHubSeparator); at != std::string::npos) {
    name.replace(at, kHubSeparator.size(), "/");
  }
  return name;
}

bool has_config(const fs::path& folder) {
  return internal::is_listed(folder / kModelConfig) || internal::is_listed(folder / kAdapterConfigFile);
}

std::optional<fs::path> snapshot_of(const fs::path& model) {
  constexpr std::size_t kMaxRefBytes = 1024;
  const fs::path snapshots = model / "snapshots";
  if (const fs::path ref = model / "refs" / "main"; internal::is_listed(ref)) {
    std::string commit = read_file(ref, kMaxRefBytes);
    while (!commit.empty() && (commit.back() == '\n' || commit.back() == '\r')) commit.pop_back();
    if (is_plain(commit) && has_config(snapshots / commit)) return snapshots / commit;
    internal::fail(ErrorKind::kBadFile,
                   "{}: expected the snapshot that refs/main names ({}), found it without a {}; fetch the model "
                   "again (hf download), or give the folder of another snapshot",
                   model.string(), internal::quote_name(commit), kModelConfig);
  }
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator entry(snapshots, error), end; !error && entry != end; entry.increment(error)) {
    if (has_config(entry->path())) found.push_back(entry->path());
  }
  return found.size() == 1 ? std::optional(found.front()) : std::nullopt;
}

std::optional<fs::path> transformer_of(const fs::path& folder) {
  for (const auto& [type, path] : sentence_modules(folder)) {
    if (type != "Transformer" || path.empty()) continue;
    if (internal::is_listed(folder / path / kModelConfig)) return folder / path;
  }
  return std::nullopt;
}

// Like model_folder_in(), but treats an adapter as an ordinary folder.
Folder find_config(const fs::path& folder) {
  if (internal::is_listed(folder / kModelConfig)) {
    // A snapshot is named after its commit; the folder two levels up is named after the model.
    const fs::path snapshots = full_path(folder).parent_path();
    const std::optional<std::string> name =
        snapshots.filename() == "snapshots" ? name_of_cached(snapshots.parent_path()) : std::nullopt;
    return name ? Folder(folder).called(*name) : Folder(folder);
  }
  const std::optional<std::string> cached = name_of_cached(folder);
  if (cached) {
    if (const std::optional<fs::path> snapshot = snapshot_of(folder)) return Folder(*snapshot).called(*cached);
  }
  if (const std::optional<fs::path> part = transformer_of(folder)) return Folder(*part).called(Folder(folder).name());
  return folder;
}

std::optional<Folder> find_cached(const std::string& name, const fs::path& cache) {
  if (!is_hub_name(name)) return std::nullopt;
  std::string file = std::string(kModelPrefix) + name;
  if (const std::size_t slash = file.find('/'); slash != std::string::npos) file.replace(slash, 1, kHubSeparator);
  const std::optional<fs::path> snapshot = snapshot_of(cache / file);
  return snapshot ? std::optional(Folder(*snapshot).called(name)) : std::nullopt;
}

// Replaces an adapter's folder by its base model's, with the adapter, unless there is none or that is an adapter.
Folder with_base(const Folder& folder) {
  if (folder.has(kModelConfig) || !folder.has(kAdapterConfigFile)) return folder;
  const std::optional<Adapter> adapter = find_adapter(folder);
  if (!adapter || adapter->base.empty()) return folder;
  std::optional<Folder> base;
  for (const fs::path& path : {fs::path(adapter->base), folder.path() / adapter->base}) {
    std::error_code ignored;
    if (!base && internal::is_listed(path) && fs::is_directory(path, ignored)) base = find_config(path);
  }
  const std::optional<fs::path> cache = hub_cache();
  if (!base && cache) base = find_cached(adapter->base, *cache);
  if (base && base->has(kModelConfig) && base->has(kAdapterConfigFile)) {
    internal::fail(ErrorKind::kUnsupportedModel,
                   "{}: expected a base model without an adapter of its own, found {} in {}; merge that one "
                   "into the model first",
                   folder.label(kAdapterConfigFile), kAdapterConfigFile, base->label());
  }
  return base && base->has(kModelConfig) ? base->called(folder.name()).with_adapter(folder) : folder;
}

}  // namespace

std::optional<fs::path> hub_cache() {
  if (auto folder = folder_in_variable("HF_HUB_CACHE", "")) return folder;
  if (auto folder = folder_in_variable("HF_HOME", "hub")) return folder;
  if (auto folder = folder_in_variable("XDG_CACHE_HOME", "huggingface/hub")) return folder;
  return folder_in_variable("HOME", ".cache/huggingface/hub");
}

bool is_hub_name(const std::string& reference) {
  const std::size_t slash = reference.find('/');
  if (slash == std::string::npos) return is_plain(reference);
  return is_plain(reference.substr(0, slash)) && is_plain(reference.substr(slash + 1));
}

std::optional<Folder> find_in_hub_cache(const std::string& name, const fs::path& cache) {
  const std::optional<Folder> found = find_cached(name, cache);
  return found ? std::optional(with_base(*found)) : std::nullopt;
}

Folder model_folder_in(const fs::path& folder) { return with_base(find_config(folder)); }

}  // namespace attnflow
