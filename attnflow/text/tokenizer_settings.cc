#include "attnflow/text/tokenizer_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

constexpr const char* kExtra = "extra_special_tokens";
constexpr const char* kAdditional = "additional_special_tokens";
constexpr const char* kOthers = "model_specific_special_tokens";

// An added token is written as its text, or as an object with its properties. `special` forces the token to be special.
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
  for (const char* property : {"single_word", "lstrip", "rstrip", "special", "normalized"}) {
    const auto found = value.find(property);
    if (found != value.end() && found->is_boolean()) token[property] = *found;
    if (special) token["special"] = true;
    if (std::string_view(property) == "special") token["normalized"] = !token["special"].get<bool>();
  }
  return token;
}

bool is_other_name(const std::string& key) {
  const std::vector<std::string>& roles = special_roles();
  return key.ends_with("_token") && std::find(roles.begin(), roles.end(), key) == roles.end();
}

bool is_token(const json& value) { return value.is_string() || (value.is_object() && value.contains("content")); }

bool holds_something(const json* value) {
  return value != nullptr && !value->is_null() && !(value->is_structured() && value->empty());
}

std::int64_t end_id(const json& value, const SettingsFile& file) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kLargestTokenId)
    fail_settings(file.label(), "a token's id, or a list of ids, as eos_token_id", show_json(value));
  return value.get<std::int64_t>();
}

}  // namespace

void fail_settings(const std::string& where, const std::string& expected, const std::string& found,
                   const std::string& advice) {
  fail_file(where, fmt::format("expected {}, found {}; {}", expected, found, advice));
}

std::string advice_to_write_tokenizer(std::string_view packages) {
  return fmt::format(
      "write a tokenizer.json into the folder, in Python (pip install {}) with "
      "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)",
      packages);
}

std::string read_utf8(const SettingsFile& file) {
  std::string content = file.read();
  if (const std::optional<std::size_t> offset = find_invalid_utf8(content))
    fail_settings(file.label(), "UTF-8 text", fmt::format("a byte that is not UTF-8 at offset {}", *offset));
  return content;
}

json read_json_object(const SettingsFile& file) { return parse_json_object(read_utf8(file), file.label()); }

json read_optional_json_object(const SettingsFile& file) {
  return file.is_there() ? read_json_object(file) : json::object();
}

std::string tokenizer_class_in(const json& settings) {
  const auto found = settings.find("tokenizer_class");
  if (found == settings.end() || !found->is_string()) return "";
  std::string name = found->get<std::string>();
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

const std::vector<std::string>& special_roles() {
  static const std::vector<std::string> roles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};
  return roles;
}

TokenizerSettings::Settings::Settings(const SettingsFile& from) : file(from), json(read_optional_json_object(from)) {
  if (!from.is_there()) return;
  std::string outer;
  const auto note_key = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event != nlohmann::json::parse_event_t::key) return true;
    const auto key = value.get<std::string>();
    if (depth == 1) outer = key;
    if (depth == 1) order[""].push_back(key);
    if (depth == 2 && (outer == kExtra || outer == kOthers)) order[outer].push_back(key);
    return true;
  };
  const auto ignored = nlohmann::json::parse(read_utf8(from), note_key);
}

