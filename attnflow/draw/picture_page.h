// A page of pictures: rows of panels, each a picture with its title, color bar and caption.
//
// The caller has already drawn maps over the photographs, in the colors of picture_color(), which the color bars show.
// Three kinds of pages: a picture next to one overlay per method; a strip of small overlays, one per layer, with one
// color bar; and several such rows below each other.
//
// Layout. Pictures of a row have equal height: panel_height, or less if that saves lines. A row is broken into as few
// lines as keep the pictures at least two thirds of panel_height high, with equal numbers of panels. Every picture
// keeps its aspect ratio. Titles wider than their panel are cut with "…", and captions and labels are broken into
// lines; no two texts overlap.
//
// A page is available as SVG (text stays text, pictures are embedded unchanged, parts have stable ids), PDF and PNG,
// alike in all three. The same page and fonts give the same bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/paper.h"

namespace attnflow {

// The sRGB color of the color bars at a position in [0, 1], light to dark; positions outside are clamped.
std::array<std::uint8_t, 3> picture_color(double position);
// Likewise for signed values: 0 is in the middle of the scale, at position 1/2.
std::array<std::uint8_t, 3> signed_picture_color(double position);

// A color bar from 0 to `high`, or from -high with signs, labeled at its ends.
struct PanelBar {
  double high = 1.0;
  bool has_signs = false;  // uses the colors of signed_picture_color()
};

// A rectangle in fractions of the picture, from its top left corner; parts outside are not drawn. The outline is black
// on white, visible on any background.
struct PanelMark {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

// Enlarged at least three times, a picture shows its pixels as squares; otherwise it is smooth.
struct PicturePanel {
  std::string title;
  std::string subtitle = {};     // a second line, smaller
  std::string png;               // bytes of a PNG file; may be larger or smaller than it is drawn
  std::size_t width = 1;         // of the PNG, in pixels
  std::size_t height = 1;        //
  std::string description = {};  // text alternative for the picture
  std::string caption = {};      // below
  std::optional<PanelBar> bar = {};
  std::optional<PanelMark> mark = {};
};

struct PictureRow {
  std::string heading = {};
  std::vector<PicturePanel> panels;
  std::optional<PanelBar> bar = {};  // one for all panels, next to the heading
  double panel_height = 220.0;       // of the pictures, in pixels of the page
};

struct PicturePage {
  std::string title;  // on one line
  std::vector<std::string> subtitles =
      {};  // the first is gray (model and settings), those after it (predictions) black
  std::vector<PictureRow> rows;
  std::vector<std::string> notes = {};
};

struct PicturePageOptions {
  bool notes = true;                // title, subtitles and notes
  Length width = 900.0;             // of the file; see paper.h
  double font_size = kLabelPoints;  // of captions and scales, in points

  void set(const PaperOptions& paper);
};

// Writes .svg, .pdf or .png by the path's extension (Error(kUsage) for any other). The file is complete or absent.
// Throws Error(kUsage) for an option out of range, Error(kOther) when cairo fails, as on a truncated PNG (which SVG
// embeds unchanged).
void write_picture_page(const std::filesystem::path& path, const PicturePage& page,
                        const PicturePageOptions& options = {});

}  // namespace attnflow
