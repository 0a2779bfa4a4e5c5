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

// "raw (...); rollout (...)" behind an introduction, of a table whose rows have a name and a help.
std::string help_of(std::string_view introduction, const auto& rows) {
  std::string help(introduction);
  for (const auto& row : rows) help += fmt::format("{}{} ({})", help.back() == ' ' ? "" : "; ", row.name, row.help);
  return help;
}

const char* method_help() {
  static const std::string kHelp = help_of("Comma-separated list of methods: ", all_methods());
  return kHelp.c_str();
}

const char* mixing_help() {
  static const std::string kHelp = help_of("Matrix of each layer: ", all_mixings());
  return kHelp.c_str();
}

std::vector<const char*> names_of(const auto& rows) {
  std::vector<const char*> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

std::vector<SettingOption> make_table() {
  constexpr unsigned kReport = kForExplain | kForImage;
  constexpr unsigned kOfText = kForExplain | kForGenerate;
  constexpr unsigned kWhole = kReport | kForText | kForCorrelations;  // all matrices are at hand
  constexpr unsigned kGraph = kWhole | kForGenerate | kForEvidence;
  constexpr unsigned kAll = kGraph | kForImageCurves;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  std::vector<SettingOption> table = {
      row<&Settings::methods>("method", kAll, method_help(), names_of(all_methods())),
      row<&Settings::mixing>("mixing", kReport | kForGenerate, mixing_help(), names_of(all_mixings())),
      row<&Settings::target>("target", kReport,
                             "Prediction to explain, for a mixing or method that explains one: a class (label or "
                             "index), a token (a word, or id:N) or an answer (the position of its first token); "
                             "auto: the most probable"),
      row<&Settings::against>(
          "against", kReport,
          "What --target is compared with: a class or token, whose logit is subtracted; rest (all others); none (the "
          "logit alone); auto (of tokens the next most probable, of classes all others)"),
      row<&Settings::heads>("heads", kAll,
                            "How to combine a layer's heads: mean, max, min, or the index of a single head", {},
                            SettingForm::kNumberToo),
      number<&Settings::residual>("residual", kAll, "Weight rho of the residual connection in A = (1 - rho) W + rho I",
                                  {0.0, 1.0, false, "weight"}),
      number<&Settings::discard>("discard", kWhole, "Fraction of each layer's weights to set to 0, the smallest first",
                                 {0.0, 1.0, true, "share"}),
      row<&Settings::discard_keep_special>("discard_keep_special", kWhole,
                                           "Keep the weights of special tokens when discarding"),
      row<&Settings::column_mask>("mask_columns", kWhole | kForGenerate | kForImageCurves,
                                  "Mask attention to these tokens, so that nothing is attributed to them: none, first "
                                  "(a decoder's attention sink), "
                                  "special, registers (of images), or positions such as 0,5",
                                  {}, SettingForm::kPositionsToo),
      row<&Settings::layers>("layers", kAll, "Layers to explain, such as 6, 1-6 or 1,3,6 (default: all)", {},
                             SettingForm::kRangesToo, {1.0}),
      number<&Settings::start_layer>("start_layer", kAll, "Layer that paths are traced back to; 0 is the input", {}),
      row<&Settings::output_token>(
          "output_token", kWhole,
          "auto (the mask if any, else the class token or the first; causal models: the "
          "last), cls, mask, last, all, a position, or a word or token that occurs once (' last', with a "
          "space, is the word)",
          {}, SettingForm::kNumberToo),
      row<&Settings::normalization>("normalize", kReport | kForGenerate | kForText,
                                    "Divide values: none, row (each row by its sum), or receptive-field (each value by "
                                    "its value under uniform attention)",
                                    {"none", "row", "receptive-field"}),
      row<&Settings::words>("words", kOfText, "Merge subword tokens into words"),
      number<&Settings::flow_tolerance>(
          "flow_tolerance", kWhole | kForGenerate,
          "Tolerance for calling a flow degenerate (set by the first or last layer alone), 1e-12 to 1; above 1e-6, "
          "also the widest interval allowed when flow is computed for one output token only, which is faster",
          {1e-12, 1.0}),
      number<&Settings::top_k>("top_k", kReport | kForGenerate | kForText, "Number of tokens in rankings",
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
