#include "attnflow/model/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>

#include "attnflow/files/messages.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/family_rows.h"
#include "attnflow/text/tokenizer.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

using Json = nlohmann::json;

// tokenizer.ggml.token_type
enum TokenKind : std::int64_t { kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|)"
    R"(\s+(?!\S)|\s+)";

struct SplitRule {
  std::string_view name;        // tokenizer.ggml.pre
  std::string_view expression;  // empty: GPT-2's
  bool single_digits;
  bool ignore_merges;  // a whole word of the vocabulary is one token, regardless of the merges
};
constexpr std::array kRules = {SplitRule{"gpt-2", {}, false, false}, SplitRule{"smollm", {}, true, false},
                               SplitRule{"llama-bpe", kLlama3, false, true}, SplitRule{"qwen2", kQwen2, false, false}};

// Text that is not valid UTF-8 is rejected before this.
std::string dump(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

Json byte_level(bool use_regex, bool trim_offsets) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", trim_offsets}, {"use_regex", use_regex}};
}

Json pre_tokenizer(const SplitRule& rule) {
  Json parts = Json::array();
  if (rule.single_digits) parts.push_back({{"type", "Digits"}, {"individual_digits", true}});
  if (!rule.expression.empty()) {
    parts.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", rule.expression}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  parts.push_back(byte_level(rule.expression.empty(), true));
  if (parts.size() == 1) return parts[0];
  return {{"type", "Sequence"}, {"pretokenizers", parts}};
}

class Converter : ErrorsOf {
 public:
  Converter(const GgufHeader& header, const TextCodec& codec, const std::string& source)
      : ErrorsOf(source), header_(header), codec_(codec) {}

  ConvertedTokenizer convert(std::size_t vocabulary, std::size_t positions) {
    read_rule();
    read_vocabulary(vocabulary);
    check_merges();
    find_added();
    result_.begin = special_id("bos").value_or(-1);
    result_.end = special_id("eos").value_or(-1);
    result_.tokenizer = tokenizer_json();
    result_.settings = settings_json(positions);
    result_.generation = generation_json();
    return std::move(result_);
  }

 private:
  void read_rule() {
    const std::string kind = header_.text("tokenizer.ggml.model").value_or("");
    if (kind != "gpt2") {
      unsupported(
          "expected a byte-level BPE tokenizer (tokenizer.ggml.model \"gpt2\"), found {}, which "
          "cannot be written as tokenizer.json here; convert the model from its original folder",
          kind.empty() ? "none" : quote_name(kind));
    }
    const std::string name = header_.text("tokenizer.ggml.pre").value_or("");
    for (const SplitRule& rule : kRules) {
      if (rule.name == name) rule_ = &rule;
    }
    if (rule_ == nullptr) {
      unsupported(
          "expected a known pre-tokenizer (tokenizer.ggml.pre: {}), found {}; convert the model from its "
          "original folder",
          list_of(kRules, &SplitRule::name), name.empty() ? "none" : quote_name(name));
    }
  }

  const std::vector<std::string>& texts(const char* key) const {
    const GgufArray* const array = header_.array(key);
    if (array == nullptr || array->type != GgufType::kText)
      damaged("expected a list of strings as {}, found none", key);
    for (const std::string& text : array->texts) {
      if (find_invalid_utf8(text)) damaged("{}: expected UTF-8, found {}", key, quote_name(text));
    }
    return array->texts;
  }

  void read_vocabulary(std::size_t vocabulary) {
    pieces_ = &texts("tokenizer.ggml.tokens");
    if (pieces_->size() != vocabulary) {
      damaged("expected as many tokens as the embedding has, {}, found {}", vocabulary, pieces_->size());
    }
    const GgufArray* const kinds = header_.array("tokenizer.ggml.token_type");
    if (kinds != nullptr) {
      if (kinds->numbers.size() != vocabulary)
        damaged("tokenizer.ggml.token_type: expected {} numbers, found {}", vocabulary, kinds->count);
      kinds_ = kinds->numbers;
    }
    kinds_.resize(vocabulary, 0);
    ids_.reserve(vocabulary);
    for (std::size_t id = 0; id < vocabulary; ++id) {
      // Embedding rows that no token uses; their names are placeholders.
      if (kinds_[id] == kUnused) continue;
      if (!ids_.emplace((*pieces_)[id], id).second)
        damaged("expected tokens that differ, found {} twice", quote_name((*pieces_)[id]));
    }
  }

  void check_merges() {
    merges_ = &texts("tokenizer.ggml.merges");
    for (const std::string& merge : *merges_) {
      const std::size_t space = merge.find(' ', 1);
      const std::string left = merge.substr(0, space);
      const std::string right = space == std::string::npos ? "" : merge.substr(space + 1);
      if (right.empty() || ids_.find(left) == ids_.end() || ids_.find(right) == ids_.end() ||
          ids_.find(left + right) == ids_.end()) {
        damaged(
            "tokenizer.ggml.merges: expected two tokens with a space between them that make a third, "
            "found {}",
            quote_name(merge));
      }
    }
  }

  bool is_special(std::size_t id) const {
    return kinds_[id] == kControl || kinds_[id] == kUnknown ||
           (kinds_[id] != kUserDefined && codec_.is_special(static_cast<std::int64_t>(id)));
  }

  // Finds the tokens that are matched in text before anything else.
  void find_added() {
    for (std::size_t id = 0; id < pieces_->size(); ++id) {
      if (kinds_[id] == kUnused || (*pieces_)[id].empty()) continue;
      const bool special = is_special(id);
      if (!special && kinds_[id] != kUserDefined) continue;
      added_.push_back({{"id", id},
                        {"content", (*pieces_)[id]},
                        {"single_word", false},
                        {"lstrip", false},
                        {"rstrip", false},
                        {"normalized", false},
                        {"special", special}});
      if (special) result_.special_tokens.push_back((*pieces_)[id]);
    }
  }

  std::optional<std::int64_t> special_id(std::string_view role) const {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", role);
    const std::optional<std::int64_t> id = header_.number(key);
    if (!id || *id == 0xFFFFFFFF || *id == -1) return std::nullopt;  // both mean none
    if (*id < 0 || static_cast<std::uint64_t>(*id) >= pieces_->size())
      damaged("{}: expected a token from 0 to {}, found {}", key, pieces_->size() - 1, *id);
    return id;
  }

  // Runs the file's tokenizer to find the tokens that it adds around a text.
  Json post_processor() const {
    Json single = Json::array();
    Json pair = Json::array();
    Json tokens = Json::object();
    bool text_seen = false;
    for (const EncodedToken& token : codec_.encode("a").tokens) {
      if (token.begin) {
        if (text_seen) continue;
        single.push_back({{"Sequence", {{"id", "A"}, {"type_id", 0}}}});
        text_seen = true;
        continue;
      }
      const std::string& piece = (*pieces_).at(static_cast<std::size_t>(token.id));
      single.push_back({{"SpecialToken", {{"id", piece}, {"type_id", 0}}}});
      tokens[piece] = {{"id", piece}, {"ids", {token.id}}, {"tokens", {piece}}};
    }
    if (tokens.empty()) return byte_level(true, false);
    for (const Json& part : single) {
      pair.push_back(part);
      if (part.contains("Sequence")) pair.push_back({{"Sequence", {{"id", "B"}, {"type_id", 0}}}});
    }
    return {{"type", "Sequence"},
            {"processors",
             {byte_level(true, false),
              {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", tokens}}}}};
  }

  std::string tokenizer_json() const {
    Json vocabulary = Json::object();
    for (std::size_t id = 0; id < pieces_->size(); ++id) {
      if (kinds_[id] != kUnused) vocabulary[(*pieces_)[id]] = id;
    }
    return dump({{"version", "1.0"},
                 {"truncation", nullptr},
                 {"padding", nullptr},
                 {"added_tokens", added_},
                 {"normalizer", nullptr},
                 {"pre_tokenizer", pre_tokenizer(*rule_)},
                 {"post_processor", post_processor()},
                 {"decoder", byte_level(true, true)},
                 {"model",
                  {{"type", "BPE"},
                   {"dropout", nullptr},
                   {"unk_token", nullptr},
                   {"continuing_subword_prefix", nullptr},
                   {"end_of_word_suffix", nullptr},
                   {"fuse_unk", false},
                   {"byte_fallback", false},
                   {"ignore_merges", rule_->ignore_merges},
                   {"vocab", std::move(vocabulary)},
                   {"merges", *merges_}}}});
  }

  std::string settings_json(std::size_t positions) {
    Json settings = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                     {"model_max_length", positions},
                     {"clean_up_tokenization_spaces", false}};
    for (const auto& [role, name] : {std::pair("bos", "bos_token"), std::pair("eos", "eos_token"),
                                     std::pair("unknown", "unk_token"), std::pair("padding", "pad_token")}) {
      if (const auto id = special_id(role)) settings[name] = (*pieces_)[static_cast<std::size_t>(*id)];
    }
    if (const auto chat = header_.text("tokenizer.chat_template")) {
      if (find_invalid_utf8(*chat)) damaged("tokenizer.chat_template: expected UTF-8");
      settings["chat_template"] = *chat;
    }
    std::size_t others = 0;
    for (const auto& [name, value] : header_.metadata) others += name.starts_with("tokenizer.chat_template.") ? 1 : 0;
    if (others != 0) result_.notes.push_back(fmt::format("{} other chat templates in the file are left out", others));
    if (rule_->name == "qwen2") {
      result_.notes.emplace_back(
          "text is used as written; Qwen's original tokenizer first composes characters (NFC), which the GGUF file "
          "does not record");
    }
    return dump(settings);
  }

  std::string generation_json() const {
    Json ends = Json::array();
    for (std::size_t id = 0; id < pieces_->size(); ++id) {
      if (codec_.is_end(static_cast<std::int64_t>(id))) ends.push_back(id);
    }
    Json generation = Json::object();
    if (result_.begin >= 0) generation["bos_token_id"] = result_.begin;
    if (!ends.empty()) generation["eos_token_id"] = ends;
    if (const auto pad = special_id("padding")) generation["pad_token_id"] = *pad;
    return dump(generation);
  }

  const GgufHeader& header_;
  const TextCodec& codec_;
  const SplitRule* rule_ = nullptr;
  const std::vector<std::string>* pieces_ = nullptr;
  const std::vector<std::string>* merges_ = nullptr;
  std::vector<std::int64_t> kinds_;  // [vocabulary]
  std::unordered_map<std::string, std::size_t> ids_;
  Json added_ = Json::array();
  ConvertedTokenizer result_;
};

// Contractions in both cases, white space of all kinds, scripts with and without spaces, composed and combining
// accents, emoji of one and several code points.
constexpr std::array<std::string_view, 32> kTexts = {
    "",
    " ",
    "a",
    "The key to the cabinets is on the table.",
    "Hello, world! How are you?",
    "I'm sure they'll say it's Sara's; we'd've known, you're right.",
    "IT'S HERE AND THEY'LL SEE, WE'VE SAID",
    "don’t 'quote' \"double\"",
    "1 12 123 1234 12345 3.14159 1,000,000 2024-01-31 0x1F",
    "x86 B2B 4th 20% 5€ §3",
    "def add(a, b):\n    return a + b  # sum\n\n\tif x >= 0: pass\n",
    "for (int i = 0; i < n; ++i) { sum += a[i]; }",
    "{\"name\": \"Alice\", \"ids\": [1, 2, 3]}",
    "https://example.org/path?q=1&r=two#end",
    "  two  spaces   three    four",
    "line\nbreak\n\ntwo\r\nwindows\r\n\r\n",
    "\ttab\t\ttabs \t mixed",
    "trailing   ",
    "\n\n\n",
    "wide\u3000space \u00A0 no-break \u2009thin",
    "Café naïve étude Straße Łódź",
    "e\u0301tude n\u0303 combining",
    "東京は日本の首都です。",
    "钥匙在桌子上 123 个。",
    "한국어 문장",
    "Москва — столица",
    "الكتاب ٣٤ على",
    "हिन्दी १२",
    "🙂 👩\u200D🔬!🇫🇷 ✓\uFE0F",
    "math: ∑x² ≤ αβγ ½ Ⅳ ①",
    "...!!!?!?---___***###@@@ ,.;: <<>> ~~ ^^ `code`",
    "CamelCase snake_case kebab-case ALLCAPS mIxEd antidisestablishmentarianism zzzzqqqq",
};
constexpr std::size_t kMaxSpecials = 32;

std::vector<std::int64_t> ids_of(const TextCodec& codec, std::string_view text) {
  std::vector<std::int64_t> ids;
  for (const EncodedToken& token : codec.encode(text).tokens) ids.push_back(token.id);
  return ids;
}

}  // namespace

ConvertedTokenizer convert_tokenizer(const GgufHeader& header, const TextCodec& codec, std::size_t vocabulary,
                                     std::size_t positions, const std::string& source) {
  return Converter(header, codec, source).convert(vocabulary, positions);
}

std::size_t check_tokenizer(const Folder& folder, const std::string& model_type, const TextCodec& codec,
                            const std::vector<std::string>& special_tokens) {
  const Tokenizer made = Tokenizer::load(folder, model_type);
  std::vector<std::string> texts(kTexts.begin(), kTexts.end());
  for (std::size_t i = 0; i < std::min(special_tokens.size(), kMaxSpecials); ++i)
    texts.push_back(fmt::format("{0}user\nHello {0} there{0}", special_tokens[i]));
  for (const std::string& text : texts) {
    const std::vector<std::int64_t> expected = ids_of(codec, text);
    const std::vector<std::int64_t> found = ids_of(made, text);
    if (found == expected) continue;
    fail(ErrorKind::kUnsupportedModel,
         "{}: expected a tokenizer that tokenizer.json can express, found one that splits {} into "
         "the tokens {}, where the converted one gives {}; convert the model from its original "
         "folder",
         codec.source(), quote_name(text), fmt::join(expected, " "), fmt::join(found, " "));
  }
  return texts.size();
}

}  // namespace attnflow::internal
