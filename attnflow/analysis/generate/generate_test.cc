#include "attnflow/analysis/generate/generate.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "attnflow/analysis/generate/decoder_for_test.h"
#include "attnflow/analysis/generate/generated_text.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::generate_test {
namespace {

constexpr double kTolerance = 1e-12;
const std::string kPrompt = "one two three";  // 14 tokens with the one in front
constexpr std::size_t kPromptTokens = 14;

AttentionGraph graph_of(const ScriptedDecoder& decoder, std::size_t tokens, const MixingOptions& mixing = {}) {
  const AttentionStack& all = decoder.stack();
  Tensor<float> part({all.layers(), all.heads(), tokens, tokens});
  for (std::size_t l = 0; l < all.layers(); ++l) {
    for (std::size_t h = 0; h < all.heads(); ++h) {
      for (std::size_t q = 0; q < tokens; ++q) {
        for (std::size_t k = 0; k < tokens; ++k) part(l, h, q, k) = all.weights()(l, h, q, k);
      }
    }
  }
  return attention_graph(AttentionStack(std::move(part)), mixing);
}

GenerateOptions options_for(const std::vector<std::string>& methods) {
  GenerateOptions options;
  options.settings.methods = parse_methods(methods);
  options.threads = 2;
  return options;
}

TEST(Generate, RowsAreThoseOfTheLastPositionOfThePromptAndTheTokensBefore) {
  for (const std::size_t chunk : {std::size_t{1000}, std::size_t{5}}) {
    ScriptedDecoder decoder("four five", kPromptTokens, chunk);
    GenerateOptions options = options_for({"raw", "rollout", "flow"});
    options.settings.residual = 0.4;
    options.flow_layers = {2, 4};
    const Report report = generate(decoder, ByteCodec(), kPrompt, options);
    EXPECT_EQ(report.generation->text, "four five");
    EXPECT_EQ(report.generation->stopped, "end");
    // Room for all tokens, up to the number of positions; the last one said is never appended.
    EXPECT_EQ(decoder.reserved, std::min(kPromptTokens + options.tokens - 1, decoder.info().max_tokens));
    ASSERT_EQ(report.generation->tokens.size(), 10U);  // the end too
    EXPECT_TRUE(report.generation->tokens.back().special);
    MixingOptions mixing;
    mixing.residual = 0.4;
    for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) {
      const std::size_t last = kPromptTokens + t - 1;
      const AttentionGraph graph = graph_of(decoder, last + 1, mixing);
      const FlowResult flow = attention_flow(graph, {.layers = {2, 4}, .output_token = last});
      for (std::size_t l = 1; l <= 4; ++l) {
        const std::vector<double> row = rollout_row(graph, last, l);
        for (std::size_t j = 0; j < kPromptTokens; ++j) {
          EXPECT_NEAR(report.rollout(l - 1, t, j), row[j], kTolerance);
          EXPECT_EQ(report.raw(l - 1, t, j), graph.weights(l - 1, last, j));
        }
      }
      for (std::size_t l = 0; l < 2; ++l) {
        for (std::size_t j = 0; j < kPromptTokens; ++j) {
          EXPECT_EQ(report.flow(l, t, j), flow.flow(l, 0, j));
          EXPECT_EQ(report.flow_gap(l, t, j), flow.flow_gap(l, 0, j));
          EXPECT_EQ(report.flow_degenerate(l, t, j), flow.degenerate(l, 0, j));
        }
      }
    }
  }
}

