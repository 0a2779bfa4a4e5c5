// Notes on the tokens of a text. Call before words are merged.
#pragma once

#include "attnflow/report/report.h"

namespace attnflow {

// Adds a note on special tokens in the text next to the tokenizer's same token. A tokenizer adds its begin token to any
// text, so "<s>Hello" gets two, in transformers and llama.cpp as well. Models have rarely seen that, and attention
// gathers on one of them.
void note_special_twice(Report& report);

// Sets InputToken::unknown and adds a note with the words' number and texts, except "[UNK]" as the user wrote it. A
// tokenizer without byte fallback replaces whatever its vocabulary lacks by one token, [UNK] or <unk>, so the model
// cannot distinguish such words. Tables and pictures show the user's own characters and therefore need a mark.
void mark_unknown_words(Report& report);

}  // namespace attnflow
