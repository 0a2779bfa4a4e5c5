// A correlation report in the forms of evaluation_file.h.
#pragma once

#include <cstddef>
#include <string>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"

namespace attnflow {

inline constexpr int kCorrelationsVersion = 2;

// Everything, samples included (docs/evaluate.md).
std::string evaluation_json(const CorrelationReport& report);

// A row for each cell. Mixing and layer are empty for methods outside the graph.
std::string evaluation_csv(const CorrelationReport& report);

// The paper's tables (a row for each method, a column for each layer) with intervals, the formula of the paper's code,
// paired tests, accuracy, degeneracy and settings.
std::string evaluation_markdown(const CorrelationReport& report);

// First a summary: for each score, each method's mean and median at the last layer, the layer with its highest mean,
// and the best method. Then the paper's tables, mean and standard deviation, with and without special tokens, for each
// mixing and for methods outside the graph; then notes.
std::string evaluation_table(const CorrelationReport& report, std::size_t width = 80);

}  // namespace attnflow
