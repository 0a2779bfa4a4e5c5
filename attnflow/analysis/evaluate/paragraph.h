// Prose in the tables of evaluations.
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_PARAGRAPH_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_PARAGRAPH_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace attnflow {

// Lines of at most `width` cells, each with its end, broken at spaces; a longer word has a line of its own.
std::string paragraph(std::string_view text, std::size_t width);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_PARAGRAPH_H_
