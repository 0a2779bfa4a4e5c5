#include "attnflow/report/report_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <utility>

#include "attnflow/base/figures.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

constexpr std::size_t kShownChoices = 5;

// How often the text had the token's name up to it.
std::size_t occurrence_of(const Report& report, std::size_t token, const std::string& name) {
  std::size_t count = 1;
  for (std::size_t j = 0; j < token; ++j) count += display_text(report.input, j) == name ? 1 : 0;
  return count;
}

template <typename Naming>
std::string numbered(const Report& report, std::size_t token, const Naming& naming) {
  const std::string text = display_text(report.input, token);
  const std::size_t occurrence = occurrence_of(report, token, text);
  return naming(text) + (occurrence > 1 ? fmt::format(" ({})", occurrence) : "");
}

std::vector<std::size_t> all_or(const std::vector<std::size_t>& layers, std::size_t count) {
  if (!layers.empty()) return layers;
  std::vector<std::size_t> all(count);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

std::string numbered_token(const Report& report, std::size_t token) { return numbered(report, token, clean_line); }

std::string quoted_token(const Report& report, std::size_t token, std::size_t most_cells, std::string_view ellipsis) {
  return numbered(report, token, [&](const std::string& text) { return quoted_name(text, most_cells, ellipsis); });
}

std::string quoted_name(const std::string& name, std::size_t most_cells, std::string_view ellipsis) {
  return "\u201c" + shorten(clean_line(name), most_cells, ellipsis) + "\u201d";
}

std::string choice_list(const ReportPrediction& prediction, const std::vector<ReportChoice>& choices, std::size_t count,
                        bool isolates) {
  const bool of_class = prediction.kind == "classification" || prediction.kind == "token-class";
  std::string text;
  for (std::size_t i = 0; i < std::min(count, choices.size()); ++i) {
    const std::string name = of_class ? clean_line(choices[i].label) : quoted_name(choices[i].label);
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", isolates ? isolated(name) : name,
                        internal::probability_percent(choices[i].probability));
  }
  return text;
}

std::vector<std::size_t> usual_layers(const Report& report, std::size_t count) {
  if (report.settings.mixing == Mixing::kAttention) return all_or({}, count);
  return {count - 1};
}

std::vector<double> mean_over_layers(const Tensor<double>& values, std::size_t row,
                                     const std::vector<std::size_t>& layers) {
  const std::vector<std::size_t> chosen = all_or(layers, values.extent(0));
  std::vector<double> mean(values.extent(2), 0.0);
  for (const std::size_t l : chosen) {
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += values(l, row, j);
  }
  for (double& value : mean) value /= static_cast<double>(chosen.size());
  return mean;
}

namespace {

std::vector<RankedToken> ranked_scores(const Report& report, Method method, std::size_t output_token) {
  const MethodScores* const scores = method_scores(report, method);
  const std::vector<std::string> excluded = excluded_by(report);
  std::vector<RankedToken> ranked;
  if (scores == nullptr || scores->values.empty()) return ranked;
  for (std::size_t j = 0; j < scores->values.extent(1); ++j) {
    const double value = scores->values(scored_prediction(report, output_token), j);
    const InputToken& token = report.input.tokens[j];
    if (!(std::abs(value) > 0.0) || !excluded[j].empty()) continue;  // NaN too
    ranked.push_back({.token = j, .value = value, .special = token.special, .unknown = token.unknown});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedToken& a, const RankedToken& b) { return std::abs(a.value) > std::abs(b.value); });
  if (ranked.size() > report.settings.top_k) ranked.resize(report.settings.top_k);
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    ranked[i].tied = std::abs(ranked[i].value) == std::abs(ranked[i - 1].value);
  }
  return ranked;
}

}  // namespace

