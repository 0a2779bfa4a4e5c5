// Options of a generation's values, whoever ran the model: which columns to keep, and whose flow.
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/option.h"

namespace attnflow {

struct GenerationColumns {
  bool generated_columns = false;             // also keep values on generated tokens
  std::vector<std::size_t> flow_tokens = {};  // generated tokens to compute flow for; empty: all
  std::vector<std::size_t> flow_layers = {};  // layers to start flow from; empty: the last of settings.layers
};

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
