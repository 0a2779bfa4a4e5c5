// Words that the model cannot see.
//
// A tokenizer without bytes to fall back on puts one token, [UNK] or <unk>, in the place of whatever its vocabulary
// lacks, so the model sees all such words as the same one. Tables and pictures show the user's own characters; without
// a mark a reader would take them for what the model read.
#pragma once

#include "attnflow/report/report.h"

namespace attnflow {

// Sets InputToken::unknown of the report's tokens, and adds a note that counts them and lists their texts. An unknown
// token that the user wrote as such ("[UNK]") is what it says and is not marked.
void mark_unknown_words(Report& report);

}  // namespace attnflow
