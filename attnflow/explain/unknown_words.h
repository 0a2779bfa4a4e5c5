// Words that the model cannot see.
//
// A tokenizer without byte fallback replaces whatever its vocabulary lacks by one token, [UNK] or <unk>, so the model
// cannot distinguish such words. Tables and pictures show the user's own characters and therefore need a mark.
#pragma once

#include "attnflow/report/report.h"

namespace attnflow {

// Sets InputToken::unknown and adds a note with the words' number and texts, except "[UNK]" as the user wrote it.
void mark_unknown_words(Report& report);

}  // namespace attnflow
