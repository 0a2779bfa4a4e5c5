#include "attnflow/draw/html.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/draw/synthetic_picture_for_test.h"
#include "attnflow/draw/viewer_page.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/report_json.h"

namespace attnflow::html_test {
namespace {

// All methods and pairs, values without structure (the worst case for size).
Report random_report(std::size_t n, std::size_t layers, bool single_head = false) {
  std::mt19937_64 random(n * 100 + layers);
  const auto fill = [&](double scale) {
    Tensor<double> tensor({layers, n, n});
    for (double& value : tensor.span()) value = scale * static_cast<double>(random() >> 11) * 0x1p-53;
    return tensor;
  };
  Report report;
  report.model = {"model", "bert", layers, 12, false};
  for (std::size_t i = 0; i < n; ++i) {
    report.input.tokens.push_back({"word", 5 * i, 5 * i + 4, false, {}, 0});
    report.input.text += "word ";
    report.output_tokens.push_back(i);
  }
  for (std::size_t l = 1; l <= layers; ++l) report.settings.layers.push_back(l);
  report.flow_output_tokens = report.output_tokens;
  report.raw = fill(1.0);
  report.graph = single_head ? fill(1.0) : report.raw;
  if (single_head) report.settings.heads = parse_heads("3");
  report.rollout = fill(1.0);
  report.flow = fill(1.0);
  report.flow_gap = fill(1e-6);
  report.flow_degenerate = Tensor<std::uint8_t>({layers, n, n});
  return report;
}

std::string report_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"report\">";
  const std::size_t begin = page.find(open);
  EXPECT_NE(begin, std::string::npos);
  const std::size_t end = page.find("</script>", begin);
  EXPECT_NE(end, std::string::npos);
  return page.substr(begin + open.size(), end - begin - open.size());
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST(Html, HoldsTheReportInFloat32) {
  const Report report = random_report(5, 3);
  const Report read = report_from_json(report_of(report_html(report)));
  EXPECT_EQ(read.input.text, report.input.text);
  ASSERT_EQ(read.flow.shape(), report.flow.shape());
  ASSERT_EQ(read.graph.shape(), report.graph.shape());  // derived from raw, which has the same numbers
  for (std::size_t i = 0; i < report.flow.size(); ++i) {
    EXPECT_EQ(read.flow.data()[i], static_cast<double>(static_cast<float>(report.flow.data()[i])));
    EXPECT_EQ(read.flow_gap.data()[i], static_cast<double>(static_cast<float>(report.flow_gap.data()[i])));
  }
}

void expect_to_ask_for_nothing(const std::string& page) {
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0U);
  EXPECT_EQ(count(page, "<script type=\"module\">"), 1U);
  EXPECT_EQ(count(page, "<style>"), 1U);
  test::expect_parts(page, {"content=\"default-src 'none'; script-src 'sha256-"});
  test::expect_no_parts(page, {"unsafe-"});
  for (const char* mark : {"@SCRIPT", "@STYLE", "@TITLE@", "@REPORT@", "@POLICY@"}) EXPECT_EQ(count(page, mark), 0U);
  EXPECT_EQ(count(page, " src="), 0U);
  EXPECT_EQ(count(page, "href=\"data:,\""), 1U);  // no icon
  EXPECT_EQ(count(page, "https://"), 0U);
}

TEST(Html, HasOneScriptOneStyleAndAsksForNothing) {
  expect_to_ask_for_nothing(report_html(random_report(4, 2)));
  expect_to_ask_for_nothing(report_html(internal::synthetic_picture({.layers = 2})));
  expect_to_ask_for_nothing(report_html(internal::usual_generation(8, 5)));
}

TEST(Html, TheServersPageMayAskItsServerOnly) {
  const std::string page = viewer_server_page();
  const std::string policy(viewer_server_policy());
  EXPECT_EQ(policy.rfind("default-src 'none'; connect-src 'self'; script-src 'sha256-", 0), 0U);
  test::expect_parts(policy, {"style-src 'sha256-"});
  test::expect_no_parts(policy, {"unsafe-"});
  test::expect_parts(page, {"http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\""});
  EXPECT_EQ(report_of(page), "null");
  EXPECT_EQ(count(page, "</script>"), 2U);
}

TEST(Html, MarkupInTheTextStaysText) {
  Report report = random_report(3, 1);
  report.input.text = "</script><script>alert(1)</script> & <!-- ";
  report.model.name = "</title><b>";
  const std::string page = report_html(report);
  EXPECT_EQ(count(page, "</script>"), 2U);  // the page's own: one for the report and one for the program
  EXPECT_EQ(count(page, "<!--"), 0U);
  test::expect_parts(page, {"<title>attnflow: &lt;/script>&lt;script>alert(1)&lt;/script> &amp; &lt;!-- </title>"});
  EXPECT_EQ(report_from_json(report_of(page)).input.text, report.input.text);
}

TEST(Html, LongTitlesEndAtACharacter) {
  Report report = random_report(3, 1);
  report.input.tokens.resize(3);
  report.input.text.clear();
  for (int i = 0; i < 100; ++i) report.input.text += "\xe6\x96\x87\n";  // a Han character and a line break
  const std::string page = report_html(report);
  std::string expected = "<title>attnflow: ";
  for (int i = 0; i < 30; ++i) expected += "\xe6\x96\x87 ";
  test::expect_parts(page, {expected + "\xe2\x80\xa6</title>"});
}

TEST(Html, MarkupInPicturesAndGenerationsStaysText) {
  const std::string markup = "</script><img src=x onerror=alert(1)><!-- ";
  Report picture = internal::synthetic_picture({.name = markup, .rows = 1, .columns = 2, .layers = 1});
  picture.notes = {Note(markup)};
  picture.predictions[0].choices[0].label = markup;
  internal::SyntheticGeneration make{.prompt = {markup, " b"}, .generated = {markup}, .layers = 1};
  Report generation = internal::synthetic_generation(make);
  generation.notes = {Note(markup)};
  generation.generation->excluded = {{markup, {0}}};
  for (const std::string& page : {report_html(picture), report_html(generation)}) {
    EXPECT_EQ(count(page, "</script>"), 2U);  // the page's own
    EXPECT_EQ(count(page, "<!--"), 0U);
    EXPECT_EQ(count(page, "<img"), 0U);
  }
  EXPECT_EQ(nlohmann::json::parse(report_of(report_html(picture)))["input"]["image"]["name"], markup);
  EXPECT_EQ(nlohmann::json::parse(report_of(report_html(generation)))["generation"]["tokens"][0]["text"], markup);
}

TEST(Html, IsNamedAfterTheInput) {
  const auto named = [](const std::string& page, const std::string& title) {
    return page.find("<title>attnflow: " + title + "</title>") != std::string::npos;
  };
  EXPECT_TRUE(named(report_html(internal::synthetic_picture({.layers = 1})), "discs.png"));
  Report report = random_report(2, 1);
  report.input.text = "two words";
  EXPECT_TRUE(named(report_html(report), "two words"));
  report.input.text.clear();
  EXPECT_TRUE(named(report_html(report), "model"));
}

TEST(Html, StaysUnder3MegabytesAt128Tokens) {
  const std::size_t three_megabytes = 3'000'000;
  const Report small_model = random_report(64, 6);
  const Report read = report_from_json(report_of(report_html(small_model)));
  EXPECT_EQ(read.flow(5, 63, 63), static_cast<double>(static_cast<float>(small_model.flow(5, 63, 63))));
  EXPECT_FALSE(read.flow_gap.empty());

  EXPECT_LT(report_html(random_report(128, 6)).size(), three_megabytes);
  EXPECT_LT(report_html(random_report(128, 6, true)).size(), three_megabytes);  // the graph has its own numbers
  const Report deep_model = random_report(128, 12);
  const std::string deep = report_html(deep_model);
  EXPECT_LT(deep.size(), 3 * three_megabytes);
  // Twelve layers of noise become logarithmic codes, 2.3% off.
  const Report rounded = report_from_json(report_of(deep));
  EXPECT_NEAR(rounded.flow(0, 0, 0), deep_model.flow(0, 0, 0), 0.024 * deep_model.flow(0, 0, 0));
}

TEST(Html, HoldsTheAttentionStackWhereItWasKept) {
  Report report = random_report(4, 2);
  report.attention = Tensor<float>({2, 12, 4, 4});
  for (float& weight : report.attention.span()) weight = 0.25F;
  const Report read = report_from_json(report_of(report_html(report)));
  ASSERT_EQ(read.attention.shape(), report.attention.shape());
  EXPECT_EQ(read.attention(1, 11, 3, 3), 0.25F);
}

TEST(Html, SameReportSameBytes) { EXPECT_EQ(report_html(random_report(6, 2)), report_html(random_report(6, 2))); }

TEST(Html, WritesAWholeFileOrNone) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attnflow_html_test";
  std::filesystem::create_directories(folder);
  const Report report = random_report(2, 1);
  write_html(folder / "page.html", report);
  EXPECT_EQ(read_file(folder / "page.html"), report_html(report));
  EXPECT_THROW(write_html(folder / "missing" / "page.html", report), Error);
  EXPECT_FALSE(std::filesystem::exists(folder / "missing"));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace attnflow::html_test
