#include "attnflow/text/tokenizer_settings.h"

#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

// An added token is written as its text, or as an object with its properties.
json added_token(const json& value, bool special, const SettingsFile& file, std::string_view key) {
  json token = {{"content", ""},   {"single_word", false},   {"lstrip", false},
                {"rstrip", false}, {"normalized", !special}, {"special", special}};
  if (value.is_string()) {
    token["content"] = value;
    return token;
  }
  const auto content = value.find("content");
  if (!value.is_object() || content == value.end() || !content->is_string()) {
    fail_settings(file.label(), fmt::format("a token's text, or an object with \"content\", for {}", key),
                  value.type_name());
  }
  token["content"] = *content;
  for (const char* property : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
    const auto found = value.find(property);
    if (found != value.end() && found->is_boolean()) token[property] = *found;
  }
  if (special) token["special"] = true;
  return token;
}

std::int64_t end_id(const json& value, const SettingsFile& file) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kLargestTokenId) {
    fail_settings(file.label(), "a token's id, or a list of ids, as eos_token_id", show_json(value));
  }
  return value.get<std::int64_t>();
}

}  // namespace

void fail_settings(const std::string& where, const std::string& expected, const std::string& found,
                   const std::string& advice) {
  throw Error(ErrorKind::kBadFile, fmt::format("{}: expected {}, found {}; {}", where, expected, found, advice));
}

std::string advice_to_write_tokenizer(std::string_view packages) {
  return fmt::format(
      "write a tokenizer.json into the folder, in Python (pip install {}) with "
      "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
      packages);
}

std::string read_utf8(const SettingsFile& file) {
  std::string content = file.read();
  if (const std::optional<std::size_t> offset = find_invalid_utf8(content)) {
    fail_settings(file.label(), "UTF-8 text", fmt::format("a byte that is not UTF-8 at offset {}", *offset));
  }
  return content;
}

json read_json_object(const SettingsFile& file) { return parse_json_object(read_utf8(file), file.label()); }

json read_optional_json_object(const SettingsFile& file) {
  return file.is_there() ? read_json_object(file) : json::object();
}

const std::vector<std::string>& special_roles() {
  static const std::vector<std::string> roles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};
  return roles;
}

TokenizerSettings::TokenizerSettings(const Folder& folder)
    : map_file_(folder, "special_tokens_map.json"),
      config_file_(folder, "tokenizer_config.json"),
      added_file_(folder, "added_tokens.json"),
      map_(read_optional_json_object(map_file_)),
      config_(read_optional_json_object(config_file_)) {}

std::optional<bool> TokenizerSettings::flag(const char* key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return std::nullopt;
  if (!found->is_boolean()) {
    fail_settings(config_file_.label(), fmt::format("true, false or null for {}", key), found->type_name());
  }
  return found->get<bool>();
}

std::optional<std::string> TokenizerSettings::text(const char* key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return std::nullopt;
  if (!found->is_string())
    fail_settings(config_file_.label(), fmt::format("a text or null for {}", key), found->type_name());
  return found->get<std::string>();
}

std::optional<std::uint64_t> TokenizerSettings::number(const char* key) const {
  const auto found = config_.find(key);
  if (found == config_.end() || found->is_null()) return std::nullopt;
  if (!found->is_number_unsigned()) {
    fail_settings(config_file_.label(), fmt::format("a number or null for {}", key), show_json(*found));
  }
  return found->get<std::uint64_t>();
}

std::string TokenizerSettings::tokenizer_class() const {
  const auto found = config_.find("tokenizer_class");
  if (found == config_.end() || !found->is_string()) return "";
  std::string name = found->get<std::string>();
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

std::optional<json> TokenizerSettings::special(const std::string& role) const {
  for (const auto& [file, settings] : {std::pair(&map_file_, &map_), std::pair(&config_file_, &config_)}) {
    const auto found = settings->find(role);
    if (found != settings->end() && !found->is_null()) return added_token(*found, true, *file, role);
  }
  return std::nullopt;
}

std::vector<json> TokenizerSettings::more_specials() const {
  std::vector<json> result;
  for (const auto& [file, settings] : {std::pair(&map_file_, &map_), std::pair(&config_file_, &config_)}) {
    for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
      const auto found = settings->find(key);
      if (found == settings->end() || !found->is_array()) continue;
      for (const json& token : *found) result.push_back(added_token(token, true, *file, key));
    }
  }
  return result;
}

std::map<std::uint64_t, json> TokenizerSettings::added_tokens() const {
  std::map<std::uint64_t, json> result;
  if (added_file_.is_there()) {
    const json added = read_json_object(added_file_);
    for (const auto& [content, id] : added.items()) {
      if (!id.is_number_unsigned()) fail_settings(added_file_.label(), "an id for each token", id.type_name());
      result[id.get<std::uint64_t>()] = added_token(content, false, added_file_, "added_tokens");
    }
  }
  const auto decoder = config_.find("added_tokens_decoder");
  if (decoder == config_.end() || decoder->is_null()) return result;
  if (!decoder->is_object()) {
    fail_settings(config_file_.label(), "an object as added_tokens_decoder", decoder->type_name());
  }
  for (const auto& [key, token] : decoder->items()) {
    std::uint64_t id = 0;
    for (const char digit : key) {
      if (digit < '0' || digit > '9' || id > kLargestTokenId) {
        fail_settings(config_file_.label(), "ids as keys of added_tokens_decoder", quote_name(key));
      }
      id = id * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    result[id] = added_token(token, false, config_file_, "added_tokens_decoder");
  }
  return result;
}

std::vector<std::int64_t> read_end_ids(const Folder& folder) {
  for (const char* name : {"generation_config.json", "config.json"}) {
    const SettingsFile file(folder, name);
    const json settings = read_optional_json_object(file);
    const auto found = settings.find("eos_token_id");
    if (found == settings.end() || found->is_null()) continue;
    if (!found->is_array()) return {end_id(*found, file)};
    std::vector<std::int64_t> ids;
    for (const json& id : *found) ids.push_back(end_id(id, file));
    return ids;
  }
  return {};
}

}  // namespace attnflow::internal