TEST(Generate, KeepsGeneratedColumnsOnRequest) {
  ScriptedDecoder decoder("abc", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout"});
  EXPECT_TRUE(generate(decoder, ByteCodec(), kPrompt, options).rollout_beside.generated.empty());
  options.generated_columns = true;
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  ASSERT_EQ(report.rollout_beside.generated.shape(), (Shape{4, 4, 4}));
  for (std::size_t t = 0; t < 4; ++t) {
    const std::size_t last = kPromptTokens + t - 1;
    const std::vector<double> row = rollout_row(graph_of(decoder, last + 1), last, 4);
    double sum = 0.0;
    for (std::size_t j = 0; j < kPromptTokens; ++j) sum += report.rollout(3, t, j);
    for (std::size_t s = 0; s < 4; ++s) {
      const double expected = s < t ? row[kPromptTokens + s] : 0.0;
      EXPECT_NEAR(report.rollout_beside.generated(3, t, s), expected, kTolerance);
      sum += report.rollout_beside.generated(3, t, s);
    }
    EXPECT_NEAR(sum, 1.0, 1e-6);
  }
}

TEST(Generate, ReceptiveFieldValuesAreThoseOfTheWholeRow) {
  ScriptedDecoder decoder("abc", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout", "flow"});
  options.settings.normalization = Normalization::kReceptiveField;
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) {
    const std::size_t n = kPromptTokens + t;
    const AttentionGraph graph = graph_of(decoder, n);
    const AttentionGraph uniform = uniform_graph(4, n, true, 0.5);
    const auto check = [&](std::vector<double> row, std::vector<double> baseline, const Tensor<double>& found,
                           std::size_t at) {
      normalize_receptive_field(TensorView<double>(row.data(), {1, n}),
                                TensorView<const double>(baseline.data(), {1, n}));
      for (std::size_t j = 0; j < kPromptTokens; ++j) EXPECT_NEAR(found(at, t, j), row[j], kTolerance);
    };
    for (std::size_t l = 1; l <= 4; ++l) {
      check(rollout_row(graph, n - 1, l), rollout_row(uniform, n - 1, l), report.rollout_beside.normalized, l - 1);
    }
    const FlowResult flow = attention_flow(graph, {.layers = {4}, .output_token = n - 1});
    const FlowResult even = attention_flow(uniform, {.layers = {4}, .output_token = n - 1});
    check({flow.flow.span().begin(), flow.flow.span().end()}, {even.flow.span().begin(), even.flow.span().end()},
          report.flow_beside.normalized, 0);
  }
}

TEST(Generate, WordsOfThePromptAreMerged) {
  ScriptedDecoder decoder("ab", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout", "flow"});
  const Report pieces = generate(decoder, ByteCodec(), kPrompt, options);
  options.settings.words = true;
  const Report words = generate(decoder, ByteCodec(), kPrompt, options);
  ASSERT_EQ(words.input.tokens.size(), 4U);  // <begin>, one, two, three
  EXPECT_EQ(display_text(words.input, 1), "one");
  const std::size_t first[] = {0, 1, 4, 8};
  const std::size_t end[] = {1, 4, 8, 14};
  for (std::size_t t = 0; t < words.generation->tokens.size(); ++t) {
    const AttentionGraph graph = graph_of(decoder, kPromptTokens + t);
    TokenGroups groups;
    for (std::size_t w = 0; w < 4; ++w) {
      groups.emplace_back();
      for (std::size_t j = first[w]; j < end[w]; ++j) groups.back().push_back(j);
    }
    for (std::size_t j = kPromptTokens; j < kPromptTokens + t; ++j) groups.push_back({j});
    FlowOptions ask{.layers = {4}, .output_token = kPromptTokens + t - 1};
    ask.input_groups = &groups;
    const FlowResult flow = attention_flow(graph, ask);
    for (std::size_t w = 0; w < 4; ++w) {
      double sum = 0.0;
      for (std::size_t j = first[w]; j < end[w]; ++j) sum += pieces.rollout(3, t, j);
      EXPECT_NEAR(words.rollout(3, t, w), sum, kTolerance);
      EXPECT_EQ(words.flow(0, t, w), flow.flow(0, 0, w));
    }
  }
}

TEST(Generate, ReportsTheShareOfTheFirstTokenAndMasksItOnRequest) {
  ScriptedDecoder decoder("ab", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout"});
  const Report plain = generate(decoder, ByteCodec(), kPrompt, options);
  options.settings.column_mask = parse_column_mask("first");
  const Report masked = generate(decoder, ByteCodec(), kPrompt, options);
  MixingOptions aside;
  aside.mask_columns = {0};
  for (std::size_t t = 0; t < plain.generation->tokens.size(); ++t) {
    const std::size_t n = kPromptTokens + t;
    for (std::size_t l = 1; l <= 4; ++l) {
      EXPECT_NEAR(plain.generation->sink_share(l - 1, t), plain.raw(l - 1, t, 0), kTolerance);
      EXPECT_EQ(masked.generation->sink_share(l - 1, t), plain.generation->sink_share(l - 1, t));
      EXPECT_EQ(masked.raw(l - 1, t, 0), 0.0);
      const std::vector<double> row = rollout_row(graph_of(decoder, n, aside), n - 1, l);
      for (std::size_t j = 0; j < kPromptTokens; ++j) EXPECT_NEAR(masked.rollout(l - 1, t, j), row[j], kTolerance);
    }
  }
  ASSERT_FALSE(plain.notes.empty());
  EXPECT_EQ(plain.notes.front().code, NoteCode::kAttentionSinkGenerated);
  double gathered = 0.0;
  for (std::size_t t = 0; t < masked.generation->tokens.size(); ++t) {
    for (std::size_t l = 0; l < 4; ++l) gathered += masked.rollout(l, t, 1);
  }
  gathered /= 4.0 * static_cast<double>(masked.generation->tokens.size());
  EXPECT_EQ(test::has_note(masked.notes, NoteCode::kSecondTokenSinkGenerated), gathered >= 0.3) << gathered;
}

TEST(Generate, LayersAndStartLayer) {
  ScriptedDecoder decoder("ab", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout"});
  options.settings.layers = {3, 4};
  options.settings.start_layer = 1;
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  ASSERT_EQ(report.rollout.extent(0), 2U);
  const AttentionGraph graph = graph_of(decoder, kPromptTokens + 1);
  for (std::size_t l = 0; l < 2; ++l) {
    const std::vector<double> row = rollout_row(graph, kPromptTokens, 3 + l, 1);
    for (std::size_t j = 0; j < kPromptTokens; ++j) EXPECT_NEAR(report.rollout(l, 1, j), row[j], kTolerance);
  }
}

TEST(Generate, StopsWhereItShould) {
  ScriptedDecoder decoder("abcdef", kPromptTokens);
  GenerateOptions options = options_for({"rollout"});
  options.tokens = 3;
  Report report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(report.generation->stopped, "length");
  EXPECT_EQ(report.generation->text, "abc");
  EXPECT_EQ(decoder.length(), kPromptTokens + 2);  // the last token is not computed

  options.tokens = 100;
  report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(report.generation->stopped, "end");
  options.ignore_end = true;
  report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(report.generation->stopped, "context");
  EXPECT_EQ(report.generation->tokens.size(), decoder.info().max_tokens - kPromptTokens + 1);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kNoPositionsLeft));
}

TEST(Generate, BeginsWithTokensThatAreGiven) {
  ScriptedDecoder decoder("abcdef", kPromptTokens);
  GenerateOptions options = options_for({"raw", "rollout"});
  options.tokens = 4;
  const Report own = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(own.generation->given, 0U);
  EXPECT_EQ(own.generation->tokens[1].choices[0].id, 'b');
  options.begin_with = {'a', 'b'};
  const Report same = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(same.generation->given, 2U);
  EXPECT_EQ(same.generation->text, "abcd");
  EXPECT_EQ(same.rollout.span().size(), own.rollout.span().size());
  EXPECT_TRUE(std::equal(same.rollout.span().begin(), same.rollout.span().end(), own.rollout.span().begin()));
  EXPECT_EQ(test::notes_of(same.notes, NoteCode::kTokensGiven).size(), 1U);
  options.begin_with = {'a', 'x'};
  const Report branch = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(branch.generation->text, "axcd");
  EXPECT_LT(branch.generation->tokens[1].probability, branch.generation->tokens[1].choices[0].probability);
  EXPECT_EQ(branch.generation->tokens[1].choices[0].id, 'b');

  options.begin_with = {'a', 258};
  EXPECT_THROW(generate(decoder, ByteCodec(), kPrompt, options), Error);
  options.begin_with = {'a', 'b', 'c', 'd', 'e'};
  EXPECT_THROW(generate(decoder, ByteCodec(), kPrompt, options), Error);
}

TEST(Generate, AnInterruptedGenerationKeepsWhatItHas) {
  ScriptedDecoder decoder("abcdef", kPromptTokens);
  std::stop_source stop;
  decoder.on_append = [&](std::size_t length) {
    if (length == kPromptTokens + 1) stop.request_stop();
  };
  GenerateOptions options = options_for({"raw", "rollout", "flow"});
  options.stop_token = stop.get_token();
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(report.generation->stopped, "interrupted");
  EXPECT_EQ(report.generation->text, "ab");
  EXPECT_EQ(report.rollout.extent(1), 2U);
  EXPECT_EQ(report.raw.extent(1), 2U);
  EXPECT_TRUE(report.flow.empty());
  EXPECT_EQ(report.notes.size(), 3U);  // the sink, the flow, the end
  EXPECT_THROW(generate(decoder, ByteCodec(), kPrompt, options), Cancelled);
}

TEST(Generate, RulesThatLeaveNoTokenKeepWhatIsWritten) {
  ScriptedDecoder decoder("abc", kPromptTokens);
  std::string words;  // everything behind "b"
  for (int id = 0; id < 258; ++id) words += fmt::format("{}[98, {}]", id == 0 ? "" : ", ", id);
  decoder.changeable_info().generation = {.text = "{\"bad_words_ids\": [" + words + "]}",
                                          .file = "generation_config.json"};
  const Report report = generate(decoder, ByteCodec(), kPrompt, options_for({"raw"}));
  EXPECT_EQ(report.generation->text, "ab");
  EXPECT_EQ(report.generation->stopped, "interrupted");
  EXPECT_EQ(test::notes_of(report.notes, NoteCode::kModelStopped).size(), 1U);
}

TEST(Generate, SaysHowFarItIs) {
  ScriptedDecoder decoder("abc", kPromptTokens, /*chunk=*/2);
  GenerateOptions options = options_for({"raw"});
  std::vector<std::size_t> read;
  options.reading = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, kPromptTokens);
    read.push_back(done);
  };
  std::vector<std::size_t> generated;
  options.generating = [&](std::size_t done, std::size_t) { generated.push_back(done); };
  generate(decoder, ByteCodec(), kPrompt, options);
  ASSERT_GE(read.size(), 3U);
  EXPECT_EQ(read.front(), 0U);  // before the first chunk
  EXPECT_TRUE(std::is_sorted(read.begin(), read.end()));
  EXPECT_EQ(read.back(), kPromptTokens);
  EXPECT_EQ(generated, (std::vector<std::size_t>{1, 2, 3, 4}));  // the end, too
}

