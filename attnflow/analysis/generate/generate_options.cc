#include "attnflow/analysis/generate/generate_options.h"

#include <fmt/format.h>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

std::vector<Option<GenerateOptions>> make_generate_options() {
  using Asked = GenerateOptions;
  constexpr unsigned kGenerations = kForGenerate | kForGenerations;
  return {
      option<&Asked::tokens>("tokens", kForGenerate, "Maximum number of tokens to generate",
                             {.group = "Sampling", .letter = "-n", .range = {1.0}}),
      option<&Asked::chat>("chat", kForGenerate, "Apply the model's chat template", {.group = "Sampling"}),
      option<&Asked::system>("system", kForGenerate, "System prompt (with --chat)",
                             {.group = "Sampling", .form = OptionForm::kNullToo}),
      option<&Asked::sampling, &SamplingOptions::temperature>("temperature", kForGenerate,
                                                              "Sampling temperature; 0: greedy", {.group = "Sampling"}),
      option<&Asked::sampling, &SamplingOptions::top_p>(
          "top_p", kForGenerate, "Nucleus sampling: cumulative probability",
          {.group = "Sampling", .range = {.high = 1.0, .above_low = true}}),
      option<&Asked::sampling, &SamplingOptions::seed>("seed", kForGenerate, "Random seed", {.group = "Sampling"}),
      option<&Asked::begin_with>("begin_with", kForGenerate,
                                 "Token ids to start the generation with, such as 464,3290 (listed under "
                                 "choices in a .json report)",
                                 {.group = "Sampling", .type = "IDS", .form = OptionForm::kIds}),
      option<&Asked::ignore_end>("ignore_end", kForGenerate, "Continue past end-of-text tokens", {.group = "Sampling"}),
      option<&Asked::check_tokens>(
          "check_tokens", kGenerateRequest,
          "Generated tokens whose maps are checked, however long that takes; empty: those that take "
          "little time",
          {.form = OptionForm::kPositions}),
      option<&Asked::integration_steps>(
          "integration_steps", kGenerateCommand,
          "integrated-gradients: number of points on the path from the blank input to this one"),
      option<&Asked::filter, &TokenFilterOptions::stop_words>(
          "exclude_stop_words", kForGenerate,
          "Exclude stop words of these languages from rankings (en, de, fr, es, it, pt, nl)",
          {.group = "Output", .type = "LANGUAGE"}),
      option<&Asked::filter, &TokenFilterOptions::punctuation>("exclude_punctuation", kForGenerate,
                                                               "Exclude tokens without letters or digits from rankings",
                                                               {.group = "Output"}),
      option<&Asked::filter, &TokenFilterOptions::special>("exclude_special", kForGenerate,
                                                           "Exclude special tokens from rankings", {.group = "Output"}),
      option<&Asked::keep_template>("keep_template", kForGenerate,
                                    "Rank the tokens of the chat template, too (with --chat; default: exclude them)",
                                    {.group = "Output"}),
      // The server has no patterns: a regular expression from an untrusted client may take any amount of time.
      option<&Asked::filter, &TokenFilterOptions::patterns>(
          "exclude_matching", kGenerateCommand,
          "Exclude tokens that match this regular expression from rankings. May be repeated",
          {.group = "Output", .type = "REGEX", .form = OptionForm::kOneEach}),
      option<&Asked::filter, &TokenFilterOptions::indices>(
          "exclude_tokens", kForGenerate, "Exclude the tokens at these positions from rankings, such as 0,3-7",
          {.group = "Output", .type = "POSITIONS"}),
      option<&Asked::generated_columns>("generated_columns", kGenerations,
                                        "Also keep each token's values on the generated tokens before it "
                                        "(automatic for .html of short texts)"),
      option<&Asked::flow_tokens>("flow_tokens", kGenerations,
                                  "Generated tokens to compute flow for, such as 0,5; default: all",
                                  {.form = OptionForm::kPositions}),
      option<&Asked::flow_layers>("flow_layers", kGenerations, "Layers to compute flow for; default: the last",
                                  {.form = OptionForm::kLayers}),
  };
}

}  // namespace

std::span<const Option<GenerateOptions>> generate_options() {
  static const std::vector<Option<GenerateOptions>> kTable = make_generate_options();
  return kTable;
}

void check_generate_options(const GenerateOptions& options) {
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  const Settings& settings = options.settings;
  validate(settings);
  expect(settings.discard == 0.0,
         "--discard is not available for a generation: it drops the smallest weights of whole layers, but a generation "
         "adds one row at a time");
  expect(settings.normalization != Normalization::kRow,
         "--normalize: expected none or receptive-field for a generation, found row");
  // While the model runs, the baseline does not know the mixing's diagonal.
  const MixingInfo& mixing = mixing_info(settings.mixing);
  expect(settings.normalization != Normalization::kReceptiveField || mixing.needs != MixingNeeds::kTerms ||
             mixing.takes_residual(),
         fmt::format("--normalize receptive-field: expected --mixing attention, value-zeroing or relevance for a "
                     "generation, found {}",
                     mixing.name));
  // Rollout keeps rows as they come; layers below a head's own use the mean over heads.
  expect(
      !settings.heads.is_single() || (!settings.wants(Method::kRollout) && !settings.wants(Method::kFlow)),
      fmt::format(
          "--heads {0}: expected --method raw, the only method for a single head of a generation, found --method {1}; "
          "for rollout and flow use --heads mean, max or min, or attnflow explain --heads {0} on the finished text",
          to_text(settings.heads), fmt::join(to_texts(settings.methods), ",")));
  expect(options.tokens >= 1, "-n: expected at least 1 token to generate, found 0");
  expect(options.begin_with.size() <= options.tokens,
         fmt::format("--begin-with: expected at most {} token ids, the number of tokens to generate (-n), found {}",
                     options.tokens, options.begin_with.size()));
  expect(!options.system || options.chat, "--system requires --chat");
  expect(!options.keep_template || options.chat, "--keep-template requires --chat");
  const Sampler checked(options.sampling);  // throws for an invalid temperature or share
}

}  // namespace attnflow