bool sets_first_aside(const Report& report, Method method, std::size_t output_token,
                      const std::vector<std::size_t>& layers) {
  const std::size_t seen = std::min(report.input.tokens.size(), output_token + 1);
  if (!report.model.causal || report.settings.start_layer != 0 || seen < 2) return false;
  if (mixing_info(report.settings.mixing).rule == ResidualRule::kContainedNormalized) return false;
  const auto takes_most = [&](Method one) {
    const MethodValues rows = method_values(report, one);
    const auto row = row_index(*rows.output_tokens, output_token);
    if (rows.values->empty() || !row || layers.empty()) return false;
    std::vector<std::size_t> places;
    for (const std::size_t layer : layers) {
      const auto at = std::find(rows.layers->begin(), rows.layers->end(), layer);
      if (at == rows.layers->end()) return false;
      places.push_back(static_cast<std::size_t>(at - rows.layers->begin()));
    }
    const std::vector<double> values = mean_over_layers(*rows.values, *row, places);
    const auto rest = values.begin() + 1;
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(seen, values.size()));
    return values.front() > kFarAbove * (rest < end ? std::max(0.0, *std::max_element(rest, end)) : 0.0);
  };
  return takes_most(method) || takes_most(Method::kRaw) || takes_most(Method::kRollout);
}

bool sink_holds_all(const std::vector<double>& values) {
  double others = 0.0;
  for (std::size_t j = 1; j < values.size(); ++j) others += std::abs(values[j]);
  return others < internal::figures::kLeastBesideSink * (others + std::abs(values.front()));
}

std::vector<double> map_values(const Report& report, Method method, std::size_t output_token,
                               const std::vector<std::size_t>& layers) {
  if (!method_info(method).aggregates()) {
    const MethodScores* const scores = method_scores(report, method);
    if (scores == nullptr || scores->values.empty()) return {};
    const auto row = scores->values[scored_prediction(report, output_token)].span();
    return {row.begin(), row.end()};
  }
  const MethodValues rows = method_values(report, method);
  const auto row = row_index(*rows.output_tokens, output_token);
  if (rows.values->empty() || !row) return {};
  std::vector<std::size_t> places;
  for (const std::size_t layer : layers) {
    const auto place = std::ranges::find(*rows.layers, layer);
    if (place == rows.layers->end()) return {};
    places.push_back(static_cast<std::size_t>(place - rows.layers->begin()));
  }
  return mean_over_layers(*rows.values, *row, places);
}

std::string why_nothing_ranked(const Report& report, Method method, std::size_t output_token,
                               const std::vector<std::size_t>& layers) {
  const std::vector<double> values = map_values(report, method, output_token, layers);
  if (values.empty()) return "";
  if (std::ranges::all_of(values, [](double value) { return value == 0.0; })) {
    return report.generation ? "all of its values on the prompt are 0" : "all of its values are 0";
  }
  if (!method_info(method).aggregates()) return "";  // a prediction's own scores know no sink
  if (!sets_first_aside(report, method, output_token, layers) || !sink_holds_all(values)) return "";
  return fmt::format("{}, an attention sink, holds nearly all of it", quoted_token(report, 0));
}

