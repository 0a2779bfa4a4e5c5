// The same drawings as pdf and png, by cairo and pango.
#ifndef ATTNFLOW_DRAW_CAIRO_CANVAS_H_
#define ATTNFLOW_DRAW_CAIRO_CANVAS_H_

#include <string>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// The bytes of a one-page PDF in the size of the scene (a pixel of 1/96 inch is 3/4 of a point), with text as text. The
// creation date is fixed, so that the same scene gives the same bytes. Throws Error(kOther) when cairo fails, also
// where a bitmap is no PNG that it reads.
std::string scene_to_pdf(const Scene& scene, const std::string& title);

// The bytes of a PNG with `scale` image pixels to 1/96 inch, or 300 to an inch where the scene's size is one on paper;
// it says how many they are (pHYs). The scale is lowered when a side would get longer than 16,000 pixels. Throws as
// scene_to_pdf().
std::string scene_to_png(const Scene& scene, double scale);

// The bytes of a PNG of just these pixels.
std::string encode_png(const Image& image);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_CAIRO_CANVAS_H_
