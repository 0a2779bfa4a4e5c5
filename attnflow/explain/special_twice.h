// Duplicate special tokens.
//
// A tokenizer adds its begin token to any text, so "<s>Hello" gets two, in transformers and llama.cpp as well. Models
// have rarely seen that, and attention gathers on one of them.
#pragma once

#include "attnflow/report/report.h"

namespace attnflow {

// Adds a note on special tokens in the text next to the tokenizer's same token. Call before words are merged.
void note_special_twice(Report& report);

}  // namespace attnflow