std::vector<RankedToken> rank_input_tokens(const Report& report, Method method, std::size_t output_token,
                                           const std::vector<std::size_t>& layers) {
  if (!method_info(method).aggregates()) return ranked_scores(report, method, output_token);
  const MethodValues rows = method_values(report, method);
  const auto row = row_index(*rows.output_tokens, output_token);
  if (rows.values->empty() || !row) return {};
  const std::size_t count = rows.values->extent(0);
  const std::vector<std::size_t> chosen =
      layers.empty() && report.generation ? usual_layers(report, count) : all_or(layers, count);
  const std::vector<double> values = mean_over_layers(*rows.values, *row, chosen);
  const std::vector<std::string> excluded = excluded_by(report);
  const bool flow = method == Method::kFlow && chosen.size() == 1;
  std::vector<RankedToken> ranked;
  for (std::size_t token = 0; token < report.input.tokens.size(); ++token) {
    RankedToken entry;
    entry.token = token;
    entry.value = values[token];
    entry.special = report.input.tokens[token].special;
    entry.unknown = report.input.tokens[token].unknown;
    if (flow && !report.flow_degenerate.empty()) {
      entry.degenerate = report.flow_degenerate(chosen.front(), *row, token);
    }
    if (entry.value > 0.0 && excluded[token].empty()) ranked.push_back(entry);  // false for NaN too
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const RankedToken& a, const RankedToken& b) { return a.value > b.value; });
  std::optional<RankedToken> sink;
  std::vector<std::size_t> layer_numbers;
  for (const std::size_t place : chosen) layer_numbers.push_back((*rows.layers)[place]);
  const auto first =
      std::find_if(ranked.begin(), ranked.end(), [](const RankedToken& entry) { return entry.token == 0; });
  if (first != ranked.end() && sets_first_aside(report, method, output_token, layer_numbers)) {
    sink = *first;
    sink->sink = true;
    ranked.erase(first);
  }
  if (ranked.size() > report.settings.top_k) ranked.resize(report.settings.top_k);
  if (sink) {
    if (ranked.size() == report.settings.top_k && ranked.size() > 1) ranked.pop_back();
    ranked.push_back(*sink);
  }
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    if (ranked[i].sink) continue;
    // The lower enclosure reaches the higher certified value.
    const double gap = flow && !report.flow_gap.empty() ? report.flow_gap(chosen.front(), *row, ranked[i].token) : 0.0;
    ranked[i].tied = ranked[i].value + gap >= ranked[i - 1].value;
  }
  return ranked;
}

bool carries_nothing(const Report& report, std::size_t output_token, std::size_t layer) {
  // A generation's rows hold only the prompt's part; the rest is on generated tokens.
  if (report.generation || mixing_info(report.settings.mixing).rule != ResidualRule::kContainedNormalized) return false;
  const auto is_zero = [](double value) { return value == 0.0; };
  if (const auto row = row_index(report.output_tokens, output_token); row && !report.raw.empty()) {
    const auto values = report.raw[layer][*row].span();
    return std::all_of(values.begin(), values.end(), is_zero);
  }
  if (report.graph.empty()) return false;
  const auto values = report.graph[report.settings.layers.at(layer) - 1][output_token].span();
  return std::all_of(values.begin(), values.end(), is_zero);
}

std::string carries_nothing_line(const Report& report, std::size_t layer) {
  return fmt::format(
      "The output token carries no relevance in favor of the prediction at layer {}: there is nothing to rank.",
      report.settings.layers.at(layer));
}

std::vector<std::size_t> table_layers(const Report& report, TableLayers which) {
  const std::size_t count = report.settings.layers.size();
  if (count == 0) return {};
  const bool chosen = report.settings.layers_named || count + report.settings.start_layer < report.model.layers;
  if (which == TableLayers::kChosen && chosen) return all_or({}, count);
  return {count - 1};
}

std::string marks_legend(const std::vector<RankedToken>& tokens, std::string_view star, std::string_view line,
                         std::string_view ring) {
  std::vector<std::string> entries;
  const auto add = [&](bool (*has)(const RankedToken&), std::string entry) {
    if (std::any_of(tokens.begin(), tokens.end(), has)) entries.push_back(std::move(entry));
  };
  add([](const RankedToken& token) { return token.special && !token.sink; }, fmt::format("{} special token", star));
  const bool alone = std::all_of(tokens.begin(), tokens.end(), [](const RankedToken& token) { return token.sink; });
  add([](const RankedToken& token) { return token.sink; },
      alone ? "^ the first token, excluded: an attention sink, beside which nothing is left"
            : "^ the first token, excluded: an attention sink");
  add([](const RankedToken& token) { return token.unknown; }, "? not in the model's vocabulary");
  add([](const RankedToken& token) { return token.tied; }, fmt::format("= tied with the {} above", line));
  add([](const RankedToken& token) { return token.degenerate != 0; },
      fmt::format("{} set by the first or last layer alone", ring));
  return fmt::format("{}", fmt::join(entries, "; "));
}

