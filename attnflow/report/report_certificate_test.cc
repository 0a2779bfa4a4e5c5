#include "attnflow/report/report_certificate.h"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "attnflow/base/text_for_test.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"

namespace attnflow::report_certificate_test {
namespace {

using nlohmann::json;

ReportCertificate certificate() {
  ReportCertificate made;
  made.layer = 2;
  made.output_token = 0;
  made.input_token = 2;
  made.flow = 0.375;
  made.flow_gap = 0x1p-50;
  made.feasible = made.conserves = made.separates = true;
  made.low = 0.375;
  made.high = 0.375 + 0x1p-50;
  made.cut_shares = {{2, 1, 0.25, 2.0 / 3.0}, {1, 2, 0.125, 1.0 / 3.0}};
  made.only_minimum_cut = true;
  made.minimum_cut = {{2, 0, 1, 0.25}, {1, 0, 2, 0.03125}, {1, 2, 2, 0.09375}};
  made.unit_exponent = 61;
  made.arc_flows = {{2, 0, 1, (std::int64_t{1} << 61) - 1}, {1, 1, 2, 3}};
  return made;
}

Report report_with_certificate() {
  Report report = test::small_report();
  report.certificates = {certificate()};
  return report;
}

TEST(Certificate, RoundTripKeepsEveryBit) {
  Report report = report_with_certificate();
  report.certificates.push_back(certificate());
  report.certificates[1].start_layer = 1;
  report.certificates[1].cut_shares.pop_back();
  report.certificates[1].separates = false;
  report.certificates[1].high = std::numeric_limits<double>::infinity();
  report.certificates[1].problem = "the cut leaves a path";
  report.certificates[1].arc_flows.clear();
  const std::string text = report_to_json(report);
  const Report read = report_from_json(text);
  EXPECT_EQ(report_to_json(read), text);
  ASSERT_EQ(read.certificates.size(), 2U);
  const ReportCertificate& first = read.certificates[0];
  EXPECT_TRUE(first.holds());
  EXPECT_EQ(first.flow_gap, 0x1p-50);
  EXPECT_EQ(first.high, 0.375 + 0x1p-50);
  EXPECT_EQ(first.cut_shares[0].share, 2.0 / 3.0);
  EXPECT_EQ(first.minimum_cut[2].capacity, 0.09375);
  EXPECT_EQ(first.arc_flows[0].units, (std::int64_t{1} << 61) - 1);
  EXPECT_EQ(first.unit_exponent, 61);
  EXPECT_TRUE(first.only_minimum_cut);
  EXPECT_FALSE(read.certificates[1].holds());
  EXPECT_EQ(read.certificates[1].high, std::numeric_limits<double>::infinity());
  EXPECT_EQ(read.certificates[1].problem, "the cut leaves a path");
  test::expect_no_parts(report_to_json(test::small_report()), {"certificates"});
}

TEST(Certificate, WrongFieldsAreRefusedByTheirPlace) {
  const Report good = report_with_certificate();
  const auto expect_refused = [&](const char* pointer, const json& value, const char* place) {
    test::expect_field_refused(good, pointer, value, place);
  };
  expect_refused("/certificates", 1, "certificates");
  expect_refused("/certificates/0", 1, "certificates[0]");
  expect_refused("/certificates/0/layer", 3, "certificates[0]");
  expect_refused("/certificates/0/layer", nullptr, "certificates[0]");
  expect_refused("/certificates/0/start_layer", 2, "certificates[0]");
  expect_refused("/certificates/0/output_token", 4, "certificates[0]");
  expect_refused("/certificates/0/input_token", 4, "certificates[0]");
  expect_refused("/certificates/0/flow", "x", "certificates[0].flow");
  expect_refused("/certificates/0/unit_exponent", 1e9, "certificates[0].unit_exponent");
  expect_refused("/certificates/0/unit_exponent", 1'000'000, "certificates[0].unit_exponent");
  expect_refused("/certificates/0/minimum_cut/0", json::array({1, 0, 2}), "certificates[0].minimum_cut[0]");
  expect_refused("/certificates/0/minimum_cut/0", json::array({0, 0, 2, 0.5}), "certificates[0].minimum_cut[0]");
  expect_refused("/certificates/0/minimum_cut/0", json::array({1, 0, 4, 0.5}), "certificates[0].minimum_cut[0]");
  expect_refused("/certificates/0/arc_flows/1", json::array({1, 0, 2, 0.5}), "certificates[0].arc_flows[1]");
  expect_refused("/certificates/0/arc_flows/1", json::array({1, 0, 2, -1}), "certificates[0].arc_flows[1]");
  expect_refused("/certificates/0/cut_shares/0", json::object(), "certificates[0].cut_shares[0]");
  expect_refused("/certificates/0/cut_shares/0/layer", 99999, "99999");
  expect_refused("/certificates/0/unit_exponent", std::numeric_limits<std::uint64_t>::max(), "unit_exponent");
  expect_refused("/certificates/0/flow", -1e308, "at least 0");
}

TEST(Certificate, InTables) {
  Report report = report_with_certificate();
  report.settings.top_k = 2;
  const std::string table = terminal_table(report);
  test::expect_parts(
      table,
      {"Flow from output token 0 \"[CLS]\" of layer 2 to input token 2 \"cats\": 0.375, or\n  at most 8.9e-16 more\n",
       "Checked: a flow on 2 arcs", "a\n  cut of 3 arcs", "The only minimum cut, by layer: layer 2 66.7% (1 arc),",
       "33.3% (2 arcs)", "- layer 2: 0 \"[CLS]\" to 1 \"The\", 0.25\n- layer 1: 2 \"cats\" to 2 \"cats\", 0.09375\n",
       "- and 1 more\n"});
  const std::string markdown = markdown_table(report);
  test::expect_parts(markdown, {"\n## Flow from output token 0", "\n- layer 2: 0 \"\\[CLS\\]\" to 1 \"The\", 0.25\n"});
}

TEST(Certificate, SaysWhatIsNotProven) {
  Report report = report_with_certificate();
  ReportCertificate& made = report.certificates[0];
  made.conserves = false;
  made.problem = "flow is not conserved at (1, 2)";
  EXPECT_EQ(certificate_text(report, made, "...").sentences[0], "Not proven: flow is not conserved at (1, 2).");
  made = certificate();
  made.high = 5.0;
  EXPECT_EQ(certificate_text(report, made, "...").sentences[0].rfind("Not proven: ", 0), 0U);
  made = certificate();
  made.only_minimum_cut = false;
  test::expect_parts(certificate_text(report, made, "...").sentences[1], {"there are others"});
  made = {};
  made.layer = 2;
  made.feasible = made.conserves = made.separates = true;
  const CertificateText none = certificate_text(report, made, "...");
  test::expect_parts(none.title, {": 0, exactly"});
  EXPECT_EQ(none.sentences.back(), "No path connects the two tokens.");
  EXPECT_TRUE(none.arcs.empty());
}

}  // namespace
}  // namespace attnflow::report_certificate_test
