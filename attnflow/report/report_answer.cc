#include "attnflow/report/report_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/figures.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

// The name of a class within a sentence: on one line, and cut.
std::string name_in_sentence(const std::string& label) {
  constexpr std::size_t kMostCells = 48;
  return shorten(clean_line(label), kMostCells, "\u2026");
}

std::string token_name(const std::string& label) { return quoted_name(label); }

// A class has a name of its own, which needs quotes only where it holds a comma ("tabby, tabby cat").
std::string class_name(const std::string& label) {
  return label.find(',') == std::string::npos && !label.empty() ? name_in_sentence(label) : quoted_name(label);
}

using Naming = std::string (*)(const std::string& label);

// " (the first token of “Gargantua”)", where --target or --against named a word of several tokens of which `label` is
// the first; else "".
std::string whole_word(const Report& report, std::string_view option, const std::string& label) {
  for (const Note& note : report.notes) {
    if (note.code != NoteCode::kTargetFirstToken) continue;
    const auto value = [&note](std::string_view name) {
      const NoteValue* const found = note.find(name);
      const auto* const text = found == nullptr ? nullptr : std::get_if<std::string>(found);
      return text == nullptr ? std::string() : *text;
    };
    if (value("option") != option || value("token") != label) continue;
    return fmt::format(" (the first token of {})", quoted_name(without_leading_spaces(value("word"))));
  }
  return "";
}

// The prediction at the output token. Each part may be missing.
struct Predicted {
  const ReportPrediction* prediction = nullptr;
  const ReportTarget* target = nullptr;

  std::string kind() const {
    if (prediction != nullptr) return prediction->kind;
    return target != nullptr ? target->kind : "";
  }
};

Predicted predicted_at_output(const Report& report) {
  Predicted found;
  const std::size_t output = report.output_token;
  for (const ReportPrediction& one : report.predictions) {
    if (one.position.value_or(output) == output && found.prediction == nullptr) found.prediction = &one;
  }
  if (report.target && report.target->position.value_or(output) == output) found.target = &*report.target;
  return found;
}

std::optional<double> probability_of(const std::string& label, const ReportPrediction* prediction) {
  if (prediction == nullptr) return std::nullopt;
  for (const auto* const list : {&prediction->choices, &prediction->candidates}) {
    const auto found = std::find_if(list->begin(), list->end(), [&](const auto& one) { return one.label == label; });
    if (found != list->end()) return found->probability;
  }
  return std::nullopt;
}

// The other choices of a prediction by name, "negative", "the, her, a and others": a list may not hold all of them.
std::string other_choices(const Report& report, const std::vector<ReportChoice>& choices, const std::string& label,
                          bool of_words, Naming name) {
  std::vector<std::string> names;
  for (const ReportChoice& choice : choices) {
    if (choice.label != label) names.push_back(name(choice.label));
  }
  if (names.empty()) return "";
  const bool are_all = !of_words && choices.size() != report.settings.top_k;
  if (are_all) return internal::first_few(std::move(names));
  constexpr std::size_t kNamed = 3;
  names.resize(std::min(names.size(), kNamed));
  names.emplace_back("others");
  return internal::listed(std::move(names));
}

// The outputs that the target is compared with.
std::string contrast_words(const Report& report, const ReportAgainst& against, const ReportPrediction* prediction,
                           const std::string& label, Naming name) {
  const auto named = [&](const std::string& other) { return name(other) + whole_word(report, "against", other); };
  if (against.index) return named(against.label);
  std::vector<std::string> names;
  for (const ReportOther& other : against.others) names.push_back(named(other.label));
  if (!names.empty()) return internal::first_few(std::move(names));
  const std::string others =
      prediction == nullptr ? "" : other_choices(report, prediction->choices, label, false, name);
  return others.empty() ? "all others" : others;
}

// "63%", and more digits near the ends.
std::string headline_percent(double probability) {
  constexpr double kLeastWhole = 0.01;
  constexpr double kMostWhole = 0.99;
  constexpr double kNearlyOne = 0.9995;
  if (probability < 1.0 && probability >= kNearlyOne) return "over 99.9%";
  const bool is_whole = probability >= kLeastWhole && probability < kMostWhole;
  return is_whole ? internal::percent(probability) : internal::probability_percent(probability);
}

