// A generation to files: the ending of the name chooses the kind, as write_report.h lists them.
#ifndef ATTNFLOW_ANALYSIS_WRITE_GENERATION_H_
#define ATTNFLOW_ANALYSIS_WRITE_GENERATION_H_

#include <filesystem>

#include "attnflow/draw/generation_figure.h"
#include "attnflow/report/generation_report.h"

namespace attnflow {

// Writes under a temporary name and renames: the file is complete or absent. `figure` is for .svg, .pdf and .png.
// Throws as check_output (write_report.h).
void write_generation(const std::filesystem::path& path, const GenerationReport& report,
                      const GenerationFigureOptions& figure = {});

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_WRITE_GENERATION_H_
