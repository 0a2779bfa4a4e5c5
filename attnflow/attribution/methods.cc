#include "attnflow/attribution/methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "attnflow/attribution/mixings.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"

namespace attnflow {
namespace {

constexpr MethodInfo kMethods[] = {
#include "attnflow/attribution/method_rows.h"
};
static_assert(std::size(kMethods) == static_cast<std::size_t>(Method::kBlankOut) + 1);

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodInfo& info : kMethods) names.emplace_back(info.name);
  return names;
}

}  // namespace

std::span<const MethodInfo> all_methods() { return kMethods; }

const MethodInfo& method_info(Method method) { return kMethods[static_cast<std::size_t>(method)]; }

std::string to_text(Method method) { return method_info(method).name; }

std::vector<std::string> to_texts(const std::vector<Method>& methods) {
  std::vector<std::string> texts;
  for (const Method method : methods) texts.push_back(to_text(method));
  return texts;
}

Method parse_method(std::string_view text) {
  const auto* const found =
      std::ranges::find(kMethods, text, [](const MethodInfo& info) { return std::string_view(info.name); });
  if (found != std::end(kMethods)) return found->method;
  // 'evaluate image' used to have these names for methods over gradient-adjusted attention.
  if (text == "gradient-rollout" || text == "gradient-flow") {
    throw Error(ErrorKind::kUsage,
                fmt::format("--method: {} is now {} with --mixing gradient", text, text.substr(text.find('-') + 1)));
  }
  const auto is_named = [&](const MixingInfo& mixing) { return mixing.name == text; };
  const std::string meant = std::ranges::any_of(all_mixings(), is_named)
                                ? fmt::format("; {} is a mixing: --mixing {}", text, text)
                                : internal::did_you_mean(text, method_names());
  throw Error(ErrorKind::kUsage, fmt::format("--method: expected a comma-separated list of {}, found '{}'{}",
                                             fmt::join(method_names(), ", "), text, meant));
}

std::vector<Method> parse_methods(const std::vector<std::string>& texts) {
  std::vector<Method> methods;
  for (const std::string& text : texts) methods.push_back(parse_method(text));
  require_each_once(methods);
  return methods;
}

void require_each_once(const std::vector<Method>& methods) {
  if (methods.empty()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--method: expected at least one of {}, found none", fmt::join(method_names(), ", ")));
  }
  for (auto method = methods.begin(); method != methods.end(); ++method) {
    if (std::find(methods.begin(), method, *method) == method) continue;
    throw Error(ErrorKind::kUsage,
                fmt::format("--method: expected each method once, found '{}' twice", method_info(*method).name));
  }
}

void require_aggregations(const std::vector<Method>& methods, std::string_view what) {
  const auto beside =
      std::find_if(methods.begin(), methods.end(), [](Method method) { return !method_info(method).aggregates(); });
  if (beside == methods.end()) return;
  throw Error(ErrorKind::kUsage,
              fmt::format("--method: expected raw, rollout or flow with {}, found {}, which explains "
                          "one prediction of a model that can be run again",
                          what, to_text(*beside)));
}

}  // namespace attnflow
