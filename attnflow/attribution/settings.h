// The choices that determine the numbers.
//
// They have the same names on the command line (with dashes), in requests and in a report's settings (with
// underscores), listed in attribution/setting_options.h. attribution/resolve.h resolves choices such as "mask".
//
// Each type with a text form has to_text() and a parse function, which throws Error(kUsage) (option, expected, found).
//
// Example:
//
//     Settings settings;
//     settings.methods = {Method::kRollout, Method::kFlow};
//     settings.heads = parse_heads("max");
//     settings.layers = parse_layers("1-3,6");
//     settings.column_mask.kind = ColumnMask::Kind::kSpecial;
//     validate(settings);  // throws where choices exclude each other
//     assert(to_text(settings.heads) == "max" && to_text(settings.column_mask) == "special");
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/attribution/mixings.h"
#include "attnflow/attribution/query.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

// How heads are fused: mean, max, min, or one head by number.
struct HeadChoice {
  HeadFusion fusion = HeadFusion::kMean;
  std::size_t head = 0;  // kSingle
  bool is_single() const { return fusion == HeadFusion::kSingle; }
  friend bool operator==(const HeadChoice&, const HeadChoice&) = default;
};

// Which key columns get no attention: none, first, special, registers, or positions such as 0,5.
struct ColumnMask {
  enum class Kind : std::uint8_t { kNone, kFirst, kSpecial, kRegisters, kPositions };
  Kind kind = Kind::kNone;
  std::vector<std::size_t> positions = {};  // kPositions
  friend bool operator==(const ColumnMask&, const ColumnMask&) = default;
};

// The output token: auto, cls, mask, last, all, a position, or a token's text.
struct OutputToken {
  enum class Kind : std::uint8_t { kAuto, kClass, kMask, kLast, kAll, kPosition, kText };
  Kind kind = Kind::kAuto;
  std::size_t position = 0;  // kPosition
  std::string text = {};     // kText

  // Whether the user named one token. For auto and all, a model's prediction may decide which one is used.
  bool is_named() const { return kind != Kind::kAuto && kind != Kind::kAll; }
  friend bool operator==(const OutputToken&, const OutputToken&) = default;
};

struct Settings {
  std::vector<Method> methods = {Method::kRaw, Method::kRollout, Method::kFlow};  // in this order
  Mixing mixing = Mixing::kAttention;
  std::string target = "auto";   // the class or token to explain, as given by the user
  std::string against = "auto";  // the class or token to compare it with
  HeadChoice heads = {};
  double residual = 0.5;              // rho, for mixings that use it (MixingInfo::takes_residual()); for others, 0.5
  double discard = 0.0;               // share of the smallest weights set to zero
  bool discard_keep_special = false;  // discard keeps the columns of special tokens
  ColumnMask column_mask = {};
  std::vector<std::size_t> layers = {};  // the l, increasing, 1-based; empty before resolving: all above start_layer
  bool layers_named = false;             // after resolving: the user named them, so tables show each one
  std::size_t start_layer = 0;           // m
  OutputToken output_token = {};
  Normalization normalization = Normalization::kNone;
  bool words = false;  // merge a word's subword tokens
  double flow_tolerance = 1e-6;
  std::size_t top_k = 10;  // number of tokens in rankings

  bool wants(Method method) const { return std::find(methods.begin(), methods.end(), method) != methods.end(); }
  bool has_target() const { return mixing_info(mixing).has_target(); }
  // Whether the mixing or a method explains one prediction.
  bool explains_prediction() const {
    return has_target() ||
           std::any_of(methods.begin(), methods.end(), [](Method method) { return method_info(method).has_target(); });
  }
  bool wants_aggregation() const {
    return std::any_of(methods.begin(), methods.end(), [](Method method) { return method_info(method).aggregates(); });
  }
  bool weights_by_gradient() const { return mixing_info(mixing).needs == MixingNeeds::kGradients; }
};

std::string to_text(const HeadChoice& heads);
std::string to_text(const ColumnMask& mask);
std::string to_text(const OutputToken& token);
std::string to_text(Normalization normalization);

HeadChoice parse_heads(std::string_view text);
ColumnMask parse_column_mask(std::string_view text);
OutputToken parse_output_token(std::string_view text);
Normalization parse_normalization(std::string_view text);
// "1-6", "4", "1,3,5-6" -> layers, strictly increasing; "" -> none.
std::vector<std::size_t> parse_layers(std::string_view text);
// "0,3,17" -> positions; `option` is the name for messages, with dashes.
std::vector<std::size_t> parse_positions(std::string_view text, std::string_view option);

// Throws Error(kUsage) for numbers out of range and choices that exclude each other, whatever the input.
void validate(const Settings& settings);

}  // namespace attnflow
