#include "attnflow/model/sentence_modules.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxModuleBytes = std::size_t{1} << 20;
constexpr std::string_view kModePrefix = "pooling_mode_";

std::string text_in(const nlohmann::json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// The folder with modules.json: that of the Transformer, or the one around it.
std::optional<fs::path> encoder_around(const fs::path& transformer) {
  if (internal::is_listed(transformer / "modules.json")) return transformer;
  std::error_code error;
  fs::path path = fs::absolute(transformer, error).lexically_normal();
  if (path.filename().empty()) path = path.parent_path();
  if (error || !internal::is_listed(path.parent_path() / "modules.json")) return std::nullopt;
  const std::vector<SentenceModule> modules = sentence_modules(path.parent_path());
  const bool is_part = std::any_of(modules.begin(), modules.end(), [&](const SentenceModule& module) {
    return module.type == "Transformer" && module.path == path.filename();
  });
  return is_part ? std::optional(path.parent_path()) : std::nullopt;
}

// "mean" of {"pooling_mode": "mean"}, or of {"pooling_mode_mean_tokens": true}. Several are joined to one vector.
std::vector<std::string> pooling_modes(const nlohmann::json& config) {
  std::vector<std::string> modes;
  if (const auto named = config.find("pooling_mode"); named != config.end()) {
    if (named->is_string()) return {named->get<std::string>()};
    for (const nlohmann::json& one : *named) modes.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    return modes;
  }
  constexpr std::array kEnds = {std::string_view("_tokens"), std::string_view("_token")};
  for (const auto& [key, value] : config.items()) {
    if (!key.starts_with(kModePrefix) || !value.is_boolean() || !value.get<bool>()) continue;
    std::string mode = key.substr(kModePrefix.size());
    for (const std::string_view end : kEnds) {
      if (mode.ends_with(end)) mode.erase(mode.size() - end.size());
    }
    modes.push_back(std::move(mode));
  }
  return modes;
}

void take_modes(const std::vector<std::string>& modes, SentencePooling& pooling) {
  const std::string mode = modes.size() == 1 ? modes.front() : "";
  if (mode == "cls") {
    pooling.pooling = Pooling::kFirstToken;
  } else if (mode != "mean" && mode != "mean_sqrt_len") {
    pooling.unknown = modes.empty() ? "no pooling" : fmt::format("{} pooling", fmt::join(modes, " and "));
  }
}

}  // namespace

std::vector<SentenceModule> sentence_modules(const fs::path& folder) {
  const fs::path file = folder / "modules.json";
  if (!internal::is_listed(file)) return {};
  const nlohmann::json list = internal::parse_json(read_file(file, kMaxModuleBytes), file.string());
  if (!list.is_array()) {
    internal::fail(ErrorKind::kBadFile, "{}: expected a list of modules, found {}", file.string(),
                   internal::show_json(list));
  }
  std::vector<SentenceModule> modules;
  for (const nlohmann::json& module : list) {
    if (!module.is_object()) continue;
    const std::string type = text_in(module, "type");
    modules.push_back({type.substr(type.rfind('.') + 1), text_in(module, "path")});
    const std::string& path = modules.back().path;
    if (!path.empty() && (path == ".." || fs::path(path).filename() != path)) {
      internal::fail(ErrorKind::kBadFile,
                     "{}: expected the name of a folder next to this file as the path of a {}, found {}", file.string(),
                     modules.back().type, internal::quote_name(path));
    }
  }
  return modules;
}

SentencePooling read_sentence_pooling(const Folder& folder) {
  SentencePooling pooling;
  if (folder.is_built_in()) return pooling;
  const std::optional<fs::path> encoder = encoder_around(folder.path());
  if (!encoder) return pooling;
  for (const SentenceModule& module : sentence_modules(*encoder)) {
    if (module.type == "Pooling") {
      pooling.is_declared = true;
      const fs::path file = *encoder / module.path / "config.json";
      if (!internal::is_listed(file)) {
        pooling.unknown = fmt::format("pooling without {}", (fs::path(module.path) / "config.json").string());
        continue;
      }
      take_modes(pooling_modes(internal::parse_json_object(read_file(file, kMaxModuleBytes), file.string())), pooling);
    } else if (module.type != "Transformer" && module.type != "Normalize" && pooling.unknown.empty()) {
      pooling.unknown = fmt::format("a module of type {}", module.type);
    }
  }
  return pooling;
}

}  // namespace attnflow
