// Finds a model folder's tokenizer and converts it to a single form.
//
// Model folders hold a tokenizer in one of four forms, in this order of preference:
//   tokenizer.json             the Hugging Face format, complete in itself
//   vocab.txt                  BERT: WordPiece pieces, one per line, numbered from 0
//   vocab.json + merges.txt    RoBERTa and GPT-2: byte-level BPE
//   a SentencePiece model      T5, ALBERT, XLM-R, Llama, Marian, ... (sentencepiece_tokenizer.h)
// The last three leave the pipeline around the vocabulary to the program. They are converted to a tokenizer.json
// document with the pipeline of the original models, so that one library runs all four.
//
// Settings come from tokenizer_config.json. Each special token comes from the first of these that names it:
// special_tokens_map.json (ignored if tokenizer_config.json has an added_tokens_decoder), tokenizer_config.json, and
// the family's defaults. Both files are optional.
#pragma once

#include <string>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_document.h"

namespace attnflow::internal {

// `model_type` is as in Tokenizer::load: when a folder has both vocabularies, "roberta", "data2vec-text" and "gpt2"
// select vocab.json.
//
// Settings read, with their defaults:
//   vocab.txt    do_lower_case (true), strip_accents (null: as do_lower_case), tokenize_chinese_chars (true);
//                template [CLS] A [SEP] B [SEP] with type ids 0 for A and its specials, 1 for B and the last [SEP].
//                When two lines are equal, the later line's number counts, as in the original code.
//   vocab.json   add_prefix_space (false). RoBERTa: template <s> A </s></s> B </s>, all type ids 0; <mask> takes the
//                space before it unless the settings say otherwise. GPT-2: no template, or <|endoftext|> before each
//                text with add_bos_token (false) and after each text with add_eos_token (false). tokenizer_class
//                decides which of the two it is, else `model_type` (an error for "llama" and "qwen2", which split text
//                in another way), else whether the vocabulary has <|endoftext|> and no <s>.
//   both         added_tokens_decoder of tokenizer_config.json, or added_tokens.json: further pieces with their ids.
//
// Throws Error(kBadFile) if the folder has no tokenizer, or if a file cannot be read, is not UTF-8, or does not have
// the expected form.
TokenizerDocument read_tokenizer_document(const Folder& folder, const std::string& model_type,
                                          TextSide side = TextSide::kSource);

}  // namespace attnflow::internal
