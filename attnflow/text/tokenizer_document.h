// Builds a tokenizer.json document from a vocabulary and the pipeline of its model family.
#pragma once

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
  std::string declared;  // declarations of the accompanying files, as written by declared_tokens()
  std::string source;    // the file or files that `json` was made from, for messages
  std::map<std::string, std::string> special_tokens;  // role ("mask_token") to piece, for named roles
  bool is_of_sources = false;                         // targets have a document of their own
};

// The texts that an encoder-decoder reads, or those that it writes.
enum class TextSide : std::uint8_t { kSource, kTarget };

struct TemplateToken {
  std::string piece;
  std::uint64_t id = 0;
};

struct Vocabulary {
  std::string source;
  nlohmann::json pieces = nlohmann::json::object();  // piece to id
  std::map<std::string, nlohmann::json> specials;    // role to added token

  std::string special(const char* role) const { return specials.at(role).at("content").get<std::string>(); }
  // Returns the piece and id of a role's special token; `name` is the role without "_token". Throws as required().
  TemplateToken template_token(const std::string& name) const;
  // Returns the id of a special token that the pipeline requires. Throws Error(kBadFile) if there is none.
  std::uint64_t required(const char* role) const;
};

std::vector<std::string> words_of(std::string_view text);
bool lists_word(std::string_view words, std::string_view wanted);

// The special tokens of families that several tables name: role and piece, alternating.
inline constexpr std::string_view kBertSpecials =
    "unk_token [UNK] sep_token [SEP] pad_token [PAD] cls_token [CLS] mask_token [MASK]";
inline constexpr std::string_view kRobertaSpecials =
    "bos_token <s> eos_token </s> unk_token <unk> sep_token </s> pad_token <pad> cls_token <s> mask_token <mask>";
inline constexpr std::string_view kMbart50Specials =
    "eos_token </s> unk_token <unk> sep_token </s> pad_token <pad> cls_token <s> mask_token <mask>";
inline constexpr std::string_view kAlbertSpecials =
    "bos_token [CLS] eos_token [SEP] unk_token <unk> sep_token [SEP] pad_token <pad> cls_token [CLS] mask_token [MASK]";
inline constexpr std::string_view kDebertaSpecials =
    "bos_token [CLS] eos_token [SEP] unk_token [UNK] sep_token [SEP] pad_token [PAD] cls_token [CLS] mask_token [MASK]";
inline constexpr std::string_view kXlnetSpecials =
    "bos_token <s> eos_token </s> unk_token <unk> sep_token <sep> pad_token <pad> cls_token <cls> mask_token <mask>";
inline constexpr std::string_view kGpt2Specials =
    "bos_token <|endoftext|> eos_token <|endoftext|> unk_token <|endoftext|>";
inline constexpr std::string_view kLlamaSpecials = "bos_token <s> eos_token </s> unk_token <unk>";
inline constexpr std::string_view kT5Specials = "eos_token </s> unk_token <unk> pad_token <pad>";
inline constexpr std::string_view kPegasusSpecials =
    "eos_token </s> unk_token <unk> pad_token <pad> mask_token <mask_2>";

nlohmann::json default_special(const std::string& content, bool lstrip = false);
// Parses "unk_token [UNK] mask_token [MASK]" into tokens by role. `mask_takes_space`: the mask absorbs the space before
// it.
std::map<std::string, nlohmann::json> default_specials(std::string_view roles, bool mask_takes_space = false);

void apply_settings(const TokenizerSettings& settings, Vocabulary& vocabulary);

// Completes `document` with its version and the tokens that the settings declare.
TokenizerDocument finish_document(const Vocabulary& vocabulary, const TokenizerSettings& settings,
                                  nlohmann::json document);

std::map<std::string, std::string> pieces_of(const std::map<std::string, nlohmann::json>& by_role);

// Makes a TemplateProcessing from patterns such as "cls A sep" and "cls A sep B:1 sep:1". A and B are the texts, and
// the digit after a colon is the type id; every other word is a special token, which `token_of` resolves or omits.
nlohmann::json template_processor(std::string_view single, std::string_view pair,
                                  const std::function<std::optional<TemplateToken>(const std::string&)>& token_of);

// Reads the pieces of a vocab.json, each with a unique id. Throws Error(kBadFile).
nlohmann::json read_numbered_pieces(const SettingsFile& file);

}  // namespace attnflow::internal
