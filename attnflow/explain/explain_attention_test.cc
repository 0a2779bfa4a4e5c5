#include "attnflow/explain/explain_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::explain_attention_test {
namespace {

AttentionInput input_of(AttentionStack stack) {
  AttentionInput input;
  input.stack = std::move(stack);
  return input;
}

TEST(ExplainAttention, LongInputsGetTheFlowOfOneOutputToken) {
  const AttentionInput input =
      input_of(random_stack({.layers = 2, .heads = 1, .tokens = kMaxTokensForAllFlows + 1, .causal = true, .seed = 1}));
  ExplainOptions options;
  const Report report = explain_attention(input, options);
  EXPECT_EQ(report.flow_output_tokens, (std::vector<std::size_t>{kMaxTokensForAllFlows}));
  EXPECT_EQ(report.flow.shape(), (Shape{2, 1, kMaxTokensForAllFlows + 1}));
  EXPECT_EQ(report.rollout.extent(1), kMaxTokensForAllFlows + 1);
  options.settings.output_token = parse_output_token("all");
  const Report all = explain_attention(input, options);
  EXPECT_EQ(all.flow.extent(1), kMaxTokensForAllFlows + 1);
  for (std::size_t j = 0; j <= kMaxTokensForAllFlows; ++j) {
    EXPECT_EQ(all.flow(1, kMaxTokensForAllFlows, j), report.flow(1, 0, j));
  }
}

std::vector<Note> notes_of(const Report& report, NoteCode code) { return test::notes_of(report.notes, code); }

// Three layers of two heads over three tokens; the last is padding that attends to nothing.
Tensor<float> padded_attention() {
  Tensor<float> weights({3, 2, 3, 3});
  for (std::size_t row = 0; row < 3 * 2 * 3; ++row) {
    if (row % 3 != 2) std::fill_n(weights.data() + row * 3, 2, 0.5F);
  }
  return weights;
}

TEST(ExplainAttention, RowsOfZerosKeepThePosition) {
  ExplainOptions options;
  options.renormalize = true;
  AttentionInput input;
  input.stack = attention_stack(padded_attention(), "a.npz", options, input.zero_rows);
  const auto check = [](const Report& report, const char* heads) {
    EXPECT_EQ(report.rollout(2, 2, 2), 1.0);
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t l = 0; l < 3; ++l) {
        EXPECT_EQ(report.rollout(l, i, 0) + report.rollout(l, i, 1) + report.rollout(l, i, 2), 1.0);
      }
    }
    const std::vector<Note> notes = notes_of(report, NoteCode::kZeroRows);
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_EQ(notes[0].text, "6 rows of the attention held zeros alone (layers 1 to 3, " + std::string(heads) +
                                 ", position 2): each such position keeps only itself there.");
  };
  check(explain_attention(input, options), "heads 0 to 1");
  AttentionInput running;
  running.running.emplace(RunningOptions{.layers = {1, 2, 3}, .raw = true});
  const Tensor<float> weights = padded_attention();
  for (std::size_t l = 1; l <= 3; ++l) {
    const auto layer = weights.view()[l - 1];
    Tensor<float> one({1, 2, 3, 3}, {layer.span().begin(), layer.span().end()});
    append(running, std::move(one), "a.npz", options);
    EXPECT_EQ(running.zero_rows.layers.size(), l);
  }
  EXPECT_EQ(running.zero_rows.count, 6U);
}

TEST(ExplainAttention, SaysWhyRowsDoNotSumToOneAndWhatToDo) {
  const auto said = [](const Tensor<float>& weights) {
    ZeroRows zeros;
    return test::refusal(ErrorKind::kBadFile, [&] { attention_stack(weights, "a.npz", {}, zeros); });
  };
  const std::string expected = "a.npz: expected attention rows that sum to 1 within 0.001, found ";
  EXPECT_TRUE(
      said(padded_attention())
          .starts_with(expected + "6 rows of zeros, the first at layer 1, head 0, query 2; fully masked padding"));
  EXPECT_EQ(said(Tensor<float>({1, 1, 2, 2}, {1.0F, 0.25F, 0.0F, 0.75F})),
            expected +
                "1.25 at layer 1, head 0, query 0, and columns that do; query and key look swapped: "
                "np.swapaxes(attention, -1, -2) puts them in order");
  EXPECT_TRUE(said(Tensor<float>({1, 1, 2, 2}, {1.0F, 0.0F, 2.0F, 0.0F}))
                  .starts_with(expected + "2 at layer 1, head 0, query 1; pass --renormalize"));
}