std::string sentence(std::string subject, std::optional<double> probability, const std::string& contrast) {
  if (probability) subject += ", " + headline_percent(*probability);
  if (!contrast.empty()) subject += ", rather than " + contrast;
  return subject;
}

std::string generation_headline(const Report& report) {
  const Generation& generation = *report.generation;
  const std::size_t t = chosen_token(report, report.output_token);
  const GeneratedToken& token = generation.tokens.at(t);
  const std::string contrast =
      token.target && token.target->against
          ? contrast_words(report, *token.target->against, nullptr, token.target->label, token_name)
          : other_choices(report, token.choices, token.choices.empty() ? "" : token.choices.front().label, true,
                          token_name);
  return sentence(quoted_name(without_leading_spaces(generated_text(generation, t))), token.probability, contrast);
}

std::string answer_headline(const Report& report, const Predicted& predicted) {
  const ReportPrediction* const prediction = predicted.prediction;
  const bool is_best = prediction != nullptr && !prediction->choices.empty() &&
                       (predicted.target == nullptr || predicted.target->index == prediction->position);
  if (is_best) {
    const ReportChoice& best = prediction->choices.front();
    return sentence("Answer: " + quoted_name(best.label), best.probability, "other answers");
  }
  const ReportTarget& target = *predicted.target;
  return sentence("An answer that begins with " + quoted_name(target.label), std::nullopt,
                  target.against ? contrast_words(report, *target.against, nullptr, target.label, token_name) : "");
}

std::string choice_headline(const Report& report, const Predicted& predicted) {
  const std::string kind = predicted.kind();
  const bool of_class = kind == "classification" || kind == "token-class" || kind == "class";
  const Naming name = of_class ? class_name : token_name;
  const ReportPrediction* const prediction = predicted.prediction;
  const std::string label = predicted.target != nullptr ? predicted.target->label : prediction->choices.front().label;
  std::string contrast;
  if (predicted.target == nullptr) {
    contrast = other_choices(report, prediction->choices, label, !of_class, name);
  } else if (predicted.target->against) {
    contrast = contrast_words(report, *predicted.target->against, prediction, label, name);
  }
  std::string subject = name(label) + whole_word(report, "target", label);
  if (kind == "token-class") {
    subject = fmt::format("{}: {}", quoted_token(report, report.output_token), subject);
  }
  return sentence(std::move(subject), probability_of(label, prediction), contrast);
}

// Where nothing is predicted, the output token itself.
std::string token_headline(const Report& report) {
  const std::string text = display_text(report.input, report.output_token);
  if (report.input.tokens[report.output_token].role == "patch") return "The patch in " + name_in_sentence(text);
  const std::string title = fmt::format("Output token {}", report.output_token);
  return text.empty() ? title : title + ", " + quoted_name(text);
}

// "The embedding of the text", "Similar to “A dog ran.”, cosine 0.72, rather than to “A cat sat.”, 0.31".
std::string embedding_headline(const Report& report, const ReportTarget* target) {
  if (target == nullptr || target->kind != "similarity") {
    return report.input.image ? "The embedding of the image" : "The embedding of the text";
  }
  std::string text =
      fmt::format("Similar to {}, cosine {}", quoted_name(target->label), internal::short_number(target->logit));
  if (target->against) {
    text += fmt::format(", rather than to {}, {}", quoted_name(target->against->label),
                        internal::short_number(target->against->logit));
  }
  return text;
}

std::string headline_of(const Report& report) {
  if (report.generation) return generation_headline(report);
  const Predicted predicted = predicted_at_output(report);
  if (predicted.kind() == "embedding") return embedding_headline(report, predicted.target);
  const bool has_choice = predicted.prediction != nullptr && !predicted.prediction->choices.empty();
  if (!has_choice && predicted.target == nullptr) return token_headline(report);
  return predicted.kind() == "answer" ? answer_headline(report, predicted) : choice_headline(report, predicted);
}

int rank_of(const std::string& level) {
  constexpr std::string_view kLevels[] = {"none", "unknown", "weak", "strong"};
  return static_cast<int>(std::find(std::begin(kLevels), std::end(kLevels), level) - std::begin(kLevels));
}

