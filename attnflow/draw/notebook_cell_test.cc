#include "attnflow/draw/notebook_cell.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/answer_html.h"
#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/draw/synthetic_picture_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/zlib_bytes.h"

namespace attnflow::notebook_cell_test {
namespace {

constexpr std::size_t kLongestPage = 4'000'000;

// "her" is predicted after "the key"; without "key" it loses 4.3.
Report checked_report() {
  Report report = internal::synthetic_report({"[CLS]", "the", "key", "##s", "are"}, 3);
  report.output_token = 4;
  report.predictions = {{"next", 4, {{"her", 0.63}, {"<b>", 0.2}}, {}}};
  report.target = ReportTarget{.kind = "next", .label = "her", .index = 7, .logit = 3.0, .position = 4};
  report.target->against = ReportAgainst{.label = "<b>", .index = 3};
  report.check = ReportCheck{.quantity = "logit difference",
                             .value = 3.2,
                             .tokens = {{.token = 1, .drop = -0.25}, {.token = 2, .drop = 4.3, .spread = 0.5}},
                             .maps = {{.method = Method::kRollout,
                                       .layer = 3,
                                       .rank_correlation = 0.7,
                                       .compared = 7,
                                       .first_token = 2,
                                       .decisive_token = 2}}};
  return report;
}

// As the cell's script does.
std::string page_in(const std::string& cell) {
  const auto between = [&](const std::string& open, const std::string& close) {
    const std::size_t begin = cell.find(open) + open.size();
    return cell.substr(begin, cell.find(close, begin) - begin);
  };
  const std::string code = between("code = \"", "\"");
  const auto digit = [&](std::size_t at) {
    const int c = static_cast<unsigned char>(code[at]);
    return static_cast<unsigned>(c - 33 - (c > 34 ? 1 : 0) - (c > 60 ? 1 : 0) - (c > 92 ? 1 : 0));
  };
  std::vector<std::byte> packed;
  unsigned bits = 0;
  int held = 0;
  for (std::size_t i = 0; i < code.size(); i += 2) {
    bits = bits << 13U | (digit(i) * 91 + digit(i + 1));
    for (held += 13; held >= 8; held -= 8) packed.push_back(static_cast<std::byte>(bits >> (held - 8)));
    bits &= (1U << held) - 1U;
  }
  packed.resize(std::stoul(between("Uint8Array(", ")")));
  const auto bytes = internal::zlib_uncompress(packed, 1, kLongestPage);
  EXPECT_TRUE(bytes.has_value());
  return bytes ? std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()) : "";
}

std::string document_in(const std::string& page) {
  const std::string open = "id=\"report\">";
  const std::size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

TEST(AnswerHtml, HasEveryPartInOrder) {
  const std::string html = answer_html(checked_report());
  std::size_t at = 0;
  for (const char* part : {"\u201cher\u201d, 63%, rather than \u201c&lt;b&gt;\u201d", ">key<", ">4.3<", ">\u22120.25<",
                           "Highlighted: ", "logit difference", "\u2713", "The top-ranked token is right",
                           "The order of the tokens agrees"}) {
    const std::size_t found = part == std::string(">\u22120.25<") ? html.find(part) : html.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " in " << html;
    if (part != std::string(">\u22120.25<")) at = found;
  }
  test::expect_no_parts(html, {"<script", "<style", "<b>\u201d", "<iframe", "class=", "href="});
}

TEST(AnswerHtml, LongTextsAreCutAroundWhatMatters) {
  const auto long_report = [](std::size_t n) {
    return internal::synthetic_report(std::vector<std::string>(n, "word"), 1);
  };
  const std::string html = answer_html(long_report(900));
  EXPECT_LT(html.size(), 40'000U);
  test::expect_parts(html, {"\u2026"});
  test::expect_no_parts(answer_html(long_report(40)), {"\u2026"});
}

TEST(AnswerHtml, ASecondTextBeginsALineIfItsFirstTokenIsNotShown) {
  Report report = internal::synthetic_report(std::vector<std::string>(900, "word"), 1);
  test::expect_no_parts(answer_html(report), {"<br>"});
  for (const std::size_t begin : {400U, 450U}) {  // far from the tokens with the largest values, and of others
    for (std::size_t j = 0; j < 900; ++j) {
      report.input.tokens[j].segment = j < begin ? 0 : 1;
      report.rollout(0, 0, j) = j == 0 || j == 800 ? 0.4 : 1e-4;
    }
    test::expect_parts(answer_html(report), {" \u2026<br>"});
  }
}

TEST(AnswerHtml, PiecesOfJoinedScriptsStayJoined) {
  Report report = internal::synthetic_report({"\u0643\u062a", "##\u0627\u0628", "key"});
  test::expect_parts(answer_html(report), {"\u062a\u200d<", ">\u200d\u0627"});
}

TEST(AnswerHtml, PicturesAreGridsOfPatches) {
  const Report report = internal::synthetic_picture({.layers = 2});
  const std::string html = answer_html(report);
  std::size_t cells = 0;
  const std::string cell = "<span style=\"display: inline-block; width: ";
  for (std::size_t at = html.find(cell); at != std::string::npos; at = html.find(cell, at + 1)) ++cells;
  EXPECT_EQ(cells, report.input.image->rows * report.input.image->columns);
  test::expect_parts(html, {"src=\"data:image/png;base64,"});
}

TEST(NotebookCell, BeginsWithTheAnswerAndUnpacksToThePage) {
  Report report = checked_report();
  report.notes.push_back(
      {NoteCode::kDefaultMixing, {{"mixing", std::string("relevance")}, {"reason", std::string("the default")}}});
  const std::string cell = notebook_cell(report, "attnflow-1");
  EXPECT_EQ(cell.rfind(answer_html(report), 0), 0U);
  test::expect_parts(cell,
                     {"<details id=\"attnflow-1\"", "getElementById(\"attnflow-1\")", "allow-scripts allow-downloads"});
  test::expect_no_parts(cell, {"allow-same-origin", "src=\"http", "<iframe"});
  const std::string page = page_in(cell);
  EXPECT_EQ(page.rfind("<!doctype html>", 0), 0U);
  test::expect_parts(page, {"<html data-embed", "content=\"default-src 'none'; script-src 'sha256-"});
  const Report read = report_from_json(document_in(page));
  EXPECT_EQ(read.input.text, report.input.text);
  ASSERT_FALSE(read.notes.empty());  // others say what was left out to save space
  EXPECT_EQ(read.notes.front().advice, "mixing=\"attention\" shows the paper's attention.");
  EXPECT_EQ(notebook_cell(report, "attnflow-1"), cell);
}

TEST(NotebookCell, ThirtyTokensTake150Kilobytes) {
  const std::string cell =
      notebook_cell(internal::synthetic_report(std::vector<std::string>(30, "word"), 6), "attnflow-1");
  EXPECT_LT(cell.size(), 150'000U);
  EXPECT_GT(page_in(cell).size(), cell.size());
}

TEST(NotebookCell, GenerationsAndMarkup) {
  Report report = internal::usual_generation(8, 5);
  const std::string cell = notebook_cell(report, "attnflow-1");
  test::expect_parts(cell, {"Generated:", "every generated token"});
  report = internal::synthetic_report({"</script><script>alert(1)</script>", "<!--"});
  const std::string hostile = notebook_cell(report, "attnflow-1");
  test::expect_no_parts(hostile, {"<script>alert", "<!--"});
}

}  // namespace
}  // namespace attnflow::notebook_cell_test