std::vector<std::string> excluded_by(const Report& report) {
  std::vector<std::string> rules(report.input.tokens.size());
  if (!report.generation) return rules;
  for (const ExcludedTokens& excluded : report.generation->excluded) {
    for (const std::size_t token : excluded.tokens) {
      if (rules[token].empty()) rules[token] = excluded.rule;
    }
  }
  return rules;
}

double excluded_share(const Report& report, const std::vector<double>& values) {
  const std::vector<std::string> rules = excluded_by(report);
  double sum = 0.0;
  double excluded = 0.0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    sum += values[j];
    if (!rules[j].empty()) excluded += values[j];
  }
  return sum > 0.0 ? excluded / sum : 0.0;
}

bool rows_sum_to_one(const Report& report) {
  if (std::any_of(report.notes.begin(), report.notes.end(),
                  [](const Note& note) { return note.code == NoteCode::kLearnedSinks; })) {
    return false;
  }
  const ColumnMask::Kind mask = report.settings.column_mask.kind;
  return mask == ColumnMask::Kind::kNone || (mask == ColumnMask::Kind::kFirst && report.input.tokens.size() > 1);
}

std::vector<Method> ranked_methods(const Report& report) {
  const std::vector<Method> aggregated = methods_present(report);
  std::vector<Method> methods;
  for (const Method method : report.settings.methods) {
    const bool held = std::find(aggregated.begin(), aggregated.end(), method) != aggregated.end();
    const MethodScores* const scores = method_scores(report, method);
    if (held || (scores != nullptr && !scores->values.empty())) methods.push_back(method);
  }
  return methods;
}

std::vector<std::string> score_lines(const Report& report) {
  std::vector<std::string> lines;
  if (report.scores.empty()) return lines;
  std::vector<std::string> names;
  for (const MethodScores& scores : report.scores) names.push_back(to_text(scores.method));
  const std::string target = report.target ? target_title(report.target) : std::string("the prediction");
  const std::string value = report.check
                                ? fmt::format(" ({} {:.3g})", clean_line(report.check->quantity), report.check->value)
                                : std::string();
  lines.push_back(fmt::format("{}: values above 0 argue for {}{}, values below 0 against it.", fmt::join(names, ", "),
                              target, value));
  for (const MethodScores& scores : report.scores) {
    const ScoreSum& sum = scores.sums.front();
    if (sum.parts.empty() && !sum.total) continue;
    std::vector<std::string> facts;
    for (const ScorePart& part : sum.parts) {
      facts.push_back(fmt::format("{} {:.3g}", clean_line(part.name), part.value));
    }
    if (sum.total) {
      facts.push_back(fmt::format("all parts add up to {:.4g} of {:.4g}", *sum.total - scores.error(0), *sum.total));
    }
    lines.push_back(fmt::format("{}: {}.", to_text(scores.method), fmt::join(facts, ", ")));
  }
  return lines;
}

std::string method_title(const Report& report, Method method, std::size_t layer) {
  if (!method_info(method).aggregates()) return to_text(method);
  const std::size_t top = report.settings.layers.at(layer);
  const std::size_t bottom = report.settings.start_layer + 1;
  if (method == Method::kRaw || bottom == top) return fmt::format("{}, layer {}", to_text(method), top);
  return fmt::format("{}, layers {}-{}", to_text(method), bottom, top);
}

std::size_t source_tokens(const Report& report) {
  const bool is_joint =
      std::ranges::any_of(report.notes, [](const Note& n) { return n.code == NoteCode::kJointLayers; });
  if (!is_joint) return 0;
  return static_cast<std::size_t>(
      std::ranges::count_if(report.input.tokens, [](const InputToken& token) { return token.segment == 0; }));
}

std::string input_counts(const Report& report, std::string_view unit) {
  const std::vector<InputToken>& tokens = report.input.tokens;
  const std::size_t count = tokens.empty() || tokens.back().role != "mean" ? tokens.size() : tokens.size() - 1;
  const std::size_t source = source_tokens(report);
  if (source == 0) return internal::counted(count, unit);
  return internal::counted(source, fmt::format("source {}", unit)) + ", " +
         internal::counted(count - source, fmt::format("target {}", unit));
}

