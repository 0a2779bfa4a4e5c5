#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_output.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"
#include "attnflow/words/text_table.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

using internal::Align;
using internal::markdown_text;
using internal::terminal_text;
using internal::TextTable;

// "0.69", "-0.11", never "-0.00"; "-" where there is no number.
std::string fixed(double value, int places) {
  if (std::isnan(value)) return "-";
  std::string text = fmt::format("{:.{}f}", value, places);
  if (text.front() == '-' && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

std::string two_places(double value) { return fixed(value, 2); }

// ".27" for values below 1.
std::string short_std(double value) {
  std::string text = two_places(value);
  if (text.size() > 1 && text.front() == '0') text.erase(0, 1);
  return text;
}

std::string mean_and_std(const Summary& summary) {
  if (summary.count == 0) return "-";
  return fmt::format("{} ±{}", two_places(summary.mean), short_std(summary.std));
}

std::string three_places(double value) { return fixed(value, 3); }

std::string interval_text(double low, double high) {
  return std::isnan(low) ? "-" : fmt::format("{} to {}", three_places(low), three_places(high));
}

std::string p_text(double p) {
  if (std::isnan(p)) return "-";
  return p < 0.001 ? fmt::format("{:.1e}", p) : fmt::format("{:.3f}", p);
}

// "probability of the correct class"
std::string target_words(const std::string& target) {
  const std::size_t colon = target.find(':');
  const std::string kind = target.substr(0, colon);
  const std::string which = clean_line(target.substr(colon + 1));
  const std::string whose = which == "correct" || which == "predicted" ? "the " + which + " class" : which;
  return kind == "difference" ? fmt::format("probability of {} minus that of the runner-up", whose)
                              : fmt::format("{} of {}", kind, whose);
}

std::string score_title(const ScoreName& score) {
  return score.score == "gradient-x-input" ? "gradient x input"
         : score.score == "gradient-sum"   ? "gradient sum"
                                           : score.score;
}

std::string score_words(const ScoreName& score) {
  const std::string target = target_words(score.target);
  if (score.score == "blank-out") {
    return fmt::format("blank-out of a token: how much the {} changes when the token is replaced", target);
  }
  const std::string of = fmt::format("the gradient of the {} with respect to its embedding", target);
  if (score.score == "gradient") return fmt::format("gradient of a token: the L2 norm of {}", of);
  if (score.score == "gradient-x-input") {
    return fmt::format("gradient x input of a token: {}, times the embedding, summed over dimensions, without sign",
                       of);
  }
  return fmt::format("gradient sum of a token: {}, summed over dimensions, without sign", of);
}

std::string relevance_title(const std::string& relevance) {
  if (relevance == "row") return "what the output token depends on";
  if (relevance == "column-max") return "the most that any one output token depends on a token";
  return "how much all output tokens together depend on a token";
}

std::string first_upper(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

const char* token_words(const std::string& tokens) {
  return tokens == "all" ? "all tokens" : "special tokens left out";
}

std::string accuracy_words(const Accuracy& one) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f}; {} of {})", one.share(), one.interval.low, one.interval.high,
                     one.correct, one.count);
}

// The names of the rows of tables: series over mixings, which come first, and those without layers.
struct RowNames {
  std::vector<std::string> layered;
  std::vector<std::string> beside;

  std::vector<std::string> all() const {
    std::vector<std::string> names = layered;
    names.insert(names.end(), beside.begin(), beside.end());
    return names;
  }
};

RowNames row_names(const CorrelationReport& report) {
  RowNames names;
  for (const CorrelationSeries& series : report.series) {
    (series.mixing ? names.layered : names.beside)
        .push_back(mixed_name(series.method, series.mixing, report.options.mixings));
  }
  return names;
}

