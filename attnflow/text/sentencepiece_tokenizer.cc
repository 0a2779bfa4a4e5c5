#include "attnflow/text/sentencepiece_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/language_codes.h"
#include "attnflow/text/sentencepiece_families.h"
#include "attnflow/text/sentencepiece_file.h"
#include "attnflow/text/sentencepiece_merges.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

constexpr std::string_view kSpace = "▁";
constexpr std::size_t kPegasusOffset = 103;  // added to the file's ids of Pegasus pieces

// Pieces like "7,", which ALBERT and XLNet have but never use.
bool ends_with_digit_and_comma(std::string_view piece) {
  return piece.size() > 1 && piece.back() == ',' && piece[piece.size() - 2] >= '0' && piece[piece.size() - 2] <= '9';
}

json replace(const char* kind, std::string_view pattern, std::string_view content) {
  return {{"type", "Replace"}, {"pattern", {{kind, pattern}}}, {"content", content}};
}

class Converter {
 public:
  Converter(const Folder& folder, const std::string& model_type, TextSide side)
      : folder_(folder), settings_(folder), family_(sentencepiece_family(folder, settings_, model_type)) {
    is_of_sources_ = side == TextSide::kSource && !family_.target_file.empty();
    const bool is_of_targets = side == TextSide::kTarget && !family_.target_file.empty();
    const std::string file = is_of_targets ? std::string(family_.target_file) : words_of(family_.files).front();
    file_ = folder.label(file);
    model_ = parse_sentencepiece(folder.read(file, kMaxSentencePieceBytes), file_);
    vocabulary_.source = file_;
    vocabulary_.specials = default_specials(family_.specials, family_.mask_takes_space);
    apply_settings(settings_, vocabulary_);
  }

  TokenizerDocument convert() {
    check();
    find_lowest();
    number_pieces();
    append_pieces();
    check_declared();
    json document;
    document["added_tokens"] = added_tokens();
    document["normalizer"] = {{"type", "Sequence"}, {"normalizers", normalizers()}};
    document["pre_tokenizer"] = pre_tokenizer();
    document["decoder"] = {{"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", prefix()}};
    document["post_processor"] = post_processor();
    document["model"] = model();
    if (is_listed()) {
      document["attnflow_numbering"] = {{"vocabulary", vocabulary_.pieces},
                                        {"unknown", vocabulary_.special("unk_token")},
                                        {"leading_codes", family_.name == "Marian"},
                                        {"charsmap", charsmap()}};
    }
    TokenizerDocument finished = finish_document(vocabulary_, settings_, std::move(document));
    finished.is_of_sources = is_of_sources_;
    return finished;
  }

 private:
  struct Entry {
    std::string piece;
    double score;
  };

  bool is_listed() const { return family_.numbering == PieceNumbering::kListed; }
  bool flag(const char* key, bool usual) const { return settings_.flag(key).value_or(usual); }

  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const {
    fail_settings(file_, expected, found, advice_to_write_tokenizer(kSentencePiecePackages));
  }

  void check() const {
    if (model_.kind != SentencePieceKind::kUnigram && model_.kind != SentencePieceKind::kBpe) {
      refuse("a model of type unigram or BPE", model_.kind == SentencePieceKind::kWord ? "word" : "char");
    }
    if (model_.whitespace_as_suffix) refuse("spaces before words", "spaces after them (treat_whitespace_as_suffix)");
    if (!model_.escape_whitespaces) refuse("spaces as \"▁\"", "spaces that stay (escape_whitespaces)");
    for (const SentencePiece& piece : model_.pieces) {
      if (piece.type == PieceType::kUnused) refuse("pieces that are used", quote_name(piece.text) + ", which is not");
      if (piece.type != PieceType::kUserDefined) continue;
      if (is_listed()) {
        refuse(fmt::format("only trained pieces, as in {}", family_.name),
               quote_name(piece.text) + ", a user-defined piece");
      }
      // SentencePiece cuts them out after prepending a space to the text; an added token is cut out before that.
      if (std::string_view(prefix()) != "never" && !piece.text.starts_with(kSpace)) {
        refuse("no user-defined pieces where a space is put before the text", quote_name(piece.text));
      }
    }
    if (is_listed() && model_.byte_fallback && model_.kind == SentencePieceKind::kUnigram) {
      refuse(fmt::format("no bytes in place of unknown characters, as in {}", family_.name), "byte_fallback");
    }
    if (flag("separate_vocabs", false)) {
      fail_settings(folder_.label("tokenizer_config.json"), "one vocabulary for source and target",
                    "one for each (separate_vocabs)", "run the model from Python");
    }
    if (family_.numbering == PieceNumbering::kPegasus &&
        settings_.number("offset").value_or(kPegasusOffset) != kPegasusOffset) {
      fail_settings(folder_.label("tokenizer_config.json"), fmt::format("{} as Pegasus' offset", kPegasusOffset),
                    fmt::format("{}", *settings_.number("offset")), advice_to_write_tokenizer(kSentencePiecePackages));
    }
  }

