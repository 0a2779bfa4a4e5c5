// SVG, written directly: text stays text, groups keep ids, marks have tooltips, and the same drawing gives the same
// bytes.
#pragma once

#include <string>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/scene.h"

namespace attnflow::internal {

// Returns a complete SVG 1.1 document in UTF-8 that can also be inserted into HTML unchanged. `description` is the text
// alternative. Ids begin with "attnflow-".
std::string scene_to_svg(const Scene& scene, const std::string& description);

// At most two decimals and no trailing zeros: "12", "0.5", "-3.25".
std::string svg_number(double value);

}  // namespace attnflow::internal
