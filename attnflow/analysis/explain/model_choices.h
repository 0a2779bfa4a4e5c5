// The choices that a model's description allows, for lists. A GGUF file of an unknown family may refuse some of them.
#pragma once

#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"

namespace attnflow {

// In the order of every list; `auto` is not among them.
std::vector<Mixing> mixings_of(const ModelInfo& info);
std::vector<Method> methods_of(const ModelInfo& info);

// Whether it predicts something whose gradient can be taken; encoder-decoders have no gradients yet.
bool has_target(const ModelInfo& info);

}  // namespace attnflow
