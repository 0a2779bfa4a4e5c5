// A tokenizer built from the SentencePiece files that a model folder has in place of a tokenizer.json.
//
// SentencePiece (Kudo and Richardson, 2018) prepares a text (maps characters, collapses spaces and writes them as "▁")
// and cuts it into pieces: either the segmentation with the largest sum of scores (unigram), or what remains after the
// best pair has been merged repeatedly (BPE). The tokenizers crate has both: a unigram model is its pieces with their
// scores, and BPE needs the list of merges, which follows from the scores. A merge joins two pieces into one; the pair
// whose result has the best score goes first, and among equal ones the pair with the longer left part.
//
// The rest differs by family (sentencepiece_families.h, one row each): how ids follow from pieces, how the text is
// preprocessed, which tokens are special, and which are put around a text.
//
// The reference for ids is SentencePiece with the family's original Python tokenizer, with which the models were
// trained. Hugging Face's fast tokenizers, the usual reference, are not followed where they omit a step (the character
// map of DeBERTa-v2 and mBART in transformers 5, spaces at the end of a text), only where all of them agree on a
// behavior of their own: accents for ALBERT and XLNet, punctuation for DeBERTa-v2 (split_by_punct), leading spaces
// where Llama's `legacy` is false.
//
// Source of the pipelines: convert_slow_tokenizer.py of transformers (versions 4.44 and 5.24).
#pragma once

#include <string>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_document.h"

namespace attnflow::internal {

// Whether the folder has a file in which one of the families keeps its model.
bool has_sentencepiece(const Folder& folder);

// Settings read from tokenizer_config.json, each by the families that have it: tokenizer_class, do_lower_case,
// keep_accents, split_by_punct, extra_ids, src_lang, language_codes, legacy, legacy_behaviour, add_prefix_space,
// add_bos_token, add_eos_token; special and added tokens are read as for the other kinds of tokenizers
// (tokenizer_files.h). Special tokens that the vocabulary lacks are numbered after it.
//
// Throws Error(kBadFile) for a folder of an unknown family, a missing or damaged file, a model that the family cannot
// have, and settings that no tokenizer here reproduces exactly.
TokenizerDocument read_sentencepiece(const Folder& folder, const std::string& model_type,
                                     TextSide side = TextSide::kSource);

}  // namespace attnflow::internal
