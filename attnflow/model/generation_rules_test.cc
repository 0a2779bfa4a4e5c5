#include "attnflow/model/generation_rules.h"

#include <gtest/gtest.h>

#include <limits>

#include "attnflow/base/error.h"
#include "attnflow/base/error_for_test.h"

namespace attnflow::generation_rules_test {
namespace {

using Ids = std::vector<std::int64_t>;
using test::expect_error;

constexpr float kOut = -std::numeric_limits<float>::infinity();

GenerationRules rules_of(const std::string& json, bool has_target = false) {
  return read_generation_rules({.text = json, .file = "generation_config.json"}, 5, has_target);
}

struct Case {
  std::string json;
  Ids ids;
  std::vector<float> expected;
  std::size_t prompt = 2;
};

// The expected values are the output of transformers' processors for the logits 2, -1, 0.5, 4, -3 with end token 4.
TEST(GenerationRules, ChangeLogitsAsTransformersDoes) {
  const std::vector<float> logits = {2.0F, -1.0F, 0.5F, 4.0F, -3.0F};
  const std::vector<Case> cases = {
      {R"({})", {0, 1}, logits},
      {R"({"repetition_penalty": 2.0})", {0, 1, 0}, {1.0F, -2.0F, 0.5F, 4.0F, -3.0F}},
      {R"({"encoder_repetition_penalty": 2.0})", {0, 1, 3}, {4.0F, -0.5F, 0.5F, 4.0F, -3.0F}},
      {R"({"no_repeat_ngram_size": 2})", {0, 3, 2, 0}, {2.0F, -1.0F, 0.5F, kOut, -3.0F}},
      {R"({"no_repeat_ngram_size": 1})", {0, 3}, {kOut, -1.0F, 0.5F, kOut, -3.0F}},
      {R"({"encoder_no_repeat_ngram_size": 2})", {0, 1, 2, 0}, {2.0F, kOut, 0.5F, 4.0F, -3.0F}},
      {R"({"bad_words_ids": [[3], [1, 0], [2, 2], [4]]})", {0, 1}, {kOut, -1.0F, 0.5F, kOut, -3.0F}},
      {R"({"sequence_bias": [[[4], 10.0], [[0, 1, 3], -5.0]]})", {0, 1}, {2.0F, -1.0F, 0.5F, -1.0F, 7.0F}},
      {R"({"sequence_bias": [[[4], 10.0], [[1, 0], 1.0], [[4], 1.0]]})", {0, 1}, {3.0F, -1.0F, 0.5F, 4.0F, -2.0F}},
      {R"({"min_new_tokens": 2})", {0, 1, 2}, {2.0F, -1.0F, 0.5F, 4.0F, kOut}},
      {R"({"min_new_tokens": 1, "min_length": 9})", {0, 1, 2}, logits},
      {R"({"min_length": 4})", {0, 1, 2}, {2.0F, -1.0F, 0.5F, 4.0F, kOut}},
      {R"({"forced_bos_token_id": 2})", {0}, {kOut, kOut, 0.0F, kOut, kOut}, 1},
      {R"({"forced_bos_token_id": 2})", {0, 1}, logits},
      {R"({"exponential_decay_length_penalty": [1, 1.5]})", {0, 1, 2, 3, 3}, {2.0F, -1.0F, 0.5F, 4.0F, 0.75F}},
      {R"({"exponential_decay_length_penalty": [3, 1.5]})", {0, 1, 2, 3, 3}, logits},
      {R"({"suppress_tokens": [3, 99, -1]})", {0, 1, 2}, {2.0F, -1.0F, 0.5F, kOut, -3.0F}},
      {R"({"begin_suppress_tokens": [3]})", {0, 1}, {2.0F, -1.0F, 0.5F, kOut, -3.0F}},
      {R"({"begin_suppress_tokens": [3]})", {0, 1, 2}, logits},
      {R"({"begin_suppress_tokens": [3], "forced_bos_token_id": 2})", {0, 2}, {2.0F, -1.0F, 0.5F, kOut, -3.0F}, 1},
      {R"({"begin_suppress_tokens": [3], "forced_bos_token_id": 2})", {0, 2, 1}, logits, 1},
  };
  const Ids ends = {4};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.json);
    const GenerationRules rules = rules_of(one.json);
    const std::vector<float> found = ruled_logits(
        rules, logits,
        {.ids = one.ids, .prompt = one.prompt, .source = std::span(one.ids).first(one.prompt), .ends = ends});
    EXPECT_EQ(found, one.expected);
    EXPECT_TRUE(rules.not_followed.empty());
  }
}

TEST(GenerationRules, SayWhatIsWrong) {
  expect_error(ErrorKind::kBadFile, {"generation_config.json", "repetition_penalty", "-1"},
               [] { rules_of(R"({"repetition_penalty": -1})"); });
  expect_error(ErrorKind::kBadFile, {"bad_words_ids"}, [] { rules_of(R"({"bad_words_ids": [[7]]})"); });
  expect_error(ErrorKind::kBadFile, {"sequence_bias", "1e+30", "1e+300"},
               [] { rules_of(R"({"sequence_bias": [[[1], 1e300]]})"); });
  expect_error(ErrorKind::kBadFile, {"suppress_tokens", "list of ids"}, [] { rules_of(R"({"suppress_tokens": 3})"); });
  const GenerationRules all = rules_of(R"({"suppress_tokens": [0, 1, 2, 3, 4]})");
  const std::vector<float> logits(5, 1.0F);
  expect_error(ErrorKind::kBadFile, {"expected settings that leave a token to choose", "suppress_tokens [0,1,2,3,4]"},
               [&] { ruled_logits(all, logits, {}); });
}

