// The extension module attnflow._core: arrays and options in, a report out. What Python's users see of it is the
// package around it (python/attnflow).
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/version.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_attention.h"
#include "python/binding/arrays.h"
#include "python/binding/errors.h"
#include "python/binding/options.h"
#include "python/binding/report.h"
#include "python/binding/work.h"

namespace attnflow::python {
namespace {

namespace nb = nanobind;

// As of the arrays of a file, whose path stands in messages: here the name of the argument.
constexpr const char* kSource = "attention";

// Finished ones; what they are, a mixing has to say.
ContributionArrays contributions_of(const GivenArrays& given, const Settings& settings) {
  if (mixing_info(settings.mixing).needs != MixingNeeds::kTerms) throw unnamed_contributions(kSource);
  const auto widened = [](const auto& values) {
    return Tensor<double>(values.shape(), {values.span().begin(), values.span().end()});
  };
  ContributionArrays arrays;
  arrays.contributions = checked_contributions(std::visit(widened, given.stacked()), kSource);
  return arrays;
}

Report explain_arrays(const nb::list& attention, const nb::list& contributions, const std::vector<std::string>& tokens,
                      const std::vector<bool>& special, const std::string& name, const nb::dict& options,
                      const nb::object& progress) {
  ExplainOptions asked = read_options(options);
  const GivenArrays weights(attention);
  const GivenArrays made(contributions);
  if (weights.empty() && made.empty()) {
    throw Error(ErrorKind::kBadFile, "attention: expected an array with at least one layer, found none");
  }
  if (made.empty() && mixing_info(asked.settings.mixing).needs == MixingNeeds::kTerms) {
    throw Error(ErrorKind::kUsage,
                fmt::format("mixing {}: expected finished contributions [layer, query, key], found attention of heads",
                            to_text(asked.settings.mixing)));
  }
  Report report;
  run_without_lock(
      [&](const ProgressFunction& tell, const std::stop_token& stop) {
        asked.progress = tell;
        asked.stop_token = stop;
        AttentionInput input;
        input.name = name;
        if (!weights.empty()) input.stack = attention_stack(weights.stacked(), kSource, asked);
        if (!made.empty()) input.contributions = contributions_of(made, asked.settings);
        set_tokens(input, tokens, special, kSource);
        report = explain_attention(std::move(input), asked);
      },
      progress);
  return report;
}

}  // namespace
}  // namespace attnflow::python

NB_MODULE(_core, module) {
  using namespace attnflow::python;
  namespace nb = nanobind;
  nb::set_leak_warnings(false);  // of reports that live as long as the interpreter
  raise_errors_in_python();
  bind_report(module);
  module.def("version", [] { return ATTNFLOW_VERSION; });
  module.def("described_options", described_options, nb::sig("def described_options() -> list[tuple[str, str, str]]"));
  module.def("explain", explain_arrays, nb::arg("attention"), nb::arg("contributions"), nb::arg("tokens"),
             nb::arg("special"), nb::arg("name"), nb::arg("options"), nb::arg("progress").none(),
             nb::sig("def explain(attention: list[numpy.typing.NDArray[typing.Any]], contributions: "
                     "list[numpy.typing.NDArray[typing.Any]], tokens: collections.abc.Sequence[str], special: "
                     "collections.abc.Sequence[bool], name: str, options: dict[str, object], progress: "
                     "collections.abc.Callable[[int, int], None] | None) -> Report"));
}
