// A page of pictures: rows of panels, each a picture with its title, color bar and caption.
//
// The pictures on a page are finished: the caller has already drawn maps over photographs, in the colors of
// picture_color(), which the color bars show. There are three kinds of pages: a picture next to one overlay per method;
// a strip of small overlays, one per layer, with one color bar for all; and several such rows below each other.
//
// Layout. The pictures of a row have equal height: panel_height, or less if that puts the row on fewer lines. A row is
// broken into lines with the same number of panels; there are as few lines as possible while the pictures are at least
// two thirds of panel_height high. Every picture keeps its aspect ratio. Titles are cut with "…" if they do not fit
// over their panel, and captions and labels are broken into lines; no two texts overlap.
//
// A page is available as SVG (text stays text, pictures are embedded unchanged, parts have stable ids), PDF and PNG,
// and looks the same in all three. The same page gives the same bytes (with the same fonts installed).
#ifndef ATTNFLOW_DRAW_PICTURE_PAGE_H_
#define ATTNFLOW_DRAW_PICTURE_PAGE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/paper.h"

namespace attnflow {

// The sRGB color at a position in [0, 1] of the scale in the color bars, light to dark; positions outside are clamped.
std::array<std::uint8_t, 3> picture_color(double position);
// Likewise for signed values: 0 is in the middle of the scale, at position 1/2.
std::array<std::uint8_t, 3> signed_picture_color(double position);

// A color bar from `low` to `high`, with these values at its ends.
struct PanelBar {
  double low = 0.0;
  double high = 1.0;
  std::optional<double> above = {};  // the largest value, if it is above the scale
  std::string label = {};            // the meaning of the values
  bool has_signs = false;            // uses the colors of signed_picture_color(); low is -high
};

// A rectangle in fractions of the picture, from its top left corner: (0, 0, 1, 1) is all of it. Parts outside the
// picture are not drawn. The outline is black on white, so that it is visible on any background.
struct PanelMark {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

// How a picture is drawn larger or smaller than its own size.
enum class PanelSampling {
  kAuto,    // kPixels at three times its size or more, else kSmooth
  kSmooth,  // photographs
  kPixels,  // every pixel is a square
};

struct PicturePanel {
  std::string title;
  std::string subtitle = {};     // a second line, smaller
  std::string png;               // bytes of a PNG file; may be larger or smaller than it is drawn
  std::size_t width = 0;         // of the PNG, in pixels; 0: taken from the PNG
  std::size_t height = 0;        //
  std::string description = {};  // text alternative for the picture
  std::string caption = {};      // below
  PanelSampling sampling = PanelSampling::kAuto;
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
  std::string description = {};  // text alternative for the page; empty: made of title and headings
};

struct PicturePageOptions {
  bool notes = true;                   // title, subtitles and notes
  Length width = 900.0;                // of the file; see paper.h
  double font_size = kLabelPoints;     // of captions and scales, in points
  double png_scale = 2.0;              // image pixels per 1/96 inch; on paper the PNG has 300 per inch
  std::string id_prefix = "attnflow";  // for ids in SVG; letters, digits, '-' and '_'

  void set(const PaperOptions& paper);
};

// Return the page as the bytes of a file. Throw Error(kUsage) for no panels, a panel whose png is not a PNG or has a
// size other than the given width and height, a bar, mark or height that is not finite or not positive, and an option
// out of range; and Error(kOther) when cairo fails, as it does on a truncated PNG (which SVG embeds unchanged).
std::string picture_page_svg(const PicturePage& page, const PicturePageOptions& options = {});
std::string picture_page_pdf(const PicturePage& page, const PicturePageOptions& options = {});
std::string picture_page_png(const PicturePage& page, const PicturePageOptions& options = {});

// Writes the page in the format given by the path's extension: .svg, .pdf or .png (Error(kUsage) for any other). The
// file is complete or absent.
void write_picture_page(const std::filesystem::path& path, const PicturePage& page,
                        const PicturePageOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_PICTURE_PAGE_H_
