#include "attnflow/analysis/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "attnflow/analysis/explain.h"

namespace attnflow {
namespace {

std::optional<std::size_t> parse_number(std::string_view text) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

// Longer lists of layers than any model has would only be a way to use up memory.
constexpr std::size_t kMostLayers = 100'000;

bool is_one_of(const std::string& value, std::initializer_list<const char*> choices) {
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

}  // namespace

bool wants(const ReportSettings& settings, const std::string& method) {
  return std::find(settings.method.begin(), settings.method.end(), method) != settings.method.end();
}

Method method_of(const std::string& name) {
  return name == "raw" ? Method::kRaw : name == "rollout" ? Method::kRollout : Method::kFlow;
}

std::vector<std::size_t> parse_positions(const std::string& text, const std::string& option) {
  std::vector<std::size_t> positions;
  for (const std::string_view part : split(text, ',')) {
    const auto position = parse_number(part);
    if (!position) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--{}: expected positions such as 0 or 0,5, found '{}'", option, text));
    }
    positions.push_back(*position);
  }
  return positions;
}

std::vector<std::size_t> parse_layers(const std::string& text) {
  std::vector<std::size_t> layers;
  if (text.empty()) return layers;
  const auto fail = [&]() -> Error {
    return {
        ErrorKind::kUsage,
        fmt::format("--layers: expected layers such as 6, 1-6 or 1,3,5-6 (the first layer is 1), found '{}'", text)};
  };
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_number(part.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first || *last > kMostLayers) throw fail();
    for (std::size_t l = *first; l <= *last; ++l) layers.push_back(l);
  }
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

void validate_settings(const ReportSettings& settings) {
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  expect(!settings.method.empty(), "--method: expected at least one of raw, rollout, flow, found none");
  for (const std::string& method : settings.method) {
    expect(is_one_of(method, {"raw", "rollout", "flow"}),
           fmt::format("--method: expected raw, rollout or flow, or several joined by commas, found '{}'", method));
    expect(std::count(settings.method.begin(), settings.method.end(), method) == 1,
           fmt::format("--method: expected each method once, found '{}' twice", method));
  }
  expect(is_one_of(settings.mixing, {"attention", "gradient", "gradient-renormalized"}),
         fmt::format("--mixing: expected attention, gradient or gradient-renormalized, found '{}'", settings.mixing));
  expect(!settings.target.empty(), "--target: expected auto, a class or a token, found nothing");
  if (has_gradient_mixing(settings)) {
    expect(settings.heads == "mean",
           fmt::format("--mixing {}: expected --heads mean, by which it is defined (clipped head by head, then "
                       "averaged), found --heads {}",
                       settings.mixing, settings.heads));
    expect(settings.residual == ReportSettings{}.residual,
           fmt::format("--mixing {}: expected no --residual, since the identity is added whole (A = I + G), found "
                       "--residual {}",
                       settings.mixing, settings.residual));
  } else {
    expect(settings.target == "auto",
           fmt::format("--target: expected --mixing gradient, whose score it names, found --mixing {} with --target {}",
                       settings.mixing, settings.target));
  }
  expect(is_one_of(settings.heads, {"mean", "max", "min"}) || parse_number(settings.heads).has_value(),
         fmt::format("--heads: expected mean, max, min or the number of a head, found '{}'", settings.heads));
  expect(settings.residual >= 0.0 && settings.residual <= 1.0,
         fmt::format("--residual: expected a weight from 0 to 1, found {}", settings.residual));
  expect(settings.discard >= 0.0 && settings.discard < 1.0,
         fmt::format("--discard: expected a share of at least 0 and below 1, found {}", settings.discard));
  expect(settings.flow_tolerance >= 1e-12 && settings.flow_tolerance <= 1.0,
         fmt::format("--flow-tolerance: expected a value from 1e-12 to 1, found {}", settings.flow_tolerance));
  expect(is_one_of(settings.normalize, {"none", "row", "receptive-field"}),
         fmt::format("--normalize: expected none, row or receptive-field, found '{}'", settings.normalize));
  expect(!settings.output_token.empty(),
         "--output-token: expected auto, cls, mask, last, all, a position or the text of a token, found nothing");
  expect(settings.top_k >= 1, "--top-k: expected at least 1, found 0");
  if (!is_one_of(settings.set_aside, {"none", "first", "special", "registers"}))
    parse_positions(settings.set_aside, "set-aside");
}

MixingOptions mixing_options(const ReportSettings& settings, const std::vector<ReportToken>& tokens,
                             std::size_t heads) {
  if (settings.mixing != "attention") {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--mixing: expected attention, which is all that can be used here, found {}", settings.mixing));
  }
  MixingOptions mixing;
  mixing.residual = settings.residual;
  mixing.discard = settings.discard;
  if (settings.heads == "mean") {
    mixing.heads = HeadFusion::kMean;
  } else if (settings.heads == "max") {
    mixing.heads = HeadFusion::kMax;
  } else if (settings.heads == "min") {
    mixing.heads = HeadFusion::kMin;
  } else {
    mixing.heads = HeadFusion::kSingle;
    mixing.head = parse_number(settings.heads).value();
    if (mixing.head >= heads) {
      throw Error(ErrorKind::kUsage, fmt::format("--heads: expected mean, max, min or a head from 0 to {}, found {}",
                                                 heads - 1, mixing.head));
    }
  }
  std::vector<std::size_t> special;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].special && !is_mask_piece(tokens[t].text)) special.push_back(t);
  }
  const bool needs_special = settings.set_aside == "special" || settings.discard_keep_special;
  if (needs_special && special.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("{}: expected tokens marked as special, found none; name positions with --set-aside 0,5, or "
                    "store a bool array 'special' beside the attention",
                    settings.set_aside == "special" ? "--set-aside special" : "--discard-keep-special"));
  }
  if (settings.set_aside == "first") {
    mixing.set_aside = {0};
  } else if (settings.set_aside == "special") {
    mixing.set_aside = special;
  } else if (settings.set_aside == "registers") {
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (tokens[t].role == "register") mixing.set_aside.push_back(t);
    }
    if (mixing.set_aside.empty()) {
      throw Error(ErrorKind::kUsage, "--set-aside registers: expected a model with registers (DINOv2), found none");
    }
  } else if (settings.set_aside != "none") {
    mixing.set_aside = parse_positions(settings.set_aside, "set-aside");
    for (const std::size_t position : mixing.set_aside) {
      if (position >= tokens.size()) {
        throw Error(ErrorKind::kUsage,
                    fmt::format("--set-aside: expected positions from 0 to {}, found {}", tokens.size() - 1, position));
      }
    }
  }
  if (settings.discard_keep_special) mixing.discard_keeps = special;
  return mixing;
}

