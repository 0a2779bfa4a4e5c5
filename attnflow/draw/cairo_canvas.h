// The same drawings as PDF and PNG, by cairo and pango.
#pragma once

#include <string>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// Returns the bytes of a one-page PDF of the scene's size (a pixel of 1/96 inch is 3/4 of a point), with text as text.
// The creation date is fixed, so that the same scene gives the same bytes. Throws Error(kOther) when cairo fails, which
// includes a bitmap that is not a PNG it can read.
std::string scene_to_pdf(const Scene& scene, const std::string& title);

// Returns the bytes of a PNG with 2 image pixels per 1/96 inch, or 300 per inch if the scene has a paper size; the
// resolution is stored in the file (pHYs), and reduced if a side would exceed 16,000 pixels. Throws as scene_to_pdf()
// does.
std::string scene_to_png(const Scene& scene);

// Returns the bytes of a PNG of exactly these pixels.
std::string encode_png(const Image& image);

}  // namespace attnflow::internal
