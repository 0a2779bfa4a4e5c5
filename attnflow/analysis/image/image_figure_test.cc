#include "attnflow/analysis/image/image_figure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/analysis/image/picture_model_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/image/picture.h"

namespace attnflow::image_figure_test {
namespace {

using test::expect_error;

constexpr std::size_t kFirst = PictureModel::kLeading;
constexpr std::size_t kPatches = 12;

Report report_of(const ExplainOptions& options = {}, std::size_t height = 12, std::size_t width = 16) {
  PictureModel model;
  return explain_image(model, plain_processor(), shown_picture(random_picture(height, width, 1), "a.png"), options);
}

Picture decoded(const PicturePanel& panel) { return decode_picture(std::as_bytes(std::span(panel.png)), panel.title); }

double largest_of_patches(const Tensor<double>& values, std::size_t layer, std::size_t output_token = 0) {
  double largest = 0.0;
  for (std::size_t p = 0; p < kPatches; ++p) largest = std::max(largest, values(layer, output_token, kFirst + p));
  return largest;
}

bool mentions(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(ImagePage, OverviewHasAMapForEachMethodAndAStripForEach) {
  const Report report = report_of();
  const PicturePage page = image_page(report);
  EXPECT_EQ(page.title, "a.png");
  EXPECT_TRUE(mentions(page.subtitles, "Attribution for [CLS]"));
  EXPECT_TRUE(mentions(page.subtitles, "predicted: "));
  ASSERT_EQ(page.rows.size(), 4U);
  const auto& overlays = page.rows[0].panels;
  ASSERT_EQ(overlays.size(), 4U);
  EXPECT_EQ(overlays[0].title, "picture");
  EXPECT_EQ(overlays[1].title, "raw, layer 3");
  EXPECT_EQ(overlays[2].title, "rollout, layers 1\u20133");
  EXPECT_EQ(overlays[3].title, "flow, layers 1\u20133");
  const std::vector<const Tensor<double>*> values = {&report.raw, &report.rollout, &report.flow};
  for (std::size_t m = 0; m < values.size(); ++m) {
    const PicturePanel& panel = overlays[m + 1];
    ASSERT_TRUE(panel.bar);
    EXPECT_EQ(panel.bar->high, largest_of_patches(*values[m], 2));
    double total = 0.0;
    for (std::size_t t = 0; t < kFirst + kPatches; ++t) total += (*values[m])(2, 0, t);
    const double special = (*values[m])(2, 0, 0) + (*values[m])(2, 0, 1);
    EXPECT_EQ(panel.caption, std::to_string(std::lround(100.0 * special / total)) + "% on tokens that are not patches");
    EXPECT_EQ(decoded(panel).width(), 512U);
    EXPECT_EQ(decoded(panel).height(), 384U);
    const PictureRow& strip = page.rows[m + 1];
    ASSERT_EQ(strip.panels.size(), PictureModel::kLayers);
    ASSERT_TRUE(strip.bar);
    double largest = 0.0;
    for (std::size_t l = 0; l < PictureModel::kLayers; ++l) {
      largest = std::max(largest, largest_of_patches(*values[m], l));
    }
    EXPECT_EQ(strip.bar->high, largest);
  }
}

TEST(ImagePage, AMapOfPatchesHasTheColoursOfItsValues) {
  const Report report = report_of();
  ImageFigureOptions options;
  options.view = ImageView::kOverlay;
  options.interpolation = MapInterpolation::kPatches;
  options.opacity = 1.0;
  options.methods = {Method::kRollout};
  options.layer = 2;
  const PicturePage page = image_page(report, options);
  ASSERT_EQ(page.rows.size(), 1U);
  ASSERT_EQ(page.rows[0].panels.size(), 2U);
  EXPECT_EQ(page.rows[0].panels[1].title, "rollout, layers 1\u20132");
  const Picture map = decoded(page.rows[0].panels[1]);
  const double top = largest_of_patches(report.rollout, 1);
  for (std::size_t p = 0; p < kPatches; ++p) {
    const std::size_t y = (p / 4 * 2 + 1) * map.height() / 6;
    const std::size_t x = (p % 4 * 2 + 1) * map.width() / 8;
    const std::array<std::uint8_t, 3> expected = picture_color(report.rollout(1, 0, kFirst + p) / top);
    // The map is kept in float32: a value at a border between two colors may fall to either side.
    for (std::size_t c = 0; c < 3; ++c) EXPECT_NEAR(map.rgb(y, x, c), expected[c], 1) << p;
  }
}

TEST(ImagePage, OutlinesThePatchThatIsTheOutputToken) {
  ExplainOptions options;
  options.settings.output_token = parse_output_token("2,1");
  // No patch covers a strip of 3 columns and 2 rows of pixels.
  const Report report = report_of(options, 14, 19);
  const PicturePage page = image_page(report);
  EXPECT_TRUE(mentions(page.subtitles, "Attribution for the patch in row 3, column 2"));
  for (const PicturePanel& panel : page.rows[0].panels) {
    ASSERT_TRUE(panel.mark);
    EXPECT_NEAR(panel.mark->x, 4.0 / 19.0, 1e-12);
    EXPECT_NEAR(panel.mark->y, 8.0 / 14.0, 1e-12);
    EXPECT_NEAR(panel.mark->width, 4.0 / 19.0, 1e-12);
    EXPECT_NEAR(panel.mark->height, 4.0 / 14.0, 1e-12);
  }
  EXPECT_EQ(page.rows[0].panels[0].caption, "Outlined: the output token, the patch in row 3, column 2");
  ImageFigureOptions other;
  other.output_token = 1;  // the register has no place
  EXPECT_FALSE(image_page(report, other).rows[0].panels[0].mark);
}

TEST(ImagePage, SaysWhatWasComputedForOtherTokensOnly) {
  Report report = report_of();
  report.flow_output_tokens = {0};
  Tensor<double> one({PictureModel::kLayers, 1, kFirst + kPatches});
  report.flow = one;
  report.flow_gap = one;
  ImageFigureOptions options;
  options.output_token = 5;
  const PicturePage page = image_page(report, options);
  EXPECT_TRUE(mentions(page.notes, "Not shown: flow"));
  EXPECT_EQ(page.rows[0].panels.size(), 3U);
  options.methods = {Method::kFlow};
  expect_error(ErrorKind::kUsage, {"found flow"}, [&] { image_page(report, options); });
  options.output_token = 0;
  EXPECT_EQ(image_page(report, options).rows[0].panels[1].caption, "nothing on any token");
}

TEST(ImagePage, RefusesWhatTheReportDoesNotHold) {
  const Report report = report_of();
  const auto refuses = [&](ErrorKind kind, const char* part, auto change) {
    Report changed = report;
    ImageFigureOptions options;
    change(changed, options);
    expect_error(kind, {part}, [&] { image_page(changed, options); });
  };
  refuses(ErrorKind::kUsage, "report of an image", [](Report& r, ImageFigureOptions&) { r.input.image.reset(); });
  refuses(ErrorKind::kUsage, "position below 14", [](Report&, ImageFigureOptions& o) { o.output_token = 14; });
  refuses(ErrorKind::kUsage, "(1, 2, 3), found 4", [](Report&, ImageFigureOptions& o) { o.layer = 4; });
  refuses(ErrorKind::kBadFile, "a.png", [](Report& r, ImageFigureOptions&) { r.input.image->png.resize(20); });
  ExplainOptions one;
  one.settings.layers = {3};
  const Report single = report_of(one);
  ImageFigureOptions layers;
  layers.view = ImageView::kLayers;
  expect_error(ErrorKind::kUsage, {"view overlay"}, [&] { image_page(single, layers); });
  EXPECT_EQ(image_page(single).rows.size(), 1U);
}

TEST(ImagePage, ViewsByName) {
  EXPECT_EQ(image_view_from_name("overview"), ImageView::kOverview);
  EXPECT_EQ(image_view_from_name("overlay"), ImageView::kOverlay);
  EXPECT_EQ(image_view_from_name("layers"), ImageView::kLayers);
  EXPECT_EQ(image_view_from_name("graph"), std::nullopt);
}

}  // namespace
}  // namespace attnflow::image_figure_test
