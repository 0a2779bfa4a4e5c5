#include "attnflow/attribution/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "attnflow/attribution/patch_name.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/graph/layers.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListedPositions = 20;

std::vector<std::size_t> last_tokens(const std::vector<TextWord>& words, const std::vector<std::size_t>& found) {
  std::vector<std::size_t> positions;
  for (const std::size_t word : found) positions.push_back(words[word].tokens.back());
  return positions;
}

std::vector<std::size_t> find_pieces(const InputText& input, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t t = 0; t < input.tokens.size(); ++t) {
    const bool same = input.tokens[t].text == text || without_leading_spaces(own_text(input, t)) == text;
    if (same) found.push_back(t);
  }
  return found;
}

std::vector<std::string> nameable(const std::vector<TextWord>& words) {
  std::vector<std::string> names = {"auto", "cls", "mask", "last", "all"};
  for (const TextWord& word : words) names.push_back(word.text);
  return names;
}

// A leading space marks a word that would otherwise be a keyword or a position: " last", " 7".
std::string asked_word(const std::string& text) {
  const std::string word = without_leading_spaces(text);
  const bool is_keyword = !word.empty() && parse_output_token(word).kind != OutputToken::Kind::kText;
  return is_keyword ? word : text;
}

std::string list_positions(const std::vector<std::size_t>& positions) {
  const std::size_t listed = std::min(positions.size(), kMaxListedPositions);
  const std::vector<std::size_t> some(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(listed));
  return fmt::format("{}{}", fmt::join(some, ", "), listed < positions.size() ? ", ..." : "");
}

// For a picture, whose patches are in row order and named "0,0", "0,1", ... by row and column.
std::optional<std::size_t> middle_patch(const std::vector<InputToken>& tokens) {
  std::size_t first = 0;
  while (first < tokens.size() && tokens[first].role != "patch") ++first;
  std::size_t columns = 0;
  while (first + columns < tokens.size() && tokens[first + columns].text.starts_with("0,")) ++columns;
  if (columns == 0) return std::nullopt;
  const std::size_t rows = (tokens.size() - first) / columns;
  return first + rows / 2 * columns + columns / 2;
}

}  // namespace

ResolvedSettings resolve(const Settings& settings, const InputFacts& facts) {
  const std::vector<InputToken>& tokens = facts.input.tokens;
  ResolvedSettings resolved;
  static_cast<ResolvedMixing&>(resolved) = resolve_mixing(settings, tokens, facts.heads);
  resolved.layers = resolve_layers(settings.layers, settings.start_layer, facts.layers);
  resolved.output_token =
      resolve_output_token(settings.output_token, facts.input, facts.causal, settings.words, resolved.notes);
  return resolved;
}

ResolvedMixing resolve_mixing(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads) {
  ResolvedMixing resolved;
  resolved.kind = settings.mixing;
  MixingOptions& mixing = resolved.mixing;
  mixing.residual = settings.residual;
  mixing.discard = settings.discard;
  mixing.heads = settings.heads.fusion;
  mixing.head = settings.heads.head;
  if (settings.heads.is_single() && mixing.head >= heads) {
    throw Error(ErrorKind::kUsage, fmt::format("--heads: expected mean, max, min or a head from 0 to {}, found {}",
                                               heads - 1, mixing.head));
  }
  using Mask = ColumnMask::Kind;
  const Mask mask = settings.column_mask.kind;
  std::vector<std::size_t> special;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].special && !is_mask_piece(tokens[t].text)) special.push_back(t);
  }
  const bool needs_special = mask == Mask::kSpecial || settings.discard_keep_special;
  if (needs_special && special.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}: expected tokens marked as special, found none; give positions with --mask-columns 0,5, or "
                    "store a bool array 'special' next to the attention",
                    mask == Mask::kSpecial ? "--mask-columns special" : "--discard-keep-special"));
  }
  switch (mask) {
    case Mask::kNone:
      break;
    case Mask::kFirst:
      mixing.mask_columns = {0};
      break;
    case Mask::kSpecial:
      mixing.mask_columns = special;
      break;
    case Mask::kRegisters:
      for (std::size_t t = 0; t < tokens.size(); ++t) {
        if (tokens[t].role == "register") mixing.mask_columns.push_back(t);
      }
      if (mixing.mask_columns.empty()) {
        throw Error(ErrorKind::kUsage,
                    "--mask-columns registers: expected a model with registers (DINOv2), found none");
      }
      break;
    case Mask::kPositions:
      mixing.mask_columns = settings.column_mask.positions;
      for (const std::size_t position : mixing.mask_columns) {
        if (position < tokens.size()) continue;
        throw Error(ErrorKind::kUsage, fmt::format("--mask-columns: expected positions from 0 to {}, found {}",
                                                   tokens.size() - 1, position));
      }
      break;
  }
  if (settings.discard_keep_special) mixing.discard_keeps = special;
  return resolved;
}