  void find_lowest() {
    bool is_first = true;
    for (const SentencePiece& piece : model_.pieces) {
      if (piece.type != PieceType::kNormal) continue;
      lowest_ = is_first ? double{piece.score} : std::min(lowest_, double{piece.score});
      is_first = false;
    }
  }

  void add(std::string_view piece, double score = 0) { entries_.push_back({std::string(piece), score}); }

  // Adds the file's pieces from `first` on. Earlier pieces must be of types that never occur in text.
  void add_file_from(std::size_t first) {
    for (std::size_t id = 0; id < std::min(first, model_.pieces.size()); ++id) {
      const SentencePiece& piece = model_.pieces[id];
      if (piece.type == PieceType::kControl || piece.type == PieceType::kUnknown) continue;
      fail_settings(file_, fmt::format("the first {} pieces to be special, as in {}", first, family_.name),
                    fmt::format("{} as piece {}", quote_name(piece.text), id),
                    "set tokenizer_class in tokenizer_config.json to the family that the file belongs to");
    }
    for (std::size_t id = first; id < model_.pieces.size(); ++id) {
      const SentencePiece& piece = model_.pieces[id];
      const bool avoided = family_.prepares_quotes && ends_with_digit_and_comma(piece.text);
      add(piece.text, avoided ? double{piece.score} - 100 : double{piece.score});
    }
  }

