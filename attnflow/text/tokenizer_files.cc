#include "attnflow/text/tokenizer_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/utf8.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

// A file of a model folder, which need not be there.
class File {
 public:
  File(const Folder& folder, const char* name) : folder_(folder), name_(name) {}

  std::string label() const { return folder_.label(name_); }
  bool is_there() const { return folder_.has(name_); }
  std::string read() const { return folder_.read(name_); }

 private:
  Folder folder_;
  const char* name_;
};

constexpr std::uint64_t kLargestId = std::numeric_limits<std::uint32_t>::max();

[[noreturn]] void fail(const std::string& where, const std::string& expected, const std::string& found,
                       const std::string& advice = "restore the file from the model's source") {
  throw Error(ErrorKind::kBadFile, fmt::format("{}: expected {}, found {}; {}", where, expected, found, advice));
}

std::string read_utf8(const File& file) {
  std::string content = file.read();
  if (const std::optional<std::size_t> offset = find_invalid_utf8(content)) {
    fail(file.label(), "UTF-8 text", fmt::format("a byte that is not UTF-8 at offset {}", *offset));
  }
  return content;
}

json read_json_object(const File& file) {
  json value;
  try {
    value = json::parse(read_utf8(file));
  } catch (const json::exception& error) {
    fail(file.label(), "JSON", error.what());
  }
  if (!value.is_object()) fail(file.label(), "a JSON object", fmt::format("{}", value.type_name()));
  return value;
}

json read_optional_json_object(const File& file) { return file.is_there() ? read_json_object(file) : json::object(); }

// Lines without their ends; a last line need not be ended.
std::vector<std::string> read_lines(const File& file) {
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

// The two settings files of a folder.
class Settings {
 public:
  explicit Settings(const Folder& folder)
      : map_file_(folder, "special_tokens_map.json"),
        config_file_(folder, "tokenizer_config.json"),
        added_file_(folder, "added_tokens.json"),
        map_(read_optional_json_object(map_file_)),
        config_(read_optional_json_object(config_file_)) {}

  // true, false, or nothing when the setting is missing or null.
  std::optional<bool> flag(const char* key) const {
    const auto found = config_.find(key);
    if (found == config_.end() || found->is_null()) return std::nullopt;
    if (!found->is_boolean()) {
      fail(config_file_.label(), fmt::format("true, false or null for {}", key), found->type_name());
    }
    return found->get<bool>();
  }

  // The added token that a role ("mask_token") has, or nothing.
  std::optional<json> special(const std::string& role) const {
    for (const auto& [file, settings] : {std::pair(&map_file_, &map_), std::pair(&config_file_, &config_)}) {
      const auto found = settings->find(role);
      if (found != settings->end() && !found->is_null()) return added_token(*found, true, *file, role);
    }
    return std::nullopt;
  }

  // Special tokens without a role of their own.
  std::vector<json> more_specials() const {
    std::vector<json> result;
    for (const auto& [file, settings] : {std::pair(&map_file_, &map_), std::pair(&config_file_, &config_)}) {
      for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
        const auto found = settings->find(key);
        if (found == settings->end() || !found->is_array()) continue;
        for (const json& token : *found) result.push_back(added_token(token, true, *file, key));
      }
    }
    return result;
  }

  // Tokens beyond the vocabulary file, by id.
  std::map<std::uint64_t, json> added_tokens() const {
    std::map<std::uint64_t, json> result;
    if (added_file_.is_there()) {
      const json added = read_json_object(added_file_);
      for (const auto& [content, id] : added.items()) {
        if (!id.is_number_unsigned()) fail(added_file_.label(), "an id for each token", id.type_name());
        result[id.get<std::uint64_t>()] = added_token(content, false, added_file_, "added_tokens");
      }
    }
    const auto decoder = config_.find("added_tokens_decoder");
    if (decoder == config_.end() || decoder->is_null()) return result;
    if (!decoder->is_object()) {
      fail(config_file_.label(), "an object as added_tokens_decoder", decoder->type_name());
    }
    for (const auto& [key, token] : decoder->items()) {
      std::uint64_t id = 0;
      for (const char digit : key) {
        if (digit < '0' || digit > '9' || id > kLargestId) {
          fail(config_file_.label(), "ids as keys of added_tokens_decoder", quote_name(key));
        }
        id = id * 10 + static_cast<std::uint64_t>(digit - '0');
      }
      result[id] = added_token(token, false, config_file_, "added_tokens_decoder");
    }
    return result;
  }

 private:
  // An added token is written as its text, or as an object with its properties.
  static json added_token(const json& value, bool special, const File& file, std::string_view key) {
    json token = {{"content", ""},   {"single_word", false},   {"lstrip", false},
                  {"rstrip", false}, {"normalized", !special}, {"special", special}};
    if (value.is_string()) {
      token["content"] = value;
      return token;
    }
    const auto content = value.find("content");
    if (!value.is_object() || content == value.end() || !content->is_string()) {
      fail(file.label(), fmt::format("a token's text, or an object with \"content\", for {}", key), value.type_name());
    }
    token["content"] = *content;
    for (const char* property : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      const auto found = value.find(property);
      if (found != value.end() && found->is_boolean()) token[property] = *found;
    }
    if (special) token["special"] = true;
    return token;
  }

  File map_file_;
  File config_file_;
  File added_file_;
  json map_;
  json config_;
};

