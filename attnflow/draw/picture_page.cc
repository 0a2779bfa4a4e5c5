#include "attnflow/draw/picture_page.h"

#include <fmt/format.h>

#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/picture_row.h"
#include "attnflow/report/color_scale.h"

namespace attnflow {
namespace internal {
namespace {

Scene title_scene(const PicturePage& page, double width, const TextMeasurer& measure) {
  Scene scene(measure);
  scene.width = width;
  scene.begin_group({.id = "title"});
  const TextStyle large{.size = 15.0, .bold = true};
  add_wrapped(measure.shortened(clean_text(page.title), large, width), large, width, &scene);
  for (std::size_t i = 0; i < page.subtitles.size(); ++i) {
    add_wrapped(clean_text(page.subtitles[i]), {.size = 10.5, .color = i == 0 ? kGrey : kBlack}, width, &scene);
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
  return fitted_page(page_size(options.width, options.font_size), measure,
                     [&](double width) { return picture_content(page, options.notes, width, measure); });
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

void write_picture_page(const std::filesystem::path& path, const PicturePage& page, const PicturePageOptions& options) {
  const internal::TextMeasurer measure(internal::language(page));
  internal::write_page(path, internal::picture_page_scene(page, options, measure), internal::picture_description(page));
}

}  // namespace attnflow
