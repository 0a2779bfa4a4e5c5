// The steps of BERT's tokenizer in front of the vocabulary, as the Hugging Face format writes them. One place, because
// a vocabulary must be counted over the words that the finished tokenizer will look up.
#ifndef ATTNFLOW_TRAIN_BERT_PIPELINE_H_
#define ATTNFLOW_TRAIN_BERT_PIPELINE_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace attnflow::internal {

// What marks a piece that goes on inside a word.
inline constexpr std::string_view kContinuation = "##";
// Words of more characters become [UNK].
inline constexpr std::size_t kMaxWordCharacters = 100;

// Control characters go, white space becomes spaces, Chinese characters stand alone, text becomes lower case and loses
// its accents (strip_accents null: as lowercase says).
inline nlohmann::ordered_json bert_normalizer() {
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", true},
          {"strip_accents", nullptr},
          {"lowercase", true}};
}

// Words end at white space; each punctuation mark is a word.
inline nlohmann::ordered_json bert_pre_tokenizer() { return {{"type", "BertPreTokenizer"}}; }

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TRAIN_BERT_PIPELINE_H_
