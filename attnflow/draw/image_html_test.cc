#include "attnflow/draw/image_html.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/draw/synthetic_picture_for_test.h"

namespace attnflow {
namespace {

using internal::FlowRows;
using internal::synthetic_picture;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

nlohmann::json report_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open);
  EXPECT_NE(begin, std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  return nlohmann::json::parse(page.substr(begin + open.size(), end - begin - open.size()));
}

TEST(ImageHtml, HoldsTheReportInFloat32AndAsksForNothing) {
  const Report report = synthetic_picture({.layers = 2});
  const std::string page = image_html(report);
  EXPECT_EQ(page, image_html(report));
  const nlohmann::json json = report_of(page);
  EXPECT_EQ(json["input"]["kind"], "image");
  EXPECT_EQ(json["input"]["image"]["rows"], 6);
  EXPECT_EQ(json["arrays"]["rollout"]["dtype"], "f32");
  EXPECT_EQ(json["arrays"]["rollout"]["shape"], (std::vector<std::size_t>{2, 49, 49}));
  EXPECT_FALSE(json["arrays"].contains("graph"));
  EXPECT_NE(page.find("<title>attnflow: discs.png</title>"), std::string::npos);
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(count(page, "<script type=\"module\">"), 1U);
  EXPECT_EQ(count(page, "<style>"), 1U);
  EXPECT_EQ(count(page, "@SCRIPT") + count(page, "@STYLE") + count(page, "@TITLE") + count(page, "@REPORT"), 0U);
  EXPECT_EQ(count(page, " src="), 0U);
  EXPECT_EQ(count(page, "https:"), 0U);
  EXPECT_EQ(count(page, "innerHTML"), 0U);
}

TEST(ImageHtml, MarkupStaysText) {
  const std::string markup = "</script><img src=x onerror=alert(1)><!-- ";
  Report report = synthetic_picture({.name = markup, .rows = 1, .columns = 2, .layers = 1});
  report.notes = {markup};
  report.predictions[0].choices[0].label = markup;
  const std::string page = image_html(report);
  EXPECT_EQ(count(page, "</script>"), 2U);  // the page's own
  EXPECT_EQ(count(page, "<!--"), 0U);
  EXPECT_EQ(count(page, "<img"), 0U);
  EXPECT_EQ(report_of(page)["input"]["image"]["name"], markup);
}

// A report of this many patches, with zeros but for rollout, whose values are its layers.
Report large(std::size_t rows, std::size_t layers) {
  Report report = synthetic_picture({.rows = rows, .columns = rows, .layers = 1, .flow = FlowRows::kNone});
  const std::size_t n = report.input.tokens.size();
  report.graph = {};
  report.model.layers = layers;
  report.settings.layers.clear();
  report.raw = Tensor<double>({layers, n, n});
  report.rollout = Tensor<double>({layers, n, n});
  for (std::size_t l = 0; l < layers; ++l) {
    report.settings.layers.push_back(l + 1);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) report.rollout(l, i, j) = static_cast<double>(l + 1);
    }
  }
  return report;
}

TEST(ImageHtml, IsSmallEnoughToOpen) {
  const std::string usual = image_html(large(14, 12));
  EXPECT_EQ(report_of(usual)["arrays"]["rollout"]["dtype"], "f16");
  EXPECT_TRUE(report_of(usual)["notes"].empty());
  EXPECT_LT(usual.size(), 3'000'000U);

  const std::string page = image_html(large(26, 25));
  EXPECT_LT(page.size(), 60'000'000U);
  const nlohmann::json json = report_of(page);
  // 25 layers of 677 x 677 values for each of two methods are 22.9 million; every other layer stays.
  ASSERT_EQ(json["notes"].size(), 1U);
  EXPECT_NE(json["notes"][0].get<std::string>().find("12 of the 25 layers"), std::string::npos);
  EXPECT_EQ(json["settings"]["layers"].size(), 13U);
  EXPECT_EQ(json["settings"]["layers"].front(), 1);
  EXPECT_EQ(json["arrays"]["raw"]["shape"], (std::vector<std::size_t>{13, 677, 677}));
}

TEST(ImageHtml, RefusesReportsOfOtherInputs) {
  Report report = synthetic_picture({.layers = 1});
  report.input.image.reset();
  report.input.kind = "text";
  try {
    (void)image_html(report);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("kind 'text'"), std::string::npos);
  }
}

}  // namespace
}  // namespace attnflow
