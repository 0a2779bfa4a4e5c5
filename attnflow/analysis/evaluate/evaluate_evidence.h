// Which method finds the word that decides a language model's next word?
//
// Problem. In "Katherine can't help" the next word is "herself" and not "himself" because of "Katherine". For sentences
// in which the deciding word (the evidence) is marked, every method ranks the words of the prefix by what the last
// position drew on; how near to the top is the evidence (evaluate/evidence_rank.h)?
//
// Data. A .csv with a header: the prefix (`one_prefix_prefix` or `prefix`), the word that is right behind it
// (`one_prefix_word_good` or `good`), one that is wrong (`one_prefix_word_bad` or `bad`), and the evidence (`target` or
// `evidence`), a word that occurs once in the prefix. Columns of BLiMP's minimal pairs and of IOI as collected by
// Ferrando et al. (ACL 2023). A sample is left out, and counted with its reason, when the evidence is missing or does
// not occur exactly once, when right and wrong word begin with the same token, or when it is too long.
//
// What is ranked. The words of the prefix (sub-word pieces merged; special tokens left out, but they take part in the
// computation), by
//
//     raw, rollout, flow       of the last position, at each layer and as the mean over layers; each as it is, with
//                              receptive-field normalisation (graph/normalize.h), with the first token masked, and
//                              with both
//     gradient                 L2 norm of the gradient of p(right) - p(wrong) at the pieces' embeddings, summed
//     gradient-x-input         |gradient x embedding|, summed over the pieces
//     blank-out                |change of p(right) - p(wrong)| when the word's pieces become the end-of-text token
//     random                   the expectation of a random order
//
// Right and wrong word stand for their first token. The gradients need a model that has them (torch backend).
//
// Statistics: mean reciprocal rank with a bootstrap interval over samples (evaluate/statistics.h). Deterministic.
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_EVALUATE_EVIDENCE_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_EVALUATE_EVIDENCE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/progress.h"
#include "attnflow/evaluate/statistics.h"
#include "attnflow/model/decoder.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EvidenceSample {
  std::string prefix;
  std::string good;
  std::string bad;
  std::string evidence;
};

// Throws Error(kBadFile), naming the line, for a file that is missing, not UTF-8, has no header with these columns, or
// no row.
std::vector<EvidenceSample> read_evidence(const std::filesystem::path& path);

struct EvidenceOptions {
  Settings settings;                     // method, heads, residual, start_layer, flow_tolerance are looked at
  std::vector<std::size_t> flow_layers;  // layers that flow starts from; empty: a quarter, half, three quarters, all
  std::vector<std::string> scores;       // gradient, gradient-x-input, blank-out; random is always there
  std::string begin;                     // put before every prefix, such as a token that begins a text
  std::size_t samples = 200;             // drawn by the seed; 0: all
  std::uint64_t seed = 1;
  ResamplingOptions resampling;
  std::size_t threads = 0;
  ProgressFunction progress = {};  // in samples
  std::stop_token stop_token = {};
};

// How a method's values were treated before they were ranked.
enum class EvidenceVariant { kPlain, kReceptiveField, kMaskFirst, kReceptiveFieldMaskFirst };
std::string_view variant_name(EvidenceVariant variant);  // "as it is", "receptive field", "first token masked", "both"

struct EvidenceCell {
  std::string method;  // raw, rollout, flow, or a score's name
  EvidenceVariant variant = EvidenceVariant::kPlain;
  std::size_t layer = 0;  // 0: the mean over the method's layers; for scores always 0
  Summary reciprocal_rank;
};

struct EvidenceReport {
  Settings settings;
  ReportModel model;
  std::string file;
  std::string begin;
  std::uint64_t seed = 1;
  std::size_t available = 0;  // samples of the file
  std::size_t scored = 0;
  std::map<std::string, std::size_t> left_out;  // by reason
  std::size_t right = 0;                        // samples in which the right word is more probable than the wrong one
  double words = 0.0;                           // ranked in a sample, the mean
  double evidence_is_first = 0.0;               // share of samples whose evidence holds the first token
  std::vector<EvidenceCell> cells;
  std::vector<Note> notes;
};

// Throws Error(kUsage) for scores or layers that are not there, Error(kUnsupportedModel) for gradients of a model that
// has none, Error(kBadFile) when no sample is left, Error(kOther) before the model runs when the longest sample's
// matrices would not fit into memory: the message says how much they take.
EvidenceReport evaluate_evidence(Decoder& decoder, const TextCodec& codec, const std::vector<EvidenceSample>& samples,
                                 const EvidenceOptions& options);

// As correlations (evaluate_output.h): JSON with everything, CSV with every cell, Markdown and a terminal table with
// the mean over layers and the last layer.
std::string evidence_json(const EvidenceReport& report);
std::string evidence_csv(const EvidenceReport& report);
std::string evidence_markdown(const EvidenceReport& report);
std::string evidence_table(const EvidenceReport& report);
void write_evidence(const std::filesystem::path& path, const EvidenceReport& report);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_EVALUATE_EVIDENCE_H_
