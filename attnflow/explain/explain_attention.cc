#include "attnflow/explain/explain_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/explain_edges.h"
#include "attnflow/explain/referents.h"
#include "attnflow/explain/special_twice.h"
#include "attnflow/explain/unknown_words.h"
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
    if constexpr (std::is_same_v<Weight, double>) zeros = renormalize_rows(weights, layers_before);
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

void require_shape(std::string_view source, std::size_t heads, std::size_t tokens, std::size_t found_heads,
                   std::size_t found_tokens, std::size_t layer) {
  if (heads == found_heads && tokens == found_tokens) return;
  throw internal::file_error("{}: expected layers of one shape, {} heads and {} tokens, found {} and {} in layer {}",
                             source, heads, tokens, found_heads, found_tokens, layer);
}

std::size_t positions(const AttentionInput& input) {
  if (input.running) return input.running->source.tokens();
  if (!input.fused.layers.empty()) return input.fused.layers.front().extent(0);
  if (!input.edges.layers.empty()) return input.edges.layers.front().weights.extent(0);
  const bool has_attention = std::visit([](const auto& stack) { return !stack.weights().empty(); }, input.stack);
  return has_attention ? std::visit([](const auto& stack) { return stack.tokens(); }, input.stack)
                       : input.contributions.contributions.extent(1);
}

template <typename T>
std::vector<double> shares_of(TensorView<const T> attention) {
  const std::size_t keys = attention.extent(2);
  std::vector<double> shares(attention.extent(1));
  for (std::size_t h = 0; h < attention.extent(0); ++h) {
    const TensorView<const T> head = attention[h];
    for (std::size_t q = 0; q < shares.size(); ++q) shares[q] += static_cast<double>(head.data()[q * keys]);
  }
  for (double& share : shares) share /= static_cast<double>(attention.extent(0));
  return shares;
}

}  // namespace

std::vector<double> first_shares(TensorView<const float> attention) { return shares_of(attention); }
std::vector<double> first_shares(TensorView<const double> attention) { return shares_of(attention); }

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

bool can_fuse(const ExplainOptions& options) {
  const Mixing mixing = options.settings.mixing;
  return !options.settings.heads.is_single() && !options.keep_attention &&
         (mixing == Mixing::kAuto || mixing == Mixing::kAttention);
}

FusedAttention fused_layer(std::variant<Tensor<float>, Tensor<double>> weights, std::size_t layer,
                           std::string_view source, const ExplainOptions& options) {
  widen_to_renormalize(weights, options);
  return std::visit(
      [&](auto& given) {
        ZeroRows zeros;
        check_weights(given, source, options, zeros, layer - 1);
        const auto heads = std::as_const(given)[0];
        FusedAttention fused{
            .layers = {}, .heads = heads.extent(0), .causal = is_causal(heads), .zero_rows = std::move(zeros)};
        fused.layers.push_back(fuse_heads(heads, options.settings.heads.fusion));
        return fused;
      },
      weights);
}

std::optional<RunningAttention> running_attention(const ExplainOptions& options, std::size_t layers) {
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
                         .residual = settings.residual,
                         .threads = options.threads};
  if (of_all) running.layers = resolve_layers({}, settings.start_layer, layers);
  return RunningAttention{.source = RunningSource(std::move(running))};
}

AttentionGraph attention_graph(FusedAttention& fused, const MixingOptions& mixing) {
  const std::size_t n = fused.layers.front().extent(0);
  Shape shape{fused.layers.size(), n, n};
  // Reserved memory is not committed yet: each layer is freed as its copy grows.
  std::vector<double> all;
  all.reserve(element_count(shape));
  for (Tensor<double>& layer : fused.layers) {
    const Tensor<double> weights = finish_fused(std::exchange(layer, {}), mixing);
    all.insert(all.end(), weights.span().begin(), weights.span().end());
  }
  AttentionGraph graph;
  graph.residual = mixing.residual;
  graph.weights = Tensor<double>(std::move(shape), std::move(all));
  return graph;
}