// The positions, in the method's layers, of the values that stand for it.
std::vector<std::size_t> answer_layers(const Report& report, const MethodValues& found) {
  const std::size_t count = found.layers->size();
  return report.generation ? usual_layers(report, count) : std::vector<std::size_t>{count - 1};
}

std::string span_words(const Report& report, std::size_t top) {
  const std::size_t bottom = report.settings.start_layer + 1;
  if (bottom == 1 && top == report.model.layers) return "";
  return bottom == top ? fmt::format(", layer {}", top) : fmt::format(", layers {}-{}", bottom, top);
}

}  // namespace

const ReportCheck* answer_check(const Report& report) {
  if (!report.generation) return report.check ? &*report.check : nullptr;
  const std::optional<ReportCheck>& check =
      report.generation->tokens.at(chosen_token(report, report.output_token)).check;
  return check ? &*check : nullptr;
}

bool answers_prediction(const Report& report) {
  if (report.generation) return true;
  const Predicted predicted = predicted_at_output(report);
  return predicted.prediction != nullptr || predicted.target != nullptr;
}

std::optional<Method> best_map(const Report& report) {
  const std::vector<Method> held = ranked_methods(report);
  if (held.empty()) return std::nullopt;
  const std::vector<Method> aggregated = methods_present(report);
  const Method leading = aggregated.empty() ? held.front() : leading_method(report, aggregated);
  const ReportCheck* const check = answer_check(report);
  if (check == nullptr) return leading;
  constexpr double kNone = -2.0;  // below every correlation
  std::optional<std::tuple<int, double, bool, bool>> best;
  Method method = leading;
  for (const MapCheck& map : check->maps) {
    if (std::find(held.begin(), held.end(), map.method) == held.end()) continue;
    const internal::MapWords words = internal::map_words(report, *check, map, report.output_token);
    const double order = words.order_level == "unknown" ? kNone : map.rank_correlation.value_or(kNone);
    const int rank = words.ranks_nothing ? -1 : rank_of(words.level);
    const std::tuple<int, double, bool, bool> merit = {rank, order, map.method == leading, map.method != Method::kRaw};
    if (best && merit <= *best) continue;
    best = merit;
    method = map.method;
  }
  return method;
}

std::string map_title(const Report& report, Method method) {
  if (!method_info(method).aggregates()) return to_text(method);
  const std::string weights = mixing_info(report.settings.mixing).weights;
  const MethodValues found = method_values(report, method);
  if (found.layers->empty()) return fmt::format("{} over {}", to_text(method), weights);
  const std::vector<std::size_t> places = answer_layers(report, found);
  if (places.size() > 1) {
    return fmt::format("{} over {}, mean over layers {} to {}", to_text(method), weights, found.layers->front(),
                       found.layers->back());
  }
  const std::size_t top = (*found.layers)[places.front()];
  if (method == Method::kRaw) return fmt::format("raw {}, layer {}", weights, top);
  return fmt::format("{} over {}{}", to_text(method), weights, span_words(report, top));
}

AnswerRow answer_row(const Report& report, Method method) {
  AnswerRow answer{.title = map_title(report, method), .values = {}};
  if (!method_info(method).aggregates()) {
    answer.values = map_values(report, method, report.output_token, {});
    answer.has_signs = !answer.values.empty();
    return answer;
  }
  const MethodValues found = method_values(report, method);
  if (found.values->empty() || !row_index(*found.output_tokens, report.output_token)) return answer;
  std::vector<std::size_t> layers;
  for (const std::size_t place : answer_layers(report, found)) layers.push_back((*found.layers)[place]);
  answer.values = map_values(report, method, report.output_token, layers);
  answer.of_flow = method == Method::kFlow;
  answer.first_aside = sets_first_aside(report, method, report.output_token, layers);
  return answer;
}

std::optional<AnswerRow> attention_row(const Report& report) {
  if (report.attention_rollout.empty()) return std::nullopt;
  const auto values = report.attention_rollout.span();
  AnswerRow row{.title = "rollout over attention" + span_words(report, report.settings.layers.back()),
                .values = {values.begin(), values.end()}};
  const bool has_sink = report.model.causal && report.settings.start_layer == 0 && row.values.size() > 1;
  row.first_aside =
      has_sink && row.values.front() > kFarAbove * *std::max_element(row.values.begin() + 1, row.values.end());
  return row;
}