TEST(Generate, StreamsWholeCharacters) {
  ScriptedDecoder decoder("a\xF0\x9F\x98\x80z\xC3", kPromptTokens);
  GenerateOptions options = options_for({"raw"});
  std::vector<std::string> pieces;
  options.on_text = [&](std::string_view text) { pieces.emplace_back(text); };
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "\xF0\x9F\x98\x80", "z", "\xEF\xBF\xBD"}));
  EXPECT_EQ(report.generation->text, "a\xF0\x9F\x98\x80z\xEF\xBF\xBD");
  for (std::size_t t = 1; t <= 4; ++t) {
    EXPECT_EQ(generated_text(*report.generation, t), fmt::format("\xF0\x9F\x98\x80 ({}/4)", t));
  }
  EXPECT_EQ(generated_text(*report.generation, 5), "z");
  EXPECT_EQ(generated_text(*report.generation, 6), "\\xC3");
  EXPECT_EQ(generated_text(*report.generation, 7), "<end>");
}

TEST(Generate, StepsAreTheRowsOfTheFinishedReport) {
  for (const bool words : {false, true}) {
    ScriptedDecoder decoder("four five six seven, eight", kPromptTokens);
    GenerateOptions options = options_for({"raw", "rollout"});
    options.settings.words = words;
    options.settings.layers = {2, 4};
    options.generated_columns = true;
    const std::size_t columns = words ? 4 : kPromptTokens;
    std::size_t starts = 0;
    std::size_t steps = 0;
    std::string text;
    std::vector<std::vector<double>> rows;
    std::vector<double> probabilities;
    options.on_start = [&](const GenerationStart& start) {
      ++starts;
      EXPECT_EQ(start.model.name, "scripted");
      EXPECT_EQ(start.prompt, kPrompt);
      EXPECT_EQ(start.tokens.size(), columns);
      EXPECT_EQ(start.layers, (std::vector<std::size_t>{2, 4}));
      EXPECT_EQ(decoder.length(), 0U);
    };
    options.on_token = [&](const GenerationStep& step) {
      EXPECT_EQ(starts, 1U);
      EXPECT_EQ(step.index, steps);
      EXPECT_EQ(decoder.length(), kPromptTokens + steps);  // at once, not some tokens later
      ++steps;
      text += step.text;
      EXPECT_EQ(step.rollout.size(), columns);
      EXPECT_EQ(step.generated.size(), step.index);
      rows.emplace_back(step.rollout.begin(), step.rollout.end());
      rows.back().insert(rows.back().end(), step.generated.begin(), step.generated.end());
      probabilities.push_back(step.token.probability);
    };
    const Report report = generate(decoder, ByteCodec(), kPrompt, options);
    EXPECT_EQ(text, report.generation->text);
    ASSERT_EQ(rows.size(), report.generation->tokens.size());
    ASSERT_EQ(report.rollout.extent(2), columns);
    for (std::size_t t = 0; t < rows.size(); ++t) {
      EXPECT_EQ(probabilities[t], report.generation->tokens[t].probability);
      const std::vector<double> prompt = mean_over_layers(report.rollout, t);
      const std::vector<double> generated = mean_over_layers(report.rollout_beside.generated, t);
      for (std::size_t j = 0; j < columns; ++j) EXPECT_NEAR(rows[t][j], prompt[j], kTolerance);
      for (std::size_t s = 0; s < t; ++s) EXPECT_NEAR(rows[t][columns + s], generated[s], kTolerance);
    }
    options.on_start = {};
    options.on_token = {};
    const Report alone = generate(decoder, ByteCodec(), kPrompt, options);
    ASSERT_EQ(alone.rollout.size(), report.rollout.size());
    for (std::size_t i = 0; i < alone.rollout.size(); ++i) {
      EXPECT_EQ(alone.rollout.span()[i], report.rollout.span()[i]);
    }
  }
}