  void number_pieces() {
    unknown_ = 3;
    switch (family_.numbering) {
      case PieceNumbering::kOwn:
        add_file_from(0);
        unknown_ = model_.unknown;
        break;
      case PieceNumbering::kFairseq:
        for (const char* piece : {"<s>", "<pad>", "</s>", "<unk>"}) add(piece);
        add_file_from(3);
        break;
      case PieceNumbering::kCamembert:
        for (const char* piece : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"}) add(piece, lowest_);
        add_file_from(1);
        break;
      case PieceNumbering::kPegasus:
        for (const char* piece : {"<pad>", "</s>", "<mask_1>", "<mask_2>"}) add(piece);
        for (std::size_t i = 2; i < kPegasusOffset; ++i) add(fmt::format("<unk_{}>", i), lowest_);
        add_file_from(2);
        unknown_ = model_.unknown + kPegasusOffset;
        more_specials_ = {"<mask_1>"};
        for (std::size_t i = 2; i < kPegasusOffset; ++i) more_specials_.push_back(fmt::format("<unk_{}>", i));
        break;
      case PieceNumbering::kListed:
        // The model's own numbering is ignored, and pieces that no text contains are not needed.
        unknown_ = 0;
        add(model_.pieces[model_.unknown].text);
        for (const SentencePiece& piece : model_.pieces) {
          if (piece.type == PieceType::kNormal || piece.type == PieceType::kByte) add(piece.text, double{piece.score});
        }
        vocabulary_.pieces = read_numbered_pieces({folder_, "vocab.json"});
        vocabulary_.source += " with vocab.json";
        (void)vocabulary_.required("unk_token");
        break;
    }
    if (unknown_ >= entries_.size()) refuse("an unknown piece with an id in this family", "none");
  }

  // Adds languages, the mask and T5's sentinels, which are not in the file; their ids follow those of its pieces.
  void append_pieces() {
    for (const std::string& piece : words_of(family_.more_specials)) more_specials_.push_back(piece);
    const std::string_view languages =
        family_.name == "M2M100" && settings_.text("language_codes") == "wmt21" ? kWmt21Languages : family_.languages;
    for (const std::string& code : words_of(languages)) append_special(in_frame(code));
    if (family_.name == "NLLB") {  // declares further languages
      std::set<std::string> known(languages_.begin(), languages_.end());
      for (const json& token : settings_.more_specials()) {
        const auto piece = token.at("content").get<std::string>();
        if (known.insert(piece).second) append_special(piece);
      }
    }
    if (family_.appends_mask) add("<mask>");
    const std::uint64_t extra = family_.extra_ids == 0 ? 0 : settings_.number("extra_ids").value_or(family_.extra_ids);
    if (extra > 100000) refuse("at most 100000 extra_ids", fmt::format("{}", extra));
    for (std::uint64_t i = extra; i-- > 0;) append_special(fmt::format("<extra_id_{}>", i));
    if (is_listed()) return;
    for (std::size_t id = 0; id < entries_.size(); ++id) {
      if (vocabulary_.pieces.contains(entries_[id].piece)) {
        refuse("pieces that differ", fmt::format("{} twice", quote_name(entries_[id].piece)));
      }
      vocabulary_.pieces[entries_[id].piece] = id;
    }
  }

  void check_declared() const {
    if (family_.declared == DeclaredTokens::kAny) return;
    const auto refuse_token = [&](const std::string& expected, const std::string& found) {
      fail_settings(folder_.label(), fmt::format("{} of {}, beside {}", expected, family_.name, file_), found,
                    advice_to_write_tokenizer(kSentencePiecePackages));
    };
    const auto usual = default_specials(family_.specials);
    std::set<std::string> known;
    for (const auto& [role, token] : usual) known.insert(token.at("content").get<std::string>());
    for (const auto& [role, token] : vocabulary_.specials) {
      const auto piece = token.at("content").get<std::string>();
      const auto named = usual.find(role);
      const bool is_own = named == usual.end() ? is_special_piece(piece) : named->second.at("content") == piece;
      if (!is_own) refuse_token("the special tokens", fmt::format("{} as {}", quote_name(piece), role));
    }
    if (family_.appends_mask && settings_.names("mask_token") && !settings_.special("mask_token")) {
      refuse_token("the special tokens", "none as mask_token");
    }
    if (family_.single.starts_with("cls ") && !flag("add_bos_token", true)) {
      refuse_token("the special tokens around a text", "add_bos_token false");
    }
    if (family_.declared == DeclaredTokens::kMore) return;
    const auto expect_known = [&](const json& token) {
      const auto piece = token.at("content").get<std::string>();
      if (!vocabulary_.pieces.contains(piece) && !known.contains(piece))
        refuse_token("only tokens", quote_name(piece) + ", a further one");
    };
    // A token with an id that is matched literally is handled alike by every version.
    const auto is_plain = [](const json& token) {
      return token.at("special") == true && token.at("normalized") == false && token.at("lstrip") == false &&
             token.at("rstrip") == false && token.at("single_word") == false;
    };
    for (const auto& [id, token] : settings_.added_tokens()) {
      if (!is_plain(token)) expect_known(token);
      known.insert(token.at("content").get<std::string>());
    }
    for (const json& token : settings_.more_specials()) expect_known(token);
    for (const json& token : settings_.other_named()) expect_known(token);
  }

  bool is_special_piece(const std::string& piece) const {
    if (std::find(more_specials_.begin(), more_specials_.end(), piece) != more_specials_.end()) return true;
    return std::any_of(model_.pieces.begin(), model_.pieces.end(), [&](const SentencePiece& one) {
      return one.text == piece && one.type != PieceType::kNormal && one.type != PieceType::kByte;
    });
  }

  std::string in_frame(const std::string& code) const { return fmt::format("{0}{1}{0}", family_.language_frame, code); }

  void append_special(const std::string& piece) {
    more_specials_.push_back(piece);
    languages_.push_back(piece);
    if (!is_listed()) {
      add(piece);
    } else if (!vocabulary_.pieces.contains(piece)) {
      const std::size_t id = vocabulary_.pieces.size();
      vocabulary_.pieces[piece] = id;
    }
  }

  json added_tokens() {
    json result = json::array();
    std::set<std::string> declared;
    std::uint64_t next = 0;
    for (const auto& [piece, id] : vocabulary_.pieces.items()) next = std::max(next, id.get<std::uint64_t>() + 1);
    const auto declare = [&](json token, std::uint64_t id) {
      const auto piece = token.at("content").get<std::string>();
      if (piece.empty() || !declared.insert(piece).second) return;
      if (!vocabulary_.pieces.contains(piece)) vocabulary_.pieces[piece] = id;
      next = std::max(next, id + 1);
      token["id"] = id;
      result.push_back(std::move(token));
    };
    // Tokens without an id are numbered after these (declared_tokens.h), but a list must contain them.
    const auto declare_by_piece = [&](json token) {
      const auto found = vocabulary_.pieces.find(token.at("content").get<std::string>());
      if (found == vocabulary_.pieces.end() && !is_listed()) return;
      declare(std::move(token), found == vocabulary_.pieces.end() ? next : found->get<std::uint64_t>());
    };
    for (const auto& [id, token] : settings_.added_tokens()) {
      // added_tokens.json gives only an id; a token with a role is special.
      const json* named = &token;
      for (const auto& [role, special] : vocabulary_.specials) {
        if (token.at("special") == false && special.at("content") == token.at("content")) named = &special;
      }
      declare(*named, id);
    }
    for (const std::string& role : special_roles()) {
      const auto found = vocabulary_.specials.find(role);
      if (found != vocabulary_.specials.end()) declare_by_piece(found->second);
    }
    const std::unordered_set<std::string_view> named(more_specials_.begin(), more_specials_.end());
    for (const SentencePiece& piece : model_.pieces) {
      if (is_listed() || (piece.type != PieceType::kControl && piece.type != PieceType::kUserDefined)) continue;
      json token = default_special(piece.text);
      token["special"] = named.contains(piece.text) || piece.type == PieceType::kControl;
      if (vocabulary_.pieces.contains(piece.text)) declare_by_piece(std::move(token));
    }
    for (const std::string& piece : more_specials_) {
      if (vocabulary_.pieces.contains(piece)) declare_by_piece(default_special(piece));
    }
    for (json& token : settings_.more_specials()) declare_by_piece(std::move(token));
    return result;
  }

  // Whether a space is put before a text ("always": also before each part of it that follows an added token).
  const char* prefix() const {
    if (!model_.add_dummy_prefix || !flag("add_prefix_space", true)) return "never";
    const bool always = family_.splits_at_spaces || flag("legacy", true);
    return always ? "always" : "first";
  }

  std::string charsmap() const {
    std::string code;
    base64_append(code, std::as_bytes(std::span(model_.charsmap)));
    return code;
  }

  json normalizers() const {
    json steps = json::array();
    if (family_.prepares_quotes) {
      steps.push_back(replace("String", "``", "\""));
      steps.push_back(replace("String", "''", "\""));
    }
    if (family_.strips_accents && !flag("keep_accents", false)) {
      steps.push_back({{"type", "NFKD"}});
      steps.push_back({{"type", "StripAccents"}});
    }
    const bool may_lowercase = family_.prepares_quotes || family_.name == "DeBERTa-v2";
    if (may_lowercase && flag("do_lower_case", family_.lowercases)) steps.push_back({{"type", "Lowercase"}});
    if (!model_.charsmap.empty() && !is_listed()) {
      steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", charsmap()}});
    }
    if (model_.remove_extra_whitespaces) {
      steps.push_back(replace("Regex", R"(\A +|[ ▁]+\z)", ""));
      steps.push_back(replace("Regex", " {2,}", " "));
    }
    // The next step puts no space before a text that already starts with one, but SentencePiece does.
    if (std::string_view(prefix()) == "always") steps.push_back(replace("Regex", R"(\A[ ▁])", "  "));
    return steps;
  }

  json pre_tokenizer() const {
    json steps = json::array();
    if (family_.name == "DeBERTa-v2" && flag("split_by_punct", false)) {
      steps.push_back({{"type", "Punctuation"}, {"behavior", "Isolated"}});
    }
    // Splitting at spaces changes nothing if no piece spans one.
    const bool across = std::any_of(model_.pieces.begin(), model_.pieces.end(), [](const SentencePiece& piece) {
      const bool in_text = piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined;
      return in_text && piece.text.find(kSpace, 1) != std::string::npos;
    });
    const bool only_spaces = model_.remove_extra_whitespaces && !model_.charsmap.empty();
    if (family_.splits_at_spaces && only_spaces && !across) steps.push_back({{"type", "WhitespaceSplit"}});
    steps.push_back({{"type", "Metaspace"}, {"replacement", kSpace}, {"prepend_scheme", prefix()}, {"split", !across}});
    return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}};
  }

  json model() const {
    if (model_.kind == SentencePieceKind::kUnigram) {
      json pieces = json::array();
      for (const Entry& entry : entries_) pieces.push_back({entry.piece, entry.score});
      return {{"type", "Unigram"},
              {"unk_id", unknown_},
              {"byte_fallback", model_.byte_fallback},
              {"vocab", std::move(pieces)}};
    }
    json pieces = json::object();
    for (std::size_t id = 0; id < entries_.size(); ++id) pieces[entries_[id].piece] = id;
    json merges = json::array();
    for (const auto& [left, right] : sentencepiece_merges(model_)) merges.push_back({left, right});
    return {{"type", "BPE"},
            {"unk_token", entries_[unknown_].piece},
            {"fuse_unk", true},
            {"byte_fallback", model_.byte_fallback},
            {"vocab", std::move(pieces)},
            {"merges", std::move(merges)}};
  }

  std::string language() const {
    std::string code = settings_.text("src_lang").value_or(std::string(family_.language));
    std::string piece = in_frame(code);
    if (std::find(languages_.begin(), languages_.end(), piece) == languages_.end()) {
      fail_settings(folder_.label("tokenizer_config.json"),
                    fmt::format("a language code of {} as src_lang", family_.name), quote_name(code),
                    fmt::format("use one such as {}", family_.language));
    }
    return piece;
  }

  json post_processor() const {
    const auto token_of = [&](const std::string& name) -> std::optional<TemplateToken> {
      if (name == "bos?" && !flag("add_bos_token", true)) return std::nullopt;
      if (name == "eos?" && !flag("add_eos_token", false)) return std::nullopt;
      if (name != "lang") return vocabulary_.template_token(name.substr(0, 3));
      const std::string piece = language();
      return TemplateToken{piece, vocabulary_.pieces.at(piece).get<std::uint64_t>()};
    };
    const bool language_last = family_.name == "NLLB" && flag("legacy_behaviour", false);
    return template_processor(language_last ? "A eos lang" : family_.single,
                              language_last ? "A B eos lang" : family_.pair, token_of);
  }

  const Folder& folder_;
  TokenizerSettings settings_;
  const SentencePieceFamily& family_;
  std::string file_;
  bool is_of_sources_ = false;
  SentencePieceModel model_;
  Vocabulary vocabulary_;
  std::vector<Entry> entries_;  // of the model in the document, in its own numbering
  std::size_t unknown_ = 0;
  double lowest_ = 0;  // lowest score of a piece that occurs in text
  std::vector<std::string> more_specials_;
  std::vector<std::string> languages_;
};

}  // namespace

bool has_sentencepiece(const Folder& folder) { return !find_sentencepiece(folder).empty(); }

TokenizerDocument read_sentencepiece(const Folder& folder, const std::string& model_type, TextSide side) {
  return Converter(folder, model_type, side).convert();
}

}  // namespace attnflow::internal
