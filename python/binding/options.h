#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <tuple>
#include <vector>

#include "attnflow/analysis/generate/generate_options.h"
#include "attnflow/explain/explain_options.h"

namespace attnflow::python {

// The options of `attnflow explain --attention FILE`, named with underscores: the settings of the table
// (attribution/setting_options.h), certificate, referents, keep_attention, renormalize, any_weights and threads. None
// means not given. Throws Error(kUsage).
ExplainOptions read_options(const nanobind::dict& given);

// Those of `attnflow explain` for a model. Throws Error(kUsage).
ExplainOptions read_model_options(const nanobind::dict& given);

// The settings of `attnflow evaluate evidence`. Throws Error(kUsage).
Settings read_evidence_settings(const nanobind::dict& given);

// Those of `attnflow generate`, and those for rows of attention that do not sum to 1.
struct ModelGenerateOptions {
  GenerateOptions generate;
  ExplainOptions rows;
  std::string user;  // the user's turn, with generate.chat
};
// Throws Error(kUsage), also for options that no generation takes.
ModelGenerateOptions read_generation_options(const nanobind::dict& given);

// Name, type (as an annotation), help.
using DescribedOption = std::tuple<std::string, std::string, std::string>;

// The options of one question: "attribute" (arrays to a report), "values" (arrays to one array), "explain" (a model and
// a text), "generate" (a model and a prompt) or "evaluate" (a model and texts whose deciding words are known).
std::vector<DescribedOption> described_options(const std::string& asks);

}  // namespace attnflow::python
