#include "attnflow/attribution/setting_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {

// Conversions for option(), found by argument-dependent lookup.
template <typename Choice>
requires requires(const Choice& choice) { to_text(choice); }
static OptionValue to_value(const Choice& value) { return to_text(value); }
static OptionValue to_value(const std::vector<Method>& value) { return to_texts(value); }
static void from_value(const OptionValue& from, Mixing& value) { value = parse_mixing(std::get<std::string>(from)); }
static void from_value(const OptionValue& from, HeadChoice& value) { value = parse_heads(std::get<std::string>(from)); }
static void from_value(const OptionValue& from, ColumnMask& value) {
  value = parse_column_mask(std::get<std::string>(from));
}
static void from_value(const OptionValue& from, OutputToken& value) {
  value = parse_output_token(std::get<std::string>(from));
}
static void from_value(const OptionValue& from, Normalization& value) {
  value = parse_normalization(std::get<std::string>(from));
}
static void from_value(const OptionValue& from, std::vector<Method>& value) {
  value = parse_methods(std::get<std::vector<std::string>>(from));
}

namespace {

// Returns an introduction followed by "raw (...); rollout (...)" for a table whose rows have a name and a help.
const char* help_of(std::string_view introduction, const auto& rows) {
  static std::string help;  // one per table
  help = introduction;
  for (const auto& row : rows) help += fmt::format("{}{} ({})", help.back() == ' ' ? "" : "; ", row.name, row.help);
  return help.c_str();
}

std::vector<const char*> names_of(const auto& rows) {
  std::vector<const char*> names;
  for (const auto& row : rows) names.push_back(row.name);
  return names;
}

std::vector<SettingOption> make_table() {
  constexpr unsigned kReport = kForExplain | kForImage | kForReports;
  constexpr unsigned kWhole = kReport | kEvaluateRequest | kForCorrelations;  // uses with all matrices available
  constexpr unsigned kGenerations = kForGenerate | kForGenerations;
  constexpr unsigned kGraph = kWhole | kGenerations | kForEvidence;
  constexpr unsigned kAll = kGraph | kForImageCurves;
  constexpr unsigned kPrediction = kForExplain | kForImage | kForModels;
  constexpr double kNoLimit = std::numeric_limits<double>::infinity();
  return {
      option<&Settings::methods>("method", kAll & ~kForValues,
                                 help_of("Comma-separated list of methods: ", all_methods()),
                                 {.words = names_of(all_methods())}),
      option<&Settings::mixing>("mixing", kReport | kGenerations, help_of("Matrix of each layer: ", all_mixings()),
                                {.words = names_of(all_mixings())}),
      option<&Settings::target>(
          "target", kPrediction,
          "Prediction to explain, for a mixing or method that explains one: a class (label or index), a token "
          "(a word, or id:N) or an answer (the position of its first token); for a sentence encoder, a text to which "
          "this one is similar; auto: the most probable, or the text's own embedding"),
      option<&Settings::against>(
          "against", kPrediction | kForEvidence,
          "Compare --target with these, subtracting their mean logit: a class or token, or several separated by "
          "commas; "
          "next10 (the ten most probable others; any number works); rest (all others); none (explain the logit alone); "
          "auto (next10 for tokens, rest for classes)",
          {.form = OptionForm::kNamesToo}),
      option<&Settings::heads>("heads", kAll,
                               "How to combine a layer's heads: mean, max, min, or the index of a single head",
                               {.form = OptionForm::kNumberToo}),
      option<&Settings::residual>("residual", kAll, "Weight rho of the residual connection in A = (1 - rho) W + rho I",
                                  {.range = {0.0, 1.0, false, "weight"}}),
      option<&Settings::discard>("discard", kWhole, "Fraction of each layer's weights to set to 0, the smallest first",
                                 {.range = {0.0, 1.0, true, "share"}}),
      option<&Settings::discard_keep_special>("discard_keep_special", kWhole,
                                              "Keep the weights of special tokens when discarding"),
      option<&Settings::column_mask>(
          "mask_columns", kWhole | kGenerations | kForImageCurves,
          "Mask attention to these tokens, so that nothing is attributed to them: none, first (a decoder's "
          "attention sink), special, registers (of images), or positions such as 0,5",
          {.form = OptionForm::kPositionsToo}),
      option<&Settings::layers>("layers", kAll, "Layers to explain, such as 6, 1-6 or 1,3,6 (default: all)",
                                {.form = OptionForm::kLayers}),
      option<&Settings::start_layer>("start_layer", kAll, "Layer that paths are traced back to; 0 is the input"),
      option<&Settings::output_token>(
          "output_token", kWhole,
          "auto (the mask if any, else the class token or the first; causal models: the last), cls, mask, "
          "last, all, a position, or a word or token that occurs once (' last', with a space, is the word)",
          {.form = OptionForm::kNumberToo}),
      option<&Settings::normalization>(
          "normalize", kReport | kGenerations | kEvaluateRequest,
          "Divide values: none, row (each row by its sum), or receptive-field (each value by its value under "
          "uniform attention)",
          {.words = {"none", "row", "receptive-field"}}),
      option<&Settings::words>("words", kForExplain | kForModels | kGenerations, "Merge subword tokens into words"),
      option<&Settings::flow_tolerance>(
          "flow_tolerance", kWhole | kGenerations,
          "Tolerance for calling a flow degenerate (set by the first or last layer alone), 1e-12 to 1; above "
          "1e-6, also the widest interval allowed when flow is computed for one output token only, which is "
          "faster",
          {.range = {1e-12, 1.0}}),
      option<&Settings::top_k>("top_k", (kReport & ~kForValues) | kGenerations | kEvaluateRequest,
                               "Number of tokens in rankings", {.group = "Output", .range = {1.0, kNoLimit}}),
  };
}

std::string range_words(const NumberRange& range) {
  if (range.high == std::numeric_limits<double>::infinity()) return fmt::format("at least {:g}", range.low);
  return range.below_high ? fmt::format("a {} of at least {:g} and below {:g}", range.what, range.low, range.high)
                          : fmt::format("a {} from {:g} to {:g}", range.what, range.low, range.high);
}

}  // namespace

std::span<const SettingOption> setting_options() {
  static const std::vector<SettingOption> kTable = make_table();
  return kTable;
}

Settings default_settings(OptionUse use) {
  Settings settings;
  const bool generates = (use & kForGenerate) != 0;
  if (generates || (use & (kForExplain | kForImage)) != 0) settings.mixing = Mixing::kAuto;
  if (generates) settings.methods = {Method::kRaw, Method::kRollout};
  return settings;
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
