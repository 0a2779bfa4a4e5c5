#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <tuple>
#include <vector>

#include "attnflow/explain/explain_generation.h"
#include "attnflow/explain/explain_options.h"

namespace attnflow::python {

// The options of `attnflow explain --attention FILE`, named with underscores: the settings of the table
// (attribution/setting_options.h), certificate, referents, keep_attention, renormalize, any_weights and threads. None
// means not given. Throws Error(kUsage).
ExplainOptions read_options(const nanobind::dict& given);

// Settings for generations, renormalize, any_weights, threads, generated_columns, flow_tokens and flow_layers. Throws
// Error(kUsage), also for options that no generation takes.
struct GenerationOptions {
  ExplainOptions explain;
  GenerationColumns columns;
};
GenerationOptions read_generation_options(const nanobind::dict& given);

// Name, type (as an annotation), help.
using DescribedOption = std::tuple<std::string, std::string, std::string>;

// The options of one question: "attribute" (arrays to a report), "values" (arrays to one array), "explain" (a model and
// a text) or "generate" (a model and a prompt).
std::vector<DescribedOption> described_options(const std::string& asks);

}  // namespace attnflow::python
