#include "attnflow/model/adapter.h"

#include "attnflow/attribution/note.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/lora.h"

namespace attnflow {

namespace {

constexpr const char* kAdapterConfig = "adapter_config.json";

}  // namespace

std::optional<Adapter> find_adapter(const Folder& folder) {
  constexpr std::size_t kMaxAdapterBytes = std::size_t{16} << 20;
  if (!folder.has(kAdapterConfig)) return std::nullopt;
  const nlohmann::json json =
      internal::parse_json_object(folder.read(kAdapterConfig, kMaxAdapterBytes), folder.label(kAdapterConfig));
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return Adapter{text("base_model_name_or_path"), text("task_type")};
}

std::vector<ModelNote> adapter_notes(const Folder& folder) {
  const std::optional<Folder> applied = internal::adapter_folder(folder);
  const std::optional<Adapter> adapter = find_adapter(applied ? *applied : folder);
  if (!adapter) return {};
  const std::string base = adapter->base.empty() ? "" : internal::quote_name(adapter->base);
  return {{Note{applied ? NoteCode::kAdapterApplied : NoteCode::kAdapterNotApplied, {{"base", base}}}}};
}

}  // namespace attnflow
