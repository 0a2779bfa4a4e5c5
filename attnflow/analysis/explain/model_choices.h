// What can be asked of a model, as far as its description says: for lists to choose from. A GGUF file of a family whose
// layers are not known refuses some of it when it is asked.
#pragma once

#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Mixings and methods in the order of every list; `auto` is not among them.
std::vector<Mixing> mixings_of(const ModelInfo& info);
std::vector<Method> methods_of(const ModelInfo& info);

// Whether it predicts something whose gradient can be taken.
bool has_target(const ModelInfo& info);

}  // namespace attnflow
