// The pango side of text, shared by measuring (text_layout.cc) and drawing (cairo_canvas.cc), so that both use the same
// glyphs. Not included by any other file.
#pragma once

#include <pango/pangocairo.h>

#include <memory>
#include <string>

#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

struct Unref {
  void operator()(void* object) const { g_object_unref(object); }
};
using PangoContextPtr = std::unique_ptr<PangoContext, Unref>;
using PangoLayoutPtr = std::unique_ptr<PangoLayout, Unref>;

// Makes a context without hinting and without rounding of positions; independent of the locale and of the screen.
PangoContextPtr make_pango_context(const std::string& language);

// Sets text, font and colors of a single-line layout.
void set_line(PangoLayout* layout, const std::string& text, const TextStyle& style, const std::vector<TextSpan>& spans);

}  // namespace attnflow::internal
