#include "attnflow/attribution/setting_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

// Each type of a setting as a value, and back.
SettingValue to_value(bool value) { return value; }
SettingValue to_value(double value) { return value; }
SettingValue to_value(std::size_t value) { return value; }
SettingValue to_value(const std::string& value) { return value; }
SettingValue to_value(const std::vector<std::size_t>& value) { return value; }
SettingValue to_value(const std::vector<Method>& value) { return to_texts(value); }
template <typename Choice>
SettingValue to_value(const Choice& value) {
  return to_text(value);
}

void from_value(const SettingValue& from, Mixing& value) { value = parse_mixing(std::get<std::string>(from)); }
void from_value(const SettingValue& from, HeadChoice& value) { value = parse_heads(std::get<std::string>(from)); }
void from_value(const SettingValue& from, ColumnMask& value) { value = parse_column_mask(std::get<std::string>(from)); }
void from_value(const SettingValue& from, OutputToken& value) {
  value = parse_output_token(std::get<std::string>(from));
}
void from_value(const SettingValue& from, Normalization& value) {
  value = parse_normalization(std::get<std::string>(from));
}
void from_value(const SettingValue& from, std::vector<Method>& value) {
  value = parse_methods(std::get<std::vector<std::string>>(from));
}
void from_value(const SettingValue& from, std::vector<std::size_t>& value) {
  const auto* const text = std::get_if<std::string>(&from);
  value = text != nullptr ? parse_layers(*text) : std::get<std::vector<std::size_t>>(from);
}
template <typename Plain>
void from_value(const SettingValue& from, Plain& value) {
  value = std::get<Plain>(from);
}

template <auto Member>
SettingValue get(const Settings& settings) {
  return to_value(settings.*Member);
}

template <auto Member>
void set(Settings& settings, const SettingValue& value) {
  from_value(value, settings.*Member);
}

// `uses` but for what is told apart in the row.
template <auto Member>
SettingOption row(const char* name, unsigned uses, const char* help, std::vector<const char*> words = {},
                  SettingForm form = SettingForm::kPlain, NumberRange range = {}) {
  return {name, uses, false, form, help, std::move(words), range, get<Member>, set<Member>};
}

template <auto Member>
SettingOption number(const char* name, unsigned uses, const char* help, NumberRange range) {
  return row<Member>(name, uses, help, {}, SettingForm::kPlain, range);
}

std::vector<SettingOption> make_table() {
  constexpr unsigned kReport = kForExplain | kForImage;
  constexpr unsigned kOfText = kForExplain | kForGenerate;
  constexpr unsigned kWhole = kReport | kForText | kForCorrelations;  // all matrices are at hand
  constexpr unsigned kGraph = kWhole | kForGenerate | kForEvidence;
  constexpr unsigned kAll = kGraph | kForImageCurves;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  std::vector<SettingOption> table = {
      row<&Settings::methods>("method", kGraph, "raw, rollout, flow, or several joined by commas",
                              {"raw", "rollout", "flow"}),
      row<&Settings::mixing>(
          "mixing", kReport,
          "What a layer's matrix is made of: attention; gradient (attention weighted with the gradient of "
          "--target, I + G as published for rollout, rows divided by their sums for flow); or "
          "gradient-renormalized (rows divided for rollout, too)",
          {"attention", "gradient", "gradient-renormalized"}),
      row<&Settings::target>("target", kReport,
                             "--mixing gradient: of which class (label or number) or next token (a word, or id:N); "
                             "auto: the most probable"),
      row<&Settings::heads>("heads", kAll, "Head fusion: mean, max, min, or the number of one head", {},
                            SettingForm::kNumberToo),
      number<&Settings::residual>("residual", kAll, "Weight of the residual connection in A = (1 - rho) W + rho I",
                                  {0.0, 1.0, false, "weight"}),
      number<&Settings::discard>("discard", kWhole, "Share of each layer's smallest weights that is set to 0",
                                 {0.0, 1.0, true, "share"}),
      row<&Settings::discard_keep_special>("discard_keep_special", kWhole,
                                           "Weights of special tokens are not discarded"),
      row<&Settings::column_mask>(
          "set_aside", kWhole | kForGenerate | kForImageCurves,
          "Columns that get no attention: none, first, special, registers (of images), or positions such as 0,5", {},
          SettingForm::kPositionsToo),
      row<&Settings::layers>("layers", kAll, "Layers to look from, such as 6, 1-6 or 1,3,6 (default: all)", {},
                             SettingForm::kRangesToo, {1.0}),
      number<&Settings::start_layer>("to_layer", kAll, "Layer to look down to; 0 is the input", {}),
      row<&Settings::output_token>(
          "output_token", kWhole,
          "auto (the mask; else the class token, or the first; in causal models the last), cls, mask, last, "
          "all, a position, or the text of a word or token that the input has once",
          {}, SettingForm::kNumberToo),
      row<&Settings::normalization>("normalize", kReport | kForGenerate | kForText, "none, row, or receptive-field",
                                    {"none", "row", "receptive-field"}),
      row<&Settings::words>("words", kOfText, "Merge the pieces of a word"),
      number<&Settings::flow_tolerance>("flow_tolerance", kWhole | kForGenerate,
                                        "When a flow counts as equal to an end cut, 1e-12 to 1; wider enclosures get a "
                                        "note",
                                        {1e-12, 1.0}),
      number<&Settings::top_k>("top_k", kReport | kForGenerate | kForText, "Tokens that rankings show",
                               {1.0, kNoLimit}),
  };
  table.back().shown = true;
  return table;
}

std::string range_words(const NumberRange& range) {
  if (range.high == std::numeric_limits<double>::infinity()) return fmt::format("at least {:g}", range.low);
  return range.below_high ? fmt::format("a {} of at least {:g} and below {:g}", range.what, range.low, range.high)
                          : fmt::format("a {} from {:g} to {:g}", range.what, range.low, range.high);
}

}  // namespace

std::string SettingOption::dashed() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::span<const SettingOption> setting_options() {
  static const std::vector<SettingOption> kTable = make_table();
  return kTable;
}

void check_ranges(const Settings& settings) {
  for (const SettingOption& option : setting_options()) {
    const auto check = [&](const auto& value) {
      using Value = std::decay_t<decltype(value)>;
      if constexpr (std::is_same_v<Value, double> || std::is_same_v<Value, std::size_t>) {
        const auto number = static_cast<double>(value);
        const bool below = option.range.below_high ? number < option.range.high : number <= option.range.high;
        if (number >= option.range.low && below) return;
        throw Error(ErrorKind::kUsage,
                    fmt::format("--{}: expected {}, found {}", option.dashed(), range_words(option.range), value));
      }
    };
    std::visit(check, option.get(settings));
  }
}

}  // namespace attnflow