TEST(Generate, StepsHaveWholeCharactersAndNoRowsWithoutRollout) {
  ScriptedDecoder decoder("a\xF0\x9F\x98\x80z\xC3", kPromptTokens);
  GenerateOptions options = options_for({"raw"});
  std::vector<std::string> pieces;
  options.on_token = [&](const GenerationStep& step) {
    pieces.emplace_back(step.text);
    EXPECT_TRUE(step.rollout.empty());
    EXPECT_TRUE(step.generated.empty());
  };
  generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "", "", "\xF0\x9F\x98\x80", "z", "", "\xEF\xBF\xBD"}));
  // The last token that there is room for says what is left.
  pieces.clear();
  options.tokens = 2;
  generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "\xEF\xBF\xBD"}));
}

TEST(Generate, ChatPutsThePromptIntoTheTemplate) {
  const std::string prompt = "system: short\nuser: hi\n";
  ScriptedDecoder decoder("a", prompt.size() + 1);
  GenerateOptions options = options_for({"raw"});
  options.chat = true;
  options.system = "short";
  const Report report = generate(decoder, ByteCodec(), "hi", options);
  EXPECT_EQ(report.input.text, prompt);
  EXPECT_TRUE(report.generation->chat);
  options.chat = false;
  EXPECT_THROW(generate(decoder, ByteCodec(), "hi", options), Error);
}

