// The tokenizer files of a trained model.
#ifndef ATTNFLOW_TRAIN_TOKENIZER_FILE_H_
#define ATTNFLOW_TRAIN_TOKENIZER_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace attnflow {

// Which special tokens a text gets.
enum class TokenTemplate {
  kClsText,     // [CLS] A, and of two texts [CLS] A [SEP] B; all type ids 0. The paper's verb-number model.
  kClsTextSep,  // [CLS] A [SEP], and [CLS] A [SEP] B [SEP] with type ids 0 up to the first [SEP], 1 from there. BERT.
};

struct TokenizerFileOptions {
  TokenTemplate token_template = TokenTemplate::kClsText;
  std::size_t max_tokens = 512;  // positions of the model, template tokens included
};

struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

// A tokenizer in the Hugging Face format, from pieces whose position is their id (Vocabulary::pieces): BertNormalizer
// (lower case, accents dropped), BertPreTokenizer, WordPiece with "##" and [UNK] (also for words of more than 100
// characters), the template. Our Tokenizer and the Python packages read it: tokenizers.Tokenizer.from_file, and
// transformers.AutoTokenizer, for which the class is PreTrainedTokenizerFast, because BertTokenizer would put its own
// template in place of this one.
//
// JSON with the vocabulary in the order of ids; the same input gives the same bytes. Throws Error(kUsage) when a piece
// is empty, repeated or not UTF-8, or when [PAD], [UNK], [CLS], [SEP] or [MASK] is missing.
TokenizerFiles tokenizer_files(const std::vector<std::string>& pieces, const TokenizerFileOptions& options = {});

// Writes both into a folder, which must exist, each whole or not at all. Throws Error(kOther) when it cannot.
void write_tokenizer_files(const std::filesystem::path& folder, const std::vector<std::string>& pieces,
                           const TokenizerFileOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_TRAIN_TOKENIZER_FILE_H_