// Cells of one table: relevance, score, tokens and formula are fixed.
class Block {
 public:
  Block(const CorrelationReport& report, const std::string& relevance, const ScoreName& score,
        const std::string& tokens, const std::string& formula) {
    const auto belongs = [&](const CorrelationCell& cell) {
      return cell.relevance == relevance && cell.score == score.score && cell.target == score.target &&
             cell.tokens == tokens && cell.formula == formula;
    };
    const CorrelationCell* cell = &*std::find_if(report.cells.begin(), report.cells.end(), belongs);
    for (const CorrelationSeries& series : report.series) {
      begins_.push_back(cell);
      cell += series.layers.size();
    }
  }
  const Summary& at(std::size_t series, std::size_t layer) const { return begins_[series][layer].summary; }

 private:
  std::vector<const CorrelationCell*> begins_;
};

template <typename Body>
void each_question(const CorrelationReport& report, const Body& body) {
  for (const std::string& relevance : report.options.relevance) {
    for (const ScoreName& score : report.scores) body(relevance, score);
  }
}

// Rows of `cell(row, layer)` under the numbers of the layers; 0, outside the graph, has none.
template <typename Cell>
TextTable layer_table(const std::vector<std::size_t>& layers, const std::vector<std::string>& names, const Cell& cell) {
  TextTable table{{{"", Align::kLeft}}};
  for (const std::size_t layer : layers) table.columns.push_back({layer == 0 ? "" : fmt::format("layer {}", layer)});
  for (std::size_t row = 0; row < names.size(); ++row) {
    std::vector<std::string>& texts = table.rows.emplace_back(std::vector{names[row]});
    for (std::size_t l = 0; l < layers.size(); ++l) texts.push_back(cell(row, l));
  }
  return table;
}

// The largest half-width of the means' intervals: one number instead of one for each cell. NaN when no cell has one.
double widest_interval(const CorrelationReport& report) {
  double widest = kMissing;
  for (const CorrelationCell& cell : report.cells) {
    if (cell.formula != "spearman" || std::isnan(cell.summary.low)) continue;
    widest = std::fmax(widest, (cell.summary.high - cell.summary.low) / 2.0);
  }
  return widest;
}

std::size_t most_left_out(const CorrelationReport& report) {
  std::size_t most = 0;
  for (const CorrelationCell& cell : report.cells) most = std::max(most, cell.summary.left_out);
  return most;
}

// The layer with the highest mean, as an index into CorrelationSeries::layers; empty if no layer has a mean.
std::optional<std::size_t> best_layer(const Block& block, const CorrelationReport& report, std::size_t series) {
  std::optional<std::size_t> best;
  for (std::size_t l = 0; l < report.series[series].layers.size(); ++l) {
    const double mean = block.at(series, l).mean;
    if (!std::isnan(mean) && (!best || mean > block.at(series, *best).mean)) best = l;
  }
  return best;
}

std::string at_layer(std::size_t layer) { return layer == 0 ? "" : fmt::format(" at layer {}", layer); }

// "blank-out", with what distinguishes it from the report's other scores of that name.
std::string summary_title(const CorrelationReport& report, const std::string& relevance, const ScoreName& score) {
  std::string title = score_title(score);
  const auto same = [&](const ScoreName& other) { return other.score == score.score; };
  if (std::count_if(report.scores.begin(), report.scores.end(), same) > 1) {
    title += fmt::format(" of the {}", target_words(score.target));
  }
  return report.options.relevance.size() > 1 ? fmt::format("{} ({})", title, relevance_title(relevance)) : title;
}

