#include "attnflow/text/tokenizer_document.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>
#include <utility>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

json added_tokens_with_ids(const TokenizerSettings& settings) {
  json result = json::array();
  for (auto& [id, token] : settings.added_tokens()) {
    json entry = token;
    entry["id"] = id;
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace

std::uint64_t Vocabulary::required(const char* role) const {
  const auto found = pieces.find(special(role));
  if (found == pieces.end()) {
    fail_settings(source, fmt::format("the {} {}", role, quote_name(special(role))), "a vocabulary without it",
                  "name the right piece in special_tokens_map.json, or restore the vocabulary");
  }
  return found->get<std::uint64_t>();
}

json default_special(const std::string& content, bool lstrip) {
  return {{"content", content}, {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false},    {"normalized", false},  {"special", true}};
}

void apply_settings(const TokenizerSettings& settings, Vocabulary& vocabulary) {
  for (const std::string& role : special_roles()) {
    if (std::optional<json> token = settings.special(role)) vocabulary.specials[role] = std::move(*token);
  }
}

std::string specials_of(const std::map<std::string, json>& by_role, const TokenizerSettings& settings) {
  json result = json::array();
  for (const auto& [role, token] : by_role) result.push_back(token);
  for (json& token : settings.more_specials()) result.push_back(std::move(token));
  return result.dump();
}

std::map<std::string, std::string> pieces_of(const std::map<std::string, json>& by_role) {
  std::map<std::string, std::string> result;
  for (const auto& [role, token] : by_role) result[role] = token.at("content").get<std::string>();
  return result;
}

TokenizerDocument finish_document(const Vocabulary& vocabulary, const TokenizerSettings& settings, json document) {
  document["version"] = "1.0";
  if (!document.contains("added_tokens")) document["added_tokens"] = added_tokens_with_ids(settings);
  return {.json = document.dump(),
          .specials = specials_of(vocabulary.specials, settings),
          .source = vocabulary.source,
          .special_tokens = pieces_of(vocabulary.specials)};
}

json template_special(const std::string& piece, int type_id) {
  return {{"SpecialToken", {{"id", piece}, {"type_id", type_id}}}};
}

json template_segment(const char* name, int type_id) { return {{"Sequence", {{"id", name}, {"type_id", type_id}}}}; }

json template_token(const std::string& piece, std::uint64_t id) {
  return {{"id", piece}, {"ids", json::array({id})}, {"tokens", json::array({piece})}};
}

json read_numbered_pieces(const SettingsFile& file) {
  json pieces = read_json_object(file);
  std::map<std::uint64_t, std::string_view> owners;
  for (const auto& [piece, id] : pieces.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kLargestTokenId) {
      fail_settings(file.label(), "an id for each piece", fmt::format("{} for {}", show_json(id), quote_name(piece)));
    }
    const auto [owner, is_new] = owners.emplace(id.get<std::uint64_t>(), piece);
    if (!is_new) {
      fail_settings(file.label(), "each id once",
                    fmt::format("id {} for {} and for {}", owner->first, quote_name(owner->second), quote_name(piece)));
    }
  }
  return pieces;
}

}  // namespace attnflow::internal
