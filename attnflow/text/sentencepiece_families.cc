#include "attnflow/text/sentencepiece_families.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "attnflow/files/messages.h"
#include "attnflow/text/language_codes.h"
#include "attnflow/text/tokenizer_document.h"

namespace attnflow::internal {
namespace {

constexpr std::string_view kBertPair = "cls A sep B:1 sep:1";

// How SentencePiece and the families' own code behave, in the terms of Hugging Face's convert_slow_tokenizer.py.
constexpr std::array kFamilies = {
    SentencePieceFamily{.name = "T5",
                        .classes = "T5Tokenizer MT5Tokenizer",
                        .model_types = "t5 mt5",
                        .files = "spiece.model",
                        .single = "A eos",
                        .pair = "A eos B eos",
                        .specials = kT5Specials,
                        .extra_ids = 100,
                        .splits_at_spaces = true,
                        .declared = DeclaredTokens::kAny},
    SentencePieceFamily{.name = "ALBERT",
                        .classes = "AlbertTokenizer",
                        .model_types = "albert",
                        .files = "spiece.model",
                        .single = "cls A sep",
                        .pair = kBertPair,
                        .specials = kAlbertSpecials,
                        .mask_takes_space = true,
                        .prepares_quotes = true,
                        .strips_accents = true,
                        .lowercases = true,
                        .splits_at_spaces = true,
                        .declared = DeclaredTokens::kMore},
    SentencePieceFamily{.name = "XLNet",
                        .classes = "XLNetTokenizer",
                        .model_types = "xlnet",
                        .files = "spiece.model",
                        .single = "A sep cls:2",
                        .pair = "A sep B:1 sep:1 cls:2",
                        .specials = kXlnetSpecials,
                        .more_specials = "<eop> <eod>",
                        .mask_takes_space = true,
                        .prepares_quotes = true,
                        .strips_accents = true,
                        .splits_at_spaces = true,
                        .declared = DeclaredTokens::kMore},
    SentencePieceFamily{.name = "Pegasus",
                        .classes = "PegasusTokenizer",
                        .model_types = "pegasus",
                        .files = "spiece.model",
                        .numbering = PieceNumbering::kPegasus,
                        .single = "A eos",
                        .pair = "A B eos",
                        .specials = kPegasusSpecials},
    SentencePieceFamily{.name = "DeBERTa-v2",
                        .classes = "DebertaV2Tokenizer",
                        .model_types = "deberta-v2",
                        .files = "spm.model",
                        .known_by_files = true,
                        .single = "cls A sep",
                        .pair = kBertPair,
                        .specials = kDebertaSpecials},
    SentencePieceFamily{.name = "XLM-R",
                        .classes = "XLMRobertaTokenizer",
                        .model_types = "xlm-roberta xlm-roberta-xl",
                        .files = "sentencepiece.bpe.model",
                        .numbering = PieceNumbering::kFairseq,
                        .single = "bos A eos",
                        .pair = "bos A eos eos B eos",
                        .specials = kRobertaSpecials,
                        .appends_mask = true,
                        .mask_takes_space = true,
                        .splits_at_spaces = true,
                        .declared = DeclaredTokens::kMore},
    SentencePieceFamily{.name = "CamemBERT",
                        .classes = "CamembertTokenizer",
                        .model_types = "camembert",
                        .files = "sentencepiece.bpe.model",
                        .numbering = PieceNumbering::kCamembert,
                        .single = "bos A eos",
                        .pair = "bos A eos eos B eos",
                        .specials = kRobertaSpecials,
                        .more_specials = "<s>NOTUSED </s>NOTUSED <unk>NOTUSED",
                        .appends_mask = true,
                        .mask_takes_space = true,
                        .splits_at_spaces = true,
                        .declared = DeclaredTokens::kMore},
    SentencePieceFamily{.name = "mBART",
                        .classes = "MBartTokenizer",
                        .model_types = "",  // mBART-50 has the same one
                        .files = "sentencepiece.bpe.model",
                        .numbering = PieceNumbering::kFairseq,
                        .single = "A eos lang",
                        .pair = "A B eos lang",
                        .specials = kRobertaSpecials,
                        .languages = kMbartLanguages,
                        .language = "en_XX",
                        .appends_mask = true,
                        .mask_takes_space = true},
    SentencePieceFamily{.name = "mBART-50",
                        .classes = "MBart50Tokenizer",
                        .model_types = "",
                        .files = "sentencepiece.bpe.model",
                        .numbering = PieceNumbering::kFairseq,
                        .single = "lang A eos",
                        .pair = "lang A B eos",
                        .specials = kMbart50Specials,
                        .languages = kMbart50Languages,
                        .language = "en_XX",
                        .appends_mask = true,
                        .mask_takes_space = true},
    SentencePieceFamily{.name = "M2M100",
                        .classes = "M2M100Tokenizer",
                        .model_types = "m2m_100",
                        .files = "sentencepiece.bpe.model vocab.json",
                        .known_by_files = true,
                        .numbering = PieceNumbering::kListed,
                        .single = "lang A eos",
                        .pair = "lang A B eos",
                        .specials = "bos_token <s> eos_token </s> unk_token <unk> sep_token </s> pad_token <pad>",
                        .languages = kM2m100Languages,
                        .language_frame = "__",
                        .language = "en"},
    SentencePieceFamily{.name = "NLLB",
                        .classes = "NllbTokenizer",
                        .model_types = "m2m_100 nllb-moe",
                        .files = "sentencepiece.bpe.model",
                        .numbering = PieceNumbering::kFairseq,
                        .single = "lang A eos",
                        .pair = "lang A B eos",
                        .specials = kRobertaSpecials,
                        .languages = kNllbLanguages,
                        .language = "eng_Latn",
                        .appends_mask = true,
                        .mask_takes_space = true},
    SentencePieceFamily{.name = "Marian",
                        .classes = "MarianTokenizer",
                        .model_types = "marian",
                        .files = "source.spm target.spm vocab.json",
                        .target_file = "target.spm",
                        .known_by_files = true,
                        .numbering = PieceNumbering::kListed,
                        .single = "A eos",
                        .pair = "A B eos",
                        .specials = kT5Specials},
    SentencePieceFamily{.name = "Llama",
                        .classes = "LlamaTokenizer",
                        .model_types = "llama mistral",
                        .files = "tokenizer.model",
                        .single = "bos? A eos?",
                        .pair = "bos? A eos? bos?:1 B:1 eos?:1",
                        .specials = kLlamaSpecials,
                        .declared = DeclaredTokens::kAny},
    SentencePieceFamily{.name = "Gemma",
                        .classes = "GemmaTokenizer",
                        .model_types = "gemma gemma2 gemma3 gemma3_text",
                        .files = "tokenizer.model",
                        .single = "bos? A eos?",
                        .pair = "bos? A eos? bos?:1 B:1 eos?:1",
                        .specials = "bos_token <bos> eos_token <eos> unk_token <unk> pad_token <pad>",
                        .more_specials = "<start_of_turn> <end_of_turn>"},
};

std::string missing_file(const Folder& folder, const SentencePieceFamily& family) {
  for (std::string& file : words_of(family.files)) {
    if (!folder.has(file)) return std::move(file);
  }
  return "";
}

bool is_general(std::string_view tokenizer_class) {
  return tokenizer_class.empty() || tokenizer_class == "PreTrainedTokenizer" || tokenizer_class == "TokenizersBackend";
}

std::string class_of(const Folder& folder, const TokenizerSettings& settings) {
  std::string name = settings.tokenizer_class();
  if (is_general(name)) name = tokenizer_class_in(read_optional_json_object({folder, "config.json"}));
  return is_general(name) ? "" : name;
}

[[noreturn]] void fail_unknown(const Folder& folder, const std::string& found) {
  std::string known;
  for (const SentencePieceFamily& family : kFamilies) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", words_of(family.classes).front());
  }
  fail_settings(folder.label(find_sentencepiece(folder)),
                fmt::format("a tokenizer_class that says which family this file belongs to ({})", known), found,
                "name the class in tokenizer_config.json, or " + advice_to_write_tokenizer(kSentencePiecePackages));
}

}  // namespace

