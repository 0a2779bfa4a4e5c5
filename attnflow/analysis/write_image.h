// The report of a picture to files: the ending of the name chooses the kind, as write_report.h lists them.
#ifndef ATTNFLOW_ANALYSIS_WRITE_IMAGE_H_
#define ATTNFLOW_ANALYSIS_WRITE_IMAGE_H_

#include <filesystem>

#include "attnflow/analysis/image_figure.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Writes under a temporary name and renames: the file is complete or absent. `figure` is for .svg, .pdf and .png.
// Throws as check_output (write_report.h) and image_page().
void write_image(const std::filesystem::path& path, const Report& report, const ImageFigureOptions& figure = {});

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_WRITE_IMAGE_H_
