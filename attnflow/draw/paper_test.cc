#include "attnflow/draw/paper.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/draw/views.h"

namespace attnflow::paper_test {
namespace {

std::uint32_t big_endian(const std::string& bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

FigureOptions on_paper(const std::string& width, double font_size, FigureView view) {
  FigureOptions options;
  options.view = view;
  options.width = parse_length("--width", width);
  options.font_size = font_size;
  return options;
}

TEST(PaperTest, LengthsHaveUnits) {
  EXPECT_DOUBLE_EQ(parse_length("--width", "3.3in").pixels(), 316.8);
  EXPECT_DOUBLE_EQ(parse_length("--width", "2.54cm").pixels(), 96.0);
  EXPECT_DOUBLE_EQ(parse_length("--width", "25.4mm").pixels(), 96.0);
  EXPECT_DOUBLE_EQ(parse_length("--width", "240pt").pixels(), 320.0);
  EXPECT_DOUBLE_EQ(parse_length("--width", "900px").pixels(), 900.0);
  EXPECT_EQ(to_text(parse_length("--width", "8.4cm")), "8.4cm");
  for (const char* const text :
       {"", "in", "3.3", "3.3 in", "-3in", "0in", "nanin", "infin", "3,3in", "3.3em", "1e999in"}) {
    test::expect_error(ErrorKind::kUsage, {"--width", fmt::format("found '{}'", text), "3.3in"},
                       [&] { parse_length("--width", text); });
  }
  EXPECT_EQ(parse_font_size("--font-size", "8pt"), 8.0);
  for (const char* const text : {"", "0", "1.9", "73", "nan", "8 pt", "8px"}) {
    test::expect_error(ErrorKind::kUsage, {"--font-size", fmt::format("found '{}'", text)},
                       [&] { parse_font_size("--font-size", text); });
  }
}

TEST(PaperTest, SizesHaveLimits) {
  for (const Length& width : {Length(0.05, LengthUnit::kInches), Length(20'000.0)}) {
    test::expect_error(ErrorKind::kUsage, {"--width: expected a figure", "found " + to_text(width)},
                       [&] { internal::page_size(width, kLabelPoints); });
  }
  for (const double points : {1.0, 100.0}) {
    test::expect_error(ErrorKind::kUsage, {"--font-size: expected 2 to 72 points"},
                       [&] { internal::page_size(900.0, points); });
  }
  const Report report = internal::synthetic_report(internal::english_pieces(8), 4);
  test::expect_error(ErrorKind::kUsage, {"--width: expected at least", "found 0.3in"},
                     [&] { figure_svg(report, on_paper("0.3in", 8.0, FigureView::kStrip)); });
}

TEST(PaperTest, FilesHaveThatSize) {
  const Report report = internal::synthetic_report(internal::english_pieces(8), 4);
  const FigureOptions options = on_paper("3.3in", 8.0, FigureView::kStrip);
  const std::string svg = figure_svg(report, options);
  test::expect_parts(svg, {" width=\"3.3in\" height=\"", fmt::format("viewBox=\"0 0 {:.0f} ", 316.8 * 7.5 / 8.0)});
  const std::string pdf = figure_pdf(report, options);
  test::expect_parts(pdf, {"/MediaBox [ 0 0 237.6"});
  const std::string png = figure_png(report, options);
  EXPECT_EQ(big_endian(png, 16), 990U);  // 3.3 inches at 300 pixels
  ASSERT_EQ(png.substr(37, 4), "pHYs");
  EXPECT_EQ(big_endian(png, 41), 11811U);  // per meter
  EXPECT_EQ(big_endian(png, 45), 11811U);
  EXPECT_EQ(png[49], 1);
}

TEST(PaperTest, ScreensHavePixels) {
  const Report report = internal::synthetic_report(internal::english_pieces(8), 4);
  const FigureOptions options = on_paper("600px", kLabelPoints, FigureView::kStrip);
  test::expect_parts(figure_svg(report, options), {" width=\"600\" "});
  const std::string png = figure_png(report, options);
  EXPECT_EQ(big_endian(png, 16), 1200U);
  EXPECT_EQ(big_endian(png, 41), 7559U);
}

TEST(PaperTest, EveryViewIsLaidOutAnewAtItsWidth) {
  const internal::TextMeasurer measure("en");
  for (const std::size_t tokens : {8U, 24U}) {
    const Report report = internal::synthetic_report(internal::english_pieces(tokens), 6);
    for (const FigureView view :
         {FigureView::kOverview, FigureView::kStrip, FigureView::kHeatmap, FigureView::kMatrix, FigureView::kGraph}) {
      for (const char* const width : {"3.3in", "171mm"}) {
        for (const double font : {7.0, 9.0}) {
          for (const bool notes : {true, false}) {
            FigureOptions options = on_paper(width, font, view);
            options.set({.width = {}, .font_size = {}, .notes = notes});
            const internal::Scene scene = internal::figure_scene(report, options, measure);
            const std::string name = fmt::format("view {}, {} tokens, {}, {} points, notes {}", static_cast<int>(view),
                                                 tokens, width, font, notes);
            EXPECT_NEAR(scene.width * scene.scale(), options.width.pixels(), 1e-9) << name;
            internal::expect_clear_labels(scene, name);
            for (const internal::LabelBox& box : internal::label_boxes(scene)) {
              EXPECT_EQ(box.text.find("depends on") != std::string::npos && !notes, false) << name << box.text;
            }
          }
        }
      }
    }
  }
}

TEST(PaperTest, TooNarrowSaysWhatSuffices) {
  std::size_t refused = 0;
  for (const FigureView view :
       {FigureView::kOverview, FigureView::kStrip, FigureView::kHeatmap, FigureView::kMatrix, FigureView::kGraph}) {
    for (const std::size_t tokens : {6U, 16U}) {
      for (const double points : {5.0, kLabelPoints, 11.0}) {
        SCOPED_TRACE(fmt::format("view {} of {} tokens in {} points", static_cast<int>(view), tokens, points));
        const Report report = internal::synthetic_report(internal::english_pieces(tokens), 2);
        FigureOptions options = on_paper("1.1in", points, view);
        std::string least;
        try {
          (void)figure_svg(report, options);
          continue;
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kUsage);
          const std::string message = error.what();
          const std::string before = "expected at least ";
          test::expect_parts(message, {before});
          least = message.substr(message.find(before) + before.size());
          least = least.substr(0, least.find(' '));
        }
        ++refused;
        options.width = parse_length("--width", least);
        EXPECT_GT(options.width.value, 1.1);
        test::expect_parts(figure_svg(report, options), {fmt::format(" width=\"{}\"", least)});
      }
    }
  }
  EXPECT_GT(refused, 3U);
}

}  // namespace
}  // namespace attnflow::paper_test
