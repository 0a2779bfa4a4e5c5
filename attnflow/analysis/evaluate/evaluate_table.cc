#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_output.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/attribution/note.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/numbers.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

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

// The series over one mixing, or outside the graph, as indices into CorrelationReport::series.
struct SeriesGroup {
  std::optional<Mixing> mixing;
  std::vector<std::size_t> places;
  std::vector<std::string> methods;  // what the places are called inside the group
};

// In order; those outside the graph last.
std::vector<SeriesGroup> series_groups(const CorrelationReport& report) {
  std::vector<SeriesGroup> groups;
  for (std::size_t s = 0; s < report.series.size(); ++s) {
    const CorrelationSeries& series = report.series[s];
    if (groups.empty() || groups.back().mixing != series.mixing) groups.push_back({series.mixing, {}, {}});
    groups.back().places.push_back(s);
    groups.back().methods.push_back(series.method);
  }
  return groups;
}

// The end of a group's heading: ", over relevance"; "" for a single group of attention.
std::string group_words(const CorrelationReport& report, const SeriesGroup& group) {
  if (!group.mixing) return ", methods without layers";
  if (report.options.mixings == std::vector<Mixing>{Mixing::kAttention}) return "";
  return ", over " + to_text(*group.mixing);
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

std::string padded(const std::string& text, std::size_t cells) {
  const std::size_t width = display_width(text);
  return width < cells ? std::string(cells - width, ' ') + text : text;
}

constexpr std::size_t kNameCells = 9;  // at least
constexpr std::size_t kNumberCells = 11;

std::size_t name_cells(const std::vector<std::string>& names) {
  std::size_t cells = kNameCells;
  for (const std::string& name : names) cells = std::max(cells, name.size() + 2);
  return cells;
}

// Rows of `cell(row, layer)` under the numbers of the layers, in blocks that fit the width.
template <typename Cell>
std::string terminal_rows(const CorrelationReport& report, const std::vector<std::string>& names, std::size_t width,
                          const Cell& cell) {
  const std::vector<std::size_t>& layers = report.options.settings.layers;
  const std::size_t indent = name_cells(names);
  const std::size_t usable = std::max(width, indent + kNumberCells);
  const std::size_t fit = (usable - indent) / kNumberCells;
  std::string text;
  for (std::size_t begin = 0; begin < layers.size(); begin += fit) {
    const std::size_t end = std::min(layers.size(), begin + fit);
    text += std::string(indent, ' ');
    for (std::size_t l = begin; l < end; ++l) text += padded(fmt::format("layer {}", layers[l]), kNumberCells);
    text += '\n';
    for (std::size_t row = 0; row < names.size(); ++row) {
      text += fmt::format("{:<{}}", names[row], indent);
      for (std::size_t l = begin; l < end; ++l) text += padded(cell(row, l), kNumberCells);
      text += '\n';
    }
  }
  return text;
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

// The same for methods outside the graph: one number for each name.
template <typename Cell>
std::string terminal_list(const std::vector<std::string>& names, const Cell& cell) {
  std::string text;
  for (std::size_t row = 0; row < names.size(); ++row) {
    text += fmt::format("{:<{}}{}\n", names[row], name_cells(names), padded(cell(row), kNumberCells));
  }
  return text;
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
  std::vector<std::string> names;
  for (const CorrelationSeries& series : report.series) {
    names.push_back(mixed_name(series.method, series.mixing, report.options.mixings));
  }
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
    const std::size_t indent = name_cells(names);
    text += fmt::format("{:<{}}{:>{}}{:>{}}  {}\n", "", indent, "mean", 7, "median", 9, "best layer");
    for (const std::size_t s : places) {
      const std::optional<std::size_t> layer = best_layers[s];
      const std::string at = layer ? at_layer(report.series[s].layers[*layer]) : "";
      text += internal::without_trailing_spaces(
          fmt::format("{:<{}}{:>{}}{:>{}}  {}", names[s], indent, two_places(value(s).mean), 7,
                      two_places(value(s).median), 9, at.empty() ? "" : two_places(block.at(s, *layer).mean) + at));
      text += '\n';
    }
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
std::string layer_table(const CorrelationReport& report, const std::vector<std::string>& names, const Cell& cell) {
  const std::vector<std::size_t>& layers = report.options.settings.layers;
  std::string text = "| |";
  std::string line = "| --- |";
  for (const std::size_t layer : layers) {
    text += fmt::format(" layer {} |", layer);
    line += " ---: |";
  }
  text += '\n' + line + '\n';
  for (std::size_t row = 0; row < names.size(); ++row) {
    text += "| " + names[row] + " |";
    for (std::size_t l = 0; l < layers.size(); ++l) text += ' ' + cell(row, l) + " |";
    text += '\n';
  }
  return text + '\n';
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : clean_line(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string settings_markdown(const CorrelationReport& report) {
  const CorrelationOptions& options = report.options;
  const Settings& settings = options.settings;
  const SampleCounts& data = report.data;
  const auto row = [](const char* name, const std::string& value) { return fmt::format("| {} | {} |\n", name, value); };
  std::string text = "## Settings\n\n| | |\n| --- | --- |\n";
  text += row("model", fmt::format("{}: {}, {} layers, {} heads; classes {}", escaped(report.model.name),
                                   escaped(report.model.architecture), report.model.layers, report.model.heads,
                                   escaped(fmt::format("{}", fmt::join(report.labels, ", ")))));
  text += row("samples", fmt::format("{} of {} from {}", data.used, data.found, escaped(data.source)));
  if (!data.sources.empty()) {
    text += row("documents", escaped(fmt::format("{}", fmt::join(data.sources, ", "))));
  }
  text += row("tokens", fmt::format("{}, {} of them special; {:.1f} a sample", data.tokens, data.special_tokens,
                                    static_cast<double>(data.tokens) / static_cast<double>(data.used)));
  if (options.mixings != std::vector<Mixing>{Mixing::kAttention}) {
    text += row("mixings", fmt::format("{}", fmt::join(to_texts(options.mixings), ", ")));
  }
  text += row("heads, residual", fmt::format("{}, {}", to_text(settings.heads), settings.residual));
  if (settings.column_mask != ColumnMask{}) text += row("masked columns", to_text(settings.column_mask));
  if (settings.discard > 0.0) {
    text += row("discarded", fmt::format("the smallest {:g}%{}", 100.0 * settings.discard,
                                         settings.discard_keep_special ? ", special tokens kept" : ""));
  }
  text += row("start layer", fmt::format("{}", settings.start_layer));
  text += row("output token", to_text(settings.output_token));
  if (!report.blank.empty()) text += row("blanked tokens become", escaped(report.blank));
  text += row("seed", fmt::format("{}", options.seed));
  text += row("bootstrap", fmt::format("{} resamples, {:g}% intervals", options.resamples, 100.0 * options.confidence));
  return text + '\n';
}

std::string comparison_markdown(const CorrelationReport& report, const std::string& relevance, const ScoreName& score,
                                const std::string& tokens) {
  std::string text;
  for (const MethodComparison& one : report.comparisons) {
    if (one.relevance != relevance || one.score != score.score || one.target != score.target || one.tokens != tokens) {
      continue;
    }
    const Summary& difference = one.comparison.difference;
    text += fmt::format("| {} minus {} | {} | {} | {} | {} | {} | {} |\n",
                        mixed_name(one.first, one.first_mixing, report.options.mixings),
                        mixed_name(one.second, one.second_mixing, report.options.mixings), one.layer,
                        three_places(difference.mean), interval_text(difference.low, difference.high),
                        p_text(one.comparison.sign_flip_p),
                        one.comparison.wilcoxon ? p_text(one.comparison.wilcoxon->p) : "-", difference.count);
  }
  if (text.empty()) return text;
  return "| difference | layer | mean | interval | p (sign flip) | p (Wilcoxon) | samples |\n"
         "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n" +
         text + '\n';
}

std::string accuracy_markdown(const CorrelationReport& report, const std::string& confidence) {
  if (report.accuracy.empty()) return "";
  const std::string caveat = report.data.caveat.empty() ? "" : ": " + escaped(report.data.caveat);
  std::string text =
      fmt::format("## Accuracy\n\n| samples | accuracy | {} interval (Wilson) |\n| --- | ---: | ---: |\n", confidence);
  for (const Accuracy& one : report.accuracy) {
    text += fmt::format("| {} ({}) | {:.3f}{} | {:.3f} to {:.3f} |\n", one.group.empty() ? "all" : escaped(one.group),
                        one.count, one.share(), caveat, one.interval.low, one.interval.high);
  }
  return text + '\n';
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
         layer_table(report, names, [&](std::size_t row, std::size_t l) {
           const DegeneracyCounts& one = rows[row / 2].second[l];
           return internal::percent_of(row % 2 == 0 ? one.first_layer_column : one.top_row, one.values);
         });
}

}  // namespace

std::string correlations_table(const CorrelationReport& report, std::size_t width) {
  const std::vector<SeriesGroup> groups = series_groups(report);
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
      for (const SeriesGroup& group : groups) {
        const auto cell = [&](std::size_t m, std::size_t l) { return mean_and_std(block.at(group.places[m], l)); };
        text += fmt::format("  {}{}\n", token_words(tokens), group_words(report, group));
        text += group.mixing ? terminal_rows(report, group.methods, width, cell)
                             : terminal_list(group.methods, [&](std::size_t m) { return cell(m, 0); });
      }
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
  for (const SeriesGroup& group : groups) {
    if (!group.mixing) continue;
    text += '\n' + internal::paragraph(fmt::format("Weight of the output token on itself{} (mean over samples)",
                                                   group_words(report, group)),
                                       width);
    text += terminal_rows(report, group.methods, width, [&](std::size_t m, std::size_t l) {
      return two_places(own_share(report, group.places[m], l));
    });
  }
  if (!report.degeneracy.empty()) {
    const auto rows = degeneracy_rows(report);
    std::vector<std::string> names;
    for (const auto& [mixing, counts] : rows) names.push_back(rows.size() == 1 ? "flow" : to_text(mixing));
    text += '\n' + internal::paragraph("Flow values set by the first or last layer alone (degenerate)", width);
    text += terminal_rows(report, names, width, [&](std::size_t row, std::size_t l) {
      const DegeneracyCounts& one = rows[row].second[l];
      return internal::percent_of(one.degenerate(), one.values);
    });
  }
  if (!report.impossible.empty()) text += '\n';
  for (const std::string& line : impossible_texts(report.impossible)) text += internal::paragraph(line, width);
  if (!report.notes.empty()) text += '\n';
  for (const Note& note : report.notes) text += internal::paragraph("note: " + clean_line(note_text(note)), width);
  return text;
}

std::string correlations_markdown(const CorrelationReport& report) {
  std::vector<std::string> layered;  // series over mixings, which come first
  std::vector<std::string> beside;
  for (const CorrelationSeries& series : report.series) {
    (series.mixing ? layered : beside).push_back(mixed_name(series.method, series.mixing, report.options.mixings));
  }
  const std::string confidence = fmt::format("{:g}%", 100.0 * report.options.confidence);
  std::string text = fmt::format("# Correlation of attention with importance: {}\n\n", report.task);
  text += fmt::format(
      "Spearman's rank correlation between each method's values for a sample's input tokens and how important these "
      "tokens are to model {}, over {} samples. Every table is given twice, with and without special tokens, because "
      "their weight alone explains part of the change with depth.\n\n",
      escaped(report.model.name), report.data.used);
  text += accuracy_markdown(report, confidence);
  const auto scored = [](const Summary& one) { return fmt::format("{} ({})", one.count, one.left_out); };
  each_question(report, [&](const std::string& relevance, const ScoreName& score) {
    text += fmt::format("## {}\n\n{}.\n\n",
                        escaped(first_upper(relevance_title(relevance) + ", against " + score_title(score))),
                        escaped(first_upper(score_words(score))));
    for (const char* const tokens : {"all", "without-special"}) {
      const Block block(report, relevance, score, tokens, "spearman");
      const Block dense(report, relevance, score, tokens, "dense-ranks");
      text += fmt::format("### {}\n\nCorrelation: mean ± standard deviation over samples.\n\n",
                          first_upper(token_words(tokens)));
      text += layer_table(report, layered, [&](std::size_t m, std::size_t l) { return mean_and_std(block.at(m, l)); });
      text += fmt::format("{} bootstrap interval of that mean:\n\n", confidence);
      text += layer_table(report, layered, [&](std::size_t m, std::size_t l) {
        return interval_text(block.at(m, l).low, block.at(m, l).high);
      });
      text += "Mean by the formula of the paper's code (dense ranks; for replication):\n\n";
      text +=
          layer_table(report, layered, [&](std::size_t m, std::size_t l) { return two_places(dense.at(m, l).mean); });
      text += "Samples scored (in parentheses: those left out, because all of their values are the same):\n\n";
      text += layer_table(report, layered, [&](std::size_t m, std::size_t l) { return scored(block.at(m, l)); });
      if (!beside.empty()) {
        text += "Methods without layers:\n\n";
        text += fmt::format("| | mean ± std | {} interval | dense ranks | samples |\n", confidence);
        text += "| --- | ---: | ---: | ---: | ---: |\n";
        for (std::size_t m = 0; m < beside.size(); ++m) {
          const Summary& one = block.at(layered.size() + m, 0);
          text += fmt::format("| {} | {} | {} | {} | {} |\n", beside[m], mean_and_std(one),
                              interval_text(one.low, one.high), two_places(dense.at(layered.size() + m, 0).mean),
                              scored(one));
        }
        text += '\n';
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
  if (!layered.empty()) {
    text += "## Weight of the output token on itself\n\nMean over samples:\n\n";
    text += layer_table(report, layered,
                        [&](std::size_t m, std::size_t l) { return three_places(own_share(report, m, l)); });
  }
  text += degeneracy_markdown(report);
  if (!report.impossible.empty()) {
    text += "## Mixings that this model does not support\n\n";
    for (const std::string& line : impossible_texts(report.impossible)) text += "- " + escaped(line) + '\n';
    text += '\n';
  }
  if (!report.notes.empty()) {
    text += "## Notes\n\n";
    for (const Note& note : report.notes) text += "- " + escaped(note_text(note)) + '\n';
    text += '\n';
  }
  text += settings_markdown(report);
  text.pop_back();
  return text;
}

}  // namespace attnflow
