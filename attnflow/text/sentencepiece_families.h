// The model families that ship SentencePiece files, and how each uses its pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {

// How the ids of the model's embedding are derived from the pieces of the file.
enum class PieceNumbering : std::uint8_t {
  kOwn,        // as in the file
  kFairseq,    // <s> <pad> </s> <unk> instead of the first three
  kCamembert,  // <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED instead of the first
  kPegasus,    // <pad> </s> <mask_1> <mask_2> <unk_2> ... <unk_102> instead of the first two
  kListed,     // by vocab.json
};

// The tokens that files accompanying a vocabulary may declare. For some families, transformers 5 builds the vocabulary
// from the names of the special tokens, so other names or tokens get ids that earlier versions never assigned.
enum class DeclaredTokens : std::uint8_t {
  kOwn,   // the family's own special tokens, and pieces of the file
  kMore,  // also further tokens, numbered after the vocabulary
  kAny,   // also other tokens in the roles
};

// String fields that hold several items are space-separated.
struct SentencePieceFamily {
  std::string_view name;
  std::string_view classes;        // of tokenizer_config.json or config.json, as TokenizerSettings::tokenizer_class
  std::string_view model_types;    // of config.json
  std::string_view files;          // that the folder must have; the first one is the SentencePiece model
  std::string_view target_file{};  // the SentencePiece model of an encoder-decoder's targets; empty: the same
  bool known_by_files = false;     // no other family has these files
  PieceNumbering numbering = PieceNumbering::kOwn;
  // The templates around one text and around two: "A" and "B" are the texts, "lang" is the source language, and all
  // other words are roles of special tokens. ":1" gives a type id other than 0. "bos?" and "eos?" are included only if
  // add_bos_token (usually true) and add_eos_token (usually false) of tokenizer_config.json say so.
  std::string_view single;
  std::string_view pair;
  std::string_view specials;          // role and piece, alternating
  std::string_view more_specials{};   // special tokens without a role
  std::string_view languages{};       // pieces added after those of the file
  std::string_view language_frame{};  // prefix and suffix of each language piece
  std::string_view language{};        // default when src_lang is not set
  bool appends_mask = false;          // adds the mask after the file's pieces and the languages
  bool mask_takes_space = false;      // the space before <mask> belongs to it
  std::size_t extra_ids = 0;          // number of <extra_id_N>, highest N first; the setting extra_ids replaces it
  bool prepares_quotes = false;       // `` and '' become "
  bool strips_accents = false;        // unless keep_accents
  bool lowercases = false;            // unless do_lower_case is set
  bool splits_at_spaces = false;      // and puts a space before every part, regardless of `legacy`
  DeclaredTokens declared = DeclaredTokens::kOwn;
};

std::span<const SentencePieceFamily> sentencepiece_families();

// The Python packages that transformers needs to read these files.
inline constexpr std::string_view kSentencePiecePackages = "transformers sentencepiece protobuf";

// Returns the name of a file of any family in the folder, or an empty string.
std::string find_sentencepiece(const Folder& folder);

// Returns the family named by tokenizer_class of tokenizer_config.json, else by that of config.json, else by
// `model_type`, else by the file names where these are unambiguous. Throws Error(kBadFile) if no family in the table
// matches, or if a file of the family is missing.
const SentencePieceFamily& sentencepiece_family(const Folder& folder, const TokenizerSettings& settings,
                                                const std::string& model_type);

}  // namespace attnflow::internal
