// Options of a generation's values that are the same whoever ran the model: which columns and whose flow are kept.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/option.h"

namespace attnflow {

struct GenerationColumns {
  bool generated_columns = false;             // keep the values on generated tokens too
  std::vector<std::size_t> flow_tokens = {};  // generated tokens whose flow is wanted; empty: all
  std::vector<std::size_t> flow_layers = {};  // layers that flow starts from; empty: the last of settings.layers
};

// The rows of these options for a struct that has such members.
template <typename Owner>
std::vector<Option<Owner>> generation_column_options() {
  constexpr unsigned kGenerations = kForGenerate | kForGenerations;
  return {
      option<&Owner::generated_columns>("generated_columns", kGenerations,
                                        "Also keep each token's values on the generated tokens before it "
                                        "(automatic for .html of short texts)"),
      option<&Owner::flow_tokens>("flow_tokens", kGenerations,
                                  "Generated tokens to compute flow for, such as 0,5; default: all",
                                  {.form = OptionForm::kPositions}),
      option<&Owner::flow_layers>("flow_layers", kGenerations, "Layers to compute flow for; default: the last",
                                  {.form = OptionForm::kLayers}),
  };
}

}  // namespace attnflow