std::string summary_lines(const CorrelationReport& report, std::size_t width) {
  constexpr std::size_t kMost = 12;  // methods
  const char* const tokens = report.data.special_tokens > 0 ? "without-special" : "all";
  std::string text = internal::paragraph(
      fmt::format("Summary: do methods rank tokens as they matter to the model? Mean and median over {} text{} of the "
                  "rank correlation (1: the same order, 0: unrelated orders){}. Tables of every layer are below.",
                  report.data.used, report.data.used == 1 ? "" : "s",
                  report.data.special_tokens > 0 ? ", special tokens left out" : ""),
      width);
  const std::vector<std::string> names = row_names(report).all();
  const std::size_t last = report.options.settings.layers.empty() ? 0 : report.options.settings.layers.back();
  each_question(report, [&](const std::string& relevance, const ScoreName& score) {
    const Block block(report, relevance, score, tokens, "spearman");
    const std::string title = summary_title(report, relevance, score);
    const auto value = [&](std::size_t series) { return block.at(series, report.series[series].layers.size() - 1); };
    std::vector<std::size_t> places(report.series.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    if (places.empty()) return;
    std::vector<std::optional<std::size_t>> best_layers;
    for (const std::size_t s : places) best_layers.push_back(best_layer(block, report, s));
    // A series without a mean comes last; among equal ones the first is the best.
    const auto agreement = [&](std::size_t s) { return best_layers[s] ? block.at(s, *best_layers[s]).mean : -2.0; };
    const auto agrees_more = [&](std::size_t a, std::size_t b) { return agreement(a) > agreement(b); };
    const std::size_t best = *std::min_element(places.begin(), places.end(), agrees_more);
    std::size_t left_out = 0;
    if (places.size() > kMost) {
      std::stable_sort(places.begin(), places.end(), agrees_more);
      left_out = places.size() - kMost;
      places.resize(kMost);
    }
    text += '\n' + internal::paragraph(fmt::format("with {}{}", title, at_layer(last)), width);
    TextTable table{{{"", Align::kLeft}, {"mean"}, {"median"}, {"best layer", Align::kLeft}}};
    for (const std::size_t s : places) {
      const std::optional<std::size_t> layer = best_layers[s];
      const std::string at = layer ? at_layer(report.series[s].layers[*layer]) : "";
      table.rows.push_back({names[s], two_places(value(s).mean), two_places(value(s).median),
                            at.empty() ? "" : two_places(block.at(s, *layer).mean) + at});
    }
    text += terminal_text(table, width);
    if (left_out > 0) {
      text += internal::paragraph(
          fmt::format("and {} {}", left_out,
                      left_out == 1 ? "other, whose best layer agrees less" : "others, whose best layers agree less"),
          width);
    }
    if (!best_layers[best]) return;
    text += internal::paragraph(
        fmt::format("Best: {}{} ({}).", names[best], at_layer(report.series[best].layers[*best_layers[best]]),
                    two_places(agreement(best))),
        width);
  });
  return text;
}

// CorrelationReport::own_share has only the series over mixings, which come first.
double own_share(const CorrelationReport& report, std::size_t series, std::size_t layer) {
  return report.own_share[series * report.options.settings.layers.size() + layer].mean;
}

std::vector<std::pair<Mixing, const MixingDegeneracy*>> degeneracy_rows(const CorrelationReport& report) {
  std::vector<std::pair<Mixing, const MixingDegeneracy*>> rows;
  for (std::size_t i = 0; i < report.degeneracy.size(); i += report.options.settings.layers.size()) {
    rows.emplace_back(report.degeneracy[i].mixing, &report.degeneracy[i]);
  }
  return rows;
}

template <typename Cell>
std::string layer_markdown(const CorrelationReport& report, const std::vector<std::string>& names, const Cell& cell) {
  return markdown_text(layer_table(report.options.settings.layers, names, cell)) + '\n';
}

std::string settings_markdown(const CorrelationReport& report) {
  const CorrelationOptions& options = report.options;
  const Settings& settings = options.settings;
  const SampleCounts& data = report.data;
  TextTable table{{{"", Align::kLeft}, {"", Align::kLeft}}};
  const auto row = [&](const char* name, const std::string& value) { table.rows.push_back({name, value}); };
  row("model", fmt::format("{}: {}, {} layers, {} heads; classes {}", report.model.name, report.model.architecture,
                           report.model.layers, report.model.heads, fmt::join(report.labels, ", ")));
  row("samples", fmt::format("{} of {} from {}", data.used, data.found, data.source));
  if (!data.sources.empty()) row("documents", fmt::format("{}", fmt::join(data.sources, ", ")));
  row("tokens", fmt::format("{}, {} of them special; {:.1f} a sample", data.tokens, data.special_tokens,
                            static_cast<double>(data.tokens) / static_cast<double>(data.used)));
  if (options.mixings != std::vector<Mixing>{Mixing::kAttention}) {
    row("mixings", fmt::format("{}", fmt::join(to_texts(options.mixings), ", ")));
  }
  row("heads, residual", fmt::format("{}, {}", to_text(settings.heads), settings.residual));
  if (settings.column_mask != ColumnMask{}) row("masked columns", to_text(settings.column_mask));
  if (settings.discard > 0.0) {
    row("discarded", fmt::format("the smallest {:g}%{}", 100.0 * settings.discard,
                                 settings.discard_keep_special ? ", special tokens kept" : ""));
  }
  row("start layer", fmt::format("{}", settings.start_layer));
  row("output token", to_text(settings.output_token));
  if (!report.blank.empty()) row("blanked tokens become", report.blank);
  row("seed", fmt::format("{}", options.seed));
  row("bootstrap", fmt::format("{} resamples, {:g}% intervals", options.resamples, 100.0 * options.confidence));
  return "## Settings\n\n" + markdown_text(table);
}

std::string comparison_markdown(const CorrelationReport& report, const std::string& relevance, const ScoreName& score,
                                const std::string& tokens) {
  TextTable table{{{"difference", Align::kLeft},
                   {"layer"},
                   {"mean"},
                   {"interval"},
                   {"p (sign flip)"},
                   {"p (Wilcoxon)"},
                   {"samples"}}};
  for (const MethodComparison& one : report.comparisons) {
    if (one.relevance != relevance || one.score != score.score || one.target != score.target || one.tokens != tokens) {
      continue;
    }
    const Summary& difference = one.comparison.difference;
    table.rows.push_back({fmt::format("{} minus {}", mixed_name(one.first, one.first_mixing, report.options.mixings),
                                      mixed_name(one.second, one.second_mixing, report.options.mixings)),
                          std::to_string(one.layer), three_places(difference.mean),
                          interval_text(difference.low, difference.high), p_text(one.comparison.sign_flip_p),
                          one.comparison.wilcoxon ? p_text(one.comparison.wilcoxon->p) : "-",
                          std::to_string(difference.count)});
  }
  return table.rows.empty() ? "" : markdown_text(table) + '\n';
}

std::string accuracy_markdown(const CorrelationReport& report, const std::string& confidence) {
  if (report.accuracy.empty()) return "";
  const std::string caveat = report.data.caveat.empty() ? "" : ": " + report.data.caveat;
  TextTable table{{{"samples", Align::kLeft}, {"accuracy"}, {confidence + " interval (Wilson)"}}};
  for (const Accuracy& one : report.accuracy) {
    table.rows.push_back({fmt::format("{} ({})", one.group.empty() ? "all" : one.group, one.count),
                          fmt::format("{:.3f}{}", one.share(), caveat),
                          fmt::format("{:.3f} to {:.3f}", one.interval.low, one.interval.high)});
  }
  return "## Accuracy\n\n" + markdown_text(table) + '\n';
}

std::string degeneracy_markdown(const CorrelationReport& report) {
  if (report.degeneracy.empty()) return "";
  const auto rows = degeneracy_rows(report);
  std::vector<std::string> names;
  for (const auto& [mixing, counts] : rows) {
    const std::string over = rows.size() == 1 ? "" : to_text(mixing) + ": ";
    names.push_back(over + "set by the first layer");
    names.push_back(over + "set by the last layer");
  }
  return "## Flow values set by the first or last layer alone\n\nShare of the values that repeat the first layer's "
         "attention, or equal the most that the last layer lets through (degenerate):\n\n" +
         layer_markdown(report, names, [&](std::size_t row, std::size_t l) {
           const DegeneracyCounts& one = rows[row / 2].second[l];
           return internal::percent_of(row % 2 == 0 ? one.first_layer_column : one.top_row, one.values);
         });
}

}  // namespace

