#include "attnflow/draw/generation_html.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

#include "attnflow/draw/synthetic_generation_for_test.h"

namespace attnflow {
namespace {

using internal::synthetic_generation;
using internal::SyntheticGeneration;
using internal::usual_generation;

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

TEST(GenerationHtml, HoldsTheReportInFloat32AndAsksForNothing) {
  const GenerationReport report = usual_generation(8, 5);
  const std::string page = generation_to_html(report);
  EXPECT_EQ(page, generation_to_html(report));
  const nlohmann::json json = report_of(page);
  EXPECT_EQ(json["input"]["kind"], "generation");
  EXPECT_EQ(json["generation"]["text"], report.text);
  EXPECT_EQ(json["arrays"]["rollout"]["dtype"], "f32");
  EXPECT_EQ(json["arrays"]["rollout"]["shape"], (std::vector<std::size_t>{5, 8, 6}));
  EXPECT_NE(page.find("default-src 'none'; script-src 'sha256-"), std::string::npos);
  EXPECT_EQ(count(page, "<script type=\"module\">"), 1U);
  EXPECT_EQ(count(page, "<style>"), 1U);
  EXPECT_EQ(count(page, "@SCRIPT") + count(page, "@STYLE") + count(page, "@TITLE") + count(page, "@REPORT"), 0U);
  EXPECT_EQ(count(page, " src="), 0U);
  EXPECT_EQ(count(page, "https:"), 0U);
  EXPECT_EQ(count(page, "innerHTML"), 0U);
}

TEST(GenerationHtml, MarkupStaysText) {
  const std::string markup = "</script><img src=x onerror=alert(1)><!-- ";
  SyntheticGeneration make{.prompt = {markup, " b"}, .generated = {markup}, .layers = 1};
  GenerationReport report = synthetic_generation(make);
  report.notes = {markup};
  report.dropped = {{markup, {0}}};
  const std::string page = generation_to_html(report);
  EXPECT_EQ(count(page, "</script>"), 2U);  // the page's own
  EXPECT_EQ(count(page, "<!--"), 0U);
  EXPECT_EQ(count(page, "<img"), 0U);
  EXPECT_EQ(report_of(page)["generation"]["tokens"][0]["text"], markup);
}

// A generation of this size, of zeros.
GenerationReport large(std::size_t m, std::size_t n, std::size_t layers) {
  GenerationReport report;
  report.settings.method = {"raw", "rollout"};
  report.model.layers = layers;
  for (std::size_t l = 1; l <= layers; ++l) report.settings.layers.push_back(l);
  report.prompt_tokens.resize(m);
  for (ReportToken& token : report.prompt_tokens) token.text = "a";
  report.tokens.resize(n);
  report.raw.prompt = Tensor<double>({n, m, layers});
  report.rollout.prompt = Tensor<double>({n, m, layers});
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t j = 0; j < m; ++j) {
      for (std::size_t l = 0; l < layers; ++l) report.rollout.prompt(t, j, l) = static_cast<double>(l + 1);
    }
  }
  report.sink_share = Tensor<double>({n, layers});
  return report;
}

TEST(GenerationHtml, IsSmallEnoughToOpen) {
  const std::string usual = generation_to_html(large(200, 64, 30));
  EXPECT_EQ(report_of(usual)["arrays"]["rollout"]["dtype"], "f16");
  EXPECT_TRUE(report_of(usual)["notes"].empty());
  EXPECT_LT(usual.size(), 3'000'000U);

  const GenerationReport report = large(1000, 1000, 24);
  const std::string page = generation_to_html(report);
  EXPECT_LT(page.size(), 64'000'000U);
  const nlohmann::json json = report_of(page);
  EXPECT_EQ(json["notes"].size(), 1U);
  EXPECT_NE(json["notes"][0].get<std::string>().find("raw attention and 12 of the 24 layers"), std::string::npos);
  EXPECT_FALSE(json["arrays"].contains("raw"));
  EXPECT_EQ(json["arrays"]["rollout"]["shape"], (std::vector<std::size_t>{1000, 1000, 12}));
  EXPECT_EQ(json["arrays"]["sink_share"]["shape"], (std::vector<std::size_t>{1000, 12}));
  // Every other layer, with the last: 2, 4, ..., 24; float16 of 2 is 0x4000, "AEA" as base64 of its bytes 00 40.
  EXPECT_EQ(json["settings"]["layers"].front(), 2);
  EXPECT_EQ(json["settings"]["layers"].back(), 24);
  EXPECT_EQ(json["arrays"]["rollout"]["data"].get<std::string>().substr(0, 2), "AE");
}

}  // namespace
}  // namespace attnflow