bool holds_nearly_all(const AnswerRow& row) { return row.first_aside && sink_holds_all(row.values); }

std::string sink_words(const Report& report, const AnswerRow& row) {
  if (!row.first_aside) return "";
  return fmt::format("; {}, an attention sink, holds {}", quoted_token(report, 0),
                     internal::short_number(row.values.front()));
}

std::string top_tokens_line(const Report& report, const AnswerRow& row) {
  constexpr std::size_t kMost = 8;
  const std::vector<InputToken>& tokens = report.input.tokens;
  std::vector<std::size_t> ranked;
  for (std::size_t j = 0; j < row.values.size(); ++j) {
    const bool aside = tokens[j].special || (j == 0 && row.first_aside);
    if (!aside && std::abs(row.values[j]) > 0.0) ranked.push_back(j);  // NaN too
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](std::size_t a, std::size_t b) { return std::abs(row.values[a]) > std::abs(row.values[b]); });
  if (ranked.empty()) return row.title + ": nothing to rank";
  const bool has_more = ranked.size() > kMost;
  ranked.resize(std::min(ranked.size(), kMost));
  if (holds_nearly_all(row)) {
    return fmt::format("{} says little here: {}, an attention sink, holds nearly all of it.", row.title,
                       quoted_token(report, 0));
  }
  const auto listed = [&](auto belongs) {
    std::vector<std::string> shown;
    for (const std::size_t j : ranked) {
      if (belongs(j)) shown.push_back(quoted_token(report, j) + " " + internal::short_number(row.values[j]));
    }
    return fmt::format("{}", fmt::join(shown, ", "));
  };
  std::string names = listed([](std::size_t) { return true; });
  if (source_tokens(report) > 0) {
    const std::string source = listed([&](std::size_t j) { return tokens[j].segment == 0; });
    const std::string target = listed([&](std::size_t j) { return tokens[j].segment != 0; });
    names = (source.empty() ? "" : "in the source, " + source) + (source.empty() || target.empty() ? "" : "; ") +
            (target.empty() ? "" : "in the target, " + target);
  }
  return fmt::format("{}: {}{}{}", row.title, names, has_more ? ", ..." : "", sink_words(report, row));
}

ReportAnswer report_answer(const Report& report, std::optional<Method> map) {
  ReportAnswer answer{.headline = headline_of(report), .method = map ? map : best_map(report), .verdicts = {}};
  if (!answer.method) return answer;
  answer.map = map_title(report, *answer.method);
  const ReportCheck* const check = answer_check(report);
  if (check == nullptr) return answer;
  for (const MapCheck& checked : check->maps) {
    if (checked.method != *answer.method) continue;
    const internal::MapWords words = internal::map_words(report, *check, checked, report.output_token);
    answer.verdicts = {{"top", words.top_level, words.effect}};
    if (!words.order.empty()) answer.verdicts.push_back({"order", words.order_level, words.order});
  }
  return answer;
}

std::vector<std::string> answer_sentences(const Report& report) {
  const ReportAnswer answer = report_answer(report);
  std::vector<std::string> sentences = {answer.headline};
  if (answer.method) {
    const AnswerRow row = answer_row(report, *answer.method);
    if (!row.values.empty()) sentences.push_back(top_tokens_line(report, row));
  }
  if (const ReportCheck* const check = answer_check(report)) sentences.push_back(internal::drops_line(report, *check));
  for (const AnswerVerdict& verdict : answer.verdicts) sentences.push_back(verdict.text);
  return sentences;
}

std::vector<std::string> note_paragraphs(const Report& report, OptionNames names) {
  std::vector<std::string> paragraphs = note_texts(report.notes, names);
  const ReportAnswer answer = report_answer(report);
  if (answer.verdicts.empty()) return paragraphs;
  std::string checked = internal::check_words(report).summary + " By " + answer.map + ":";
  for (const AnswerVerdict& verdict : answer.verdicts) checked += ' ' + verdict.text;
  paragraphs.insert(paragraphs.begin(), std::move(checked));
  return paragraphs;
}

}  // namespace attnflow
