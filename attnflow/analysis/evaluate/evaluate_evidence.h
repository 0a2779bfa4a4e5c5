// Which method finds the word that decides what a language model says?
//
// Problem. In "Katherine can't help" the next word is "herself" and not "himself" because of "Katherine"; in "The
// author talked to Sara about [MASK] book." a masked language model says "her" and not "his" because of "Sara". For
// sentences with a marked deciding word (the evidence), every method ranks the words by what the word in question drew
// on: a decoder's last position, or the mask. How near to the top is the evidence (evaluate/evidence_rank.h)?
//
// Data. A .csv with a header: the text before the word in question, or around its mask (`one_prefix_prefix`, `prefix`
// or `text`), the evidence (`target` or `evidence`), a word that occurs once in the text, and, if known, the right word
// (`one_prefix_word_good` or `good`) and a wrong one (`one_prefix_word_bad` or `bad`). These are the columns of BLiMP's
// minimal pairs and of IOI as collected by Ferrando et al. (ACL 2023). Without a right word, what the model predicts is
// explained; without a wrong one, or with --against, it is compared with what --against names, by default the ten most
// probable others. A sample is left out, and counted with its reason, if the evidence does not occur exactly once, the
// right and wrong words begin with the same token, it is too long, or, for a masked language model, it lacks exactly
// one mask or has words of several tokens.
//
// Ranked are the words of the text (sub-word pieces merged, special tokens and the mask left out but computed with) by
//
//     raw, rollout, flow       values of the word in question, at each layer and as the mean over layers, over every
//                              requested mixing; those with a target explain the right word's logit less the mean of
//                              those that it is compared with (the wrong word's). A decoder's
//                              attention comes plain, with receptive-field normalization (graph/normalize.h), with the
//                              first token masked, and with both
//     gradient                 L2 norm of the gradient of the same difference of probabilities (of the right word's
//                              alone, if it is compared with all others) at the pieces' embeddings, summed
//     gradient-x-input         |gradient x embedding|, summed over the pieces
//     blank-out                |change of that difference| when the word's pieces become the end-of-text token, or a
//                              masked language model's unknown token
//     check                    a decoder's drop when a word is replaced by what could have stood there
//                              (analysis/check/replacement_check.h)
//     attnlrp, logit, alti-logit, integrated-gradients
//                              signed scores for the difference of logits (attribution/methods.h)
//     random                   the expectation of a random order
//
// Right and wrong words stand for their first tokens. Graphs cost one forward pass and one backward pass for each rule
// of gradients, whatever the number of mixings (analysis/evaluate/mixed_graphs.h).
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
#include "attnflow/metrics/positional_rank.h"
#include "attnflow/metrics/statistics.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct EvidenceSample {
  std::string prefix;
  std::optional<std::string> good = {};  // absent: what the model predicts
  std::optional<std::string> bad = {};
  std::string evidence = {};
  std::string swap = {};  // what turns the answer in the evidence's place; empty: not asked
};

// Throws Error(kBadFile), naming the line, for a file that is missing, not UTF-8, or lacks these columns or any row.
std::vector<EvidenceSample> read_evidence(const std::filesystem::path& path);

struct EvidenceOptions {
  Settings settings;  // method, against, heads, residual, start_layer, flow_tolerance are looked at
  // Each once; empty: all that the model supports; {kAuto}: of attention and relevance those that it supports. What it
  // supports is tried on the first sample.
  std::vector<Mixing> mixings = {Mixing::kAuto};
  std::vector<std::size_t> flow_layers;  // layers that flow starts from; empty: a quarter, half, three quarters, all
  std::vector<std::string> scores = {"check"};  // as above; kChance is always there
  std::string begin;                            // put before every prefix, such as a token that begins a text
  std::size_t samples = 200;                    // drawn by the seed; 0: all
  std::uint64_t seed = 1;
  ResamplingOptions resampling;
  std::size_t threads = 0;
  ProgressFunction progress = {};  // in samples
  std::stop_token stop_token = {};

  bool wants_score(std::string_view name) const;
};

enum class EvidenceVariant { kPlain, kReceptiveField, kMaskFirst, kReceptiveFieldMaskFirst };
std::string_view variant_name(EvidenceVariant variant);  // "as it is", "receptive field", "first token masked", "both"

inline constexpr const char* kChance = "chance";  // the method of the last cell: words in a random order

struct EvidenceCell {
  std::string method;                 // raw, rollout, flow, a score's name, or kChance
  std::optional<Mixing> mixing = {};  // of the three
  EvidenceVariant variant = EvidenceVariant::kPlain;
  std::size_t layer = 0;  // 0: the mean over the method's layers; for scores always 0
  Summary reciprocal_rank;
  double positional_rank = kMissing;         // mean; NaN of chance
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
  bool has_right = false;  // whether the samples, which are alike in that, name a right and a wrong word
  bool has_wrong = false;
  std::size_t right = 0;  // samples in which the right word is more probable than the wrong one, or than all others
  double words = 0.0;     // ranked in a sample, the mean
  double evidence_is_first = 0.0;  // share of samples whose evidence holds the first token
  std::vector<EvidenceCell> cells;
  std::vector<Note> notes;
};

// Throws Error(kUsage) for scores, mixings or layers that do not exist, Error(kUnsupportedModel) for a model that
// predicts no words, or lacks requested gradients or mixings; Error(kBadFile) when no sample is left, Error(kOther)
// before the model runs when the longest sample's matrices would not fit into memory, naming their size.
EvidenceReport evaluate_evidence(TextModel& model, const TextCodec& codec, const std::vector<EvidenceSample>& samples,
                                 const EvidenceOptions& options);

// The forms of evaluation_file.h. Markdown and the terminal table show the mean over layers and the last layer.
std::string evaluation_json(const EvidenceReport& report);
std::string evaluation_csv(const EvidenceReport& report);
std::string evaluation_markdown(const EvidenceReport& report);
std::string evaluation_table(const EvidenceReport& report, std::size_t width = 80);

}  // namespace attnflow
