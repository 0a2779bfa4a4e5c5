#include "attnflow/draw/picture_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attnflow/base/error.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/color_scale.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/picture_row.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/extension.h"

namespace attnflow {
namespace internal {
namespace {

constexpr double kHighestPanel = 4000.0;

void expect(bool holds, const std::string& message) {
  if (!holds) throw Error(ErrorKind::kUsage, message);
}

void check_bar(const PanelBar& bar, const std::string& where) {
  const bool fits = std::isfinite(bar.low) && std::isfinite(bar.high) && bar.low < bar.high &&
                    (!bar.above || std::isfinite(*bar.above));
  expect(fits, fmt::format("expected a color bar from a number to a larger one for {}, found {} to {}", where, bar.low,
                           bar.high));
}

void check_panel(const PicturePanel& panel, const std::string& where) {
  const std::optional<PngSize> size = png_size(panel.png);
  expect(size.has_value(),
         fmt::format("expected the bytes of a PNG file for {}, found {} other bytes", where, panel.png.size()));
  expect((panel.width == 0 || panel.width == size->width) && (panel.height == 0 || panel.height == size->height),
         fmt::format("expected a PNG of {} x {} pixels for {}, found one of {} x {}", panel.width, panel.height, where,
                     size->width, size->height));
  if (panel.bar) check_bar(*panel.bar, where);
  if (panel.mark) {
    const PanelMark& mark = *panel.mark;
    const bool fits = std::isfinite(mark.x) && std::isfinite(mark.y) && std::isfinite(mark.x + mark.width) &&
                      std::isfinite(mark.y + mark.height) && mark.width > 0.0 && mark.height > 0.0;
    expect(fits, fmt::format("expected a marked rectangle with a width and a height for {}, found {} x {} at ({}, {})",
                             where, mark.width, mark.height, mark.x, mark.y));
  }
}

void check_contents(const PicturePage& page) {
  std::size_t panels = 0;
  for (std::size_t r = 0; r < page.rows.size(); ++r) {
    const PictureRow& row = page.rows[r];
    expect(row.panel_height > 0.0 && row.panel_height <= kHighestPanel,
           fmt::format("expected panels higher than 0 and up to {} pixels in row {}, found {}", kHighestPanel, r + 1,
                       row.panel_height));
    if (row.bar) check_bar(*row.bar, fmt::format("row {}", r + 1));
    for (std::size_t p = 0; p < row.panels.size(); ++p) {
      check_panel(row.panels[p], fmt::format("panel {} of row {}", p + 1, r + 1));
    }
    panels += row.panels.size();
  }
  expect(panels > 0, "expected images for the page, found none");
}

Scene title_scene(const PicturePage& page, double width, const TextMeasurer& measure) {
  Scene scene(measure);
  scene.width = width;
  scene.begin_group({.id = "title"});
  const TextStyle large{.size = 15.0, .bold = true};
  scene.height += draw_wrapped(measure.shortened(clean_text(page.title), large, width), large, {}, width, &scene);
  for (std::size_t i = 0; i < page.subtitles.size(); ++i) {
    scene.height += draw_wrapped(clean_text(page.subtitles[i]), {.size = 10.5, .color = i == 0 ? kGrey : kBlack},
                                 {0.0, scene.height}, width, &scene);
  }
  scene.end_group();
  return scene;
}

std::string language(const PicturePage& page) {
  std::string text = page.title;
  for (const std::string& line : page.subtitles) text += line;
  for (const PictureRow& row : page.rows) {
    text += row.heading;
    for (const PicturePanel& panel : row.panels) text += panel.title + panel.subtitle + panel.caption;
  }
  return language_of(text);
}

std::string picture_description(const PicturePage& page) {
  if (!page.description.empty()) return clean_text(page.description);
  std::string text = clean_text(page.title);
  for (const PictureRow& row : page.rows) {
    std::string names = clean_text(row.heading);
    if (names.empty()) {
      for (const PicturePanel& panel : row.panels) names += (names.empty() ? "" : ", ") + clean_text(panel.title);
    }
    text += (text.empty() ? "" : "; ") + names;
  }
  return text;
}

}  // namespace

namespace {

Scene picture_content(const PicturePage& page, bool notes, double width, const TextMeasurer& measure) {
  std::vector<Scene> blocks;
  if (Scene title = title_scene(page, width, measure); notes && title.height > 0.0) blocks.push_back(std::move(title));
  for (std::size_t r = 0; r < page.rows.size(); ++r) {
    if (page.rows[r].panels.empty()) continue;
    blocks.push_back(picture_row(page.rows[r], fmt::format("row-{}", r + 1), width, measure));
  }
  if (notes && !page.notes.empty()) blocks.push_back(notes_block(page.notes, width, measure));
  return stacked(blocks, 16.0, measure);
}

}  // namespace

Scene picture_page_scene(const PicturePage& page, const PicturePageOptions& options, const TextMeasurer& measure) {
  const PageSize size = page_size(options.width, options.font_size);
  check_page(options.png_scale, options.id_prefix);
  check_contents(page);
  return fitted_page(size, measure, [&](double width) { return picture_content(page, options.notes, width, measure); });
}

}  // namespace internal

void PicturePageOptions::set(const PaperOptions& paper) {
  width = paper.width.value_or(width);
  font_size = paper.font_size.value_or(font_size);
  notes = notes && paper.notes;
}

std::array<std::uint8_t, 3> picture_color(double position) {
  const internal::Color color = internal::scale_color(position);
  return {color.red, color.green, color.blue};
}

std::array<std::uint8_t, 3> signed_picture_color(double position) {
  const internal::Color color = internal::signed_color(2.0 * position - 1.0);
  return {color.red, color.green, color.blue};
}

std::string picture_page_svg(const PicturePage& page, const PicturePageOptions& options) {
  const internal::TextMeasurer measure(internal::language(page));
  return internal::scene_to_svg(internal::picture_page_scene(page, options, measure),
                                internal::picture_description(page), options.id_prefix);
}

std::string picture_page_pdf(const PicturePage& page, const PicturePageOptions& options) {
  const internal::TextMeasurer measure(internal::language(page));
  return internal::scene_to_pdf(internal::picture_page_scene(page, options, measure),
                                internal::picture_description(page));
}

std::string picture_page_png(const PicturePage& page, const PicturePageOptions& options) {
  const internal::TextMeasurer measure(internal::language(page));
  return internal::scene_to_png(internal::picture_page_scene(page, options, measure), options.png_scale);
}

void write_picture_page(const std::filesystem::path& path, const PicturePage& page, const PicturePageOptions& options) {
  const std::string ending = internal::lower_extension(path);
  if (ending == ".svg") {
    write_file(path, picture_page_svg(page, options));
  } else if (ending == ".pdf") {
    write_file(path, picture_page_pdf(page, options));
  } else if (ending == ".png") {
    write_file(path, picture_page_png(page, options));
  } else {
    throw Error(ErrorKind::kUsage, "expected a figure ending in .svg, .pdf or .png, found '" + path.string() + "'");
  }
}

}  // namespace attnflow