std::vector<std::string> notes_of(const std::string& json, double temperature, std::size_t generated = 4,
                                  bool ended_by_n = true) {
  SamplingOptions options;
  options.temperature = temperature;
  std::vector<std::string> texts;
  for (const Note& note : RuledSampler(options, rules_of(json), {0, 1}, {0, 1}, {4}).notes(generated, ended_by_n)) {
    EXPECT_EQ(note.code, NoteCode::kGenerationSettingsLeft);
    for (const std::string& text : std::get<std::vector<std::string>>(*note.find("settings"))) texts.push_back(text);
  }
  return texts;
}

TEST(GenerationRules, NameWhatIsNotFollowed) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(notes_of(R"({"num_beams": 4, "length_penalty": 2.0, "early_stopping": true})", 0.0),
            (Texts{"num_beams 4", "length_penalty 2", "early_stopping true"}));
  EXPECT_EQ(notes_of(R"({"num_beams": 1, "length_penalty": 2.0, "early_stopping": true})", 0.0), Texts{});
  const char* const drawn = R"({"do_sample": true, "temperature": 0.6, "top_k": 20, "top_p": 0.9, "min_p": 0.0})";
  EXPECT_EQ(notes_of(drawn, 0.0), (Texts{"do_sample true", "temperature 0.6", "top_p 0.9", "top_k 20"}));
  EXPECT_EQ(notes_of(drawn, 0.7), Texts{"top_k 20"});
  EXPECT_EQ(notes_of(R"({"do_sample": false, "temperature": 0.6, "top_k": 20})", 0.0), Texts{});
  EXPECT_EQ(notes_of(R"({"forced_eos_token_id": 4, "max_new_tokens": 3})", 0.0),
            (Texts{"forced_eos_token_id 4", "max_new_tokens 3"}));
  EXPECT_EQ(notes_of(R"({"forced_eos_token_id": 4, "max_new_tokens": 4, "max_length": 2})", 0.0, 4, false), Texts{});
  EXPECT_EQ(notes_of(R"({"max_length": 5})", 0.0, 4), Texts{"max_length 5"});
  EXPECT_EQ(notes_of(R"({"max_length": -1})", 0.0, 4), Texts{});
  EXPECT_EQ(notes_of(R"({"max_length": 2147483647})", 0.0, 4), Texts{});
  EXPECT_EQ(
      notes_of(R"({"stop_strings": ["\n"], "guidance_scale": 1.5, "penalty_alpha": 0.6, "dola_layers": "high"})", 0.0),
      (Texts{"penalty_alpha 0.6", "dola_layers \"high\"", "guidance_scale 1.5", R"(stop_strings ["\n"])"}));
  EXPECT_EQ(notes_of(R"({"general.sampling.temp": 0.6, "general.sampling.top_k": 20,
                         "general.sampling.penalty_repeat": 1.0})",
                     0.0),
            (Texts{"general.sampling.temp 0.6", "general.sampling.top_k 20"}));
  EXPECT_EQ(notes_of(R"({"use_cache": false, "pad_token_id": 0, "num_return_sequences": 3, "bos_token_id": 1})", 0.0),
            Texts{});
}

TEST(GenerationRules, ReadTheDecodersPart) {
  const GenerationRules rules =
      rules_of(R"({"repetition_penalty": 1.5, "decoder": {"repetition_penalty": 3.0, "no_repeat_ngram_size": 2}})");
  EXPECT_EQ(rules.repetition_penalty, 1.5);
  EXPECT_EQ(rules.no_repeat_ngram_size, 2U);
  EXPECT_EQ(rules.followed, (std::vector<std::string>{"repetition_penalty 1.5", "no_repeat_ngram_size 2"}));
}

TEST(GenerationRules, CountTheChoicesThatTheyChanged) {
  RuledSampler sampler({}, rules_of(R"({"suppress_tokens": [3]})"), {0}, {0}, {4});
  const std::vector<float> best_is_3 = {2.0F, -1.0F, 0.5F, 4.0F, -3.0F};
  const std::vector<float> best_is_0 = {5.0F, -1.0F, 0.5F, 4.0F, -3.0F};
  for (const auto* logits : {&best_is_3, &best_is_0, &best_is_3}) {
    const std::size_t id = sampler.choose(*logits);
    EXPECT_EQ(id, 0U);
    sampler.keep(id);
  }
  sampler.choose(best_is_3);
  sampler.keep(3);  // given by the caller
  const std::vector<Note> notes = sampler.notes(4, true);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(
      notes[0].text,
      "As generation_config.json asks, suppress_tokens [3] changed the choice of 2 of 4 tokens. Probabilities, and "
      "what tokens depend on, are those of the model's own logits.");
}

// A token counts if the same random number would have drawn another without the rules.
TEST(GenerationRules, CountTheDrawsThatTheyChanged) {
  SamplingOptions options;
  options.temperature = 1.0;
  const std::vector<float> logits(5, 1.0F);
  RuledSampler sampler(options, rules_of(R"({"sequence_bias": [[[2], 40.0]]})"), {0}, {0}, {4});
  Sampler free(options);
  std::size_t others = 0;
  constexpr std::size_t kDraws = 50;
  for (std::size_t k = 0; k < kDraws; ++k) {
    const std::size_t id = sampler.choose(logits);
    EXPECT_EQ(id, 2U);
    sampler.keep(id);
    others += free.choose(logits) != id ? 1 : 0;
  }
  const std::vector<Note> notes = sampler.notes(kDraws, true);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(std::get<std::size_t>(*notes[0].find("changed")), others);
  EXPECT_GT(others, kDraws / 2);
  EXPECT_LT(others, kDraws);
}

}  // namespace
}  // namespace attnflow::generation_rules_test
