#include "attnflow/train/tokenizer_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/train/bert_pipeline.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kSpecials = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

using Ids = std::unordered_map<std::string_view, std::size_t>;

Ids number(const std::vector<std::string>& pieces) {
  Ids ids;
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    const std::string& piece = pieces[id];
    if (piece.empty() || find_invalid_utf8(piece)) {
      throw Error(ErrorKind::kUsage, fmt::format("expected pieces of UTF-8 text, found {} at id {}; leave it out",
                                                 internal::quote_name(piece), id));
    }
    const auto [owner, is_new] = ids.emplace(piece, id);
    if (!is_new) {
      throw Error(ErrorKind::kUsage, fmt::format("expected each piece once, found {} at ids {} and {}; leave one out",
                                                 internal::quote_name(piece), owner->second, id));
    }
  }
  for (const std::string_view special : kSpecials) {
    if (!ids.contains(special)) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("expected the special tokens {}, found a vocabulary without {}; add it",
                              fmt::join(kSpecials, ", "), special));
    }
  }
  return ids;
}

json added_tokens(const Ids& ids) {
  std::vector<std::pair<std::size_t, std::string_view>> by_id;
  for (const std::string_view special : kSpecials) by_id.emplace_back(ids.at(special), special);
  std::sort(by_id.begin(), by_id.end());
  json tokens = json::array();
  for (const auto& [id, content] : by_id) {
    tokens.push_back({{"id", id},
                      {"content", content},
                      {"single_word", false},
                      {"lstrip", false},
                      {"rstrip", false},
                      {"normalized", false},
                      {"special", true}});
  }
  return tokens;
}

json template_of(const Ids& ids, TokenTemplate token_template) {
  const auto special = [](std::string_view token, int type_id) {
    return json{{"SpecialToken", {{"id", token}, {"type_id", type_id}}}};
  };
  const auto segment = [](std::string_view name, int type_id) {
    return json{{"Sequence", {{"id", name}, {"type_id", type_id}}}};
  };
  json single = json::array({special("[CLS]", 0), segment("A", 0)});
  json pair = json::array({special("[CLS]", 0), segment("A", 0), special("[SEP]", 0)});
  switch (token_template) {
    case TokenTemplate::kClsText:
      pair.push_back(segment("B", 0));
      break;
    case TokenTemplate::kClsTextSep:
      single.push_back(special("[SEP]", 0));
      pair.push_back(segment("B", 1));
      pair.push_back(special("[SEP]", 1));
      break;
  }
  json tokens = json::object();
  for (const char* token : {"[CLS]", "[SEP]"}) {
    tokens[token] = {{"id", token}, {"ids", json::array({ids.at(token)})}, {"tokens", json::array({token})}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"pair", std::move(pair)},
          {"special_tokens", std::move(tokens)}};
}

json vocabulary_of(const std::vector<std::string>& pieces) {
  json::object_t ordered;
  // Not by operator[], which looks through all keys before: they are known to differ.
  for (std::size_t id = 0; id < pieces.size(); ++id) ordered.emplace_back(pieces[id], json(id));
  return ordered;
}

std::string text_of(const json& document) { return document.dump(2) + "\n"; }

}  // namespace

TokenizerFiles tokenizer_files(const std::vector<std::string>& pieces, const TokenizerFileOptions& options) {
  const Ids ids = number(pieces);

  json document;
  document["version"] = "1.0";
  document["truncation"] = nullptr;
  document["padding"] = nullptr;
  document["added_tokens"] = added_tokens(ids);
  document["normalizer"] = internal::bert_normalizer();
  document["pre_tokenizer"] = internal::bert_pre_tokenizer();
  document["post_processor"] = template_of(ids, options.token_template);
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", internal::kContinuation}, {"cleanup", true}};
  document["model"] = {{"type", "WordPiece"},
                       {"unk_token", "[UNK]"},
                       {"continuing_subword_prefix", internal::kContinuation},
                       {"max_input_chars_per_word", internal::kMaxWordCharacters}};
  document["model"]["vocab"] = vocabulary_of(pieces);

  json inputs = json::array({"input_ids", "attention_mask"});
  if (options.token_template == TokenTemplate::kClsTextSep) inputs.insert(inputs.begin() + 1, "token_type_ids");
  const json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                       {"model_max_length", options.max_tokens},
                       {"model_input_names", std::move(inputs)},
                       {"clean_up_tokenization_spaces", true},
                       {"pad_token", "[PAD]"},
                       {"unk_token", "[UNK]"},
                       {"cls_token", "[CLS]"},
                       {"sep_token", "[SEP]"},
                       {"mask_token", "[MASK]"}};
  return {.tokenizer = text_of(document), .config = text_of(config)};
}

void write_tokenizer_files(const std::filesystem::path& folder, const std::vector<std::string>& pieces,
                           const TokenizerFileOptions& options) {
  const TokenizerFiles files = tokenizer_files(pieces, options);
  write_file(folder / "tokenizer.json", files.tokenizer);
  write_file(folder / "tokenizer_config.json", files.config);
}

}  // namespace attnflow