// Half of the last token's attention on the first of ten, in both layers.
TEST(ExplainAttention, SaysHowMuchADecoderParksOnItsFirstToken) {
  AttentionInput input;
  Tensor<float> weights({2, 1, 10, 10});
  for (std::size_t l = 0; l < 2; ++l) {
    weights(l, 0, 0, 0) = 1.0F;
    for (std::size_t i = 1; i < 10; ++i) {
      weights(l, 0, i, 0) = 0.5F;
      for (std::size_t j = 1; j <= i; ++j) weights(l, 0, i, j) = 0.5F / static_cast<float>(i);
    }
  }
  input.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  const std::vector<Note> notes = notes_of(explain_attention(input, options), NoteCode::kAttentionSink);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NEAR(test::value_of<double>(notes[0], "share"), 0.5, 1e-7);
  EXPECT_TRUE(notes[0].text.starts_with("50% of the output token's attention")) << notes[0].text;
  options.settings.output_token = parse_output_token("2");  // half is not much with three tokens
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kAttentionSink).empty());
  options.settings.output_token = parse_output_token("last");
  options.settings.column_mask = parse_column_mask("first");
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kAttentionSink).empty());
}

// With the first of four columns masked, the second row is (0, 1, 0, 0) in every layer.
TEST(ExplainAttention, SaysWhereASecondTokenTakesTheFirstOnesPlace) {
  AttentionInput input;
  Tensor<float> weights({4, 1, 4, 4});
  for (std::size_t l = 0; l < 4; ++l) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j <= i; ++j) weights(l, 0, i, j) = 1.0F / static_cast<float>(i + 1);
    }
  }
  input.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  options.settings.column_mask = parse_column_mask("first");
  const Report report = explain_attention(input, options);
  const std::vector<Note> notes = notes_of(report, NoteCode::kSecondTokenSink);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_DOUBLE_EQ(test::value_of<double>(notes[0], "share"), report.rollout(3, 3, 1));
  const auto silent = [&] { return notes_of(explain_attention(input, options), NoteCode::kSecondTokenSink).empty(); };
  options.settings.methods = {Method::kRaw};
  EXPECT_TRUE(silent());
  options.settings.methods = {Method::kRollout};
  EXPECT_FALSE(silent());
  options.settings.normalization = Normalization::kReceptiveField;
  EXPECT_TRUE(silent());
  options.settings.normalization = Normalization::kNone;
  options.settings.layers = {1};  // one layer gathers little
  EXPECT_TRUE(silent());
}

TEST(ExplainAttention, GivesTheRowOfOneOutputTokenAlone) {
  const AttentionInput input = input_of(random_stack({.layers = 3, .heads = 2, .tokens = 7, .seed = 5}));
  ExplainOptions options;
  options.settings.output_token = parse_output_token("4");
  const Report all = explain_attention(input, options);
  options.only_output_token = true;
  const Report row = explain_attention(input, options);
  EXPECT_EQ(row.output_tokens, (std::vector<std::size_t>{4}));
  EXPECT_EQ(row.settings.layers, (std::vector<std::size_t>{3}));
  EXPECT_TRUE(row.graph.empty());
  for (std::size_t j = 0; j < 7; ++j) {
    EXPECT_EQ(row.raw(0, 0, j), all.raw(2, 4, j));
    EXPECT_EQ(row.rollout(0, 0, j), all.rollout(2, 4, j));
    EXPECT_EQ(row.flow(0, 0, j), all.flow(2, 4, j));
  }
  options.keep_attention = true;
  EXPECT_THROW(explain_attention(input, options), Error);
}

