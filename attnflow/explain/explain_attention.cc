#include "attnflow/explain/explain_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/graph/layers.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {
namespace {

Error wrong_sums(const RowSums& sums, std::string_view source, std::size_t layers_before) {
  const std::string place =
      fmt::format("layer {}, head {}, query {}", layers_before + sums.layer, sums.head, sums.query);
  std::string found = fmt::format("{:.6g} at {}", sums.sum, place);
  const char* advice = "pass --renormalize to divide each row by its sum, or --any-weights to use the values unchanged";
  if (sums.columns_sum_to_one) {
    found += ", and columns that do";
    advice = "query and key look swapped: np.swapaxes(attention, -1, -2) puts them in order";
  } else if (sums.zero_rows > 0) {
    found = fmt::format("{} of zeros, the first at {}",
                        sums.zero_rows == 1 ? "a row" : fmt::format("{} rows", sums.zero_rows), place);
    advice =
        "fully masked padding gives such rows: leave it out (attention[..., :n, :n] of n tokens, or [..., -n:, -n:] "
        "where "
        "padding stands first). --renormalize lets such a position keep only itself; --any-weights uses the values "
        "unchanged";
  }
  return {ErrorKind::kBadFile, fmt::format("{}: expected attention rows that sum to 1 within {}, found {}; {}", source,
                                           kRowSumTolerance, found, advice)};
}

template <typename Weight>
void check_weights(Tensor<Weight>& weights, std::string_view source, const ExplainOptions& options, ZeroRows& zeros,
                   std::size_t layers_before = 0) {
  validate_attention(std::as_const(weights).view(), source, layers_before);
  if (options.renormalize) {
    if constexpr (std::is_same_v<Weight, double>) zeros.add(renormalize_rows(weights, layers_before));
  } else if (!options.any_weights) {
    const RowSums sums = inspect_row_sums(std::as_const(weights).view());
    if (sums.largest_error > kRowSumTolerance) throw wrong_sums(sums, source, layers_before);
  }
}

// Converts float32 to float64 before renormalization, to keep the quotients.
void widen_to_renormalize(std::variant<Tensor<float>, Tensor<double>>& weights, const ExplainOptions& options) {
  auto* const narrow = std::get_if<Tensor<float>>(&weights);
  if (narrow == nullptr || !options.renormalize) return;
  weights = Tensor<double>(narrow->shape(), {narrow->span().begin(), narrow->span().end()});
}

std::size_t positions(const AttentionInput& input) {
  if (input.running) return input.running->tokens();
  const bool has_attention = std::visit([](const auto& stack) { return !stack.weights().empty(); }, input.stack);
  return has_attention ? std::visit([](const auto& stack) { return stack.tokens(); }, input.stack)
                       : input.contributions.contributions.extent(1);
}

// Whether fused heads suffice.
bool can_fuse(const ExplainOptions& options) {
  const Mixing mixing = options.settings.mixing;
  return !options.settings.heads.is_single() && !options.keep_attention &&
         (mixing == Mixing::kAuto || mixing == Mixing::kAttention);
}

Tensor<float> rounded(const auto& weights) { return {weights.shape(), {weights.span().begin(), weights.span().end()}}; }

bool looks_back_only(const Tensor<double>& contributions) {
  const std::size_t n = contributions.extent(2);
  for (std::size_t row = 0; row < contributions.size() / n; ++row) {
    const double* weights = contributions.data() + row * n;
    if (std::any_of(weights + row % n + 1, weights + n, [](double w) { return w != 0.0; })) return false;
  }
  return true;
}

// Starts a report from the input, whose tokens it takes.
Report report_of_input(AttentionInput& input, const ExplainOptions& options) {
  Report report;
  report.settings = options.settings;
  report.input.kind = "attention";
  report.input.tokens = std::move(input.tokens);
  if (options.any_weights) report.notes.emplace_back(NoteCode::kAnyWeights);
  note_zero_rows(input.zero_rows, report.notes);
  return report;
}

Report explain_contributions(AttentionInput input, const ExplainOptions& options) {
  Tensor<float> attention = std::visit([](const auto& stack) { return rounded(stack.weights()); }, input.stack);
  input.stack = {};
  const ContributionArrays& arrays = input.contributions;
  if (attention.empty() && options.keep_attention) {
    throw internal::usage_error("--keep-attention: expected a file with attention, found only contributions");
  }
  Report report = report_of_input(input, options);
  const bool is_made = !arrays.contributions.empty();
  const Shape& shape = is_made ? arrays.contributions.shape() : attention.shape();
  report.model = {input.name, "", shape[0], attention.empty() ? 1 : attention.extent(1),
                  is_made ? looks_back_only(arrays.contributions) : is_causal(std::as_const(attention).view())};
  const ReportQuestion question = resolve_question(report, options);
  AttentionGraph graph =
      graph_of_arrays(arrays, std::as_const(attention).view(), question.settings.contributions(options.threads));
  if (options.keep_attention) report.attention = std::move(attention);
  fill_report(report, GraphSource(std::move(graph), report.model.causal), question, options);
  return report;
}

}  // namespace

AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options, ZeroRows& zeros) {
  widen_to_renormalize(weights, options);
  return std::visit(
      [&]<typename Weight>(Tensor<Weight>& given) -> AnyAttentionStack {
        check_weights(given, source, options, zeros);
        return BasicAttentionStack<Weight>(std::move(given));
      },
      weights);
}

void append(AttentionInput& input, std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
            const ExplainOptions& options) {
  widen_to_renormalize(weights, options);
  std::visit(
      [&](auto& given) {
        check_weights(given, source, options, input.zero_rows, input.running->layers());
        input.running->add(std::as_const(given)[0]);
      },
      weights);
}