MixingOptions mixing_options(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads) {
  if (mixing_info(settings.mixing).needs != MixingNeeds::kAttention) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--mixing: expected attention, the only choice here, found {}", to_text(settings.mixing)));
  }
  return resolve_mixing(settings, tokens, heads).mixing;
}

std::size_t resolve_token(const OutputToken& asked, std::string_view option, const std::vector<InputToken>& tokens,
                          bool causal, std::vector<Note>& notes) {
  using Kind = OutputToken::Kind;
  const std::size_t n = tokens.size();
  const auto find = [&](bool (*is_kind)(std::string_view)) -> std::optional<std::size_t> {
    for (std::size_t t = 0; t < n; ++t) {
      if (is_kind(tokens[t].text)) return t;
    }
    return std::nullopt;
  };
  switch (asked.kind) {
    case Kind::kLast:
      return n - 1;
    case Kind::kMask:
      if (const auto mask = find(is_mask_piece)) return *mask;
      throw Error(ErrorKind::kUsage, fmt::format("--{} mask: expected a mask token ([MASK] or <mask>) in the input, "
                                                 "found none; write one in the text or choose another token",
                                                 option));
    case Kind::kClass:
      if (const auto cls = find(is_class_piece)) return *cls;
      throw Error(ErrorKind::kUsage, fmt::format("--{} cls: expected a class token ([CLS] or <s>) in the input, found "
                                                 "none; choose an index, or last",
                                                 option));
    case Kind::kAuto:
    case Kind::kAll:
      if (const auto mask = find(is_mask_piece)) return *mask;
      if (causal) return n - 1;
      if (const auto cls = find(is_class_piece)) return *cls;
      if (const auto middle = middle_patch(tokens)) {
        notes.push_back({NoteCode::kOutputTokenMiddle, {{"patch", internal::shown_piece(tokens[*middle])}}});
        return *middle;
      }
      notes.emplace_back(NoteCode::kOutputTokenGuessed);
      return 0;
    case Kind::kPosition:
      if (asked.position < n) return asked.position;
      break;
    case Kind::kText:
      break;
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("--{}: expected auto, cls, mask, last{} or a position from 0 to {}, found {}", option,
                          option == "output-token" ? ", all" : "", n - 1, to_text(asked)));
}

std::size_t resolve_output_token(const OutputToken& asked, const InputText& input, bool causal, bool merges_words,
                                 std::vector<Note>& notes) {
  const std::vector<InputToken>& tokens = input.tokens;
  if (asked.kind != OutputToken::Kind::kText) return resolve_token(asked, "output-token", tokens, causal, notes);

  const std::string name = asked_word(asked.text);
  const std::vector<TextWord> words = text_words(input);
  std::vector<std::size_t> found_words = find_exact_words(words, name);
  std::vector<std::size_t> found = last_tokens(words, found_words);
  if (found.empty()) found = find_pieces(input, name);
  if (found.empty()) {
    found_words = find_words(words, name);
    found = last_tokens(words, found_words);
  }
  if (found.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("--output-token: expected auto, cls, mask, last, all, a position from 0 "
                                               "to {} or a token that occurs in the text, found '{}'; {}{}",
                                               tokens.size() - 1, name,
                                               words.empty() ? std::string("the tokens have no text")
                                                             : "the words are " + list_words(words),
                                               internal::did_you_mean(name, nameable(words))));
  }
  if (found.size() > 1) {
    throw Error(ErrorKind::kUsage, fmt::format("--output-token: expected a word or token that occurs once, found '{}' "
                                               "{} times, at positions {}; give one of these positions",
                                               name, found.size(), list_positions(found)));
  }
  const std::size_t pieces = found_words.empty() ? 1 : words[found_words.front()].tokens.size();
  if (pieces > 1 && !merges_words) {
    notes.push_back(
        {NoteCode::kOutputTokenOfWord, {{"word", clean_line(name)}, {"tokens", pieces}, {"position", found.front()}}});
  }
  return found.front();
}

bool is_mask_piece(std::string_view piece) { return piece == "[MASK]" || piece == "<mask>"; }
bool is_class_piece(std::string_view piece) { return piece == "[CLS]" || piece == "<s>" || piece == "<cls>"; }
bool is_unknown_piece(std::string_view piece) { return piece == "[UNK]" || piece == "<unk>"; }

}  // namespace attnflow