TEST(Generate, FiltersSayWhatTheyExcludeAndHowMuch) {
  ScriptedDecoder decoder("a", 1 + std::string("see the theory").size());
  GenerateOptions options = options_for({"rollout"});
  options.settings.words = true;
  options.filter.special = true;
  options.filter.stop_words = {"en"};
  const Report report = generate(decoder, ByteCodec(), "see the theory", options);
  const std::vector<ExcludedTokens>& excluded = report.generation->excluded;
  ASSERT_EQ(excluded.size(), 2U);
  EXPECT_EQ(excluded[0].tokens, (std::vector<std::size_t>{0}));
  EXPECT_EQ(excluded[1].tokens, (std::vector<std::size_t>{2}));  // "the", and not the beginning of "theory"
  const std::vector<RankedToken> ranking = rank_input_tokens(report, Method::kRollout, report.output_tokens[0], {});
  ASSERT_EQ(ranking.size(), 2U);
  double kept = 0.0;
  for (const RankedToken& token : ranking) kept += token.value;
  EXPECT_NEAR(excluded_share(report, mean_over_layers(report.rollout, 0)), 1.0 - kept, 1e-6);

  options.filter.patterns = {"("};
  EXPECT_THROW(generate(decoder, ByteCodec(), "see the theory", options), Error);
}

