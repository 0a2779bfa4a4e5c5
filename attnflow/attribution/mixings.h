// The kinds of matrix that a layer can be given, as a table: the one place that names them.
//
// What a mixing is stands in its header in graph/; here is what everything else must know of it: its name, what a model
// has to hand over for it, and in what words captions speak of its weights.
//
// Example:
//
//     const MixingInfo& alti = mixing_info(parse_mixing("alti"));
//     assert(alti.needs == MixingNeeds::kTerms && !alti.has_target());
//     for (const MixingInfo& each : all_mixings()) std::printf("%s: %s\n", each.name, each.help);
#ifndef ATTNFLOW_ATTRIBUTION_MIXINGS_H_
#define ATTNFLOW_ATTRIBUTION_MIXINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

// What the matrices of the layers are made of.
enum class Mixing : std::uint8_t {
  kAuto,  // the default of the model: relevance where it can be had at once, in decoders; otherwise attention
  kAttention,
  kGradient,              // gradient-adjusted attention as published, rows renormalised for flow only
  kGradientRenormalized,  // rows renormalised for rollout, too
  kNorm,
  kGlobenc,
  kAlti,
  kIfr,
  kValueZeroing,
  kRelevance,
  kRelevanceByHead,
};

// What a model hands over for a mixing.
enum class MixingNeeds : std::uint8_t {
  kAttention,  // AttentionSink::layer()
  kTerms,      // AttentionSink::terms()
  kGradients,  // AttentionGradientSink, of a target
};

struct MixingInfo {
  Mixing mixing = Mixing::kAttention;
  const char* name = "";  // on the command line and in documents
  MixingNeeds needs = MixingNeeds::kAttention;
  const char* weights = "";  // what a layer's weights are called in captions: "attention", "ALTI contributions"
  const char* help = "";     // a clause of --help
  ResidualRule rule = ResidualRule::kConvex;  // for rollout; flow_rule() of it for flow

  Contribution contribution = Contribution::kNorm;  // of kTerms

  // --residual has a meaning.
  bool takes_residual() const { return rule == ResidualRule::kConvex; }
  // Whether it is attention weighted by a gradient.
  bool weights_by_gradient() const { return rule == ResidualRule::kAdded || rule == ResidualRule::kAddedNormalized; }
  // Whether it is made for one prediction.
  bool has_target() const { return needs == MixingNeeds::kGradients; }
};

std::span<const MixingInfo> all_mixings();
const MixingInfo& mixing_info(Mixing mixing);

std::string to_text(Mixing mixing);
// The names of mixings, for messages and documents.
std::vector<std::string> to_texts(const std::vector<Mixing>& mixings);
// Throws Error(kUsage) for what is no mixing.
Mixing parse_mixing(std::string_view text);

}  // namespace attnflow

#endif  // ATTNFLOW_ATTRIBUTION_MIXINGS_H_
