// The tokenizer of a model to be trained: WordPiece, learned from its texts.
//
// The tokenizers crate learns and writes it (rust/src/train.rs): BERT's normalizer and pre-tokenizer, a vocabulary by
// byte-pair encoding, the template. This header adds the options and the second file for Hugging Face transformers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

// The special tokens added to a text.
enum class TokenTemplate {
  kClsText,     // [CLS] A, and for two texts [CLS] A [SEP] B; all type ids 0. The paper's verb-number model.
  kClsTextSep,  // [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type ids 0 up to the first [SEP], 1 from there. BERT.
};

struct WordPieceOptions {
  std::size_t pieces = 10'000;              // maximum size of the vocabulary
  std::uint64_t min_frequency = 2;          // of a pair of pieces that is merged
  std::uint64_t min_character_count = 100;  // words with rarer characters become unknown
  TokenTemplate token_template = TokenTemplate::kClsText;
  std::size_t max_tokens = 512;  // positions of the model, template tokens included
};

// Ids 0 to kSpecialTokens - 1 are [PAD], [UNK], [CLS], [SEP] and [MASK]; the ids of all other pieces follow.
inline constexpr std::int64_t kSpecialTokens = 5;

struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

// Both our Tokenizer and the Python packages read these files: tokenizers.Tokenizer.from_file, and
// transformers.AutoTokenizer, for which the class is PreTrainedTokenizerFast, because BertTokenizer would replace this
// template with its own. The same texts and options give the same bytes, on any number of threads. 50 MB take some
// seconds. Throws Error(kUsage): no words in the texts, text that is not UTF-8, or a vocabulary without room for
// special tokens and single characters.
TokenizerFiles learn_word_piece(const std::vector<std::string_view>& texts, const WordPieceOptions& options = {});

Tokenizer open_tokenizer(const TokenizerFiles& files);

// How well a vocabulary covers texts. Counts are of running words, punctuation marks included.
struct VocabularyUse {
  std::uint64_t words = 0;
  std::uint64_t whole = 0;    // words that are one piece
  std::uint64_t unknown = 0;  // [UNK]
  std::uint64_t pieces = 0;   // in all words

  double whole_share() const;
  double pieces_per_word() const;
};

VocabularyUse measure_vocabulary(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                                 const ParallelOptions& parallel = {});

}  // namespace attnflow
