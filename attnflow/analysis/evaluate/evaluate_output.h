// A correlation report as .json (docs/evaluate.md: version 2), .csv, .md for people, and a table for the terminal.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"

namespace attnflow {

inline constexpr int kCorrelationsVersion = 2;

// Everything, samples included: one line for each cell, comparison and sample. Numbers have the fewest digits that read
// back as the same double, or are null.
std::string correlations_json(const CorrelationReport& report);

// A row for each cell: relevance, score, target, tokens, formula, method, mixing, layer, mean, std, low, high, count,
// left_out. Mixing and layer are empty for methods outside the graph.
std::string correlations_csv(const CorrelationReport& report);

// A page in GitHub's Markdown: the paper's tables (a row for each method, a column for each layer) with intervals, the
// formula of the paper's code, paired tests, accuracy, degeneracy and settings.
std::string correlations_markdown(const CorrelationReport& report);

// First a summary: for each score, each method's mean and median at the last layer, the layer with its highest mean,
// and the best method. Then the paper's tables, mean and standard deviation, with and without special tokens, for each
// mixing and for methods outside the graph; then notes. Lines take at most `width` cells, if blocks of layers fit.
std::string correlations_table(const CorrelationReport& report, std::size_t width = 80);

// The endings are those of evaluation_file.h.
void write_correlations(const std::filesystem::path& path, const CorrelationReport& report);

}  // namespace attnflow