std::string evaluation_table(const CorrelationReport& report, std::size_t width) {
  const RowNames names = row_names(report);
  const std::vector<std::size_t>& layers = report.options.settings.layers;
  const SampleCounts& data = report.data;
  std::string text =
      internal::paragraph(fmt::format("{}: {} of {} samples from {}, model {}", report.task, data.used, data.found,
                                      clean_line(data.source), clean_line(report.model.name)),
                          width);
  for (const Accuracy& one : report.accuracy) {
    text +=
        internal::paragraph(fmt::format("accuracy{}: {}{}", one.group.empty() ? "" : ", " + clean_line(one.group),
                                        accuracy_words(one), data.caveat.empty() ? "" : "; " + clean_line(data.caveat)),
                            width);
  }
  text += '\n' + summary_lines(report, width);
  each_question(report, [&](const std::string& relevance, const ScoreName& score) {
    text += '\n' + internal::paragraph(
                       fmt::format("Correlation of {} with {}", relevance_title(relevance), score_title(score)), width);
    text += internal::paragraph(fmt::format("({})", score_words(score)), width);
    for (const char* const tokens : {"all", "without-special"}) {
      const Block block(report, relevance, score, tokens, "spearman");
      const auto cell = [&](std::size_t m, std::size_t l) { return mean_and_std(block.at(m, l)); };
      if (!names.layered.empty()) {
        text += fmt::format("  {}\n{}", token_words(tokens),
                            terminal_text(layer_table(layers, names.layered, cell), width));
      }
      if (names.beside.empty()) continue;
      const auto only = [&](std::size_t m, std::size_t) { return cell(names.layered.size() + m, 0); };
      text += fmt::format("  {}, methods without layers\n{}", token_words(tokens),
                          terminal_text(layer_table({0}, names.beside, only)));
    }
  });
  const double widest = widest_interval(report);
  text += '\n' + internal::paragraph(
                     fmt::format("Mean and standard deviation over samples of Spearman's rank correlation: 1 if "
                                 "both put the tokens in the same order, 0 if the orders are unrelated. "
                                 "{:g}% intervals of the means: {}.",
                                 100.0 * report.options.confidence,
                                 std::isnan(widest) ? "-" : fmt::format("at most ±{:.3f}", widest)),
                     width);
  if (const std::size_t most = most_left_out(report); most > 0) {
    text += internal::paragraph(
        fmt::format("Up to {} of {} samples are left out of a cell, because all of their values are the same "
                    "and rank no token.",
                    most, data.used),
        width);
  }
  if (!names.layered.empty()) {
    const auto cell = [&](std::size_t m, std::size_t l) { return two_places(own_share(report, m, l)); };
    text += '\n' + internal::paragraph("Weight of the output token on itself (mean over samples)", width) +
            terminal_text(layer_table(layers, names.layered, cell), width);
  }
  if (!report.degeneracy.empty()) {
    const auto rows = degeneracy_rows(report);
    std::vector<std::string> mixings;
    for (const auto& [mixing, counts] : rows) mixings.push_back(mixed_name("flow", mixing, report.options.mixings));
    const auto cell = [&](std::size_t row, std::size_t l) {
      const DegeneracyCounts& one = rows[row].second[l];
      return internal::percent_of(one.degenerate(), one.values);
    };
    text += '\n' + internal::paragraph("Flow values set by the first or last layer alone (degenerate)", width) +
            terminal_text(layer_table(layers, mixings, cell), width);
  }
  const std::vector<std::string> lines = remarks(report.impossible, report.notes);
  if (!lines.empty()) text += '\n';
  for (const std::string& line : lines) text += internal::paragraph("note: " + line, width);
  return text;
}