std::string model_line(const Report& report) {
  const ReportModel& model = report.model;
  std::string line = model.name.empty() ? "attention from an array" : clean_line(model.name);
  line += " (";
  if (!model.architecture.empty()) line += clean_line(model.architecture) + ", ";
  line += internal::counted(model.layers, "layer") + ", " + internal::counted(model.heads, "head");
  if (model.causal) line += ", causal";
  line += "), ";
  if (!report.generation) return line + input_counts(report, "token");
  const std::size_t source = source_tokens(report);
  return line +
         (source > 0 ? internal::counted(source, "source token")
                     : internal::counted(report.input.tokens.size(), "prompt token")) +
         fmt::format(", {} generated", report.generation->tokens.size());
}

std::string picture_line(const Report& report) {
  if (!report.input.image) return "";
  const ReportImage& image = *report.input.image;
  std::string line = image.name.empty() ? "Image" : clean_line(image.name);
  line += fmt::format(", {} x {} pixels", image.width, image.height);
  if (image.input_channels == 0) return line;
  return line + fmt::format(", given to the model as {} x {}{}", image.input_width, image.input_height,
                            image.input_channels == 1 ? ", grayscale" : "");
}

std::string target_title(const std::optional<ReportTarget>& target) {
  constexpr std::size_t kMaxCells = 48;
  if (!target) return "";
  if (target->kind == "embedding") return target->label;
  const auto quoted = [](const std::string& label) {
    return "\u201c" + shorten(clean_line(label), kMaxCells, "...") + "\u201d";
  };
  const char* const kind = target->kind == "next"         ? "the next token"
                           : target->kind == "masked"     ? "the masked token"
                           : target->kind == "answer"     ? "the answer beginning with"
                           : target->kind == "similarity" ? "the similarity to"
                                                          : "class";
  std::string title = fmt::format("{} {}", kind, quoted(target->label));
  if (target->kind == "class" && target->position) title += fmt::format(" of token {}", *target->position);
  if (!target->against) return title;
  const ReportAgainst& against = *target->against;
  if (against.is_rest()) return title + " rather than all others";
  std::vector<std::string> labels;
  for (const ReportOther& other : against.others) labels.push_back(quoted(other.label));
  if (against.index) labels = {quoted(against.label)};
  return title + " rather than " + internal::first_few(labels);
}

std::string target_quantity(const ReportTarget& target) {
  if (target.kind == "embedding" || target.kind == "similarity") {
    return target.against ? "difference of cosine similarities" : "cosine similarity";
  }
  return target.against ? "logit difference" : "logit";
}

std::string mixing_title(const Settings& settings, const std::optional<ReportTarget>& target) {
  const MixingInfo& mixing = mixing_info(settings.mixing);
  std::string line = mixing.weights;
  if (target && mixing.has_target()) line += " for " + target_title(target);
  switch (mixing.rule) {
    case ResidualRule::kAdded:
      line += ", identity added";
      break;
    case ResidualRule::kAddedNormalized:
      line += ", identity added, rows divided by their sums";
      break;
    case ResidualRule::kConvex:
      line += settings.residual == 0.0 ? ", no residual" : fmt::format(", residual {}", settings.residual);
      break;
    case ResidualRule::kContained:
    case ResidualRule::kContainedNormalized:
      break;
  }
  return line;
}

