#include "attnflow/draw/picture_page.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/picture_row.h"
#include "attnflow/draw/png_reader_for_test.h"
#include "attnflow/draw/svg_canvas.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/color_scale.h"

namespace attnflow::picture_page_test {
namespace {

using internal::Color;
using internal::Image;
using internal::PanelFit;
using internal::PanelShape;
using internal::SvgDocument;
using internal::SvgElement;
using internal::test_png;

PicturePanel panel(const std::string& title, std::size_t width, std::size_t height) {
  // Compressing the same picture repeatedly would dominate the run time.
  static std::map<std::pair<std::size_t, std::size_t>, std::string> pngs;
  std::string& png = pngs[{width, height}];
  if (png.empty()) png = test_png(width, height);
  PicturePanel made;
  made.title = title;
  made.png = png;
  made.width = width;
  made.height = height;
  made.description = "a test picture, " + title;
  return made;
}

PictureRow overlay_row(std::size_t width, std::size_t height) {
  PictureRow row;
  row.panels.push_back(panel("input", width, height));
  row.panels.back().caption = fmt::format("{} x {} pixels", width, height);
  for (const char* method : {"raw", "rollout", "flow"}) {
    PicturePanel made = panel(method, width, height);
    made.subtitle = "layer 12, from [CLS]";
    made.bar = PanelBar{.high = 0.0123456};
    made.mark = PanelMark{.x = 0.25, .y = 0.5, .width = 1.0 / 14.0, .height = 1.0 / 14.0};
    made.caption = "31% on special tokens, which stand for no part of the picture";
    row.panels.push_back(made);
  }
  return row;
}

PictureRow layer_row(const std::string& method, std::size_t layers, std::size_t width, std::size_t height) {
  PictureRow row;
  row.heading = method + ", by layer";
  row.panel_height = 64.0;
  row.bar = PanelBar{.high = 0.5};
  for (std::size_t l = 1; l <= layers; ++l) {
    row.panels.push_back(panel(fmt::format("layer {}", l), width, height));
    row.panels.back().mark = PanelMark{.x = 0.0, .y = 0.0, .width = 0.25, .height = 0.25};
  }
  return row;
}

PicturePage overview(std::size_t width, std::size_t height, std::size_t layers) {
  PicturePage page;
  page.title = "both.png";
  page.subtitles = {"vit-base \u00b7 12 layers \u00b7 mean of 12 heads \u00b7 14 x 14 patches",
                    "predicted: tabby cat 83.1%, tiger cat 9.9%"};
  page.rows = {overlay_row(width, height)};
  for (const char* method : {"raw", "rollout", "flow"}) page.rows.push_back(layer_row(method, layers, width, height));
  page.notes = {"Flow was computed for [CLS] only."};
  return page;
}

PicturePage page_of(const PicturePanel& only, double height) {
  PicturePage page;
  page.rows.resize(1);
  page.rows[0].panel_height = height;
  page.rows[0].panels = {only};
  return page;
}

std::string svg_of(const PicturePage& page) {
  const internal::TextMeasurer measure("en");
  return internal::scene_to_svg(internal::picture_page_scene(page, {}, measure), "");
}

Image png_of(const PicturePage& page) {
  const internal::TextMeasurer measure("en");
  return internal::read_png(internal::scene_to_png(internal::picture_page_scene(page, {}, measure)));
}

// "row-1-panel-2": its color bar comes after it.
SvgElement picture_in(const SvgDocument& svg, const std::string& part) {
  const std::vector<SvgElement> found = in_group(svg, "image", "attnflow-" + part);
  EXPECT_FALSE(found.empty()) << part;
  return found.empty() ? SvgElement{} : found.front();
}

TEST(FitPanels, TakesAsFewLinesAsLeaveThePicturesLargeEnough) {
  const auto squares = [](std::size_t count) { return std::vector<PanelShape>(count, PanelShape{1.0, 30.0}); };
  const PanelFit four = internal::fit_panels(squares(4), 864.0, 220.0, 16.0);
  EXPECT_EQ(four.per_line, 4U);
  EXPECT_NEAR(four.height, (864.0 - 48.0) / 4.0, 1e-6);
  const PanelFit two = internal::fit_panels(squares(2), 864.0, 220.0, 16.0);
  EXPECT_EQ(two.per_line, 2U);
  EXPECT_EQ(two.height, 220.0);
  const PanelFit layers = internal::fit_panels(squares(24), 864.0, 64.0, 7.0);
  EXPECT_EQ(layers.per_line, 12U);
  EXPECT_EQ(layers.height, 64.0);
  // 13 on one line would be 59 wide: large enough for 64, but not for 100.
  EXPECT_EQ(internal::fit_panels(squares(13), 864.0, 64.0, 7.0).per_line, 13U);
  EXPECT_EQ(internal::fit_panels(squares(13), 864.0, 100.0, 7.0).per_line, 7U);
}

TEST(FitPanels, KeepsVeryWideAndVeryHighPicturesOnThePage) {
  const PanelFit wide = internal::fit_panels({{40.0, 30.0}, {40.0, 30.0}}, 864.0, 220.0, 16.0);
  EXPECT_EQ(wide.per_line, 1U);
  EXPECT_NEAR(wide.height, 864.0 / 40.0, 1e-6);
  const PanelFit high = internal::fit_panels({{0.01, 90.0}, {0.01, 90.0}}, 864.0, 220.0, 16.0);
  EXPECT_EQ(high.per_line, 2U);
  EXPECT_EQ(high.height, 220.0);
  EXPECT_EQ(internal::fit_panels({{1.0, 400.0}, {1.0, 400.0}}, 284.0, 220.0, 16.0).per_line, 1U);
}

TEST(PicturePage, NoTextTouchesAnother) {
  struct Size {
    std::size_t width, height;
  };
  const internal::TextMeasurer measure("en");
  for (const Size& size : {Size{28, 28}, {640, 480}, {480, 640}, {1000, 60}, {60, 1000}, {1, 1}}) {
    for (const std::size_t layers : {1U, 4U, 12U, 24U}) {
      for (const double width : {320.0, 900.0, 1400.0}) {
        const PicturePage page = overview(size.width, size.height, layers);
        const internal::Scene scene = internal::picture_page_scene(page, {.width = width}, measure);
        const std::string name = fmt::format("{} x {}, {} layers, {} wide", size.width, size.height, layers, width);
        internal::expect_clear_labels(scene, name);
        EXPECT_EQ(scene.width, width) << name;
      }
    }
  }
}

TEST(PicturePage, LongAndForeignTextsKeepTheirPlace) {
  const std::string arabic = "صورة القطة والكلب في الحديقة الكبيرة.png";
  const std::string emoji = "👩‍🔬🇩🇪 caf\u00e9 猫と犬.png";
  const std::string endless(400, 'm');
  std::string words;
  for (int i = 0; i < 60; ++i) words += "many words ";
  for (const std::string& text : {arabic, emoji, endless, words, std::string("\xff\xfe\n\t")}) {
    PicturePage page = overview(64, 48, 12);
    page.title = text;
    page.subtitles = {text, text, text};
    page.notes = {text};
    for (PictureRow& row : page.rows) {
      row.heading = text;
      for (PicturePanel& panel : row.panels) panel.title = panel.subtitle = panel.caption = panel.description = text;
    }
    const internal::TextMeasurer measure("en");
    const internal::Scene scene = internal::picture_page_scene(page, {}, measure);
    internal::expect_clear_labels(scene, text);
    EXPECT_EQ(scene.width, 900.0);
    const SvgDocument svg = internal::read_svg(svg_of(page));
    EXPECT_EQ(svg.error, "");
  }
  PicturePage page = overview(64, 48, 4);
  page.title = arabic;
  test::expect_parts(svg_of(page), {arabic});
  page.title = endless;
  const SvgDocument svg = internal::read_svg(svg_of(page));
  ASSERT_FALSE(svg.texts.empty());
  EXPECT_TRUE(svg.texts.front().ends_with("m\u2026"));
}

TEST(PicturePage, PicturesOfALineAreEquallyHighAndStandSideBySide) {
  PicturePage page;
  page.rows = {overlay_row(640, 480)};
  page.rows[0].panels[0].subtitle.clear();
  page.rows[0].panels[1] = panel("portrait", 300, 500);
  const SvgDocument svg = internal::read_svg(svg_of(page));
  const SvgElement first = picture_in(svg, "row-1-panel-1");
  for (std::size_t p = 1; p <= 4; ++p) {
    const SvgElement picture = picture_in(svg, fmt::format("row-1-panel-{}", p));
    EXPECT_EQ(picture.attributes.at("y"), first.attributes.at("y"));
    EXPECT_EQ(picture.attributes.at("height"), first.attributes.at("height"));
    const double aspect = p == 2 ? 0.6 : 640.0 / 480.0;
    EXPECT_NEAR(number(picture, "width"), aspect * number(picture, "height"), 0.02);
  }
}

TEST(PicturePage, LayersShareOneColourBar) {
  PicturePage page;
  page.rows = {layer_row("rollout", 12, 28, 28)};
  const SvgDocument svg = internal::read_svg(svg_of(page));
  EXPECT_EQ(svg.error, "");
  EXPECT_EQ(in_group(svg, "image", "attnflow-row-1").size(), 13U);  // the bar and twelve pictures
  EXPECT_EQ(std::count(svg.texts.begin(), svg.texts.end(), "0.5"), 1);
  std::set<std::string> tops;
  for (std::size_t p = 1; p <= 12; ++p) {
    EXPECT_EQ(std::count(svg.texts.begin(), svg.texts.end(), fmt::format("layer {}", p)), 1);
    tops.insert(picture_in(svg, fmt::format("row-1-panel-{}", p)).attributes.at("y"));
  }
  EXPECT_EQ(tops.size(), 1U);
}

// ---- The pictures themselves ----------------------------------------------------------------------------------------

TEST(PicturePage, SvgHoldsThePicturesAsTheyAre) {
  PicturePage page;
  page.title = "a & b";
  page.rows = {overlay_row(28, 28)};
  page.rows[0].panels[1] = panel("large", 800, 600);
  const SvgDocument svg = internal::read_svg(svg_of(page));
  EXPECT_EQ(svg.error, "");
  const std::string prefix = "data:image/png;base64,";
  for (std::size_t p = 0; p < 4; ++p) {
    const SvgElement picture = picture_in(svg, fmt::format("row-1-panel-{}", p + 1));
    std::string code;
    base64_append(code, std::as_bytes(std::span(page.rows[0].panels[p].png)));
    EXPECT_EQ(picture.attributes.at("xlink:href"), prefix + code);
    EXPECT_EQ(picture.title, page.rows[0].panels[p].description);
    EXPECT_EQ(picture.attributes.count("style"), p == 1 ? 0U : 1U) << p;  // a small one shows its pixels
  }
}

TEST(PicturePage, PngShowsThePixelsWhereTheyBelong) {
  const PicturePage page = page_of(panel("", 10, 10), 100.0);
  const SvgDocument svg = internal::read_svg(svg_of(page));
  const SvgElement place = picture_in(svg, "row-1-panel-1");
  const Image source = internal::test_picture(10, 10);
  const Image drawn = png_of(page);
  const auto at = [&](double x, double y) {
    return drawn.pixels[static_cast<std::size_t>(2.0 * (number(place, "y") + y)) * drawn.width +
                        static_cast<std::size_t>(2.0 * (number(place, "x") + x))];
  };
  ASSERT_EQ(number(place, "height"), 100.0);
  for (std::size_t y = 0; y < 10; ++y) {
    for (std::size_t x = 0; x < 10; ++x) {
      for (const double in : {2.0, 5.0, 7.5}) {
        EXPECT_EQ(at(10.0 * static_cast<double>(x) + in, 10.0 * static_cast<double>(y) + in),
                  source.pixels[y * 10 + x]);
      }
    }
  }
}

TEST(PicturePage, ASmoothPictureIsNotMixedWithThePaper) {
  Image wide{.width = 100, .height = 60, .pixels = {}};
  for (std::size_t i = 0; i < 6000; ++i) wide.pixels.push_back(i % 100 < 50 ? Color{0, 0, 0} : Color{200, 200, 200});
  PicturePage page = page_of(panel("", 100, 60), 120.0);
  page.rows[0].panels[0].png = internal::encode_png(wide);
  const SvgDocument svg = internal::read_svg(svg_of(page));
  const SvgElement place = picture_in(svg, "row-1-panel-1");
  const Image smooth = png_of(page);
  const auto row = static_cast<std::size_t>(2.0 * number(place, "y")) + 120;
  const auto left = static_cast<std::size_t>(2.0 * number(place, "x"));
  const auto red = [&](std::size_t x) { return int{smooth.pixels[row * smooth.width + left + x].red}; };
  EXPECT_LE(red(3), 2);
  EXPECT_NEAR(red(200), 100, 30);
  EXPECT_NEAR(red(396), 200, 2);
}

TEST(PicturePage, AMarkIsSeenOnAnyGround) {
  for (const Color ground : {Color{0, 0, 0}, Color{255, 255, 255}, Color{128, 128, 128}}) {
    PicturePanel only;
    only.width = only.height = 50;
    only.png = internal::encode_png(internal::plain_picture(50, 50, ground));
    only.mark = PanelMark{.x = 0.4, .y = 0.4, .width = 0.2, .height = 0.2};
    const PicturePage page = page_of(only, PictureRow().panel_height);
    const SvgDocument svg = internal::read_svg(svg_of(page));
    const SvgElement place = picture_in(svg, "row-1-panel-1");
    const Image drawn = png_of(page);
    const double side = number(place, "height");
    // From outside to inside across the left edge, two steps per pixel of the page.
    int darkest = 255;
    int lightest = 0;
    for (double x = 0.4 * side - 6.0; x < 0.4 * side + 6.0; x += 0.5) {
      const auto column = static_cast<std::size_t>(2.0 * (number(place, "x") + x));
      const auto row = static_cast<std::size_t>(2.0 * (number(place, "y") + 0.5 * side));
      darkest = std::min(darkest, int{drawn.pixels[row * drawn.width + column].green});
      lightest = std::max(lightest, int{drawn.pixels[row * drawn.width + column].green});
    }
    EXPECT_LT(darkest, 60) << int{ground.red};
    EXPECT_GT(lightest, 200) << int{ground.red};
    const auto x = static_cast<std::size_t>(2.0 * (number(place, "x") + 0.5 * side));
    const auto y = static_cast<std::size_t>(2.0 * (number(place, "y") + 0.5 * side));
    EXPECT_EQ(drawn.pixels[y * drawn.width + x], ground);
  }
}

TEST(PicturePage, MarksOutsideOfThePictureAreNotDrawn) {
  const auto rects = [](const PanelMark& mark) {
    PicturePanel marked = panel("", 20, 20);
    marked.mark = mark;
    const SvgDocument svg = internal::read_svg(svg_of(page_of(marked, PictureRow().panel_height)));
    return std::count_if(svg.elements.begin(), svg.elements.end(),
                         [](const SvgElement& element) { return element.name == "rect"; });
  };
  EXPECT_EQ(rects({.x = 0.5, .y = 0.5, .width = 0.1, .height = 0.1}), 4);  // ground, frame, two lines
  EXPECT_EQ(rects({.x = 0.9, .y = 0.9, .width = 0.5, .height = 0.5}), 4);
  EXPECT_EQ(rects({.x = -0.5, .y = 0.0, .width = 0.4, .height = 1.0}), 2);
}

TEST(PicturePage, ColoursAreThoseOfTheBars) {
  for (const double position : {-1.0, 0.0, 0.3, 1.0, 2.0}) {
    const Color color = internal::scale_color(position);
    EXPECT_EQ(picture_color(position), (std::array<std::uint8_t, 3>{color.red, color.green, color.blue}));
  }
}

TEST(PicturePage, IsWrittenInTheKindThatThePathNamesWithTheSameBytesEveryTime) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attnflow_picture_page";
  std::filesystem::create_directories(folder);
  const PicturePage page = overview(40, 30, 4);
  const internal::TextMeasurer measure("en");
  const internal::Scene scene = internal::picture_page_scene(page, {}, measure);
  for (const char* name : {"a.svg", "a.PDF", "a.png"}) {
    write_picture_page(folder / name, page);
    const std::string bytes = read_file(folder / name);
    EXPECT_GT(bytes.size(), 1000U) << name;
    write_picture_page(folder / name, page);
    EXPECT_EQ(read_file(folder / name), bytes) << name;
  }
  EXPECT_TRUE(read_file(folder / "a.PDF").starts_with("%PDF"));
  test::expect_parts(read_file(folder / "a.svg"), {"<desc>both.png; input, raw, rollout, flow; raw, by layer; "});
  const Image png = internal::read_png(read_file(folder / "a.png"));
  EXPECT_EQ(png.width, static_cast<std::size_t>(std::ceil(2.0 * scene.width)));
  EXPECT_EQ(png.height, static_cast<std::size_t>(std::ceil(2.0 * scene.height)));
  EXPECT_THROW(write_picture_page(folder / "a.jpg", page), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.jpg"));
  EXPECT_THROW(write_picture_page(folder / "a.svg", page, {.width = 100.0}), Error);
  PicturePage truncated = page;
  truncated.rows[0].panels[0].png.resize(40);
  test::expect_error(ErrorKind::kOther, {"expected a complete PNG"},
                     [&] { write_picture_page(folder / "a.pdf", truncated); });
  std::filesystem::remove_all(folder);
}

RC_GTEST_PROP(PicturePageProperty, AnyBytesGiveWellFormedXml, (const std::string& text, const std::string& other)) {
  PicturePage page = overview(8, 8, 2);
  page.title = text;
  page.subtitles = {other, text};
  page.notes = {text};
  page.rows[0].panels[0].title = other;
  page.rows[0].panels[0].description = text;
  page.rows[0].panels[1].caption = other;
  page.rows[1].heading = other;
  RC_ASSERT(internal::read_svg(svg_of(page)).error == "");
}

}  // namespace
}  // namespace attnflow::picture_page_test
