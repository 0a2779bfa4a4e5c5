// A correlation report as files and as text: .json with everything, .csv with every cell, .md for people, and a table
// for the terminal. docs/evaluate.md describes the JSON, version 2.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"

namespace attnflow {

inline constexpr int kCorrelationsVersion = 2;

// Everything in the report, samples included where it has them. Numbers have the fewest digits that read back as the
// same double; null where there is none. One line for each cell, comparison and sample.
std::string correlations_json(const CorrelationReport& report);

// A row for each cell: relevance, score, target, tokens, formula, method, mixing, layer, mean, std, low, high, count,
// left_out. Mixing and layer are empty beside the graph.
std::string correlations_csv(const CorrelationReport& report);

// A page in GitHub's Markdown: the tables in the form of the paper (a row for each method, a column for each layer),
// with intervals, the formula of the paper's code, paired tests, accuracy, degeneracy and settings.
std::string correlations_markdown(const CorrelationReport& report);

// A summary first: for each score, each method's mean and median at the last layer, the layer with its highest mean,
// and what did best. Then the tables in the form of the paper, mean and standard deviation, with all tokens and without
// special ones, one for each mixing and one for what stands beside the graph; then what must be known to read them.
// Lines take at most `width` cells, as far as layers can be split into blocks.
std::string correlations_table(const CorrelationReport& report, std::size_t width = 80);

// The endings are those of evaluation_file.h.
void write_correlations(const std::filesystem::path& path, const CorrelationReport& report);

}  // namespace attnflow
