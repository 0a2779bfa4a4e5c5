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
     "attention weighted by the gradient of --target, I + G as published for rollout, rows normalized for flow",
     Rule::kAdded},
    {Mixing::kGradientRenormalized, "gradient-renormalized", MixingNeeds::kGradients, "gradient-adjusted attention",
     "the same, rows normalized for rollout, too", Rule::kAddedNormalized},
    {Mixing::kNorm, "norm", MixingNeeds::kTerms, "contributions (norm)",
     "length of what each token writes into another (Kobayashi et al. 2021)", Rule::kContained, Contribution::kNorm},
    {Mixing::kGlobenc, "globenc", MixingNeeds::kTerms, "contributions (GlobEnc)",
     "the same through the second residual and norm of BERT's kind (Modarressi et al. 2022)", Rule::kContained,
     Contribution::kGlobenc},
    {Mixing::kAlti, "alti", MixingNeeds::kTerms, "contributions (ALTI)",
     "how much nearer each token brings the layer's output (Ferrando et al. 2022)", Rule::kContained,
     Contribution::kAlti},
    {Mixing::kIfr, "ifr", MixingNeeds::kTerms, "contributions (IFR)",
     "the same, head by head (Ferrando and Voita 2024)", Rule::kContained, Contribution::kIfr},
    {Mixing::kValueZeroing, "value-zeroing", MixingNeeds::kTerms, "contributions (value zeroing)",
     "change of the layer's output without a token's values (Mohebbi et al. 2023)", Rule::kConvex,
     Contribution::kValueZeroing},
    {Mixing::kRelevance, "relevance", MixingNeeds::kGradients, "relevance",
     "what each token contributes to one prediction, --target against --against", Rule::kContainedNormalized},
    {Mixing::kRelevanceByHead, "relevance-by-head", MixingNeeds::kGradients, "relevance (by head)",
     "the same, each head by itself: for flow", Rule::kContainedNormalized},
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
