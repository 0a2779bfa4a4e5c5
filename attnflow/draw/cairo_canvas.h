// The same drawings as PDF and PNG, by cairo and pango.
#pragma once

#include <string>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// Returns a one-page PDF of the scene's size (1/96 inch is 3/4 of a point), with text as text. The creation date is
// fixed, so the same scene gives the same bytes. Throws Error(kOther) when cairo fails, such as on a bitmap that is no
// readable PNG.
std::string scene_to_pdf(const Scene& scene, const std::string& title);

// Returns a PNG with 2 image pixels per 1/96 inch, or 300 per inch if the scene has a paper size; its resolution is
// stored (pHYs), and reduced if a side would exceed 16,000 pixels. Throws as scene_to_pdf() does.
std::string scene_to_png(const Scene& scene);

// Returns a PNG of exactly these pixels.
std::string encode_png(const Image& image);

}  // namespace attnflow::internal
