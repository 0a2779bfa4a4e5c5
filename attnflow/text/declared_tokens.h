// Tokens declared by the files that accompany a vocabulary, in the order in which Hugging Face transformers adds them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {

// A tokenizer class of transformers that builds its own pipeline: it takes only the vocabulary from a tokenizer.json,
// and the special tokens and their placement from its own settings.
struct TokenizerClass {
  std::string_view names;        // as in TokenizerSettings::tokenizer_class, space-separated
  std::string_view model_types;  // that use this class when no class is named
  std::string_view specials;     // role and piece, alternating: its default special tokens
  std::string_view around;       // roles of the tokens it puts around a text; empty: as in tokenizer.json
};

// Returns the class that transformers uses for the folder, or null for the general class, which takes a tokenizer.json
// as it is. Throws Error(kBadFile) if config.json cannot be read.
const TokenizerClass* tokenizer_class_of(const Folder& folder, const TokenizerSettings& settings,
                                         const std::string& model_type);

// Returns the tokens that the settings declare, in the form the Rust crate takes (rust/src/declared.rs). `defaults`
// holds the tokens of roles that the settings do not name. `made_by` is the class that would build its own tokenizer.
nlohmann::json declared_tokens(const TokenizerSettings& settings, const std::map<std::string, nlohmann::json>& defaults,
                               const TokenizerClass* made_by = nullptr);

}  // namespace attnflow::internal
