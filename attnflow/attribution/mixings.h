// The table of mixings, the kinds of matrix that a layer can be given.
//
// Problem. The command, its messages, reports, the page and Python need a mixing's name, what it needs from a model,
// and words for its weights. mixings.json holds these: the build generates the C++ table from it, and the page reads
// the same file. Headers in graph/ describe how each mixing is computed.
//
// Columns of mixings.json:
//
//     name         on the command line and in documents; the enumerator is this name in camel case
//     needs        what a model provides: attention, terms (the parts of a layer's output), gradients (of a target with
//                  respect to attention weights), or relevance (backpropagated from the target under AttnLRP's rules)
//     weights      what captions call a layer's weights
//     rule         how the residual connection enters the matrix (ResidualRule)
//     norms_after  true: only for layers that normalize after each residual connection, as BERT's do
//     by_head      true: relevance is computed for each head separately
//     help         a clause for --help and the page
//
// Example:
//
//     const MixingInfo& alti = mixing_info(parse_mixing("alti"));
//     assert(alti.needs == MixingNeeds::kTerms && !alti.has_target());
//     for (const MixingInfo& each : all_mixings()) std::printf("%s: %s\n", each.name, each.help);
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/mixing_names.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

enum class MixingNeeds : std::uint8_t {
  kAttention,  // AttentionSink::layer()
  kTerms,      // AttentionSink::terms()
  kGradients,  // AttentionGradientSink with BackwardRule::kGradient
  kRelevance,  // AttentionGradientSink with BackwardRule::kAttnLrp
};

struct MixingInfo {
  Mixing mixing = Mixing::kAttention;
  const char* name = "";
  MixingNeeds needs = MixingNeeds::kAttention;
  const char* weights = "";
  const char* help = "";
  ResidualRule rule = ResidualRule::kConvex;        // for rollout; flow uses flow_rule(rule)
  Contribution contribution = Contribution::kNorm;  // meaningful for kTerms
  bool norms_after = false;
  bool by_head = false;

  bool takes_residual() const { return rule == ResidualRule::kConvex; }
  // Whether the mixing explains one prediction.
  bool has_target() const { return needs == MixingNeeds::kGradients || needs == MixingNeeds::kRelevance; }
};

std::span<const MixingInfo> all_mixings();
const MixingInfo& mixing_info(Mixing mixing);

std::string to_text(Mixing mixing);
std::vector<std::string> to_texts(const std::vector<Mixing>& mixings);
// The names of the mixings with this need, for messages: "norm, globenc, ... or value-zeroing".
std::string mixings_that_need(MixingNeeds needs);
// Throws Error(kUsage) for an unknown name.
Mixing parse_mixing(std::string_view text);

}  // namespace attnflow
