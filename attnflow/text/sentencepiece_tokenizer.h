// A tokenizer of the SentencePiece files that a model folder has in place of a tokenizer.json.
//
// SentencePiece (Kudo and Richardson, 2018) prepares a text (a map of characters, spaces that are put together and
// written as "▁") and cuts it into pieces: the cut whose scores have the largest sum (unigram), or what is left when
// the best pair is merged again and again (BPE). Both are there in the tokenizers crate: a unigram model is its pieces
// with their scores, and BPE needs the list of merges, which follows from the scores. A merge makes one piece of two,
// the piece with the best score first; of equal ones, the one with the longer left part.
//
// What is around that differs by family: how ids follow from pieces, what is done to a text before, which tokens
// are special, and what is put around a text (sentencepiece_families.h, one row each).
//
// Which ids are right: those of SentencePiece and the family's first tokenizer in Python, with which the models were
// trained. Where Hugging Face's fast tokenizers, the usual reference, leave out a step of these (the map of characters
// of DeBERTa-v2 and mBART in transformers 5, spaces at the end of a text), they are not followed. They are where all of
// them agree on something of their own: accents of ALBERT and XLNet, punctuation of DeBERTa-v2 (split_by_punct), spaces
// at the beginning where Llama's `legacy` is false.
//
// Source of the pipelines: convert_slow_tokenizer.py of transformers (versions 4.44 and 5.24).
#ifndef ATTNFLOW_TEXT_SENTENCEPIECE_TOKENIZER_H_
#define ATTNFLOW_TEXT_SENTENCEPIECE_TOKENIZER_H_

#include <string>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_document.h"

namespace attnflow::internal {

// Does the folder have a file that one of the families keeps its model in?
bool has_sentencepiece(const Folder& folder);

// Settings read of tokenizer_config.json, each by the families that have it: tokenizer_class, do_lower_case,
// keep_accents, split_by_punct, extra_ids, src_lang, language_codes, legacy, legacy_behaviour, add_prefix_space,
// add_bos_token, add_eos_token; and special and added tokens as for the other forms of tokenizers (tokenizer_files.h).
// Special tokens that the vocabulary lacks are numbered behind it.
//
// Throws Error(kBadFile): a folder whose family is not known, a file that is missing or damaged, a model that the
// family cannot have, and settings that no tokenizer here does exactly.
TokenizerDocument read_sentencepiece(const Folder& folder, const std::string& model_type);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_SENTENCEPIECE_TOKENIZER_H_