TEST(ExplainAttention, SaysOnceWhereAndHowFlowIsDegenerate) {
  const AttentionInput deep =
      input_of(random_stack({.layers = 8, .heads = 4, .tokens = 12, .sharpness = 0.5, .seed = 1}));
  const Report report = explain_attention(deep, {});
  const std::vector<Note> notes = notes_of(report, NoteCode::kFlowDegenerate);
  ASSERT_EQ(notes.size(), 1U);
  const std::string text = note_text(notes[0]);
  std::vector<std::size_t> mostly;
  for (std::size_t l = 0; l < 8; ++l) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      for (std::size_t j = 0; j < 12; ++j) count += report.flow_degenerate(l, i, j) != 0;
    }
    if (2 * count > 144) mostly.push_back(l + 1);
  }
  ASSERT_FALSE(mostly.empty());
  ASSERT_EQ(mostly.back(), 8U);
  ASSERT_EQ(mostly.size(), 9 - mostly.front());  // without a gap
  EXPECT_EQ(test::value_of<std::vector<std::size_t>>(notes[0], "layers"), mostly);
  EXPECT_TRUE(text.starts_with("From layer " + std::to_string(mostly.front()) + " on, ")) << text;
  const std::string fewer = "(--layers 1-" + std::to_string(mostly.front() - 1) + ")";
  test::expect_parts(text, {"Look at rollout instead, or at flow from fewer layers " + fewer, "% of the flow values",
                            " shown) are set by the first or the last layer alone.", "--start-layer", "rollout",
                            "--residual", "--heads"});

  const AttentionInput shallow = input_of(random_stack({.layers = 1, .heads = 1, .tokens = 12, .seed = 1}));
  EXPECT_TRUE(notes_of(explain_attention(shallow, {}), NoteCode::kFlowDegenerate).empty());
}

TEST(ExplainAttention, NamesTheEndOfDegenerateFlow) {
  // Attention goes to the first token, whose column exceeds what any row sends. In the last layer nothing else remains,
  // so the top row decides, except for the first token itself.
  constexpr std::size_t kTokens = 24;
  Tensor<float> weights({4, 1, kTokens, kTokens});
  for (std::size_t l = 0; l < 4; ++l) {
    for (std::size_t q = 0; q < kTokens; ++q) {
      weights(l, 0, q, q) = l == 3 ? 0.0F : 0.25F;
      weights(l, 0, q, 0) = 1.0F - (q == 0 ? 0.0F : weights(l, 0, q, q));
    }
  }
  AttentionInput sink;
  sink.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  options.settings.layers = {4};
  const std::vector<Note> top = notes_of(explain_attention(sink, options), NoteCode::kFlowDegenerate);
  ASSERT_EQ(top.size(), 1U);
  const std::string text = note_text(top[0]);
  EXPECT_TRUE(text.starts_with("At layer 4, ")) << text;
  test::expect_parts(text, {" are set by the last layer alone.", "(--layers 1-3)"});
  // No layer lies between layers 2 and 1.
  options.settings.layers = {2};
  options.settings.start_layer = 1;
  EXPECT_TRUE(notes_of(explain_attention(sink, options), NoteCode::kFlowDegenerate).empty());
}

TEST(ExplainAttention, SaysWhenAnEnclosureIsWiderThanTheTolerance) {
  AttentionInput input = input_of(random_stack({.layers = 4, .heads = 1, .tokens = 12, .seed = 1}));
  ExplainOptions options;
  options.any_weights = true;
  options.settings.methods = {Method::kFlow};
  options.settings.flow_tolerance = 1e-12;
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kWideGap).empty());
  // Rows that sum to 10^6 have larger units.
  Tensor<float> weights = std::get<AttentionStack>(input.stack).weights();
  for (float& weight : weights.span()) weight *= 1e6F;
  input.stack = AttentionStack(weights);
  const Report report = explain_attention(input, options);
  const std::vector<Note> notes = notes_of(report, NoteCode::kWideGap);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(test::value_of<double>(notes[0], "tolerance"), 1e-12);
  options.settings.flow_tolerance = 1e-6;
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kWideGap).empty());
}