void append(FusedAttention& all, FusedAttention more, std::string_view source) {
  all.zero_rows.add(more.zero_rows);
  for (Tensor<double>& layer : more.layers) {
    if (!all.layers.empty()) {
      require_shape(source, all.heads, all.layers.front().extent(0), more.heads, layer.extent(0),
                    all.layers.size() + 1);
    }
    all.heads = more.heads;
    all.causal = all.causal && more.causal;
    all.layers.push_back(std::move(layer));
  }
}

void append(RunningAttention& all, FusedAttention more, std::string_view source) {
  all.zero_rows.add(more.zero_rows);
  for (Tensor<double>& layer : more.layers) {
    const std::size_t before = all.source.layers();
    if (before > 0) {
      require_shape(source, all.heads, all.source.tokens(), more.heads, layer.extent(0), before + 1);
    }
    all.heads = more.heads;
    all.source.add(std::move(layer), more.causal);
  }
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

Report begin_report(AttentionInput& input, const ExplainOptions& options) {
  Report report;
  report.settings = options.settings;
  report.input.kind = input.text ? "text" : "attention";
  report.input.text = input.text.value_or("");
  report.input.text_pair = std::move(input.text_pair);
  report.input.tokens = std::move(input.tokens);
  report.predictions = std::move(input.predictions);
  report.notes = std::move(input.notes);
  if (options.any_weights) {
    report.notes.emplace_back(NoteCode::kAnyWeights);
  }
  ZeroRows zeros = input.zero_rows;
  zeros.add(input.fused.zero_rows);
  if (input.running) zeros.add(input.running->zero_rows);
  note_zero_rows(zeros, report.notes);
  if (input.text) note_special_twice(report);
  if (input.text) mark_unknown_words(report);
  return report;
}

ReportQuestion question_of(Report& report, const AttentionInput& input, const ExplainOptions& options) {
  report.referents = resolve_referents(options.referents, report);
  ReportQuestion question = resolve_question(report, options);
  if (input.reading && !options.settings.output_token.is_named()) question.settings.output_token = *input.reading;
  return question;
}

Report explain_attention(AttentionInput input, const ExplainOptions& given) {
  ExplainOptions options = given;
  if (options.settings.mixing == Mixing::kAuto) options.settings.mixing = Mixing::kAttention;
  validate(options.settings);
  if (options.settings.words && !input.text) {
    throw internal::usage_error(
        "--words requires a text and a tokenizer: an attention file does not say which tokens form a word");
  }
  check_options(options);
  if (!input.edges.layers.empty()) {
    require_aggregations(options.settings.methods, "edges of a model's layers");
    return explain_edges(std::move(input), options);
  }
  if (options.settings.has_target()) {
    throw internal::usage_error("--mixing {} requires a text and a model: an attention file has no gradients",
                                to_text(options.settings.mixing));
  }
  if (mixing_info(options.settings.mixing).needs == MixingNeeds::kTerms) {
    return explain_contributions(std::move(input), options);
  }
  require_aggregations(options.settings.methods, "an attention file");
  Report report = begin_report(input, options);
  const auto ask = [&](std::size_t layers, std::size_t heads, std::size_t tokens, bool causal) {
    report.model = {input.name, input.architecture, layers, heads, causal};
    report.input.tokens.resize(tokens);
    return question_of(report, input, options);
  };
  if (FusedAttention& fused = input.fused; !fused.layers.empty()) {
    const std::size_t n = fused.layers.front().extent(0);
    const bool causal = fused.causal && n > 1;
    const ReportQuestion question = ask(fused.layers.size(), fused.heads, n, causal);
    fill_report(report, GraphSource(attention_graph(fused, question.settings.mixing), causal), question, options);
    return report;
  }
  if (input.running) {
    RunningSource& source = input.running->source;
    const std::size_t n = source.tokens();
    const ReportQuestion question = ask(source.layers(), input.running->heads, n, source.causal() && n > 1);
    fill_report(report, source, question, options);
    return report;
  }
  std::visit(
      [&](auto& stack) {
        const bool causal = is_causal(std::as_const(stack).weights().view());
        const ReportQuestion question = ask(stack.layers(), stack.heads(), stack.tokens(), causal);
        fill_report(report, std::move(stack), question, options);
      },
      input.stack);
  return report;
}

}  // namespace attnflow