const std::vector<std::string>& special_roles() {
  static const std::vector<std::string> roles = {"bos_token", "eos_token", "unk_token", "sep_token",
                                                 "pad_token", "cls_token", "mask_token"};
  return roles;
}

// A vocabulary file with a family's special tokens: everything that a document is made of.
struct Vocabulary {
  std::string source;
  json pieces = json::object();          // piece to id
  std::map<std::string, json> specials;  // role to added token

  std::string special(const char* role) const { return specials.at(role).at("content").get<std::string>(); }

  // The id of a special token that the pipeline cannot do without.
  std::uint64_t required(const char* role) const {
    const auto found = pieces.find(special(role));
    if (found == pieces.end()) {
      fail(source, fmt::format("the {} {}", role, quote_name(special(role))), "a vocabulary without it",
           "name the right piece in special_tokens_map.json, or restore the vocabulary");
    }
    return found->get<std::uint64_t>();
  }
};

json default_special(const char* content, bool lstrip = false) {
  return {{"content", content}, {"single_word", false}, {"lstrip", lstrip},
          {"rstrip", false},    {"normalized", false},  {"special", true}};
}

void apply_settings(const Settings& settings, Vocabulary& vocabulary) {
  for (const std::string& role : special_roles()) {
    if (std::optional<json> token = settings.special(role)) vocabulary.specials[role] = std::move(*token);
  }
}

json added_tokens_with_ids(const Settings& settings) {
  json result = json::array();
  for (auto& [id, token] : settings.added_tokens()) {
    json entry = token;
    entry["id"] = id;
    result.push_back(std::move(entry));
  }
  return result;
}

json specials_of(const std::map<std::string, json>& by_role, const Settings& settings) {
  json result = json::array();
  for (const auto& [role, token] : by_role) result.push_back(token);
  for (json& token : settings.more_specials()) result.push_back(std::move(token));
  return result;
}

TokenizerDocument finish(const Vocabulary& vocabulary, const Settings& settings, json document) {
  document["version"] = "1.0";
  document["added_tokens"] = added_tokens_with_ids(settings);
  return {.json = document.dump(),
          .specials = specials_of(vocabulary.specials, settings).dump(),
          .source = vocabulary.source,
          .mask = vocabulary.special("mask_token")};
}

TokenizerDocument read_word_piece(const Folder& folder) {
  const File file(folder, "vocab.txt");
  const Settings settings(folder);
  Vocabulary vocabulary;
  vocabulary.source = file.label();
  vocabulary.specials = {{"unk_token", default_special("[UNK]")},
                         {"sep_token", default_special("[SEP]")},
                         {"pad_token", default_special("[PAD]")},
                         {"cls_token", default_special("[CLS]")},
                         {"mask_token", default_special("[MASK]")}};
  std::uint64_t id = 0;
  for (const std::string& line : read_lines(file)) vocabulary.pieces[line] = id++;
  apply_settings(settings, vocabulary);
  vocabulary.required("unk_token");

  const std::string cls = vocabulary.special("cls_token");
  const std::string sep = vocabulary.special("sep_token");
  const auto special = [](const std::string& piece, int type_id) {
    return json{{"SpecialToken", {{"id", piece}, {"type_id", type_id}}}};
  };
  const auto segment = [](const char* name, int type_id) {
    return json{{"Sequence", {{"id", name}, {"type_id", type_id}}}};
  };
  const auto template_token = [](const std::string& piece, std::uint64_t piece_id) {
    return json{{"id", piece}, {"ids", json::array({piece_id})}, {"tokens", json::array({piece})}};
  };
  json template_tokens = json::object();
  template_tokens[cls] = template_token(cls, vocabulary.required("cls_token"));
  template_tokens[sep] = template_token(sep, vocabulary.required("sep_token"));

  const std::optional<bool> strip_accents = settings.flag("strip_accents");
  json document;
  document["normalizer"] = {{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", settings.flag("tokenize_chinese_chars").value_or(true)},
                            {"strip_accents", strip_accents ? json(*strip_accents) : json(nullptr)},
                            {"lowercase", settings.flag("do_lower_case").value_or(true)}};
  document["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  document["post_processor"] = {
      {"type", "TemplateProcessing"},
      {"single", {special(cls, 0), segment("A", 0), special(sep, 0)}},
      {"pair", {special(cls, 0), segment("A", 0), special(sep, 0), segment("B", 1), special(sep, 1)}},
      {"special_tokens", template_tokens}};
  document["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  document["model"] = {{"type", "WordPiece"},
                       {"unk_token", vocabulary.special("unk_token")},
                       {"continuing_subword_prefix", "##"},
                       {"max_input_chars_per_word", 100},
                       {"vocab", std::move(vocabulary.pieces)}};
  return finish(vocabulary, settings, std::move(document));
}

// The pieces of a vocab.json, each with an id of its own.
json read_numbered_pieces(const File& file) {
  json pieces = read_json_object(file);
  std::map<std::uint64_t, std::string_view> owners;
  for (const auto& [piece, id] : pieces.items()) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= kLargestId) {
      fail(file.label(), "an id for each piece", fmt::format("{} for {}", quote_name(id.dump()), quote_name(piece)));
    }
    const auto [owner, is_new] = owners.emplace(id.get<std::uint64_t>(), piece);
    if (!is_new) {
      fail(file.label(), "each id once",
           fmt::format("id {} for {} and for {}", owner->first, quote_name(owner->second), quote_name(piece)));
    }
  }
  return pieces;
}