namespace {

struct SettingWords {
  std::string_view setting;
  std::string_view value;  // "*": any other value, used in the words
  const char* words;
};
constexpr SettingWords kSettingWords[] = {
#include "attnflow/attribution/setting_word_rows.h"
};

void add_matrix_words(const Report& report, std::vector<std::string>& parts) {
  const Settings& settings = report.settings;
  if (mixing_info(settings.mixing).needs != MixingNeeds::kAttention) {
    parts.push_back(mixing_title(settings, report.target));
    if (report.target && !report.check) {  // the check states the value that it starts from
      parts.back() += fmt::format(" ({} {:.4g})", target_quantity(*report.target), report.target->value());
    }
  } else {
    parts.push_back(setting_words("heads", to_text(settings.heads)));
    parts.push_back(settings.residual == 0.0 ? "no residual" : fmt::format("residual {}", settings.residual));
  }
  if (settings.column_mask.kind != ColumnMask::Kind::kNone) parts.push_back(mask_words(settings.column_mask));
  if (settings.discard != 0.0) {
    parts.push_back(fmt::format("smallest {:g}% of the weights discarded", 100.0 * settings.discard));
    if (settings.discard_keep_special) parts.back() += " (columns of special tokens kept)";
  }
  if (settings.normalization == Normalization::kRow) parts.emplace_back("rows divided by their sums");
  if (settings.normalization == Normalization::kReceptiveField) parts.emplace_back("divided by the receptive field");
}

}  // namespace

std::string setting_words(std::string_view setting, std::string_view value) {
  const auto find = [&](std::string_view named) {
    return std::ranges::find_if(kSettingWords,
                                [&](const SettingWords& one) { return one.setting == setting && one.value == named; });
  };
  const SettingWords* const row = find(value);
  return fmt::format(fmt::runtime((row == std::end(kSettingWords) ? find("*") : row)->words), value);
}

std::string mask_words(const ColumnMask& mask) { return setting_words("mask_columns", to_text(mask)) + " masked"; }

std::string settings_line(const Report& report) {
  const Settings& settings = report.settings;
  std::vector<std::string> parts;
  if (settings.wants_aggregation()) {
    add_matrix_words(report, parts);
  } else if (report.target) {
    parts.push_back("scores for " + target_title(report.target));
  }
  if (settings.words) parts.emplace_back("word pieces merged");
  if (settings.wants(Method::kFlow) && settings.flow_tolerance != Settings{}.flow_tolerance) {
    parts.push_back(fmt::format("flow tolerance {:g}", settings.flow_tolerance));
  }
  if (parts.empty()) return "";
  std::string line = fmt::format("{}.", fmt::join(parts, ", "));
  line.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(line.front())));
  return line;
}

std::vector<std::string> prediction_lines(const Report& report) {
  std::vector<std::string> lines;
  for (const ReportPrediction& prediction : report.predictions) {
    std::string title = "Prediction";
    const bool next = prediction.kind == "next";
    if (next) {
      title = "Prediction for the next token";
    } else if (prediction.kind == "token-class" && prediction.position &&
               *prediction.position < report.input.tokens.size()) {
      title = fmt::format("Class of token {} \u201c{}\u201d", *prediction.position,
                          clean_line(display_text(report.input, *prediction.position)));
    } else if (prediction.kind == "answer") {
      title = "Answer";
    } else if (prediction.kind == "embedding") {
      const bool is_mean = prediction.position && report.input.tokens.at(*prediction.position).role == "mean";
      lines.push_back(is_mean ? "Embedding: the mean of all tokens' states" : "Embedding: the first token's state");
    } else if (prediction.position) {
      title = fmt::format("Prediction for the mask at position {}", *prediction.position);
    }
    if (!prediction.choices.empty()) {
      lines.push_back(title + ": " + choice_list(prediction, prediction.choices, kShownChoices));
    }
    if (!prediction.candidates.empty()) {
      lines.push_back((prediction.position && !next ? fmt::format("Candidates at position {}: ", *prediction.position)
                                                    : std::string("Candidates: ")) +
                      choice_list(prediction, prediction.candidates, prediction.candidates.size()));
    }
  }
  return lines;
}

std::string output_token_title(const Report& report, std::size_t token, std::string_view ellipsis) {
  constexpr std::size_t kMaxCells = 24;
  const std::string text = shorten(clean_line(display_text(report.input, token)), kMaxCells, ellipsis);
  return fmt::format("Output token {}", token) + (text.empty() ? "" : " \u201c" + text + "\u201d");
}

}  // namespace attnflow
