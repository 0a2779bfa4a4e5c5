#include "attnflow/attribution/mixings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/words/lists.h"

namespace attnflow {
namespace {

constexpr MixingInfo kMixings[] = {
#include "attnflow/attribution/mixing_rows.h"
};

}  // namespace

std::span<const MixingInfo> all_mixings() { return kMixings; }

const MixingInfo& mixing_info(Mixing mixing) { return kMixings[static_cast<std::size_t>(mixing)]; }

std::string to_text(Mixing mixing) { return mixing_info(mixing).name; }

std::vector<std::string> to_texts(const std::vector<Mixing>& mixings) {
  std::vector<std::string> texts;
  for (const Mixing mixing : mixings) texts.push_back(to_text(mixing));
  return texts;
}

std::string mixings_that_need(MixingNeeds needs) {
  std::vector<std::string> names;
  for (const MixingInfo& info : kMixings) {
    if (info.needs == needs && info.mixing != Mixing::kAuto) names.emplace_back(info.name);
  }
  return internal::listed(std::move(names), "or");
}

Mixing parse_mixing(std::string_view text) {
  const auto* const found =
      std::find_if(std::begin(kMixings), std::end(kMixings), [&](const MixingInfo& info) { return info.name == text; });
  if (found != std::end(kMixings)) return found->mixing;
  std::vector<std::string> names;
  for (const MixingInfo& info : kMixings) names.emplace_back(info.name);
  const auto is_named = [&](const MethodInfo& method) { return method.name == text; };
  const std::string meant = std::ranges::any_of(all_methods(), is_named)
                                ? fmt::format("; {} is a method: --method {}", text, text)
                                : internal::did_you_mean(text, names);
  throw Error(ErrorKind::kUsage,
              fmt::format("--mixing: expected {}, found '{}'{}", fmt::join(names, ", "), text, meant));
}

}  // namespace attnflow
