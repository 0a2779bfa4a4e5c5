// Pages of generations for the browser test and for manual inspection.
#ifndef ATTNFLOW_DRAW_PAGE_GENERATION_SAMPLES_FOR_TEST_H_
#define ATTNFLOW_DRAW_PAGE_GENERATION_SAMPLES_FOR_TEST_H_

#include <filesystem>

namespace attnflow {

// Writes NAME.html, and NAME.json with the same generation in full precision.
void write_generation_samples(const std::filesystem::path& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_PAGE_GENERATION_SAMPLES_FOR_TEST_H_
