// Making a tokenizer.json document of a vocabulary and the pipeline that a family puts around it.
#ifndef ATTNFLOW_TEXT_TOKENIZER_DOCUMENT_H_
#define ATTNFLOW_TEXT_TOKENIZER_DOCUMENT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {

struct TokenizerDocument {
  std::string json;      // in the format of tokenizer.json
  std::string declared;  // what the files beside it declare, as declared_tokens() writes it
  std::string source;    // the file or files that `json` was made of, for messages
  std::map<std::string, std::string> special_tokens;  // role ("mask_token") to piece, for the roles that are named
};

// A special token in the template around a text.
struct TemplateToken {
  std::string piece;
  std::uint64_t id = 0;
};

// A vocabulary with a family's special tokens: everything that a document is made of.
struct Vocabulary {
  std::string source;
  nlohmann::json pieces = nlohmann::json::object();  // piece to id
  std::map<std::string, nlohmann::json> specials;    // role to added token

  std::string special(const char* role) const { return specials.at(role).at("content").get<std::string>(); }
  // The piece and id of the special token of a role, which is given without "_token". Throws as required().
  TemplateToken template_token(const std::string& name) const;
  // The id of a special token that the pipeline cannot do without. Throws Error(kBadFile) where it has none.
  std::uint64_t required(const char* role) const;
};

// The words of a text with spaces between them.
std::vector<std::string> words_of(std::string_view text);

nlohmann::json default_special(const std::string& content, bool lstrip = false);
// Those of "unk_token [UNK] mask_token [MASK]", by role. `mask_takes_space`: the space before a mask belongs to it.
std::map<std::string, nlohmann::json> default_specials(std::string_view roles, bool mask_takes_space = false);

// The special tokens that the folder's settings name, in place of the family's.
void apply_settings(const TokenizerSettings& settings, Vocabulary& vocabulary);

// `document` with its version, and the tokens that the settings declare.
TokenizerDocument finish_document(const Vocabulary& vocabulary, const TokenizerSettings& settings,
                                  nlohmann::json document);

// The pieces of special tokens by role.
std::map<std::string, std::string> pieces_of(const std::map<std::string, nlohmann::json>& by_role);

// A TemplateProcessing of patterns such as "cls A sep" and "cls A sep B:1 sep:1". A and B are the texts, the digit
// behind a colon is the type; what else stands there is a special token, which `token_of` finds or leaves out.
nlohmann::json template_processor(std::string_view single, std::string_view pair,
                                  const std::function<std::optional<TemplateToken>(const std::string&)>& token_of);

// The pieces of a vocab.json, each with an id of its own. Throws Error(kBadFile).
nlohmann::json read_numbered_pieces(const SettingsFile& file);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_TOKENIZER_DOCUMENT_H_
