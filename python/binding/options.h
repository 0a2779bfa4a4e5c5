// Keyword arguments as the options of an explanation.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <tuple>
#include <vector>

#include "attnflow/explain/explain_generation.h"
#include "attnflow/explain/explain_options.h"

namespace attnflow::python {

// The options of `attnflow explain --attention FILE`, by their names with underscores: the settings of the table
// (attribution/setting_options.h), certificate, referents, keep_attention, renormalize, any_weights and threads. None
// stands for an option that is not given. Throws Error(kUsage).
ExplainOptions read_options(const nanobind::dict& given);

// The options of a generation: the settings that it takes, renormalize, any_weights, threads, generated_columns,
// flow_tokens and flow_layers. Throws Error(kUsage), too, for what no generation takes.
struct GenerationOptions {
  ExplainOptions explain;
  GenerationColumns columns;
};
GenerationOptions read_generation_options(const nanobind::dict& given);

// What Python says of an option: name, type (as an annotation), help.
using DescribedOption = std::tuple<std::string, std::string, std::string>;

// All of them. `asks` says who does:
// "attribute" (arrays to a report), "values" (arrays to one array), "explain" (a model and a text), "generate" (a
// model and a prompt). Options are left out that a question never takes.
std::vector<DescribedOption> described_options(const std::string& asks);

}  // namespace attnflow::python
