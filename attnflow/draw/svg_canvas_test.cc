#include "attnflow/draw/svg_canvas.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/markup.h"
#include "attnflow/draw/svg_reader_for_test.h"

namespace attnflow::internal::svg_canvas_test {
namespace {

TEST(SvgNumber, IsShortAndNeverMinusZero) {
  EXPECT_EQ(svg_number(0.0), "0");
  EXPECT_EQ(svg_number(12.0), "12");
  EXPECT_EQ(svg_number(0.5), "0.5");
  EXPECT_EQ(svg_number(-3.25), "-3.25");
  EXPECT_EQ(svg_number(-0.001), "0");
  EXPECT_EQ(svg_number(100.0), "100");
  EXPECT_EQ(svg_number(1.0 / 3.0), "0.33");
}

TEST(XmlEscaped, EscapesWhatHasAMeaning) {
  EXPECT_EQ(xml_escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
}

TEST(SceneToSvg, WritesGroupsTitlesClipsAndText) {
  const TextMeasurer measure("en");
  Scene scene(measure);
  scene.width = 100.0;
  scene.height = 50.0;
  scene.begin_group({.id = "part", .clip = Rect{0.0, 0.0, 10.0, 20.0}});
  scene.rect({1.0, 2.0, 3.0, 4.0}, filled(kBlack), "a < b");
  scene.path({{.kind = PathStep::Kind::kMove, .end = {0.0, 0.0}},
              {.kind = PathStep::Kind::kLine, .end = {9.0, 9.0}},
              {.kind = PathStep::Kind::kClose}},
             stroked(kGrey, 2.0, 0.5));
  scene.text({.at = {5.0, 6.0}, .text = "two  spaces", .style = {.size = 11.0, .bold = true}});
  scene.end_group();
  scene.text({.at = {5.0, 6.0}, .text = "", .style = {}});

  const SvgDocument svg = read_svg(scene_to_svg(scene, "what <it> is"));
  EXPECT_EQ(svg.error, "");
  EXPECT_EQ(svg.ids, (std::vector<std::string>{"attnflow-part-clip", "attnflow-part"}));
  EXPECT_EQ(svg.titles, (std::vector<std::string>{"a < b"}));
  ASSERT_EQ(svg.texts, (std::vector<std::string>{"two  spaces"}));
  EXPECT_EQ(svg.attribute("path", "d"), "M0 0L9 9Z");
  EXPECT_EQ(svg.attribute("path", "stroke-opacity"), "0.5");
  EXPECT_EQ(svg.attribute("text", "xml:space"), "preserve");
  EXPECT_EQ(svg.attribute("svg", "viewBox"), "0 0 100 50");
}

TEST(SceneToSvg, RightToLeftTextIsAnchoredAtItsMiddle) {
  const TextMeasurer measure("en");
  Scene scene(measure);
  scene.width = scene.height = 100.0;
  scene.text({.at = {90.0, 20.0}, .text = "الكتاب", .style = {.size = 20.0}, .anchor = Anchor::kEnd});
  const SvgDocument svg = read_svg(scene_to_svg(scene, ""));
  EXPECT_EQ(svg.attribute("text", "direction"), "rtl");
  EXPECT_EQ(svg.attribute("text", "text-anchor"), "middle");
  const double width = measure.width("الكتاب", {.size = 20.0});
  EXPECT_NEAR(std::stod(svg.attribute("text", "x")), 90.0 - width / 2.0, 0.01);
}

TEST(SceneToSvg, BitmapsAreEmbeddedAsTheyAre) {
  const TextMeasurer measure("en");
  Scene part(measure);
  const auto png = std::make_shared<const std::string>("any bytes");
  part.bitmap({1.0, 2.0, 30.0, 40.0}, {.png = png, .sampling = Sampling::kPixels, .title = "a & b"});
  part.bitmap({1.0, 2.0, 30.0, 40.0}, {.png = png});
  Scene scene(measure);
  scene.width = scene.height = 100.0;
  scene.add(part, 10.0, 20.0);
  const SvgDocument svg = read_svg(scene_to_svg(scene, ""));
  EXPECT_EQ(svg.error, "");
  std::vector<SvgElement> images;
  for (const SvgElement& element : svg.elements) {
    if (element.name == "image") images.push_back(element);
  }
  ASSERT_EQ(images.size(), 2U);
  EXPECT_EQ(images[0].attributes.at("x"), "11");
  EXPECT_EQ(images[0].attributes.at("y"), "22");
  EXPECT_EQ(images[0].attributes.at("width"), "30");
  EXPECT_EQ(images[0].attributes.at("height"), "40");
  EXPECT_EQ(images[0].attributes.at("xlink:href"), "data:image/png;base64,YW55IGJ5dGVz");
  EXPECT_EQ(images[0].title, "a & b");
  test::expect_parts(images[0].attributes.at("style"), {"pixelated"});
  EXPECT_EQ(images[1].attributes.count("style"), 0U);
  EXPECT_EQ(images[1].title, "");
}

TEST(SceneToSvg, SpansKeepTheTextInOnePiece) {
  const TextMeasurer measure("en");
  Scene scene(measure);
  scene.width = scene.height = 100.0;
  scene.text({.at = {0.0, 20.0}, .text = "cabinets", .style = {}, .spans = {{0, 5, kBlack}, {5, 8, kWhite}}});
  const std::string bytes = scene_to_svg(scene, "");
  test::expect_parts(bytes, {"<tspan fill=\"#1a1a1a\">cabin</tspan><tspan fill=\"#ffffff\">ets</tspan>"});
  EXPECT_EQ(read_svg(bytes).texts, (std::vector<std::string>{"cabinets"}));
}

}  // namespace
}  // namespace attnflow::internal::svg_canvas_test
