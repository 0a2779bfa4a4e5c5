// What adapter_config.json says besides how to compute (lora.h): an adapter is changes to the weights of another model.
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
  std::string task;  // what it is for, "SEQ_CLS"; empty when it does not say
};

// The adapter that lies in `folder`, or nothing. Throws Error(kBadFile): adapter_config.json is no JSON object.
std::optional<Adapter> find_adapter(const Folder& folder);

// For a model's folder: that an adapter is in its numbers or, without tensors of its own, is not.
std::vector<ModelNote> adapter_notes(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_ADAPTER_H_
