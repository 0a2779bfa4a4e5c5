#include "attnflow/analysis/generate/generate_options.h"

#include "attnflow/explain/generation_columns.h"

namespace attnflow {
namespace {

std::vector<Option<GenerateOptions>> make_generate_options() {
  using Asked = GenerateOptions;
  std::vector<Option<GenerateOptions>> table = {
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
  };
  const std::vector<Option<GenerateOptions>> columns = generation_column_options<GenerateOptions>();
  table.insert(table.end(), columns.begin(), columns.end());
  return table;
}

}  // namespace

std::span<const Option<GenerateOptions>> generate_options() {
  static const std::vector<Option<GenerateOptions>> kTable = make_generate_options();
  return kTable;
}

}  // namespace attnflow
