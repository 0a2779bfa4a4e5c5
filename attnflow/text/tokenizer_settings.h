// The configuration files next to a tokenizer in a model folder.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/files/folder.h"

namespace attnflow::internal {

class SettingsFile {
 public:
  SettingsFile(const Folder& folder, const char* name) : folder_(folder), name_(name) {}

  std::string label() const { return folder_.label(name_); }
  bool is_there() const { return folder_.has(name_); }
  std::string read() const { return folder_.read(name_); }

 private:
  Folder folder_;
  const char* name_;
};

inline constexpr std::uint64_t kLargestTokenId = 0xFFFFFFFFU;

// Throws Error(kBadFile).
[[noreturn]] void fail_settings(const std::string& where, const std::string& expected, const std::string& found,
                                const std::string& advice = "restore the file from the model's source");

std::string advice_to_write_tokenizer(std::string_view packages);

// These throw Error(kBadFile) when the file cannot be read, is not UTF-8, or is not a JSON object as accepted by
// parse_json_object().
std::string read_utf8(const SettingsFile& file);
nlohmann::json read_json_object(const SettingsFile& file);
nlohmann::json read_optional_json_object(const SettingsFile& file);  // empty if there is no file

// The tokenizer_class of a file's settings, such as "GPT2Tokenizer", without a trailing "Fast"; empty if it names none.
std::string tokenizer_class_in(const nlohmann::json& settings);

// The roles of special tokens, "bos_token" to "mask_token".
const std::vector<std::string>& special_roles();

// tokenizer_config.json, special_tokens_map.json and added_tokens.json, all optional. As in transformers, the latter
// two count only if tokenizer_config.json has no added_tokens_decoder. The constructor and all members throw
// Error(kBadFile) if a file or value does not have the expected form.
class TokenizerSettings {
 public:
  explicit TokenizerSettings(const Folder& folder);

  // Returns true, false, or nothing when the setting is missing or null.
  std::optional<bool> flag(const char* key) const;
  std::optional<std::string> text(const char* key) const;
  std::optional<std::uint64_t> number(const char* key) const;
  std::string tokenizer_class() const { return tokenizer_class_in(config_.json); }
  // The added token in a role ("mask_token"), if any.
  std::optional<nlohmann::json> special(const std::string& role) const;
  // Whether the settings mention the role, even if only to say that it has no token.
  bool names(const std::string& role) const;
  // Special tokens with names that are not roles, such as "image_token", in the order in which transformers adds them.
  std::vector<nlohmann::json> other_named() const;
  std::vector<nlohmann::json> more_specials() const;
  // Tokens beyond the vocabulary file, by id.
  std::map<std::uint64_t, nlohmann::json> added_tokens() const;
  bool lists_added_tokens() const;

 private:
  // A file's settings and the order of its keys: under "" those of the file, under names those of nested objects.
  struct Settings {
    explicit Settings(const SettingsFile& from);
    const nlohmann::json* find(const std::string& key) const;

    SettingsFile file;
    nlohmann::json json;
    std::map<std::string, std::vector<std::string>> order;
  };
  template <typename T>
  std::optional<T> setting(const char* key, bool (nlohmann::json::*has_type)() const noexcept,
                           const char* expected) const;
  std::pair<const nlohmann::json*, const Settings*> find_special(const std::string& role) const;

  SettingsFile added_file_;
  Settings config_;
  Settings map_;
};

// The ids that end generation: eos_token_id (a number or a list) of generation_config.json or, failing that, of
// config.json. Empty if neither has it. Throws Error(kBadFile) as above.
std::vector<std::int64_t> read_end_ids(const Folder& folder);

}  // namespace attnflow::internal
