// Computes a report's numbers: answers its settings' questions (attribution/attribute.h), merges words, adds notes.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/source.h"
#include "attnflow/explain/certificates.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Merges tokens to words, and converts positions of predictions, referents and `output`. Returns each word's tokens.
TokenGroups merge_words(Report& report, std::size_t& output);

// Adds a note on the share of relevance that argues against the target and is not shown, if it was measured.
void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share,
                         const std::optional<ReportTarget>& target);

// The note on values that receptive-field normalization set to 0.
Note flagged_note(std::size_t flagged);

struct ReportQuestion {
  ResolvedSettings settings;
  std::vector<CertifiedPair> certified;
  // The report's last token stands for the mean of all others, and is none of the source's: as an output it has the
  // mean of their rows, as an input no weight.
  bool pooled = false;
};

// Resolves the settings of a report whose model and input are set, and its referents; with options.only_output_token
// and no named layers, the layer is the last one. Throws Error(kUsage) for options that do not fit them.
ReportQuestion resolve_question(Report& report, const ExplainOptions& options);

// Fills arrays, layers, output tokens and certificates; merges words with settings.words. options.only_output_token
// gives one row, equal to the bit (unless flow's intervals may stay wide), and leaves Report::graph empty.
void fill_report(Report& report, GraphSource source, const ReportQuestion& question, const ExplainOptions& options);

// Likewise without a graph, with options.only_output_token or options.only_values: values that are there are equal to
// the bit (of layers multiplied on arrival) or up to rounding (of a decoder's rows computed again, for texts too long
// for matrices of all output tokens: 30 layers of 4,096 tokens are 4 GB per array). No certificates; Report::graph
// stays empty. `on_first`: by layer, the share of the output token's attention on the first token, for a note; empty:
// unknown.
void fill_report_of_rows(Report& report, AttentionSource&& source, const ReportQuestion& question,
                         const ExplainOptions& options, const std::vector<double>& on_first = {});

// Throws Error(kUsage) for a model that is not a decoder, and for options that need whole matrices (discard, mixings
// other than attention); Error(kOther) if flow needs more memory than available, or than options.max_memory.
void check_replay_options(const ExplainOptions& options, const ReportModel& model, std::size_t tokens);

}  // namespace attnflow