std::string evaluation_markdown(const CorrelationReport& report) {
  const RowNames names = row_names(report);
  const std::string confidence = fmt::format("{:g}%", 100.0 * report.options.confidence);
  std::string text = fmt::format("# Correlation of attention with importance: {}\n\n", report.task);
  text += fmt::format(
      "Spearman's rank correlation between each method's values for a sample's input tokens and how important these "
      "tokens are to model {}, over {} samples. Every table is given twice, with and without special tokens, because "
      "their weight alone explains part of the change with depth.\n\n",
      internal::markdown_escaped(report.model.name), report.data.used);
  text += accuracy_markdown(report, confidence);
  const auto scored = [](const Summary& one) { return fmt::format("{} ({})", one.count, one.left_out); };
  each_question(report, [&](const std::string& relevance, const ScoreName& score) {
    text += fmt::format(
        "## {}\n\n{}.\n\n",
        internal::markdown_escaped(first_upper(relevance_title(relevance) + ", against " + score_title(score))),
        internal::markdown_escaped(first_upper(score_words(score))));
    for (const char* const tokens : {"all", "without-special"}) {
      const Block block(report, relevance, score, tokens, "spearman");
      const Block dense(report, relevance, score, tokens, "dense-ranks");
      text += fmt::format("### {}\n\nCorrelation: mean ± standard deviation over samples.\n\n",
                          first_upper(token_words(tokens)));
      text += layer_markdown(report, names.layered,
                             [&](std::size_t m, std::size_t l) { return mean_and_std(block.at(m, l)); });
      text += fmt::format("{} bootstrap interval of that mean:\n\n", confidence);
      text += layer_markdown(report, names.layered, [&](std::size_t m, std::size_t l) {
        return interval_text(block.at(m, l).low, block.at(m, l).high);
      });
      text += "Mean by the formula of the paper's code (dense ranks; for replication):\n\n";
      text += layer_markdown(report, names.layered,
                             [&](std::size_t m, std::size_t l) { return two_places(dense.at(m, l).mean); });
      text += "Samples scored (in parentheses: those left out, because all of their values are the same):\n\n";
      text +=
          layer_markdown(report, names.layered, [&](std::size_t m, std::size_t l) { return scored(block.at(m, l)); });
      if (!names.beside.empty()) {
        text += "Methods without layers:\n\n";
        TextTable table{{{"", Align::kLeft}, {"mean ± std"}, {confidence + " interval"}, {"dense ranks"}, {"samples"}}};
        for (std::size_t m = 0; m < names.beside.size(); ++m) {
          const Summary& one = block.at(names.layered.size() + m, 0);
          table.rows.push_back({names.beside[m], mean_and_std(one), interval_text(one.low, one.high),
                                two_places(dense.at(names.layered.size() + m, 0).mean), scored(one)});
        }
        text += markdown_text(table) + '\n';
      }
      const std::string compared = comparison_markdown(report, relevance, score, tokens);
      if (!compared.empty()) {
        text += fmt::format(
                    "Difference between two methods on the same samples, with {} bootstrap intervals; p values are "
                    "two-sided and not corrected for their number:\n\n",
                    confidence) +
                compared;
      }
    }
  });
  if (!names.layered.empty()) {
    text += "## Weight of the output token on itself\n\nMean over samples:\n\n";
    text += layer_markdown(report, names.layered,
                           [&](std::size_t m, std::size_t l) { return three_places(own_share(report, m, l)); });
  }
  text += degeneracy_markdown(report);
  const std::vector<std::string> lines = remarks(report.impossible, report.notes);
  if (!lines.empty()) text += "## Notes\n\n";
  for (const std::string& line : lines) text += "- " + internal::markdown_escaped(line) + '\n';
  if (!lines.empty()) text += '\n';
  return text + settings_markdown(report);
}

}  // namespace attnflow
