#include "attnflow/attribution/settings.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/base/suggestion.h"

namespace attnflow {
namespace {

template <typename Choice>
struct Name {
  Choice choice;
  const char* text;
};

constexpr std::array<Name<HeadFusion>, 3> kFusions = {
    {{HeadFusion::kMean, "mean"}, {HeadFusion::kMax, "max"}, {HeadFusion::kMin, "min"}}};
constexpr std::array<Name<ColumnMask::Kind>, 4> kMasks = {{{ColumnMask::Kind::kNone, "none"},
                                                           {ColumnMask::Kind::kFirst, "first"},
                                                           {ColumnMask::Kind::kSpecial, "special"},
                                                           {ColumnMask::Kind::kRegisters, "registers"}}};
constexpr std::array<Name<OutputToken::Kind>, 5> kOutputTokens = {{{OutputToken::Kind::kAuto, "auto"},
                                                                   {OutputToken::Kind::kClass, "cls"},
                                                                   {OutputToken::Kind::kMask, "mask"},
                                                                   {OutputToken::Kind::kLast, "last"},
                                                                   {OutputToken::Kind::kAll, "all"}}};
constexpr std::array<Name<Normalization>, 3> kNormalizations = {{{Normalization::kNone, "none"},
                                                                 {Normalization::kRow, "row"},
                                                                 {Normalization::kReceptiveField, "receptive-field"}}};

// Exceeds any model's layers; bounds the memory that a list can use.
constexpr std::size_t kMaxLayers = 100'000;

template <typename Names, typename Choice>
std::string text_of(const Names& names, Choice choice) {
  for (const auto& name : names) {
    if (name.choice == choice) return name.text;
  }
  return "";
}

template <typename Choice, std::size_t n>
std::optional<Choice> find(const std::array<Name<Choice>, n>& names, std::string_view text) {
  for (const auto& name : names) {
    if (name.text == text) return name.choice;
  }
  return std::nullopt;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(',');
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

template <typename Names>
std::vector<std::string> texts_of(const Names& names) {
  std::vector<std::string> texts;
  for (const auto& name : names) texts.emplace_back(name.text);
  return texts;
}

Error unknown(const char* option, const char* expected, std::string_view found,
              const std::vector<std::string>& names = {}) {
  return {ErrorKind::kUsage, fmt::format("--{}: expected {}, found '{}'{}", option, expected, found,
                                         internal::did_you_mean(found, names))};
}

}  // namespace

std::string to_text(const HeadChoice& heads) {
  return heads.is_single() ? std::to_string(heads.head) : text_of(kFusions, heads.fusion);
}
std::string to_text(const ColumnMask& mask) {
  return mask.kind == ColumnMask::Kind::kPositions ? fmt::format("{}", fmt::join(mask.positions, ","))
                                                   : text_of(kMasks, mask.kind);
}
std::string to_text(const OutputToken& token) {
  if (token.kind == OutputToken::Kind::kPosition) return std::to_string(token.position);
  return token.kind == OutputToken::Kind::kText ? token.text : text_of(kOutputTokens, token.kind);
}
std::string to_text(Normalization normalization) { return text_of(kNormalizations, normalization); }

HeadChoice parse_heads(std::string_view text) {
  if (const auto fusion = find(kFusions, text)) return {.fusion = *fusion};
  if (const auto head = internal::parse_number(text)) return {.fusion = HeadFusion::kSingle, .head = *head};
  throw unknown("heads", "mean, max, min or the index of a head", text, texts_of(kFusions));
}

ColumnMask parse_column_mask(std::string_view text) {
  if (const auto kind = find(kMasks, text)) return {.kind = *kind};
  const bool is_word = text.find_first_of("0123456789") == std::string_view::npos;
  if (is_word)
    throw unknown("mask-columns", "none, first, special, registers or positions such as 0,5", text, texts_of(kMasks));
  return {.kind = ColumnMask::Kind::kPositions, .positions = parse_positions(text, "mask-columns")};
}

OutputToken parse_output_token(std::string_view text) {
  if (text.empty()) {
    throw Error(ErrorKind::kUsage,
                "--output-token: expected auto, cls, mask, last, all, a position or the text of a token, found none");
  }
  if (const auto kind = find(kOutputTokens, text)) return {.kind = *kind};
  if (const auto position = internal::parse_number(text))
    return {.kind = OutputToken::Kind::kPosition, .position = *position};
  return {.kind = OutputToken::Kind::kText, .text = std::string(text)};
}

Normalization parse_normalization(std::string_view text) {
  if (const auto normalization = find(kNormalizations, text)) return *normalization;
  throw unknown("normalize", "none, row or receptive-field", text, texts_of(kNormalizations));
}

std::vector<std::size_t> parse_layers(std::string_view text) {
  std::vector<std::size_t> layers;
  if (text.empty()) return layers;
  for (const std::string_view part : split(text)) {
    const std::size_t dash = part.find('-');
    const auto first = internal::parse_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : internal::parse_number(part.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first || *last > kMaxLayers) {
      throw unknown("layers", "layers such as 6, 1-6 or 1,3,5-6 (the first layer is 1)", text);
    }
    for (std::size_t l = *first; l <= *last; ++l) layers.push_back(l);
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

std::vector<std::size_t> parse_positions(std::string_view text, std::string_view option) {
  std::vector<std::size_t> positions;
  for (const std::string_view part : split(text)) {
    const auto position = internal::parse_number(part);
    if (!position) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--{}: expected positions such as 0 or 0,5, found '{}'", option, text));
    }
    positions.push_back(*position);
  }
  return positions;
}

void validate(const Settings& settings) {
  const auto expect = [](bool holds, const auto& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message());
  };
  require_each_once(settings.methods);
  check_ranges(settings);
  const MixingInfo& mixing = mixing_info(settings.mixing);
  expect(!settings.target.empty(), [] { return "--target: expected auto, a class or a token, found none"; });
  expect(!settings.against.empty(), [] { return "--against: expected auto, a class or a token, found none"; });
  if (mixing.needs != MixingNeeds::kAttention) {
    expect(settings.heads == HeadChoice{}, [&] {
      return fmt::format("--mixing {} requires --heads mean: it combines the heads in its own way, found --heads {}",
                         mixing.name, to_text(settings.heads));
    });
  }
  if (!mixing.takes_residual()) {
    expect(settings.residual == Settings{}.residual, [&] {
      return fmt::format("--mixing {} does not allow --residual: {}, found --residual {}", mixing.name,
                         settings.weights_by_gradient() ? "it adds the whole identity (A = I + G)"
                                                        : "it measures how much stays at each position",
                         settings.residual);
    });
  }
  // Mixing::kAuto may later resolve to a mixing that has a target.
  if (!settings.explains_prediction() && settings.mixing != Mixing::kAuto) {
    expect(settings.target == "auto" && settings.against == "auto", [&] {
      return fmt::format(
          "--{}: expected a mixing that explains one prediction (relevance, gradient) or a method that does (attnlrp, "
          "blank-out), found --mixing {} --method {}",
          settings.target == "auto" ? "against" : "target", mixing.name, fmt::join(to_texts(settings.methods), ","));
    });
  }
}

}  // namespace attnflow
