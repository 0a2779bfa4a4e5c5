#include "attnflow/explain/explain_attention.h"

#include <fmt/format.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/explain/explain_contributions.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/referents.h"

namespace attnflow {
namespace {

template <typename Weight>
BasicAttentionStack<Weight> checked_stack(Tensor<Weight> weights, std::string_view source,
                                          const ExplainOptions& options) {
  validate_attention(std::as_const(weights).view(), source);
  if (options.renormalize) {
    if constexpr (std::is_same_v<Weight, double>) renormalize_rows(weights);
  } else if (!options.any_weights) {
    const RowSums sums = inspect_row_sums(std::as_const(weights).view());
    if (sums.largest_error > kRowSumTolerance) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format(
              "{}: expected attention rows that sum to 1 within {}, found {:.6g} at layer {}, head {}, query {}; pass "
              "--renormalize to divide each row by its sum, or --any-weights to use the values unchanged",
              source, kRowSumTolerance, sums.sum, sums.layer, sums.head, sums.query));
    }
  }
  return BasicAttentionStack<Weight>(std::move(weights));
}

}  // namespace

AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options) {
  if (auto* const narrow = std::get_if<Tensor<float>>(&weights)) {
    if (!options.renormalize) return checked_stack(std::move(*narrow), source, options);
    weights = Tensor<double>(narrow->shape(), {narrow->span().begin(), narrow->span().end()});
  }
  return checked_stack(std::get<Tensor<double>>(std::move(weights)), source, options);
}

void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source) {
  const bool has_attention = std::visit([](const auto& stack) { return !stack.weights().empty(); }, input.stack);
  const std::size_t n = has_attention ? std::visit([](const auto& stack) { return stack.tokens(); }, input.stack)
                                      : input.contributions.contributions.extent(1);
  const auto check_count = [&](std::size_t count, const char* what) {
    if (count != 0 && count != n) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("{}: expected {} {} (one for each key of attention), found {}", source, n, what, count));
    }
  };
  check_count(texts.size(), "tokens");
  check_count(special.size(), "special flags");
  input.tokens.resize(n);
  for (std::size_t t = 0; t < texts.size(); ++t) input.tokens[t].text = texts[t];
  for (std::size_t t = 0; t < special.size(); ++t) input.tokens[t].special = special[t];
}

void check_attention_options(const ExplainOptions& options) {
  if (options.renormalize && options.any_weights) {
    throw Error(ErrorKind::kUsage, "--renormalize and --any-weights are mutually exclusive");
  }
}

Report explain_attention(AttentionInput input, const ExplainOptions& given) {
  ExplainOptions options = given;
  if (options.settings.mixing == Mixing::kAuto) options.settings.mixing = Mixing::kAttention;
  validate(options.settings);
  if (options.settings.words) {
    throw Error(ErrorKind::kUsage,
                "--words requires a text and a tokenizer: an attention file does not say which tokens form a word");
  }
  if (options.settings.has_target()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("--mixing {} requires a text and a model: an attention file has no gradients",
                            to_text(options.settings.mixing)));
  }
  if (mixing_info(options.settings.mixing).needs == MixingNeeds::kTerms) {
    return explain_contributions(std::move(input), options);
  }
  require_aggregations(options.settings.methods, "an attention file");
  Report report;
  report.settings = options.settings;
  report.input.kind = "attention";
  if (options.any_weights) {
    report.notes.emplace_back(NoteCode::kAnyWeights);
  }
  std::visit(
      [&](auto& stack) {
        report.model = {input.name, "", stack.layers(), stack.heads(),
                        is_causal(std::as_const(stack).weights().view())};
        report.input.tokens = std::move(input.tokens);
        report.input.tokens.resize(stack.tokens());
        report.referents = resolve_referents(options.referents, report);
        const ReportQuestion question = resolve_question(report, options);
        fill_report(report, std::move(stack), question, options);
      },
      input.stack);
  return report;
}

}  // namespace attnflow
