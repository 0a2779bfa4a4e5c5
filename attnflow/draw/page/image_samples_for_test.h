// Pages of pictures for the browser test and for manual inspection.
#pragma once

#include <filesystem>

namespace attnflow {

// Writes NAME.html, and NAME.json with the same report in full precision.
void write_image_samples(const std::filesystem::path& folder);

}  // namespace attnflow
