#include "attnflow/attribution/mixings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"

namespace attnflow {
namespace {

// In the order of the enumeration and of every list.
using Rule = ResidualRule;
constexpr std::array<MixingInfo, 11> kMixings = {{
    {Mixing::kAuto, "auto", MixingNeeds::kAttention, "attention",
     "decoders: relevance where it takes seconds, alti for long generations; otherwise attention", Rule::kConvex},
    {Mixing::kAttention, "attention", MixingNeeds::kAttention, "attention", "attention weights, as in the paper",
     Rule::kConvex},
    {Mixing::kGradient, "gradient", MixingNeeds::kGradients, "gradient-adjusted attention",
     "attention weighted by the gradient of --target, plus the identity; rows normalized for flow, not for rollout",
     Rule::kAdded},
    {Mixing::kGradientRenormalized, "gradient-renormalized", MixingNeeds::kGradients, "gradient-adjusted attention",
     "the same, with rows normalized for rollout as well", Rule::kAddedNormalized},
    {Mixing::kNorm, "norm", MixingNeeds::kTerms, "contributions (norm)",
     "norm of the vector that each token adds to another (Kobayashi et al. 2021)", Rule::kContained,
     Contribution::kNorm},
    {Mixing::kGlobenc, "globenc", MixingNeeds::kTerms, "contributions (GlobEnc)",
     "the same, including the second residual connection and norm of BERT layers (Modarressi et al. 2022)",
     Rule::kContained, Contribution::kGlobenc},
    {Mixing::kAlti, "alti", MixingNeeds::kTerms, "contributions (ALTI)",
     "how much closer each token's contribution comes to the layer's output (Ferrando et al. 2022)", Rule::kContained,
     Contribution::kAlti},
    {Mixing::kIfr, "ifr", MixingNeeds::kTerms, "contributions (IFR)",
     "the same, head by head (Ferrando and Voita 2024)", Rule::kContained, Contribution::kIfr},
    {Mixing::kValueZeroing, "value-zeroing", MixingNeeds::kTerms, "contributions (value zeroing)",
     "how much the layer's output changes without a token's values (Mohebbi et al. 2023)", Rule::kConvex,
     Contribution::kValueZeroing},
    {Mixing::kRelevance, "relevance", MixingNeeds::kGradients, "relevance",
     "how much each token contributes to one prediction, --target against --against", Rule::kContainedNormalized},
    {Mixing::kRelevanceByHead, "relevance-by-head", MixingNeeds::kGradients, "relevance (by head)",
     "the same, computed for each head separately; meant for flow", Rule::kContainedNormalized},
}};

}  // namespace

std::span<const MixingInfo> all_mixings() { return kMixings; }

const MixingInfo& mixing_info(Mixing mixing) { return kMixings.at(static_cast<std::size_t>(mixing)); }

std::string to_text(Mixing mixing) { return mixing_info(mixing).name; }

std::vector<std::string> to_texts(const std::vector<Mixing>& mixings) {
  std::vector<std::string> texts;
  for (const Mixing mixing : mixings) texts.push_back(to_text(mixing));
  return texts;
}

Mixing parse_mixing(std::string_view text) {
  const auto found =
      std::find_if(kMixings.begin(), kMixings.end(), [&](const MixingInfo& info) { return info.name == text; });
  if (found != kMixings.end()) return found->mixing;
  std::vector<std::string> names;
  for (const MixingInfo& info : kMixings) names.emplace_back(info.name);
  throw Error(ErrorKind::kUsage, fmt::format("--mixing: expected {}, found '{}'{}", fmt::join(names, ", "), text,
                                             internal::did_you_mean(text, names)));
}

}  // namespace attnflow
