// Generation with attribution: a prompt in, a text and what each of its tokens depends on out.
//
// While the model generates, incremental rollout (rollout/incremental_rollout.h) takes each new position's attention,
// which is then dropped, except for the fused rows of the positions that choose tokens, and of all positions if flow is
// requested. Generated token t was chosen at position m - 1 + t, whose row is reported (report/report.h, Generation).
// Mixings made for one prediction (relevance, gradient) and methods outside the graph (generation_scores.h) explain
// each generated token rather than the ten most probable others afterwards: about four passes over the preceding text
// for each.
//
// For an encoder-decoder the prompt is the source and the beginning of its target, and its two parts' layers form one
// graph (model/model.h, TargetInfo), for every mixing. settings.layers defaults to the decoder's layers, or to the last
// of them for gradients and relevance.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/analysis/generate/generate_options.h"
#include "attnflow/model/decoder.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Known before the first token is chosen. Valid during the call.
struct GenerationStart {
  const ReportModel& model;
  const std::string& prompt;               // what the model is given, template included
  const std::vector<InputToken>& tokens;   // m, as in the finished report: words where settings.words
  const std::vector<std::size_t>& layers;  // those whose mean GenerationStep::rollout is
};

// A generated token when it is chosen. Valid during the call. Joined, the texts are the report's text: a token that
// ends inside a character has none, and the one that completes it has all of it. Only an interruption may lose a
// beginning.
struct GenerationStep {
  std::size_t index = 0;              // t
  const GeneratedToken& token;        // without its byte range, which tokens to come may widen
  std::string_view text;              // what it adds, whole characters
  std::span<const double> rollout;    // on the m prompt tokens: mean over GenerationStart::layers; empty: not computed
  std::span<const double> generated;  // on generated tokens 0 ... t - 1, with generated_columns
};

// Throws as check_generate_options(), Error(kUsage) for what does not fit the model or the prompt, Error(kInputTooLong)
// for a prompt that leaves no room, Error(kOther) before any work when the rows of rollout would not fit into memory,
// naming their size and a remedy; Cancelled when stopped before the first token.
Report generate(Decoder& decoder, const TextCodec& codec, const std::string& text, const GenerateOptions& given);

}  // namespace attnflow