Tensor<float> checked_layer(TensorView<const float> attention, std::size_t layer, std::string_view source,
                            const ExplainOptions& options, ZeroRows& zeros) {
  Shape shape = attention.shape();
  shape.insert(shape.begin(), 1);
  const TensorView<const float> stacked(attention.data(), shape);
  validate_attention(stacked, source, layer - 1);
  if (!options.renormalize) {
    if (options.any_weights) return {};
    const RowSums sums = inspect_row_sums(stacked);
    if (sums.largest_error > kRowSumTolerance) throw wrong_sums(sums, source, layer - 1);
    return {};
  }
  Tensor<double> wide(shape, {attention.span().begin(), attention.span().end()});
  zeros.add(renormalize_rows(wide, layer - 1));
  return {attention.shape(), {wide.span().begin(), wide.span().end()}};
}

std::optional<RunningLayers> running_layers(const ExplainOptions& options, std::size_t layers) {
  const Settings& settings = options.settings;
  const bool of_layers = can_fuse(options) && settings.discard == 0.0 &&
                         settings.column_mask.kind == ColumnMask::Kind::kNone && options.certificates.empty() &&
                         !settings.wants(Method::kFlow);
  const bool of_all = settings.layers.empty() && !options.only_output_token;
  if (!of_layers || !(options.only_output_token || options.only_values) || (of_all && layers == 0)) return std::nullopt;
  // Errors in the settings are reported where they are resolved, before any multiplication.
  const auto is_missing = [layers](std::size_t layer) { return layer > layers; };
  if (layers > 0 && (settings.start_layer >= layers || std::ranges::any_of(settings.layers, is_missing))) {
    return std::nullopt;
  }
  RunningOptions running{.layers = settings.layers,
                         .start_layer = settings.start_layer,
                         .raw = settings.wants(Method::kRaw),
                         .rollout = settings.wants(Method::kRollout),
                         .fusion = settings.heads.fusion,
                         .residual = settings.residual,
                         .threads = options.threads};
  if (of_all) running.layers = resolve_layers({}, settings.start_layer, layers);
  return RunningLayers(std::move(running));
}

void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source) {
  const std::size_t n = positions(input);
  const auto check_count = [&](std::size_t count, const char* what) {
    if (count != 0 && count != n) {
      throw internal::file_error("{}: expected {} {} (one for each key of attention), found {}", source, n, what,
                                 count);
    }
  };
  check_count(texts.size(), "tokens");
  check_count(special.size(), "special flags");
  input.tokens.resize(n);
  for (std::size_t t = 0; t < texts.size(); ++t) input.tokens[t].text = texts[t];
  for (std::size_t t = 0; t < special.size(); ++t) input.tokens[t].special = special[t];
}

void note_zero_rows(const ZeroRows& zeros, std::vector<Note>& notes) {
  if (zeros.count == 0) return;
  const auto listed = [](const std::set<std::size_t>& numbers) {
    return std::vector<std::size_t>(numbers.begin(), numbers.end());
  };
  notes.push_back({NoteCode::kZeroRows,
                   {{"count", zeros.count},
                    {"layers", listed(zeros.layers)},
                    {"heads", listed(zeros.heads)},
                    {"positions", listed(zeros.queries)}}});
}

void check_attention_options(const ExplainOptions& options) {
  if (options.renormalize && options.any_weights) {
    throw internal::usage_error("--renormalize and --any-weights are mutually exclusive");
  }
}

Report explain_attention(AttentionInput input, const ExplainOptions& given) {
  ExplainOptions options = given;
  if (options.settings.mixing == Mixing::kAuto) options.settings.mixing = Mixing::kAttention;
  check_options(options);
  if (options.settings.words) {
    throw internal::usage_error(
        "--words requires a text and a tokenizer: an attention file does not say which tokens form a word");
  }
  if (options.settings.has_target()) {
    throw internal::usage_error("--mixing {} requires a text and a model: an attention file has no gradients",
                                to_text(options.settings.mixing));
  }
  if (mixing_info(options.settings.mixing).needs == MixingNeeds::kTerms) {
    return explain_contributions(std::move(input), options);
  }
  require_aggregations(options.settings.methods, "an attention file");
  Report report = report_of_input(input, options);
  const auto ask = [&](std::size_t layers, std::size_t heads, std::size_t tokens, bool causal) {
    report.model = {input.name, "", layers, heads, causal};
    report.input.tokens.resize(tokens);
    return resolve_question(report, options);
  };
  if (input.running) {
    RunningLayers& running = *input.running;
    const std::size_t n = running.tokens();
    const ReportQuestion question = ask(running.layers(), running.heads(), n, running.causal() && n > 1);
    fill_report_of_rows(report, running.source(), question, options, running.on_first(question.settings.output_token));
    return report;
  }
  std::visit(
      [&](auto& stack) {
        const bool causal = is_causal(std::as_const(stack).weights().view());
        const ReportQuestion question = ask(stack.layers(), stack.heads(), stack.tokens(), causal);
        AttentionGraph graph = attention_graph(stack, question.settings.mixing);
        if (options.keep_attention) {
          report.attention = rounded(stack.weights());
          if constexpr (std::is_same_v<std::decay_t<decltype(stack)>, WideAttentionStack>) {
            report.notes.emplace_back(NoteCode::kAttentionRounded);
          }
        }
        stack = {};
        fill_report(report, GraphSource(std::move(graph), causal), question, options);
      },
      input.stack);
  return report;
}

}  // namespace attnflow
