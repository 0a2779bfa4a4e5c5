// Pages of generations for the browser test and for manual inspection.
#pragma once

#include <filesystem>

namespace attnflow {

// Writes NAME.html, and NAME.json with the same generation in full precision.
void write_generation_samples(const std::filesystem::path& folder);

}  // namespace attnflow
