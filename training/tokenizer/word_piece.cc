#include "training/tokenizer/word_piece.h"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <span>

#include "attnflow/base/error.h"
#include "attnflow/files/folder.h"
#include "attnflow/text/tokenizers_abi_text.h"

namespace attnflow {

namespace {

using internal::borrow;

std::string config_of(const WordPieceOptions& options) {
  using OrderedJson = nlohmann::ordered_json;
  OrderedJson inputs = {"input_ids", "attention_mask"};
  if (options.token_template == TokenTemplate::kClsTextSep) inputs.insert(inputs.begin() + 1, "token_type_ids");
  const OrderedJson config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                              {"model_max_length", options.max_tokens},
                              {"model_input_names", std::move(inputs)},
                              {"clean_up_tokenization_spaces", true},
                              {"pad_token", "[PAD]"},
                              {"unk_token", "[UNK]"},
                              {"cls_token", "[CLS]"},
                              {"sep_token", "[SEP]"},
                              {"mask_token", "[MASK]"}};
  return config.dump(2) + "\n";
}

double ratio(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

TokenizerFiles learn_word_piece(const std::vector<std::string_view>& texts, const WordPieceOptions& options) {
  const bool bert = options.token_template == TokenTemplate::kClsTextSep;
  const attnflow_word_piece_options asked = {
      .pieces = options.pieces,
      .min_frequency = options.min_frequency,
      .min_character_count = options.min_character_count,
      .single = borrow(bert ? "[CLS] $A [SEP]" : "[CLS] $A"),
      .pair = borrow(bert ? "[CLS] $A [SEP] $B:1 [SEP]:1" : "[CLS] $A [SEP] $B"),
  };
  std::vector<attnflow_text> borrowed;
  borrowed.reserve(texts.size());
  for (const std::string_view text : texts) borrowed.push_back(borrow(text));
  internal::ErrorSlot error;
  const internal::Owned<attnflow_string> tokenizer(
      attnflow_word_piece_train(borrowed.data(), borrowed.size(), &asked, error.out()));
  if (!tokenizer) {
    throw Error(ErrorKind::kUsage, fmt::format("the vocabulary cannot be learned: {}; give more text, or a larger "
                                               "--vocabulary",
                                               error.message()));
  }
  return {.tokenizer = internal::copy(tokenizer) + "\n", .config = config_of(options)};
}

Tokenizer open_tokenizer(const TokenizerFiles& files) {
  const std::span<const std::byte> json = std::as_bytes(std::span(files.tokenizer));
  return Tokenizer::load(Folder::built_in("new model", {{"tokenizer.json", json}}));
}

double VocabularyUse::whole_share() const { return ratio(whole, words); }

double VocabularyUse::pieces_per_word() const { return ratio(pieces, words); }

VocabularyUse measure_vocabulary(const Tokenizer& tokenizer, const std::vector<std::string_view>& texts,
                                 const ParallelOptions& parallel) {
  constexpr std::int64_t kUnknown = 1;
  VocabularyUse use;
  std::mutex mutex;
  parallel_for(texts.size(), parallel, [&](std::size_t text, std::size_t) {
    const std::vector<EncodedToken> tokens = tokenizer.encode(texts[text]).tokens;
    VocabularyUse here;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (!tokens[t].word) continue;
      ++here.pieces;
      const bool begins = t == 0 || tokens[t - 1].word != tokens[t].word;
      const bool ends = t + 1 == tokens.size() || tokens[t + 1].word != tokens[t].word;
      if (begins) ++here.words;
      if (tokens[t].id == kUnknown) ++here.unknown;
      if (begins && ends && tokens[t].id != kUnknown) ++here.whole;
    }
    const std::scoped_lock lock(mutex);
    use.words += here.words;
    use.whole += here.whole;
    use.unknown += here.unknown;
    use.pieces += here.pieces;
  });
  return use;
}

}  // namespace attnflow
