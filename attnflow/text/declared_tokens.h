// Tokens that the files beside a vocabulary declare, in the order in which Hugging Face transformers adds them.
#ifndef ATTNFLOW_TEXT_DECLARED_TOKENS_H_
#define ATTNFLOW_TEXT_DECLARED_TOKENS_H_

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {

// A class of tokenizers of transformers that builds its pipeline itself: it takes the vocabulary from a tokenizer.json,
// and the special tokens and their places from its own settings.
struct TokenizerClass {
  std::string_view names;        // as TokenizerSettings::tokenizer_class, with spaces between them
  std::string_view model_types;  // that have this class where none is named
  std::string_view specials;     // role and piece, in turns: the tokens that it has where the settings name none
  std::string_view around;       // roles of the tokens that it puts around a text; empty: those of the tokenizer.json
};

// The class that transformers reads a folder with, or null for the general class, which takes a tokenizer.json as it
// is. Throws Error(kBadFile) for a config.json that cannot be read.
const TokenizerClass* tokenizer_class_of(const Folder& folder, const TokenizerSettings& settings,
                                         const std::string& model_type);

// The tokens that the settings declare, in the form the Rust crate takes (rust/src/declared.rs). `defaults`: the tokens
// of roles that the settings do not name. `made_by`: the class that would make a tokenizer of its own from the
// tokenizer.json.
nlohmann::json declared_tokens(const TokenizerSettings& settings, const std::map<std::string, nlohmann::json>& defaults,
                               const TokenizerClass* made_by = nullptr);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_DECLARED_TOKENS_H_
