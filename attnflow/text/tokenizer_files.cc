#include "attnflow/text/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attnflow/files/messages.h"
#include "attnflow/text/declared_tokens.h"
#include "attnflow/text/sentencepiece_tokenizer.h"
#include "attnflow/text/tokenizer_settings.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

// The last line need not be terminated.
std::vector<std::string> read_lines(const SettingsFile& file) {
  const std::string content = read_utf8(file);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < content.size();) {
    const std::size_t end = std::min(content.find('\n', begin), content.size());
    std::size_t length = end - begin;
    if (length > 0 && content[begin + length - 1] == '\r') --length;
    lines.push_back(content.substr(begin, length));
    begin = end + 1;
  }
  return lines;
}

TokenizerDocument read_word_piece(const Folder& folder) {
  const SettingsFile file(folder, "vocab.txt");
  const TokenizerSettings settings(folder);
  Vocabulary vocabulary{.source = file.label(), .specials = default_specials(kBertSpecials)};
  std::uint64_t id = 0;
  for (const std::string& line : read_lines(file)) vocabulary.pieces[line] = id++;
  apply_settings(settings, vocabulary);
  vocabulary.required("unk_token");

  json document;
  document["post_processor"] = template_processor(
      "cls A sep", "cls A sep B:1 sep:1", [&](const std::string& name) { return vocabulary.template_token(name); });
  const std::optional<bool> strip_accents = settings.flag("strip_accents");
  document["normalizer"] = {{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", settings.flag("tokenize_chinese_chars").value_or(true)},
                            {"strip_accents", strip_accents ? json(*strip_accents) : json(nullptr)},
                            {"lowercase", settings.flag("do_lower_case").value_or(true)}};
  document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  document["model"] = {{"type", "WordPiece"},
                       {"unk_token", vocabulary.special("unk_token")},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", std::move(vocabulary.pieces)}};
  return finish_document(vocabulary, settings, std::move(document));
}

json read_merges(const SettingsFile& file) {
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string& line : read_lines(file)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string::npos) {
      fail_settings(file.label(), "two pieces with a space between them in each line",
                    fmt::format("{} in line {}", quote_name(line), number));
    }
    merges.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return merges;
}

// The families that keep byte-level BPE in vocab.json and merges.txt; they differ in the template around a text.
enum class ByteLevelFamily { kRoberta, kGpt2 };

ByteLevelFamily byte_level_family(const std::string& source, const TokenizerSettings& settings,
                                  const std::string& model_type, const json& pieces) {
  const std::string tokenizer_class = settings.tokenizer_class();
  if (tokenizer_class == "GPT2Tokenizer") return ByteLevelFamily::kGpt2;
  if (!tokenizer_class.empty() && tokenizer_class.starts_with("Roberta")) return ByteLevelFamily::kRoberta;
  if (model_type == "gpt2") return ByteLevelFamily::kGpt2;
  if (model_type == "llama" || model_type == "qwen2") {
    fail_settings(source, fmt::format("a tokenizer.json for a model of type {}", model_type),
                  "only its vocabulary, which does not say how a text is split",
                  "write a tokenizer.json into the folder, in Python with AutoTokenizer.from_pretrained(model)"
                  ".save_pretrained(folder)");
  }
  const bool unnamed = model_type.empty() && tokenizer_class.empty();
  return unnamed && pieces.contains("<|endoftext|>") && !pieces.contains("<s>") ? ByteLevelFamily::kGpt2
                                                                                : ByteLevelFamily::kRoberta;
}

json roberta_template(Vocabulary& vocabulary, const TokenizerSettings& settings, bool prefix) {
  vocabulary.specials = default_specials(kRobertaSpecials, /*mask_takes_space=*/true);
  apply_settings(settings, vocabulary);
  return {{"type", "RobertaProcessing"},
          {"cls", {vocabulary.special("cls_token"), vocabulary.required("cls_token")}},
          {"sep", {vocabulary.special("sep_token"), vocabulary.required("sep_token")}},
          {"trim_offsets", true},
          {"add_prefix_space", prefix}};
}

// The text alone, or with <|endoftext|> before and after each text if add_bos_token and add_eos_token say so.
json gpt2_template(Vocabulary& vocabulary, const TokenizerSettings& settings) {
  vocabulary.specials = default_specials(kGpt2Specials);
  apply_settings(settings, vocabulary);
  const bool begins = settings.flag("add_bos_token").value_or(false);
  const bool ends = settings.flag("add_eos_token").value_or(false);
  if (!begins && !ends) return nullptr;
  const auto token_of = [&](const std::string& name) -> std::optional<TemplateToken> {
    if ((name == "bos" && !begins) || (name == "eos" && !ends)) return std::nullopt;
    return vocabulary.template_token(name);
  };
  return template_processor("bos A eos", "bos A eos bos:1 B:1 eos:1", token_of);
}

TokenizerDocument read_byte_level_bpe(const Folder& folder, const std::string& model_type) {
  const TokenizerSettings settings(folder);
  Vocabulary vocabulary;
  vocabulary.source = folder.label("vocab.json") + " with merges.txt";
  vocabulary.pieces = read_numbered_pieces({folder, "vocab.json"});
  const ByteLevelFamily family = byte_level_family(vocabulary.source, settings, model_type, vocabulary.pieces);
  const bool prefix = settings.flag("add_prefix_space").value_or(false);

  json document;
  document["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  document["post_processor"] = family == ByteLevelFamily::kGpt2 ? gpt2_template(vocabulary, settings)
                                                                : roberta_template(vocabulary, settings, prefix);
  document["decoder"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  document["model"] = {{"type", "BPE"}, {"fuse_unk", false}};
  document["model"]["merges"] = read_merges({folder, "merges.txt"});
  document["model"]["vocab"] = std::move(vocabulary.pieces);
  return finish_document(vocabulary, settings, std::move(document));
}

// If a folder has several tokenizer files by transformers version, the installed version decides which one is read.
void refuse_files_by_version(const Folder& folder) {
  const SettingsFile file(folder, "tokenizer_config.json");
  const json config = read_optional_json_object(file);
  const auto found = config.find("fast_tokenizer_files");
  if (found == config.end() || !found->is_array()) return;
  for (const json& entry : *found) {
    if (!entry.is_string() || entry == "tokenizer.json") continue;
    fail_settings(file.label(), "tokenizer.json alone as fast_tokenizer_files",
                  quote_name(entry.get<std::string>()) + " beside it",
                  "copy the file that fits the model to tokenizer.json, and remove the setting");
  }
}

TokenizerDocument read_complete(const Folder& folder, const std::string& model_type) {
  refuse_files_by_version(folder);
  const SettingsFile file(folder, "tokenizer.json");
  const TokenizerSettings settings(folder);
  std::string document = read_utf8(file);
  const TokenizerClass* made_by = tokenizer_class_of(folder, settings, model_type);
  // Llama's class is for SentencePiece pieces: transformers leaves byte-level pieces to the general class.
  const bool is_llama = made_by != nullptr && made_by->names.starts_with("LlamaTokenizer");
  if (is_llama && document.find("\"ByteLevel\"") != std::string::npos) made_by = nullptr;
  Vocabulary named;
  if (made_by != nullptr) named.specials = default_specials(made_by->specials);
  json declared = declared_tokens(settings, named.specials, made_by);
  named.specials.clear();
  apply_settings(settings, named);
  return {.json = std::move(document),
          .declared = declared.dump(),
          .source = file.label(),
          .special_tokens = pieces_of(named.specials)};
}

}  // namespace

TokenizerDocument read_tokenizer_document(const Folder& folder, const std::string& model_type, TextSide side) {
  if (!folder.exists()) {
    std::error_code ignored;
    const bool is_there = std::filesystem::exists(folder.path(), ignored);
    fail_settings(folder.label(), "a model folder", is_there ? "something that is not a folder" : "nothing there",
                  "give the folder that holds the model's config.json and tokenizer");
  }
  if (folder.has("tokenizer.json")) return read_complete(folder, model_type);
  const bool word_piece = folder.has("vocab.txt");
  const bool byte_level = folder.has("vocab.json") && folder.has("merges.txt");
  const bool prefers_byte_level = model_type == "roberta" || model_type == "data2vec-text" || model_type == "gpt2";
  if (byte_level && (prefers_byte_level || !word_piece)) return read_byte_level_bpe(folder, model_type);
  if (word_piece) return read_word_piece(folder);

  if (has_sentencepiece(folder)) return read_sentencepiece(folder, model_type, side);

  std::string found = "none of them";
  for (const char* name : {"vocab.json", "merges.txt"}) {
    if (folder.has(name)) found = fmt::format("only {}", name);
  }
  fail_settings(folder.label(), "tokenizer.json, vocab.txt, vocab.json with merges.txt, or a SentencePiece model",
                found, advice_to_write_tokenizer("transformers"));
}

}  // namespace attnflow::internal