std::span<const SentencePieceFamily> sentencepiece_families() { return kFamilies; }

std::string find_sentencepiece(const Folder& folder) {
  for (const SentencePieceFamily& family : kFamilies) {
    std::string model = words_of(family.files).front();
    if (folder.has(model)) return model;
  }
  return "";
}

const SentencePieceFamily& sentencepiece_family(const Folder& folder, const TokenizerSettings& settings,
                                                const std::string& model_type) {
  if (const std::string name = class_of(folder, settings); !name.empty()) {
    for (const SentencePieceFamily& family : kFamilies) {
      if (!lists_word(family.classes, name)) continue;
      const std::string missing = missing_file(folder, family);
      if (missing.empty()) return family;
      fail_settings(folder.label(), fmt::format("{} for a {}", missing, name), "none");
    }
    fail_unknown(folder, quote_name(name));
  }
  const SentencePieceFamily* almost = nullptr;
  for (const SentencePieceFamily& family : kFamilies) {
    if (!lists_word(family.model_types, model_type)) continue;
    if (missing_file(folder, family).empty()) return family;
    if (almost == nullptr) almost = &family;
  }
  for (const SentencePieceFamily& family : kFamilies) {
    if (family.known_by_files && missing_file(folder, family).empty()) return family;
  }
  if (almost != nullptr) {
    fail_settings(folder.label(), fmt::format("{} for a model of type {}", missing_file(folder, *almost), model_type),
                  "none");
  }
  fail_unknown(folder,
               model_type.empty() ? "none" : fmt::format("none, and the model type {}", quote_name(model_type)));
}

}  // namespace attnflow::internal
