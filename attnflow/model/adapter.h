// A LoRA adapter (adapter_config.json): changes to the weights of another model, which are not computed with.
#ifndef ATTNFLOW_MODEL_ADAPTER_H_
#define ATTNFLOW_MODEL_ADAPTER_H_

#include <optional>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct Adapter {
  std::string base;  // the model that it changes, as it calls it; empty when it does not say
};

// The adapter that lies in `folder`, or nothing. Throws Error(kBadFile): adapter_config.json is no JSON object.
std::optional<Adapter> find_adapter(const Folder& folder);

// For a folder that holds full weights: that an adapter beside them, if there is one, is not applied.
std::vector<ModelNote> adapter_notes(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_ADAPTER_H_
