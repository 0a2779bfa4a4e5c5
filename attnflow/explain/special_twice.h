// Special tokens that are there twice.
//
// A tokenizer puts its begin token in front of a text, whatever the text begins with; so "<s>Hello" has two, in
// transformers and llama.cpp as here. The model has rarely seen that, and attention gathers on the one or the other.
#pragma once

#include "attnflow/report/report.h"

namespace attnflow {

// Adds a note that names the special tokens which stand in the text next to the same token added by the tokenizer.
// `report.input.tokens` are those of the model: words are not merged yet.
void note_special_twice(Report& report);

}  // namespace attnflow
