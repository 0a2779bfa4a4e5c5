#include "attnflow/analysis/explain/model_choices.h"

#include "attnflow/attribution/mixings.h"

namespace attnflow {

bool has_target(const ModelInfo& info) { return info.head != ModelHead::kNone && !info.target; }

std::vector<Mixing> mixings_of(const ModelInfo& info) {
  std::vector<Mixing> mixings;
  for (const MixingInfo& one : all_mixings()) {
    if (one.mixing == Mixing::kAuto) continue;
    if (one.has_target() && !has_target(info)) continue;
    if (one.needs != MixingNeeds::kAttention && info.target) continue;
    if (one.norms_after && !info.norms_after) continue;
    mixings.push_back(one.mixing);
  }
  return mixings;
}

std::vector<Method> methods_of(const ModelInfo& info) {
  std::vector<Method> methods;
  for (const MethodInfo& one : all_methods()) {
    if (!one.aggregates() && !has_target(info)) continue;
    if (one.needs == MethodNeeds::kLayers && info.norms_after) continue;
    methods.push_back(one.method);
  }
  return methods;
}

}  // namespace attnflow
