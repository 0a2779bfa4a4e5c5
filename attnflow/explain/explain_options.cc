#include "attnflow/explain/explain_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow {

constexpr std::array kCheckWhens = {"never", "auto", "always"};  // by CheckWhen

OptionValue to_value(CheckWhen when) { return std::string(kCheckWhens[static_cast<std::size_t>(when)]); }
void from_value(const OptionValue& from, CheckWhen& when) {
  const std::string& name = std::get<std::string>(from);
  const auto found = std::find(kCheckWhens.begin(), kCheckWhens.end(), name);
  if (found == kCheckWhens.end()) {
    throw Error(ErrorKind::kUsage, fmt::format("--check: expected one of never, auto, always, found '{}'", name));
  }
  when = static_cast<CheckWhen>(found - kCheckWhens.begin());
}

namespace {

void check_row_options(const ExplainOptions& options) {
  const auto refuse = [](const char* what) {
    throw Error(ErrorKind::kUsage, fmt::format("--only-output-token: expected {}", what));
  };
  if (!options.certificates.empty()) refuse("no --certificate, which needs the matrices of all layers, found one");
  if (options.keep_attention) refuse("no --keep-attention, which keeps the full matrices, found both");
  if (options.settings.output_token.kind == OutputToken::Kind::kAll) refuse("one --output-token, found all");
}

std::vector<Option<ExplainOptions>> make_explain_options() {
  constexpr unsigned kForFiles = kExplainCommand | kForReports | kForGenerations;  // external attention
  constexpr unsigned kKept = kForExplain | kForImage | kForArrays | kForModels;
  return {
      option<&ExplainOptions::target_text>(
          "target_text", kForExplain,
          "For an encoder-decoder, whose source is the text: what its decoder is given after its first tokens (may be "
          "empty); explains the next token",
          {.type = "TEXT", .form = OptionForm::kNullToo}),
      option<&ExplainOptions::only_output_token>("only_output_token", kForExplain | kForReports,
                                                 "Compute the output token's row only; a decoder then needs no full "
                                                 "attention matrices (for long texts)"),
      option<&ExplainOptions::integration_steps>(
          "integration_steps", kExplainCommand | kImageCommand | kForModels,
          "integrated-gradients: number of points on the path from the blank input to this one"),
      option<&ExplainOptions::check>("check", kExplainCommand | kImageCommand,
                                     "When to check the maps by replacing tokens or patches and running the model "
                                     "again: never, auto (as far as that takes some seconds), always",
                                     {.words = {kCheckWhens.begin(), kCheckWhens.end()}}),
      option<&ExplainOptions::check_replacements>(
          "check_replacements", kExplainCommand | kImageCommand | kForModels,
          "The check: number of others that each token or patch (at most 4) is replaced by; 0: it is blanked"),
      option<&ExplainOptions::renormalize>("renormalize", kForFiles, "With --attention: divide each row by its sum"),
      option<&ExplainOptions::any_weights>("any_weights", kForFiles,
                                           "With --attention: accept rows that do not sum to 1"),
      option<&ExplainOptions::blank>("blank", kForExplain | kForModels,
                                     "Blank the tokens at these positions, such as 2,5: the model sees its "
                                     "unknown token there (or its mask or end-of-text token)",
                                     {.type = "N,N", .form = OptionForm::kPositions}),
      option<&ExplainOptions::candidates>(
          "candidates", kForExplain | kForModels,
          "Comma-separated words; report their probability at the mask or as the next token, and explain the most "
          "probable against the others",
          {.group = "Output", .type = "WORD,WORD"}),
      option<&ExplainOptions::referents>(
          "referents", kForExplain | kForArrays | kForModels,
          "Words of the text to compare, layer by layer, such as author,Sara; author:2 is the second "
          "occurrence of author, a number is a position",
          {.group = "Output", .type = "WORD,WORD"}),
      option<&ExplainOptions::keep_attention>(
          "keep_attention", kKept, "Include the attention of all heads (npz, safetensors, json)", {.group = "Output"}),
      option<&ExplainOptions::certificates>(
          "certificate", kKept,
          "Certify the flow of one pair, such as cls,5 (arc flows and a minimum cut). May be repeated",
          {.group = "Output", .type = "OUT,IN", .form = OptionForm::kPairs}),
      option<&ExplainOptions::max_flow_seconds>("max_flow_seconds", kForExplain | kForReports,
                                                "Stop narrowing flow's intervals after this many seconds; 0: no limit",
                                                {.group = "Runtime", .type = "S"}),
      option<&ExplainOptions::truncate>("truncate", kForExplain | kEvaluateRequest,
                                        "Truncate a text that is too long for the model", {.group = "Runtime"}),
      option<&ExplainOptions::threads>("threads", kForReports | kForGenerations,
                                       "Number of threads; 0: one per processor", {.group = "Runtime"}),
  };
}

}  // namespace

std::span<const Option<ExplainOptions>> explain_options() {
  static const std::vector<Option<ExplainOptions>> kTable = make_explain_options();
  return kTable;
}

void leave_out_flow(ExplainOptions& options, bool names_methods) {
  if (options.only_output_token && !names_methods) options.settings.methods = {Method::kRaw, Method::kRollout};
}

void check_options(const ExplainOptions& options) {
  if (options.only_output_token) check_row_options(options);
  if (!(options.max_flow_seconds >= 0.0) || std::isinf(options.max_flow_seconds)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--max-flow-seconds: expected a number of at least 0, found {}", options.max_flow_seconds));
  }
  if (options.settings.words && options.keep_attention) {
    throw Error(ErrorKind::kUsage,
                "--words and --keep-attention are mutually exclusive: the attention is between subword tokens and "
                "would not match the words");
  }
  if (options.settings.words && !options.certificates.empty()) {
    throw Error(ErrorKind::kUsage,
                "--certificate and --words are mutually exclusive: a certificate covers one flow between two tokens, "
                "and the flow between words is a mean of several");
  }
  validate(options.settings);
}

}  // namespace attnflow
