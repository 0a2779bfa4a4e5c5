// The methods that say what an output depends on, as a table: the one place that names them is methods.json (`needs` is
// a MethodNeeds), of which the build writes the C++ rows; the page reads the same file.
//
// Three methods *aggregate* the matrices of the layers: they give nonnegative values for every output position of every
// layer (attribution/attribute.h). These are at most 1, except that raw values and rollout of gradient-adjusted
// attention may exceed 1, and that raw values and flow of relevance are in units of the target. The other methods do
// not use these matrices: they give each input token one signed number, which says how much it speaks for or against
// one prediction, in units of that prediction's target value (model/model.h, ScoreTarget). Their headers in
// analysis/methods/ describe them; this table holds what the rest of the program must know about each method.
//
// Example:
//
//     const MethodInfo& blank_out = method_info(parse_method("blank-out"));
//     assert(blank_out.needs == MethodNeeds::kRuns && !blank_out.aggregates());
//     for (const MethodInfo& each : all_methods()) std::printf("%s: %s\n", each.name, each.help);
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow {

// In the order of methods.json.
enum class Method : std::uint8_t {
  kRaw,      // W_l of one layer
  kRollout,  // product of the layers' matrices (rollout/rollout.h)
  kFlow,     // maximum flow through them (flow/flow.h)
  kLogit,
  kAltiLogit,
  kAttnLrp,
  kGradientTimesInput,
  kIntegratedGradients,
  kBlankOut,
};

// Those that aggregate, in the order of every list.
inline constexpr std::array<Method, 3> kAggregations = {Method::kRaw, Method::kRollout, Method::kFlow};

// What a method asks of a model.
enum class MethodNeeds : std::uint8_t {
  kGraph,      // the matrices of the layers, wherever they come from
  kRuns,       // to be run on other inputs
  kGradients,  // a target's gradient with respect to the input
  kLayers,     // that gradient at every layer, and what the layers' heads write
};

struct MethodInfo {
  Method method = Method::kRaw;
  const char* name = "";   // on the command line and in settings
  const char* array = "";  // in documents and files of arrays: the name with underscores
  MethodNeeds needs = MethodNeeds::kGraph;
  const char* help = "";  // a clause of --help

  bool aggregates() const { return needs == MethodNeeds::kGraph; }
  // Made for one prediction, which --target names; its values have signs.
  bool has_target() const { return !aggregates(); }
  bool needs_gradients() const { return needs == MethodNeeds::kGradients || needs == MethodNeeds::kLayers; }
};

// In the order of the enumeration and of every list.
std::span<const MethodInfo> all_methods();
const MethodInfo& method_info(Method method);

std::string to_text(Method method);
// The names of methods, for messages and documents.
std::vector<std::string> to_texts(const std::vector<Method>& methods);

// Throw Error(kUsage) for a name that no method has, and for a list that is empty or names a method twice.
Method parse_method(std::string_view text);
std::vector<Method> parse_methods(const std::vector<std::string>& texts);

// Throws Error(kUsage) where methods beside the graph are asked of what has none; `what` names it: "--attention".
void require_aggregations(const std::vector<Method>& methods, std::string_view what);

}  // namespace attnflow
