// What a generation leaves: the text, and for each generated token what it drew on in the prompt.
//
// Problem. A decoder continues a prompt of m tokens by n tokens. Generated token t (from 0) was chosen by the output at
// position m + t - 1, so what it drew on is the row of that position, not the token's own, which is computed only when
// the next one is wanted.
//
// Definition (docs/generation.md). M[t, j, l] is the value of a method from (l, m + t - 1) to input token j < m. It
// equals what `explain --output-token last` gives for the prompt followed by the t tokens before. Row sums of rollout
// are below 1 for t > 0 by what was drawn on generated tokens; those columns are kept beside M on request.
//
// A generation is written as a report document of kind "generation" (docs/report-format.md), as arrays, as a table, and
// as a page that steps through it.
//
// Example:
//
//     const std::vector<double> values = mean_over_layers(generation.rollout.prompt, 0);  // of the first new token
//     std::printf("\"%s\" drew on", generated_text(generation, 0).c_str());
//     for (const RankedPromptToken& ranked : rank_prompt_tokens(generation, values).tokens) {
//       std::printf(" \"%s\" (%.2f)", prompt_text(generation, ranked.token).c_str(), ranked.value);
//     }
//     std::puts("");
#ifndef ATTNFLOW_REPORT_GENERATION_REPORT_H_
#define ATTNFLOW_REPORT_GENERATION_REPORT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/report/report.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct GeneratedToken {
  std::int64_t id = 0;
  std::string text;                   // the piece as the tokenizer spells it
  std::size_t begin = 0;              // byte range in GenerationReport::text; whole characters: the pieces of one emoji
  std::size_t end = 0;                //   all have its range. Empty for special tokens
  bool special = false;               // an end or another token that adds no text
  double probability = 0.0;           // of this token, before temperature and cuts
  std::vector<ReportChoice> choices;  // the most probable tokens, by falling probability
};

struct SamplingSettings {
  double temperature = 0.0;  // 0: the most probable token
  double top_p = 1.0;
  std::uint64_t seed = 1;
};

// How much of a method's values a rule keeps out of rankings.
struct DroppedTokens {
  std::string rule;                 // "stop words (en)", "tokens 0-3"
  std::vector<std::size_t> tokens;  // prompt positions, increasing
};

// Values of one method.
struct GenerationValues {
  Tensor<double> prompt;      // M, [n, m, layer]
  Tensor<double> generated;   // [n, n, layer]: on generated token s; 0 for s >= t. Empty unless asked for
  Tensor<double> normalized;  // [n, m, layer]: after receptive-field normalisation. Empty unless asked for
};

struct GenerationReport {
  Settings settings;  // layers: those of raw and rollout
  ReportModel model;
  SamplingSettings sampling;
  bool chat = false;                      // the prompt was put into the model's chat template
  std::string prompt;                     // what the model was given, template included
  std::vector<InputToken> prompt_tokens;  // m, or its words where settings.words
  std::string text;                       // what it said, UTF-8; bytes that are no character become U+FFFD
  std::vector<GeneratedToken> tokens;     // n
  std::string stopped;                    // why it ended: "length", "end" (of text), "context", "interrupted"

  GenerationValues raw;
  GenerationValues rollout;
  std::vector<std::size_t> flow_tokens;  // t of the rows of flow, increasing
  std::vector<std::size_t> flow_layers;
  GenerationValues flow;                 // rows as flow_tokens, layers as flow_layers
  Tensor<double> flow_gap;               // [rows, m, layer]
  Tensor<std::uint8_t> flow_degenerate;  // [rows, m, layer]: 0 no, 1 the first layer's column, 2 the top row

  // The share of attention (mean over heads, before anything is set aside) that falls on position 0, [n, layer].
  Tensor<double> sink_share;

  std::vector<DroppedTokens> dropped;  // tokens that rankings leave out, rule by rule
  std::vector<Note> notes;
};

// Whether rows of raw and rollout sum to 1 over prompt and generated tokens: nothing is set aside, or nothing but the
// first token, which only its own row misses. Other columns set aside may leave rows empty.
bool rows_sum_to_one(const GenerationReport& report);

// Why each prompt token is left out of rankings: the first rule that names it, or nothing ("").
std::vector<std::string> dropped_by(const GenerationReport& report);

// Values of a method, with the t of its rows and its layers. Null when the report has none.
struct GenerationMethod {
  const GenerationValues* values = nullptr;
  std::vector<std::size_t> tokens;
  std::vector<std::size_t> layers;
};
GenerationMethod generation_method(const GenerationReport& report, Method method);
// The methods of settings.methods that the report holds values of, in that order.
std::vector<Method> methods_present(const GenerationReport& report);

// What a prompt or generated token is shown as: the characters of the text, else the piece.
std::string prompt_text(const GenerationReport& report, std::size_t token);
std::string generated_text(const GenerationReport& report, std::size_t token);

// The mean over `layers` (positions in the method's layers; empty: all) of row `row`: one value a prompt token.
std::vector<double> mean_over_layers(const Tensor<double>& values, std::size_t row,
                                     const std::vector<std::size_t>& layers = {});

struct RankedPromptToken {
  std::size_t token = 0;
  double value = 0.0;
};
struct GenerationRanking {
  std::vector<RankedPromptToken> tokens;  // settings.top_k, by falling value, equal ones by position; no zeros
  double dropped_share = 0.0;             // of the row's prompt mass that dropped tokens hold
};
// Prompt tokens by value in one row, those left out that rules drop.
GenerationRanking rank_prompt_tokens(const GenerationReport& report, const std::vector<double>& values);

}  // namespace attnflow

#endif  // ATTNFLOW_REPORT_GENERATION_REPORT_H_
