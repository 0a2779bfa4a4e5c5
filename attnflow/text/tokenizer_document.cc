#include "attnflow/text/tokenizer_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/declared_tokens.h"

namespace attnflow::internal {
using nlohmann::json;

std::uint64_t Vocabulary::required(const char* role) const {
  const auto found = pieces.find(special(role));
  if (found == pieces.end()) {
    fail_settings(source, fmt::format("the {} {}", role, quote_name(special(role))), "a vocabulary without it",
                  "name the right piece in special_tokens_map.json, or restore the vocabulary");
  }
  return found->get<std::uint64_t>();
}

TemplateToken Vocabulary::template_token(const std::string& name) const {
  const std::string role = name + "_token";
  return {special(role.c_str()), required(role.c_str())};
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

bool lists_word(std::string_view words, std::string_view wanted) {
  const std::vector<std::string> all = words_of(words);
  return std::find(all.begin(), all.end(), wanted) != all.end();
}

json default_special(const std::string& content, bool lstrip) {
  return {{"content", content}, {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false},    {"normalized", false},  {"special", true}};
}

std::map<std::string, json> default_specials(std::string_view roles, bool mask_takes_space) {
  std::map<std::string, json> specials;
  const std::vector<std::string> words = words_of(roles);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    specials[words[i]] = default_special(words[i + 1], mask_takes_space && words[i] == "mask_token");
  }
  return specials;
}

void apply_settings(const TokenizerSettings& settings, Vocabulary& vocabulary) {
  for (const std::string& role : special_roles()) {
    if (std::optional<json> token = settings.special(role)) vocabulary.specials[role] = std::move(*token);
  }
}

std::map<std::string, std::string> pieces_of(const std::map<std::string, json>& by_role) {
  std::map<std::string, std::string> result;
  for (const auto& [role, token] : by_role) result[role] = token.at("content").get<std::string>();
  return result;
}

TokenizerDocument finish_document(const Vocabulary& vocabulary, const TokenizerSettings& settings, json document) {
  document["version"] = "1.0";
  json declared = declared_tokens(settings, vocabulary.specials);
  // A document that lists its own added tokens has already numbered them.
  if (document.contains("added_tokens")) declared["added"] = json::array();
  return {.json = document.dump(),
          .declared = declared.dump(),
          .source = vocabulary.source,
          .special_tokens = pieces_of(vocabulary.specials)};
}

json template_processor(std::string_view single, std::string_view pair,
                        const std::function<std::optional<TemplateToken>(const std::string&)>& token_of) {
  json tokens = json::object();
  const auto parts = [&](std::string_view pattern) {
    json result = json::array();
    for (const std::string& word : words_of(pattern)) {
      const std::size_t colon = std::min(word.find(':'), word.size());
      const int type_id = colon < word.size() ? word[colon + 1] - '0' : 0;
      const std::string name = word.substr(0, colon);
      if (name == "A" || name == "B") {
        result.push_back({{"Sequence", {{"id", name}, {"type_id", type_id}}}});
      } else if (const auto token = token_of(name)) {
        result.push_back({{"SpecialToken", {{"id", token->piece}, {"type_id", type_id}}}});
        tokens[token->piece] = {
            {"id", token->piece}, {"ids", json::array({token->id})}, {"tokens", json::array({token->piece})}};
      }
    }
    return result;
  };
  json first = parts(single);
  json both = parts(pair);
  return {{"type", "TemplateProcessing"},
          {"single", std::move(first)},
          {"pair", std::move(both)},
          {"special_tokens", std::move(tokens)}};
}

json read_numbered_pieces(const SettingsFile& file) {
  json pieces = read_json_object(file);
  std::map<std::uint64_t, std::string_view> owners;
  for (const auto& [piece, id] : pieces.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kLargestTokenId)
      fail_settings(file.label(), "an id for each piece", fmt::format("{} for {}", show_json(id), quote_name(piece)));
    const auto [owner, is_new] = owners.emplace(id.get<std::uint64_t>(), piece);
    if (!is_new) {
      fail_settings(file.label(), "each id once",
                    fmt::format("id {} for {} and for {}", owner->first, quote_name(owner->second), quote_name(piece)));
    }
  }
  return pieces;
}

}  // namespace attnflow::internal