json read_merges(const File& file) {
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string& line : read_lines(file)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space == std::string::npos || space + 1 == line.size() ||
        line.find(' ', space + 1) != std::string::npos) {
      fail(file.label(), "two pieces with a space between them in each line",
           fmt::format("{} in line {}", quote_name(line), number));
    }
    merges.push_back({line.substr(0, space), line.substr(space + 1)});
  }
  return merges;
}

TokenizerDocument read_byte_level_bpe(const Folder& folder) {
  const Settings settings(folder);
  Vocabulary vocabulary;
  vocabulary.source = folder.label("vocab.json") + " with merges.txt";
  vocabulary.specials = {{"bos_token", default_special("<s>")},          {"eos_token", default_special("</s>")},
                         {"unk_token", default_special("<unk>")},        {"sep_token", default_special("</s>")},
                         {"pad_token", default_special("<pad>")},        {"cls_token", default_special("<s>")},
                         {"mask_token", default_special("<mask>", true)}};
  vocabulary.pieces = read_numbered_pieces({folder, "vocab.json"});
  apply_settings(settings, vocabulary);
  const std::uint64_t cls_id = vocabulary.required("cls_token");
  const std::uint64_t sep_id = vocabulary.required("sep_token");
  const bool prefix = settings.flag("add_prefix_space").value_or(false);

  json document;
  document["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"trim_offsets", true}, {"use_regex", true}};
  document["post_processor"] = {{"type", "RobertaProcessing"},
                                {"sep", {vocabulary.special("sep_token"), sep_id}},
                                {"cls", {vocabulary.special("cls_token"), cls_id}},
                                {"trim_offsets", true},
                                {"add_prefix_space", prefix}};
  document["decoder"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  document["model"] = {{"type", "BPE"}, {"fuse_unk", false}};
  document["model"]["merges"] = read_merges({folder, "merges.txt"});
  document["model"]["vocab"] = std::move(vocabulary.pieces);
  return finish(vocabulary, settings, std::move(document));
}

TokenizerDocument read_complete(const Folder& folder) {
  const File file(folder, "tokenizer.json");
  const Settings settings(folder);
  std::map<std::string, json> specials;
  for (const std::string& role : special_roles()) {
    if (std::optional<json> token = settings.special(role)) specials[role] = std::move(*token);
  }
  const auto mask = specials.find("mask_token");
  return {.json = read_utf8(file),
          .specials = specials_of(specials, settings).dump(),
          .source = file.label(),
          .mask = mask == specials.end() ? "" : mask->second.at("content").get<std::string>()};
}

}  // namespace

TokenizerDocument read_tokenizer_document(const Folder& folder, const std::string& model_type) {
  if (!folder.exists()) {
    std::error_code ignored;
    const bool is_there = std::filesystem::exists(folder.path(), ignored);
    fail(folder.label(), "a model folder", is_there ? "something that is no folder" : "nothing there",
         "give the folder that holds the model's config.json and tokenizer");
  }
  if (folder.has("tokenizer.json")) return read_complete(folder);
  const bool word_piece = folder.has("vocab.txt");
  const bool byte_level = folder.has("vocab.json") && folder.has("merges.txt");
  if (byte_level && (model_type == "roberta" || !word_piece)) return read_byte_level_bpe(folder);
  if (word_piece) return read_word_piece(folder);

  std::string found = "none of them";
  for (const char* name : {"vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model"}) {
    if (folder.has(name)) found = fmt::format("only {}", name);
  }
  fail(folder.label(), "tokenizer.json, vocab.txt, or vocab.json with merges.txt", found,
       "write a tokenizer.json into the folder, in Python with AutoTokenizer.from_pretrained(model)"
       ".save_pretrained(folder)");
}

}  // namespace attnflow::internal
