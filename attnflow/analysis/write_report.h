// Writes a report to files; the name's ending chooses the kind.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/analysis/image/image_figure.h"
#include "attnflow/draw/figure.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Every kind: ".html .svg ...".
std::string output_endings();

// "; did you mean .png?" for ".jpg": the one of `endings` for the same sort of file, or spelled similarly.
std::string ending_suggestion(const std::string& ending, const std::vector<std::string>& endings);

// Throws Error(kUsage) for an ending that is none of these, a folder, a name in a folder that is missing, and on
// standard output (internal::is_standard_output) for what a terminal cannot show; Error(kOther) when the folder cannot
// be written to. Called before long work.
void check_output(const std::filesystem::path& path);

// Whether the ending is .svg, .pdf or .png.
bool is_picture(const std::filesystem::path& path);

// Whether files of this ending show certificates (.json, .md, .txt).
bool shows_certificates(const std::filesystem::path& path);
// The same for referents: also .html. (Pictures show them with FigureView::kReferents.)
bool shows_referents(const std::filesystem::path& path);

// Writes under a temporary name and renames: the file is complete or absent. `figure` is for .svg, .pdf and .png,
// `image` if the input is one. Throws as check_output.
void write_report(const std::filesystem::path& path, const Report& report, const FigureOptions& figure = {},
                  const ImageFigureOptions& image = {});

}  // namespace attnflow
