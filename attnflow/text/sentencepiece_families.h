// The families of models that come with SentencePiece files, and what each does with its pieces.
#ifndef ATTNFLOW_TEXT_SENTENCEPIECE_FAMILIES_H_
#define ATTNFLOW_TEXT_SENTENCEPIECE_FAMILIES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {

// How the ids of the model's embedding follow from the pieces of the file.
enum class PieceNumbering : std::uint8_t {
  kOwn,        // as in the file
  kFairseq,    // <s> <pad> </s> <unk> instead of the first three
  kCamembert,  // <s>NOTUSED <pad> </s>NOTUSED <unk> <unk>NOTUSED instead of the first
  kPegasus,    // <pad> </s> <mask_1> <mask_2> <unk_2> ... <unk_102> instead of the first two
  kListed,     // by vocab.json
};

// The tokens that files beside a vocabulary may declare. transformers 5 builds the vocabularies of some families from
// the names of their special tokens, so that other names and more tokens get ids that no earlier version gave them.
enum class DeclaredTokens : std::uint8_t {
  kOwn,   // the family's own special tokens, and pieces of the file
  kMore,  // further tokens behind the vocabulary as well
  kAny,   // and other tokens in the roles
};

// Texts that hold several things have a space between two.
struct SentencePieceFamily {
  std::string_view name;
  std::string_view classes;      // of tokenizer_config.json or config.json, as TokenizerSettings::tokenizer_class
  std::string_view model_types;  // of config.json
  std::string_view files;        // that the folder must have; the first is the SentencePiece model
  bool known_by_files = false;   // no other family has these files
  PieceNumbering numbering = PieceNumbering::kOwn;
  // What is put around a text, and around two: "A" and "B" are the texts, "lang" the source's language, the others
  // roles of special tokens; ":1" says that the type id is not 0; "bos?" and "eos?" are there as add_bos_token (usually
  // true) and add_eos_token (usually not) of tokenizer_config.json say.
  std::string_view single;
  std::string_view pair;
  std::string_view specials;          // role and piece, in turns
  std::string_view more_specials{};   // special tokens without a role
  std::string_view languages{};       // pieces behind the file's
  std::string_view language_frame{};  // before and behind each of them
  std::string_view language{};        // where src_lang says nothing
  bool appends_mask = false;          // behind the file's pieces and the languages
  bool mask_takes_space = false;      // the space before <mask> belongs to it
  std::size_t extra_ids = 0;          // <extra_id_N>, the last first, where extra_ids says nothing
  bool prepares_quotes = false;       // `` and '' become "
  bool strips_accents = false;        // unless keep_accents
  bool lowercases = false;            // where do_lower_case says nothing
  bool splits_at_spaces = false;      // and puts a space before every part, whatever `legacy` says
  DeclaredTokens declared = DeclaredTokens::kOwn;
};

std::span<const SentencePieceFamily> sentencepiece_families();

// What transformers reads these files with.
inline constexpr std::string_view kSentencePiecePackages = "transformers sentencepiece protobuf";

// A file of some family that is there, or nothing.
std::string find_sentencepiece(const Folder& folder);

// The family by tokenizer_class of tokenizer_config.json, else of config.json, else by `model_type`, else by the names
// of the files where these say enough. Throws Error(kBadFile): none of the table, or a file of the family is missing.
const SentencePieceFamily& sentencepiece_family(const Folder& folder, const TokenizerSettings& settings,
                                                const std::string& model_type);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_SENTENCEPIECE_FAMILIES_H_
