// A report as a table for people: the tokens that an output token draws on most, by each method.
//
// References:
//   GitHub Flavored Markdown: https://github.github.com/gfm/
//
// Example:
//
//     std::fputs(terminal_table(report, {.width = 100, .ascii = true}).c_str(), stdout);
//     const std::string markdown = markdown_table(report);
//     assert(markdown.find("rust") != std::string::npos);
#pragma once

#include <cstddef>
#include <string>

#include "attnflow/attribution/option_names.h"
#include "attnflow/report/report.h"

namespace attnflow {

struct TableOptions {
  std::size_t width = 80;                          // cells of a terminal line; less than 40 counts as 40
  bool color = false;                              // ANSI escape sequences; the text is colored by the best map
  bool ascii = false;                              // bars and marks in ASCII; tokens keep their own characters
  OptionNames option_names = OptionNames::kShell;  // in notes
  bool true_color = false;                         // 24-bit colors, otherwise the 256-color palette
};

// Lines: the answer (report/report_answer.h): the headline; the text colored by the best map with the check's drops
// below it, or in plain terminals and for long texts the top tokens of both; the verdicts; the paper's attention. Then
// the model; the output token, the layer (the last of settings.layers, or up to kMostTableLayers of them) and the
// settings; the predictions; for each layer and method the settings.top_k tokens with value and bar, side by side where
// `width` allows, or that the output token carries no relevance there; the legend of marks; the check of all maps; the
// weights on the referents, by layer; the certificates; the other notes. Every line ends with "\n" and takes at most
// `width` cells.
//
// Marks: * after a special token, = before a value that ties with the one above, and a ring (d in ASCII) after a
// degenerate flow value, which the first or last layer alone determines. Bars are relative to the method's longest.
//
// For a generation: the model, then one line per generated token with its probability, the prompt's share of its
// dependence, and the prompt tokens that it depends on most, by the mean over layers of rollout if present, else of the
// first method; the tokens excluded from the rankings; the notes.
//
// Tokens are printed by clean_line(), so input cannot move the cursor or reorder the line.
inline constexpr std::size_t kMostTableLayers = 6;
std::string terminal_table(const Report& report, const TableOptions& options = {});

// The same content in GitHub's Markdown, without bars; one table for each output token if report.all_output_tokens, and
// for each layer, without limit, if layers were chosen.
std::string markdown_table(const Report& report, OptionNames option_names = OptionNames::kShell);

}  // namespace attnflow