TEST(ExplainAttention, SaysWhatTheTimeLimitLeft) {
  const AttentionInput input = input_of(random_stack({.layers = 5, .heads = 1, .tokens = 24, .seed = 3}));
  ExplainOptions options;
  options.settings.methods = {Method::kFlow};
  options.max_flow_seconds = 1e-9;
  const Report report = explain_attention(input, options);
  const std::vector<Note> notes = notes_of(report, NoteCode::kFlowTimeLimit);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(test::value_of<double>(notes[0], "seconds"), 1e-9);
  const auto widest = test::value_of<double>(notes[0], "widest");
  EXPECT_EQ(widest, *std::max_element(report.flow_gap.span().begin(), report.flow_gap.span().end()));
  EXPECT_GT(widest, 1e-6);
  // The note concerns flow before normalization.
  options.settings.normalization = Normalization::kRow;
  EXPECT_EQ(notes_of(explain_attention(input, options), NoteCode::kFlowTimeLimit), notes);
  options.settings.normalization = Normalization::kNone;
  options.max_flow_seconds = 600.0;
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kFlowTimeLimit).empty());
  for (const double wrong : {-1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL}) {
    options.max_flow_seconds = wrong;
    EXPECT_THROW(explain_attention(input, options), Error);
  }
}

TEST(ExplainAttention, CertificatesProveTheFlowOfPairs) {
  const AttentionInput input =
      input_of(random_stack({.layers = 4, .heads = 2, .tokens = 9, .sharpness = 3.0, .seed = 5}));
  const AttentionGraph graph = attention_graph(std::get<AttentionStack>(input.stack));
  ExplainOptions options;
  from_value(std::vector<std::string>{"2,7", "auto,last", "last,0"}, options.certificates);
  for (const std::size_t m : {0U, 1U}) {
    options.settings.layers = {2, 4};
    options.settings.start_layer = m;
    options.settings.normalization =
        m == 0 ? Normalization::kNone : Normalization::kRow;  // certificates are never normalized
    const Report report = explain_attention(input, options);
    ASSERT_EQ(report.certificates.size(), 3U);
    const LayeredNetwork network = attention_network(graph, 4, m);
    const std::size_t pairs[3][2] = {{2, 7}, {0, 8}, {8, 0}};
    for (std::size_t c = 0; c < 3; ++c) {
      const ReportCertificate& certificate = report.certificates[c];
      EXPECT_TRUE(certificate.holds()) << certificate.problem;
      EXPECT_EQ(certificate.layer, 4U);
      EXPECT_EQ(certificate.start_layer, m);
      EXPECT_EQ(certificate.output_token, pairs[c][0]);
      EXPECT_EQ(certificate.input_token, pairs[c][1]);
      EXPECT_EQ(certificate.low, certificate.flow);
      const FlowResult all = attention_flow(graph, {.layers = {4}, .start_layer = m});
      EXPECT_NEAR(certificate.flow, all.flow(0, pairs[c][0], pairs[c][1]), 1e-15);
      // The report's certificate is a proof by itself: check the same arcs again, counted from layer m.
      PairFlow again{.flow = certificate.flow,
                     .flow_gap = certificate.flow_gap,
                     .fixed_point = {certificate.unit_exponent},
                     .arc_flows = {},
                     .minimum_cut = {}};
      double capacity = 0.0;
      for (const FlowArc& arc : certificate.arc_flows) {
        again.arc_flows.push_back({arc.layer - m, arc.from, arc.to, static_cast<std::int64_t>(arc.units)});
      }
      for (const ReportCutArc& arc : certificate.minimum_cut) {
        again.minimum_cut.push_back({arc.layer - m, arc.from, arc.to, 0});
        EXPECT_EQ(arc.capacity, network.layers[arc.layer - m - 1](arc.from, arc.to));
        capacity += arc.capacity;
      }
      EXPECT_TRUE(certify(network, pairs[c][0], pairs[c][1], again).holds());
      EXPECT_NEAR(capacity, certificate.high, 1e-14);
      ASSERT_EQ(certificate.cut_shares.size(), 4 - m);
      EXPECT_EQ(certificate.cut_shares.front().layer, 4U);
      EXPECT_EQ(certificate.cut_shares.back().layer, m + 1);
    }
  }
}

TEST(ExplainAttention, RefusesCertificatesOfTokensThatAreNotThere) {
  const AttentionInput input = input_of(random_stack({.layers = 2, .heads = 1, .tokens = 4, .seed = 1}));
  for (const std::vector<std::string>& wrong :
       std::vector<std::vector<std::string>>{{"0,4"}, {"4,0"}, {"cls,0"}, {"mask,0"}, {"0,3", "0,last"}}) {
    ExplainOptions options;
    from_value(wrong, options.certificates);
    EXPECT_THROW(explain_attention(input, options), Error) << wrong[0];
  }
}

}  // namespace
}  // namespace attnflow::explain_attention_test
