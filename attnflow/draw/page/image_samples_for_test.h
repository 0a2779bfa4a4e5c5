// Pages of pictures for the browser test and for manual inspection.
#ifndef ATTNFLOW_DRAW_PAGE_IMAGE_SAMPLES_FOR_TEST_H_
#define ATTNFLOW_DRAW_PAGE_IMAGE_SAMPLES_FOR_TEST_H_

#include <filesystem>

namespace attnflow {

// Writes NAME.html, and NAME.json with the same report in full precision.
void write_image_samples(const std::filesystem::path& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_PAGE_IMAGE_SAMPLES_FOR_TEST_H_