bool is_mask_piece(const std::string& piece) { return piece == "[MASK]" || piece == "<mask>"; }
bool is_class_piece(const std::string& piece) { return piece == "[CLS]" || piece == "<s>" || piece == "<cls>"; }
bool is_unknown_piece(const std::string& piece) { return piece == "[UNK]" || piece == "<unk>"; }

bool names_token_by_text(const std::string& output_token) {
  return !is_one_of(output_token, {"auto", "cls", "mask", "last", "all"}) && !parse_number(output_token).has_value();
}

std::size_t resolve_token(const std::string& asked, const std::string& option, const std::vector<ReportToken>& tokens,
                          bool causal, std::vector<std::string>& notes) {
  const std::size_t n = tokens.size();
  const auto find = [&](bool (*is_kind)(const std::string&)) -> std::optional<std::size_t> {
    for (std::size_t t = 0; t < n; ++t) {
      if (is_kind(tokens[t].text)) return t;
    }
    return std::nullopt;
  };
  if (asked == "last") return n - 1;
  if (asked == "mask") {
    if (const auto mask = find(is_mask_piece)) return *mask;
    throw Error(ErrorKind::kUsage,
                fmt::format("--{} mask: expected a mask token ([MASK] or <mask>) in the input, found none; write one "
                            "into the text or choose another token",
                            option));
  }
  if (asked == "cls") {
    if (const auto cls = find(is_class_piece)) return *cls;
    throw Error(ErrorKind::kUsage, fmt::format("--{} cls: expected a class token ([CLS] or <s>) in the input, found "
                                               "none; choose an index, or last",
                                               option));
  }
  if (asked == "auto") {
    if (const auto mask = find(is_mask_piece)) return *mask;
    if (causal) return n - 1;
    if (const auto cls = find(is_class_piece)) return *cls;
    notes.emplace_back(fmt::format(
        "No token is marked as a mask or class token, so the output token is position 0; --{} chooses another.",
        option));
    return 0;
  }
  const auto index = parse_number(asked);
  if (!index || *index >= n) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--{}: expected auto, cls, mask, last{} or a position from 0 to {}, found {}", option,
                            option == "output-token" ? ", all" : "", n - 1, asked));
  }
  return *index;
}

std::size_t resolve_output_token(const std::string& asked, const std::vector<ReportToken>& tokens, bool causal,
                                 std::vector<std::string>& notes) {
  return resolve_token(asked == "all" ? "auto" : asked, "output-token", tokens, causal, notes);
}

CertificatePair parse_certificate(const std::string& text) {
  const std::vector<std::string_view> parts = split(text, ',');
  const auto is_token = [](const std::string& part, bool output) {
    return (output && part == "auto") || is_one_of(part, {"cls", "mask", "last"}) || parse_number(part).has_value();
  };
  CertificatePair pair;
  if (parts.size() == 2) pair = {std::string(parts[0]), std::string(parts[1])};
  if (parts.size() != 2 || !is_token(pair.output_token, true) || !is_token(pair.input_token, false)) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--certificate: expected an output token (auto, cls, mask, last or a position), a comma and "
                    "an input token (cls, mask, last or a position), such as cls,5, found '{}'",
                    text));
  }
  return pair;
}

}  // namespace attnflow