const json* TokenizerSettings::Settings::find(const std::string& key) const {
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

TokenizerSettings::TokenizerSettings(const Folder& folder)
    : added_file_(folder, "added_tokens.json"),
      config_(SettingsFile(folder, "tokenizer_config.json")),
      map_(SettingsFile(folder, "special_tokens_map.json")) {
  if (!lists_added_tokens()) return;
  map_.json = json::object();
  map_.order.clear();
}

bool TokenizerSettings::lists_added_tokens() const {
  const json* const decoder = config_.find("added_tokens_decoder");
  return decoder != nullptr && !decoder->is_null();
}

template <typename T>
std::optional<T> TokenizerSettings::setting(const char* key, bool (json::*has_type)() const noexcept,
                                            const char* expected) const {
  const json* const found = config_.find(key);
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (!(found->*has_type)()) {
    fail_settings(config_.file.label(), fmt::format("{} or null for {}", expected, key),
                  has_type == &json::is_number_unsigned ? show_json(*found) : found->type_name());
  }
  return found->get<T>();
}

std::optional<bool> TokenizerSettings::flag(const char* key) const {
  return setting<bool>(key, &json::is_boolean, "true, false");
}

std::optional<std::string> TokenizerSettings::text(const char* key) const {
  return setting<std::string>(key, &json::is_string, "a text");
}

std::optional<std::uint64_t> TokenizerSettings::number(const char* key) const {
  return setting<std::uint64_t>(key, &json::is_number_unsigned, "a number");
}

std::pair<const json*, const TokenizerSettings::Settings*> TokenizerSettings::find_special(
    const std::string& role) const {
  for (const Settings* settings : {&map_, &config_}) {
    if (const json* const found = settings->find(role)) return {found, settings};
  }
  return {nullptr, nullptr};
}

bool TokenizerSettings::names(const std::string& role) const { return find_special(role).first != nullptr; }

std::optional<json> TokenizerSettings::special(const std::string& role) const {
  const auto [found, settings] = find_special(role);
  if (found == nullptr || found->is_null()) return std::nullopt;
  json token = added_token(*found, found->is_string() || settings == &map_, settings->file, role);
  token["special"] = true;
  return token;
}

// transformers passes these through two dictionaries, whose order decides which number a new token gets.
std::vector<json> TokenizerSettings::other_named() const {
  std::vector<std::pair<std::string, json>> first;
  std::vector<std::pair<std::string, json>> second;
  const auto set = [](auto& into, const std::string& name, const json& token) {
    const auto found = std::find_if(into.begin(), into.end(), [&](const auto& one) { return one.first == name; });
    if (found == into.end()) {
      into.emplace_back(name, token);
    } else {
      found->second = token;
    }
  };
  const auto set_all = [&](const Settings& settings, const char* key) {
    const json* const found = settings.find(key);
    const auto names = settings.order.find(key);
    if (found == nullptr || !found->is_object() || names == settings.order.end()) return;
    for (const std::string& name : names->second) {
      set(second, name, added_token(found->at(name), true, settings.file, key));
    }
  };
  const auto set_own = [&](const Settings& settings, auto& into, bool as_text) {
    const auto names = settings.order.find("");
    if (names == settings.order.end()) return;
    for (const std::string& name : names->second) {
      const json& value = settings.json.at(name);
      if (!is_other_name(name) || !is_token(value) || value.is_string() != as_text) continue;
      set(into, name, added_token(value, true, settings.file, name));
    }
  };
  set_own(config_, second, /*as_text=*/true);
  if (second.empty()) set_all(config_, kOthers);
  set_all(config_, kExtra);
  set_own(config_, first, /*as_text=*/false);
  set_own(map_, first, /*as_text=*/true);
  set_own(map_, first, /*as_text=*/false);
  set_all(map_, kExtra);
  for (const auto& [name, token] : second) set(first, name, token);
  std::vector<json> tokens;
  for (auto& [name, token] : first) tokens.push_back(std::move(token));
  return tokens;
}

std::vector<json> TokenizerSettings::more_specials() const {
  std::vector<json> tokens;
  const auto append = [&](const Settings& settings, const char* key) {
    const json* const found = settings.find(key);
    if (found == nullptr || !found->is_array()) return;
    for (const json& token : *found) {
      tokens.push_back(added_token(token, token.is_string() || &settings == &map_, settings.file, key));
    }
  };
  // additional_special_tokens is the old name of extra_special_tokens, and counts only if the new one is not set.
  const bool says_more = holds_something(config_.find(kExtra));
  const bool says_old = config_.find(kAdditional) != nullptr;
  append(config_, says_more ? kExtra : kAdditional);
  append(map_, kExtra);
  const bool is_new = !says_more && !says_old && config_.find(kExtra) == nullptr && map_.find(kExtra) == nullptr;
  if (is_new) append(map_, kAdditional);
  return tokens;
}

std::map<std::uint64_t, json> TokenizerSettings::added_tokens() const {
  std::map<std::uint64_t, json> result;
  const json* const decoder = lists_added_tokens() ? config_.find("added_tokens_decoder") : nullptr;
  if (decoder == nullptr) {
    std::set<std::string> specials;
    for (const json& token : more_specials()) specials.insert(token.at("content").get<std::string>());
    for (const std::string& role : special_roles()) {
      if (const std::optional<json> token = special(role)) specials.insert(token->at("content").get<std::string>());
    }
    const json added = read_optional_json_object(added_file_);
    for (const auto& [content, id] : added.items()) {
      if (!id.is_number_unsigned()) fail_settings(added_file_.label(), "an id for each token", id.type_name());
      result[id.get<std::uint64_t>()] = added_token(content, specials.contains(content), added_file_, "added_tokens");
    }
    return result;
  }
  if (!decoder->is_object())
    fail_settings(config_.file.label(), "an object as added_tokens_decoder", decoder->type_name());
  for (const auto& [key, token] : decoder->items()) {
    std::uint64_t id = 0;
    for (const char digit : key) {
      if (digit < '0' || digit > '9' || id > kLargestTokenId)
        fail_settings(config_.file.label(), "ids as keys of added_tokens_decoder", quote_name(key));
      id = id * 10 + static_cast<std::uint64_t>(digit - '0');
    }
    result[id] = added_token(token, false, config_.file, "added_tokens_decoder");
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
