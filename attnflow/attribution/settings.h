// The choices that make the numbers, as types.
//
// They have the same names on the command line (with dashes), in requests to the server and in a report's settings
// (with underscores): attribution/setting_options.h is the table of those names. What a choice means for an input, such
// as which token is meant by "mask", attribution/resolve.h says.
//
// Each type that is written as text has two functions: to_text(), and a parse function that throws Error(kUsage) with
// the option's name, what was expected and what was found.
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

// How heads are fused: mean, max, min, or the number of one head.
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

// Which output token is meant: auto, cls, mask, last, all, a position, or the text of a token.
struct OutputToken {
  enum class Kind : std::uint8_t { kAuto, kClass, kMask, kLast, kAll, kPosition, kText };
  Kind kind = Kind::kAuto;
  std::size_t position = 0;  // kPosition
  std::string text = {};     // kText

  // Whether the user named one token. For auto and all, a model's prediction may decide which token is used.
  bool is_named() const { return kind != Kind::kAuto && kind != Kind::kAll; }
  friend bool operator==(const OutputToken&, const OutputToken&) = default;
};

struct Settings {
  std::vector<Method> methods = {Method::kRaw, Method::kRollout, Method::kFlow};  // in this order
  Mixing mixing = Mixing::kAttention;
  std::string target = "auto";   // of what explains one prediction: which class or token is explained, as asked
  std::string against = "auto";  // and instead of which other
  HeadChoice heads = {};
  double residual = 0.5;              // rho, for mixings that use it (MixingInfo::takes_residual()); for others, 0.5
  double discard = 0.0;               // share of the smallest weights set to zero
  bool discard_keep_special = false;  // the columns of special tokens are kept by discard
  ColumnMask column_mask = {};
  std::vector<std::size_t> layers = {};  // the l, increasing, 1-based; before resolving, empty: all above start_layer
  bool layers_named = false;             // after resolving: somebody asked for these, so tables show each of them
  std::size_t start_layer = 0;           // m
  OutputToken output_token = {};
  Normalization normalization = Normalization::kNone;
  bool words = false;  // the subword tokens of a word are merged
  double flow_tolerance = 1e-6;
  std::size_t top_k = 10;  // how many tokens rankings show

  bool wants(Method method) const { return std::find(methods.begin(), methods.end(), method) != methods.end(); }
  bool has_target() const { return mixing_info(mixing).has_target(); }
  // One prediction is explained, by the mixing or by a method beside the graph.
  bool explains_prediction() const {
    return has_target() ||
           std::any_of(methods.begin(), methods.end(), [](Method method) { return method_info(method).has_target(); });
  }
  // Some matrix of a layer is asked for.
  bool wants_aggregation() const {
    return std::any_of(methods.begin(), methods.end(), [](Method method) { return method_info(method).aggregates(); });
  }
  // The gradient is what the attention is weighted with.
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
// "1-6", "4", "1,3,5-6" -> layers, increasing, each once; "" -> none.
std::vector<std::size_t> parse_layers(std::string_view text);
// "0,3,17" -> positions; `option` for the message, with dashes.
std::vector<std::size_t> parse_positions(std::string_view text, std::string_view option);

// Throws Error(kUsage) for settings that are wrong whatever the input is: numbers out of range, and choices that
// exclude each other.
void validate(const Settings& settings);

}  // namespace attnflow
