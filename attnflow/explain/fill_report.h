// From attention to the numbers of a report: the questions that its settings ask (attribution/attribute.h), words,
// notes.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/running_source.h"
#include "attnflow/attribution/source.h"
#include "attnflow/explain/certificates.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Makes the report's tokens words, and the positions of predictions and referents, and `output`, those of words.
// Returns the pieces of each word.
TokenGroups merge_words(Report& report, std::size_t& output);

// On values that receptive-field normalisation set to 0.
Note flagged_note(std::size_t flagged);

// What a report asks, resolved before the model runs.
struct ReportQuestion {
  ResolvedSettings settings;
  std::vector<CertifiedPair> certified;
};

// Resolves the settings of a report whose model and input are set; with options.only_output_token the layer is the last
// one, unless layers are named. Throws Error(kUsage) for options that do not fit them.
ReportQuestion resolve_question(const Report& report, const ExplainOptions& options);

// Fills arrays, layers, output tokens and certificates of the report. With settings.words the tokens become words, and
// the positions of predictions and referents those of words. With options.only_output_token there is one row, which is
// that of all output tokens to the bit (unless flow's intervals may stay wide), and Report::graph stays empty.
void fill_report(Report& report, GraphSource source, const ReportQuestion& question, const ExplainOptions& options);

// The same of the attention of all heads, float or double, which the report keeps with options.keep_attention.
template <typename Weight>
void fill_report(Report& report, BasicAttentionStack<Weight> stack, const ReportQuestion& question,
                 const ExplainOptions& options);

// The same of layers that were multiplied as they came: with options.only_output_token or options.only_values, whose
// values and notes are the same, to the bit. Without flow and certificates; Report::graph stays empty. Values are taken
// out of the source.
void fill_report(Report& report, RunningSource& source, const ReportQuestion& question, const ExplainOptions& options);

// What options.only_output_token gives of a decoder: raw attention, rollout and flow of one output token, [layer, 1,
// input token], for texts that are too long for matrices of all output tokens (30 layers of 4,096 tokens are 4 GB an
// array). Flow alone takes the matrices of the layers, while it is computed. Report::graph stays empty.
void fill_report_of_row(Report& report, ReplaySource source, const ReportQuestion& question,
                        const ExplainOptions& options);

// Throws Error(kUsage) for a model that is no decoder, and for options that need whole matrices: discard, mixings other
// than attention; Error(kOther) when flow of so many tokens needs more memory than there is, or than
// options.max_memory.
void check_replay_options(const ExplainOptions& options, const ReportModel& model, std::size_t tokens);

}  // namespace attnflow