TEST(Generate, RefusesWhatItCannotDo) {
  ScriptedDecoder decoder("a", kPromptTokens);
  const auto refuses = [&](ErrorKind kind, auto change) {
    GenerateOptions options = options_for({"raw", "rollout"});
    std::string prompt = kPrompt;
    change(options, prompt);
    test::refusal(kind, [&] { generate(decoder, ByteCodec(), prompt, options); });
  };
  refuses(ErrorKind::kUsage, [](GenerateOptions& o, std::string&) { o.tokens = 0; });
  refuses(ErrorKind::kUsage, [](GenerateOptions& o, std::string&) { o.settings.discard = 0.5; });
  refuses(ErrorKind::kUsage, [](GenerateOptions& o, std::string&) { o.settings.heads = parse_heads("1"); });
  refuses(ErrorKind::kUsage, [](GenerateOptions& o, std::string&) { o.settings.heads = parse_heads("3"); });
  refuses(ErrorKind::kUsage, [](GenerateOptions& o, std::string&) { o.settings.layers = {5}; });
  refuses(ErrorKind::kInputTooLong, [](GenerateOptions&, std::string& p) { p = std::string(1000, 'x'); });
  decoder.changeable_info().vocabulary = 257;
  refuses(ErrorKind::kBadFile, [](GenerateOptions&, std::string&) {});
}

TEST(Generate, OneHeadIsFineForRawAttention) {
  ScriptedDecoder decoder("a", kPromptTokens);
  GenerateOptions options = options_for({"raw"});
  options.settings.heads = parse_heads("1");
  const Report report = generate(decoder, ByteCodec(), kPrompt, options);
  EXPECT_EQ(report.raw(2, 0, 3), static_cast<double>(decoder.stack().weights()(2, 1, kPromptTokens - 1, 3)));
}

}  // namespace
}  // namespace attnflow::generate_test
