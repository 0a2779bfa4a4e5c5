// Converts libllama's warnings to notes.
//
// The library writes its warnings for a terminal: with a function name in front, one line for each token, boxes of
// asterisks. Here each kind becomes one note, in this project's words if known, otherwise unchanged. Warnings about
// issues that cannot change tokens or numbers here are dropped, by name.
#pragma once

#include <llama.h>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/gguf.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Collects warnings one by one. Memory is bounded, however many a hostile file causes.
class LlamaWarnings {
 public:
  void add(std::string_view message);

  // Returns the notes so far, each once, grouped by kind. `vocabulary` is the model's.
  std::vector<ModelNote> notes(const llama_vocab* vocabulary) const;

 private:
  struct BadSpecial {
    std::string key;
    std::string found;
    llama_token used = LLAMA_TOKEN_NULL;
  };

  std::vector<BadSpecial> bad_specials_;
  std::set<std::string> changed_types_;  // pieces
  std::size_t empty_tokens_ = 0;
  std::set<std::string> unused_tensors_;
  std::size_t unused_count_ = 0;
  std::vector<std::string> others_;
};

// Returns notes on two silent assumptions of libllama: the tokens around a text if the file names none, and full
// attention if the file names a sliding window that the library does not apply.
std::vector<ModelNote> unsaid_llama_notes(const llama_model& model, const internal::GgufHeader& header);

}  // namespace attnflow
