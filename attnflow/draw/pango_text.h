// Pango text for measuring (text_layout.cc) and drawing (cairo_canvas.cc), so that both use the same glyphs. Only they
// include this file.
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

// Without hinting or rounding of positions; independent of locale and screen.
PangoContextPtr make_pango_context(const std::string& language);

void set_line(PangoLayout* layout, const std::string& text, const TextStyle& style, const std::vector<TextSpan>& spans);

}  // namespace attnflow::internal
