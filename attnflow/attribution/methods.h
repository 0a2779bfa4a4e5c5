// The attribution methods, as a table. methods.json is the one place that names them (`needs` is a MethodNeeds): the
// build generates the C++ rows from it, and the page reads the same file.
//
// Three methods *aggregate* the layers' matrices: they give nonnegative values for every output position of every layer
// (attribution/attribute.h). These are at most 1, except that raw attention and rollout of gradient-adjusted attention
// may exceed 1, and raw attention and flow of relevance are in units of the target. The other methods give each input
// token one signed number: how much it speaks for or against one prediction, in units of that prediction's target value
// (model/model.h, ScoreTarget). Headers in analysis/methods/ describe these.
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

inline constexpr std::array<Method, 3> kAggregations = {Method::kRaw, Method::kRollout, Method::kFlow};

enum class MethodNeeds : std::uint8_t {
  kGraph,      // the matrices of the layers, wherever they come from
  kRuns,       // runs on modified inputs
  kGradients,  // a target's gradient with respect to the input
  kLayers,     // that gradient at every layer, and the outputs of the layers' heads
};

struct MethodInfo {
  Method method = Method::kRaw;
  const char* name = "";   // on the command line and in settings
  const char* array = "";  // in documents and files of arrays: the name with underscores
  MethodNeeds needs = MethodNeeds::kGraph;
  const char* help = "";  // a clause of --help

  bool aggregates() const { return needs == MethodNeeds::kGraph; }
  // Explains one prediction, which --target names; values have signs.
  bool has_target() const { return !aggregates(); }
  bool needs_gradients() const { return needs == MethodNeeds::kGradients || needs == MethodNeeds::kLayers; }
};

std::span<const MethodInfo> all_methods();
const MethodInfo& method_info(Method method);

std::string to_text(Method method);
std::vector<std::string> to_texts(const std::vector<Method>& methods);

// Both throw Error(kUsage) for an unknown name; parse_methods() also as require_each_once() does.
Method parse_method(std::string_view text);
std::vector<Method> parse_methods(const std::vector<std::string>& texts);

// Throws Error(kUsage) for an empty list or a repeated method.
void require_each_once(const std::vector<Method>& methods);

// Throws Error(kUsage) if any method does not aggregate; `what` names the input that supports no others: "--attention".
void require_aggregations(const std::vector<Method>& methods, std::string_view what);

}  // namespace attnflow
