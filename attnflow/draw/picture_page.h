// A page of pictures: rows of panels, each a picture with its title, its colour bar and its caption.
//
// What is laid out here is finished pictures: whoever asks for the page has drawn maps over photographs already, with
// the colours of picture_color(), which the colour bars show. Three kinds of pages come of it: a picture beside one
// overlay for each method; a strip of small overlays, one for each layer, with one colour bar for all; and several of
// such rows below each other.
//
// Layout. The pictures of a row are equally high: panel_height, or less where that keeps the row on fewer lines. A row
// is broken into lines of the same number of panels; the lines are as few as leave the pictures at least two thirds of
// panel_height. Every picture keeps its proportions. Titles are cut with "…" where they do not fit over their panel,
// captions and labels are broken into lines; no two texts overlap.
//
// A page exists as svg (text stays text, the pictures are embedded as they are, parts have stable ids), pdf and png,
// and looks the same in all three. Same page, same bytes (with the same fonts installed).
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

// The sRGB colour at a position in [0, 1] of the scale that the colour bars show, light to dark; positions outside are
// taken to the nearer end.
std::array<std::uint8_t, 3> picture_color(double position);
// The same of values with signs: 0 in the middle of the scale, at position 1/2.
std::array<std::uint8_t, 3> signed_picture_color(double position);

// A colour bar from `low` to `high`, which stand at its ends.
struct PanelBar {
  double low = 0.0;
  double high = 1.0;
  std::optional<double> above = {};  // the largest value, where it lies above the scale
  std::string label = {};            // what the values are
  bool has_signs = false;            // the colours of signed_picture_color(); low is -high
};

// A rectangle in fractions of the picture, from its upper left corner: (0, 0, 1, 1) is all of it. What lies outside of
// the picture is not drawn. The outline is black on white, so that it can be seen on any ground.
struct PanelMark {
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
};

// How a picture is drawn larger or smaller than it is.
enum class PanelSampling {
  kAuto,    // kPixels at three times its size and above, else kSmooth
  kSmooth,  // photographs
  kPixels,  // every pixel a square
};

struct PicturePanel {
  std::string title;
  std::string subtitle = {};     // a second line, smaller
  std::string png;               // the bytes of a PNG file; may be larger or smaller than it is drawn
  std::size_t width = 0;         // of the PNG, in pixels; 0: as the PNG says
  std::size_t height = 0;        //
  std::string description = {};  // what the picture shows, for readers who do not see it
  std::string caption = {};      // below
  PanelSampling sampling = PanelSampling::kAuto;
  std::optional<PanelBar> bar = {};
  std::optional<PanelMark> mark = {};
};

struct PictureRow {
  std::string heading = {};
  std::vector<PicturePanel> panels;
  std::optional<PanelBar> bar = {};  // one for all panels, beside the heading
  double panel_height = 220.0;       // of the pictures, in pixels of the page
};

struct PicturePage {
  std::string title;  // in one line
  std::vector<std::string> subtitles =
      {};  // the first is grey (model and settings), those after it (predictions) black
  std::vector<PictureRow> rows;
  std::vector<std::string> notes = {};
  std::string description = {};  // of the page, for readers who do not see it; empty: made of title and headings
};

struct PicturePageOptions {
  bool notes = true;                   // title, subtitles and notes
  Length width = 900.0;                // of the file; see paper.h
  double font_size = kLabelPoints;     // of captions and scales, in points
  double png_scale = 2.0;              // image pixels to one of 1/96 inch; on paper the png has 300 to an inch
  std::string id_prefix = "attnflow";  // of the ids in svg; letters, digits, '-' and '_'

  void set(const PaperOptions& paper);
};

// The page as the bytes of a file. Throws Error(kUsage): no panel; a panel whose png is no PNG or has another size than
// width and height say; a bar, mark or height that is not finite or not positive; an option out of its range.
// Error(kOther) when cairo fails, as it does on a PNG that is cut off (which svg embeds as it is).
std::string picture_page_svg(const PicturePage& page, const PicturePageOptions& options = {});
std::string picture_page_pdf(const PicturePage& page, const PicturePageOptions& options = {});
std::string picture_page_png(const PicturePage& page, const PicturePageOptions& options = {});

// Writes the page in the kind that the path ends in: .svg, .pdf or .png (Error(kUsage) for any other). The file is
// complete or absent.
void write_picture_page(const std::filesystem::path& path, const PicturePage& page,
                        const PicturePageOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_PICTURE_PAGE_H_
