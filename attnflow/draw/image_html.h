// The page of a picture: what each output token of a vision model drew from, over the picture itself.
//
// The page shows the picture with the map of the chosen method and layer over it (patch by patch, or smooth between the
// centres of patches), one method or all side by side; the same for every layer; the strongest patches, cut from the
// picture; and which share lies on special tokens, that stand for no part of the picture. A patch, or a special token,
// is chosen with the pointer or the keyboard, and the page shows where that token drew from. File name and labels are
// shown as text, never as markup; a content security policy with the hashes of the page's own style and script forbids
// everything else.
//
// Numbers in the page are float32, above 480,000 of them float16 (3 digits, without flow_gap). Above 20 million, every
// other layer is left out until they fit, never the last one; a note says so.
#ifndef ATTNFLOW_DRAW_IMAGE_HTML_H_
#define ATTNFLOW_DRAW_IMAGE_HTML_H_

#include <filesystem>
#include <string>

#include "attnflow/report/report.h"

namespace attnflow {

// One file without outside references, that works offline. The same report gives the same bytes. Throws Error(kUsage)
// for a report whose input is no picture.
std::string image_html(const Report& report);

// Writes a complete file or none. Throws also Error(kOther) when the path cannot be written.
void write_image_html(const std::filesystem::path& path, const Report& report);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_IMAGE_HTML_H_
