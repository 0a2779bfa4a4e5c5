// The files beside a tokenizer in a model folder, and what they say.
#ifndef ATTNFLOW_TEXT_TOKENIZER_SETTINGS_H_
#define ATTNFLOW_TEXT_TOKENIZER_SETTINGS_H_

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

// A file of a model folder, which need not be there.
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

// How a tokenizer.json comes into a folder that has none, by Python with these packages.
std::string advice_to_write_tokenizer(std::string_view packages);

// These throw Error(kBadFile) when the file cannot be read, is not UTF-8, or is not a JSON object as
// parse_json_object() reads it.
std::string read_utf8(const SettingsFile& file);
nlohmann::json read_json_object(const SettingsFile& file);
nlohmann::json read_optional_json_object(const SettingsFile& file);  // an empty object when it is not there

// The roles that special tokens have, "bos_token" to "mask_token".
const std::vector<std::string>& special_roles();

// tokenizer_config.json, special_tokens_map.json and added_tokens.json, each of which need not be there. As for
// transformers, the latter two count only where tokenizer_config.json has no added_tokens_decoder.
//
// The constructor and all members throw Error(kBadFile) for a file, or a value, that does not have the expected form.
class TokenizerSettings {
 public:
  explicit TokenizerSettings(const Folder& folder);

  // true, false, or nothing when the setting is missing or null.
  std::optional<bool> flag(const char* key) const;
  // The same of a text, and of a number that is not negative.
  std::optional<std::string> text(const char* key) const;
  std::optional<std::uint64_t> number(const char* key) const;
  // "GPT2Tokenizer" and the like, without the "Fast" that a name may end with; empty when the settings name none.
  std::string tokenizer_class() const;
  // The added token that a role ("mask_token") has, or nothing.
  std::optional<nlohmann::json> special(const std::string& role) const;
  // Whether they mention the role, if only to say that no token has it.
  bool names(const std::string& role) const;
  // Special tokens with names that are no roles, such as "image_token", in the order in which transformers adds them.
  std::vector<nlohmann::json> other_named() const;
  // Special tokens without a name of their own.
  std::vector<nlohmann::json> more_specials() const;
  // Tokens beyond the vocabulary file, by id.
  std::map<std::uint64_t, nlohmann::json> added_tokens() const;
  // Whether there is an added_tokens_decoder, which lists every added token.
  bool lists_added_tokens() const;

 private:
  // A file's settings, and the order of the keys in it: "" for its own, else for those of an object in it.
  struct Settings {
    explicit Settings(const SettingsFile& from);
    const nlohmann::json* find(const std::string& key) const;

    SettingsFile file;
    nlohmann::json json;
    std::map<std::string, std::vector<std::string>> order;
  };
  std::pair<const nlohmann::json*, const Settings*> find_special(const std::string& role) const;

  SettingsFile added_file_;
  Settings config_;
  Settings map_;
};

// The ids that end generation: eos_token_id, a number or a list of them, of generation_config.json or, where that says
// nothing, of config.json. Empty when neither does. Throws Error(kBadFile) as above.
std::vector<std::int64_t> read_end_ids(const Folder& folder);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_TOKENIZER_SETTINGS_H_
