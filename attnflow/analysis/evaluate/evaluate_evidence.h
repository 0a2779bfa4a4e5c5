// Which method finds the word that decides what a language model says?
//
// Problem. In "Katherine can't help" the next word is "herself" and not "himself" because of "Katherine"; in "The
// author talked to Sara about [MASK] book." a masked language model says "her" and not "his" because of "Sara". For
// sentences in which the deciding word (the evidence) is marked, every method ranks the words by what the word in
// question drew on: the last position of a decoder, the mask of a masked language model. How near to the top is the
// evidence (evaluate/evidence_rank.h)?
//
// Data. A .csv with a header: the text before the word in question, or around its mask (`one_prefix_prefix`, `prefix`
// or `text`), the word that is right there (`one_prefix_word_good` or `good`), one that is wrong (`one_prefix_word_bad`
// or `bad`), and the evidence (`target` or `evidence`), a word that occurs once in the text. Columns of BLiMP's minimal
// pairs and of IOI as collected by Ferrando et al. (ACL 2023). A sample is left out, and counted with its reason, when
// the evidence is missing or does not occur exactly once, when right and wrong word begin with the same token, when it
// is too long, and for a masked language model without exactly one mask or with words of several tokens.
//
// What is ranked. The words of the text (sub-word pieces merged; special tokens, the mask among them, left out, but
// they take part in the computation), by
//
//     raw, rollout, flow       of the word in question, at each layer and as the mean over layers, over every mixing
//     that is
//                              asked for; mixings with a target explain logit(right) - logit(wrong). Over a decoder's
//                              attention as it is, with receptive-field normalisation (graph/normalize.h), with the
//                              first token masked, and with both; otherwise as it is
//     gradient                 L2 norm of the gradient of p(right) - p(wrong) at the pieces' embeddings, summed
//     gradient-x-input         |gradient x embedding|, summed over the pieces
//     blank-out                |change of p(right) - p(wrong)| when the word's pieces become the end-of-text token, or
//     the
//                              unknown token of a masked language model
//     attnlrp, logit, alti-logit, integrated-gradients
//                              what each word says for logit(right) - logit(wrong) (attribution/methods.h), with its
//                              sign
//     random                   the expectation of a random order
//
// Right and wrong word stand for their first token. The gradients need a model that has them. A
// sample's graphs come from one pass forward and one back for each rule of gradients, whatever the number of mixings
// (analysis/evaluate/mixed_graphs.h).
//
// Statistics: mean reciprocal rank with a bootstrap interval over samples, and how far it lies above that of a random
// order and above the method's habit of position (evaluate/positional_rank.h; from the start or from the end, whichever
// reaches more), both as paired differences (evaluate/statistics.h). Deterministic.
#pragma once

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
#include "attnflow/evaluate/positional_rank.h"
#include "attnflow/evaluate/statistics.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EvidenceSample {
  std::string prefix;
  std::string good;
  std::string bad;
  std::string evidence;
  std::string swap = {};  // what turns the answer in the evidence's place; empty: not asked
};

// Throws Error(kBadFile), naming the line, for a file that is missing, not UTF-8, has no header with these columns, or
// no row.
std::vector<EvidenceSample> read_evidence(const std::filesystem::path& path);

struct EvidenceOptions {
  Settings settings;  // method, heads, residual, start_layer, flow_tolerance are looked at
  // Each once, not auto; empty: all that the model can be given, tried on the first sample.
  std::vector<Mixing> mixings = {Mixing::kAttention};
  std::vector<std::size_t> flow_layers;  // layers that flow starts from; empty: a quarter, half, three quarters, all
  std::vector<std::string> scores;       // as above; random is always there
  std::string begin;                     // put before every prefix, such as a token that begins a text
  std::size_t samples = 200;             // drawn by the seed; 0: all
  std::uint64_t seed = 1;
  ResamplingOptions resampling;
  std::size_t threads = 0;
  ProgressFunction progress = {};  // in samples
  std::stop_token stop_token = {};

  bool wants_score(std::string_view name) const;
};

// How a method's values were treated before they were ranked.
enum class EvidenceVariant { kPlain, kReceptiveField, kMaskFirst, kReceptiveFieldMaskFirst };
std::string_view variant_name(EvidenceVariant variant);  // "as it is", "receptive field", "first token masked", "both"

struct EvidenceCell {
  std::string method;                 // raw, rollout, flow, or a score's name
  std::optional<Mixing> mixing = {};  // of the three
  EvidenceVariant variant = EvidenceVariant::kPlain;
  std::size_t layer = 0;  // 0: the mean over the method's layers; for scores always 0
  Summary reciprocal_rank;
  double positional_rank = kMissing;         // mean; NaN of random
  PlaceFrom place_from = PlaceFrom::kStart;  // what it counts from
  Summary above_position = {};               // differences from it
  Summary above_chance = {};
};

struct EvidenceReport {
  Settings settings;
  std::vector<Mixing> mixings;
  std::map<std::string, std::string>
      impossible;  // mixings that the model cannot be given, and why, where all are asked
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

// Throws Error(kUsage) for scores, mixings or layers that are not there, Error(kUnsupportedModel) for a model that
// predicts no words, gradients of one that has none, and mixings that it cannot be given; Error(kBadFile) when no
// sample is left, Error(kOther) before the model runs when the longest sample's matrices would not fit into memory: the
// message says how much they take.
EvidenceReport evaluate_evidence(TextModel& model, const TextCodec& codec, const std::vector<EvidenceSample>& samples,
                                 const EvidenceOptions& options);

// As correlations (evaluate_output.h): JSON with everything, CSV with every cell, Markdown and a terminal table with
// the mean over layers and the last layer.
std::string evidence_json(const EvidenceReport& report);
std::string evidence_csv(const EvidenceReport& report);
std::string evidence_markdown(const EvidenceReport& report);
// Prose takes lines of at most `width` cells.
std::string evidence_table(const EvidenceReport& report, std::size_t width = 80);
void write_evidence(const std::filesystem::path& path, const EvidenceReport& report);

}  // namespace attnflow
