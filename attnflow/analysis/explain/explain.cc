#include "attnflow/analysis/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

#include "attnflow/analysis/explain/blank_token.h"
#include "attnflow/analysis/explain/default_mixing.h"
#include "attnflow/analysis/explain/memory_check.h"
#include "attnflow/analysis/explain/model_graph.h"
#include "attnflow/analysis/explain/prediction_target.h"
#include "attnflow/analysis/explain/target_graph.h"
#include "attnflow/analysis/explain/text_input.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/referents.h"
#include "attnflow/explain/special_twice.h"
#include "attnflow/explain/unknown_words.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/prediction.h"

namespace attnflow {
namespace {

std::vector<std::int64_t> candidate_ids(const TextCodec& tokenizer, const std::vector<std::string>& words) {
  std::vector<std::int64_t> ids;
  for (const std::string& word : words) {
    const std::vector<std::int64_t> pieces = tokenizer.word_to_ids(word);
    if (pieces.size() != 1) {
      throw internal::usage_error("--candidates: expected words that are one token each, found '{}', which is {}", word,
                                  pieces.empty() ? "no token" : fmt::format("{} tokens", pieces.size()));
    }
    ids.push_back(pieces.front());
  }
  return ids;
}

TextInput model_input(const TextCodec& tokenizer, const ModelInfo& info, const Encoding& encoding,
                      const std::vector<std::size_t>& blank, std::vector<Note>& notes) {
  TextInput input = text_input(encoding);
  if (blank.empty()) return input;
  const BlankToken stand_in = find_blank_token(tokenizer, info);
  for (const std::size_t position : blank) {
    if (position >= input.ids.size()) {
      throw internal::usage_error("--blank: expected positions from 0 to {}, found {}", input.ids.size() - 1, position);
    }
    input.ids[position] = stand_in.id;
  }
  notes.push_back({NoteCode::kTokensBlanked, {{"blank", stand_in.piece}, {"positions", blank}}});
  return input;
}

std::vector<ReportChoice> choices_of(const std::vector<Prediction>& predictions) {
  std::vector<ReportChoice> choices;
  for (const Prediction& one : predictions) choices.push_back({one.text, one.probability});
  return choices;
}

// The token class that means "none".
constexpr std::string_view kNoClass = "O";

void add_token_classes(Report& report, const ModelInfo& info, const ModelOutput& output,
                       const std::vector<std::size_t>& positions, std::size_t shown) {
  for (std::size_t row = 0; row < positions.size(); ++row) {
    const std::vector<Prediction> classes = class_predictions(info, output.logits[row].span());
    const bool has_class = classes.front().text != kNoClass && !report.input.tokens[positions[row]].special;
    if (!has_class && positions[row] != shown) continue;
    report.predictions.push_back({"token-class", positions[row], choices_of(classes), {}});
  }
}

// The text's token that is surest to have a class, the first of equal ones; if no class means "none", the one whose
// class is surest. Nothing without a token of the text.
std::optional<std::size_t> surest_token(TextModel& model, const TextInput& input, const std::vector<InputToken>& tokens,
                                        const std::stop_token& stop_token) {
  RunOptions run;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (!tokens[t].special) run.logit_positions.push_back(t);
  }
  StopSink sink({}, stop_token);
  const ModelOutput output = model.run(input, &sink, run);
  std::optional<std::size_t> surest;
  double largest = -1.0;
  for (std::size_t row = 0; row < run.logit_positions.size(); ++row) {
    const std::vector<Prediction> classes = class_predictions(model.info(), output.logits[row].span());
    const auto none = std::find_if(classes.begin(), classes.end(), [](const auto& p) { return p.text == kNoClass; });
    const double certainty = none == classes.end() ? classes.front().probability : 1.0 - none->probability;
    if (certainty <= largest) continue;
    largest = certainty;
    surest = run.logit_positions[row];
  }
  return surest;
}

// A model's answers to a question, the text, which are parts of the pair.
std::vector<AnswerSpan> find_answers(TextModel& model, const TextInput& input, const std::vector<InputToken>& tokens,
                                     const ExplainOptions& options, std::vector<Note>& notes) {
  std::vector<std::size_t> places;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t].segment == 1 && !tokens[t].special && tokens[t].begin) places.push_back(t);
  }
  if (places.empty()) {
    throw internal::usage_error(
        "{} answers questions from a second text: expected a question and that text, found no second text; pass it "
        "with --pair (\"pair\" in a request)",
        model.info().name);
  }
  StopSink sink({}, options.stop_token);
  const ModelOutput output = model.run(input, &sink);
  // Models that may find no answer choose [CLS] then.
  const std::optional<std::size_t> no_answer = tokens[0].special ? std::optional<std::size_t>(0) : std::nullopt;
  const auto begins = std::as_const(output.logits)[0].span();
  const auto ends = std::as_const(output.logits)[1].span();
  std::vector<AnswerSpan> answers = answer_spans(begins, ends, places, no_answer, options.settings.top_k);
  if (no_answer) {
    const auto logit = [&](std::size_t first, std::size_t last) {
      return static_cast<double>(begins[first]) + static_cast<double>(ends[last]);
    };
    const AnswerSpan& best = answers.front();
    const double above = logit(*no_answer, *no_answer) - logit(best.first, best.last);
    if (above > 0.0) {
      notes.push_back({NoteCode::kNoAnswer, {{"probability", std::min(1.0, best.probability * std::exp(above))}}});
    }
  }
  return answers;
}

void add_answers(Report& report, const std::vector<AnswerSpan>& answers) {
  ReportPrediction prediction{.kind = "answer", .position = answers.front().first, .choices = {}, .candidates = {}};
  for (const AnswerSpan& answer : answers) {
    const std::size_t begin = *report.input.tokens[answer.first].begin;
    const std::size_t end = *report.input.tokens[answer.last].end;
    prediction.choices.push_back({report.input.text_pair.substr(begin, end - begin), answer.probability});
  }
  report.predictions.push_back(std::move(prediction));
}

void add_predictions(Report& report, const ModelInfo& info, const TextCodec& tokenizer, const ModelOutput& output,
                     const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& candidates,
                     const ExplainOptions& options) {
  const bool next = info.head == ModelHead::kCausalLm;
  const auto readable = [&](std::int64_t id) { return tokenizer.readable(id); };
  if (info.head == ModelHead::kClassification) {
    report.predictions.push_back({"classification", {}, choices_of(class_predictions(info, output.logits.span())), {}});
  } else if (!positions.empty()) {
    for (std::size_t m = 0; m < positions.size(); ++m) {
      const auto logits = output.logits[m].span();
      ReportPrediction prediction{next ? "next" : "masked",
                                  positions[m],
                                  choices_of(top_predictions(logits, options.settings.top_k, readable)),
                                  {}};
      const std::vector<Prediction> asked = candidate_predictions(logits, candidates, readable);
      for (std::size_t c = 0; c < asked.size(); ++c) {
        prediction.candidates.push_back({options.candidates[c], asked[c].probability});
      }
      report.predictions.push_back(std::move(prediction));
    }
  }
}

// Multiplies whole layers as they come.
class RunningSink : public AttentionSink {
 public:
  RunningSink(RunningAttention& running, HeadFusion fusion) : running_(running), fusion_(fusion) {}
  void layer(std::size_t, std::size_t, TensorView<const float> attention) override {
    running_.heads = attention.extent(0);
    running_.source.add(fuse_heads(attention, fusion_), is_causal(attention));
  }

 private:
  RunningAttention& running_;
  HeadFusion fusion_;
};

}  // namespace

Report explain_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                    const std::optional<std::string>& pair, const ExplainOptions& given) {
  validate(given.settings);
  ExplainOptions options = given;
  check_options(options);
  const ModelInfo& info = model.info();
  check_vocabulary(tokenizer, info);
  const Encoding encoding = encode_text(tokenizer, info, text, pair, options.truncate);
  const std::size_t n = encoding.tokens.size();
  const bool has_text =
      !encoding.has_places || std::any_of(encoding.tokens.begin(), encoding.tokens.end(),
                                          [](const EncodedToken& token) { return token.begin.has_value(); });
  if (!has_text) {
    throw internal::usage_error("expected text with at least one token, found none (empty or only whitespace)");
  }
  if (n > info.max_tokens) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens (the positions of {}), found {}; shorten the text, or pass "
                            "--truncate to cut it there",
                            info.max_tokens, info.name, n));
  }

  Report report;
  report.input.tokens = report_tokens(encoding);
  if (encoding.has_places) {
    report.input.text = text;
    report.input.text_pair = pair.value_or("");
  }
  const std::size_t reading = reading_position(info, text_input(encoding).ids);
  const bool replays = options.only_output_token && model.decoder() != nullptr;
  bool predicts = is_predicted_at(predicts_at(info), options.settings, report.input, reading);
  if (predicts && info.head == ModelHead::kMaskedLm) {  // unless that mask is blanked
    std::vector<Note> notes;
    const std::size_t mask =
        resolve_output_token(options.settings.output_token, report.input, false, options.settings.words, notes);
    predicts = std::find(options.blank.begin(), options.blank.end(), mask) == options.blank.end();
  }
  choose_mixing(options.settings, model, {.tokens = n, .predicts = predicts, .only_row = replays}, report.notes);
  validate(options.settings);
  report.settings = options.settings;
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.input.kind = encoding.has_places ? "text" : "attention";
  for (Note& note : info.notes_for(n)) report.notes.push_back(std::move(note));
  if (encoding.truncated) {
    report.notes.push_back({NoteCode::kTextCut, {{"tokens", n}}});
  }
  note_special_twice(report);
  mark_unknown_words(report);

  // Finds everything that can be wrong with the options before the model runs.
  const bool of_class = info.head == ModelHead::kClassification;
  AskedTarget asked;
  const bool explains = options.settings.explains_prediction();
  check_methods(options.settings, model, options.integration_steps);
  const bool finds_answers = info.head == ModelHead::kQuestionAnswering;
  const std::vector<std::int64_t> candidates = candidate_ids(tokenizer, options.candidates);
  const auto ask = [&] {
    if (finds_answers) return asked_begin(options.settings, n);
    AskedTarget found = asked_target(options.settings, info, &tokenizer, report.notes);
    ask_among(found, options.settings, candidates);
    return found;
  };
  const bool tags = info.head == ModelHead::kTokenClassification;
  const TextInput input = model_input(tokenizer, info, encoding, options.blank, report.notes);
  ReportQuestion question = resolve_question(report, options);
  report.referents = resolve_referents(options.referents, report);
  if (!options.candidates.empty() && options.referents.empty() &&
      options.settings.output_token.kind == OutputToken::Kind::kMask) {
    report.notes.emplace_back(NoteCode::kReferentsPossible);
  }
  std::vector<std::size_t> masks;
  for (std::size_t t = 0; t < n; ++t) {
    if (tokenizer.mask_id() == encoding.tokens[t].id && tokenizer.mask_id() == input.ids[t]) masks.push_back(t);
  }
  const bool predicts_masks = info.head == ModelHead::kMaskedLm && !masks.empty();
  const bool predicts_next = info.head == ModelHead::kCausalLm;
  if (!options.candidates.empty() && !predicts_masks && !predicts_next) {
    throw Error(
        ErrorKind::kUsage,
        info.head == ModelHead::kMaskedLm
            ? std::string("--candidates: expected a mask token in the text, found none; write [MASK] (<mask> for "
                          "RoBERTa) in place of the word to predict")
            : fmt::format("--candidates: expected a model that predicts words (masked or causal language model), found "
                          "no such head in {}",
                          info.name));
  }
  if (explains) asked = ask();
  const TokenGroups groups = options.settings.words ? word_groups(report.input.tokens) : single_tokens(n);
  if (tags && !options.settings.output_token.is_named()) {
    if (const auto position = surest_token(model, input, report.input.tokens, options.stop_token)) {
      question.settings.output_token = *position;
      report.notes.push_back({NoteCode::kOutputTokenSurest, {{"token", report.input.tokens[*position].text}}});
    }
  }
  std::vector<AnswerSpan> answers;
  if (finds_answers) {
    answers = find_answers(model, input, report.input.tokens, options, report.notes);
    if (!options.settings.output_token.is_named()) {
      const std::size_t begin = asked.label.value_or(answers.front().first);
      question.settings.output_token = begin;
      if (!asked.label) {
        report.notes.push_back({NoteCode::kOutputTokenAnswer, {{"token", report.input.tokens[begin].text}}});
      }
    }
  }
  // Where a decoder predicts a class of the whole text as given: tokens that are blanked by padding do not move it.
  if (of_class && info.causal && !options.settings.output_token.is_named()) question.settings.output_token = reading;
  const std::size_t shown = question.settings.output_token;
  std::vector<std::size_t> content;
  for (std::size_t t = 0; t < n; ++t) {
    const bool predicted_mask = std::find(masks.begin(), masks.end(), t) != masks.end();
    if (!report.input.tokens[t].special && !predicted_mask) content.push_back(t);
  }

  if (explains && info.head == ModelHead::kMaskedLm && masks.empty()) {
    throw internal::usage_error(
        "--{}: expected a mask token in the text, whose prediction is explained, found none; write [MASK] (<mask> for "
        "RoBERTa) in place of the word to predict",
        explaining_option(options.settings));
  }

  RunOptions run;
  if (explains && replays && shown != reading) {
    throw internal::usage_error(
        "--only-output-token: when a prediction is explained, expected the output token at which it is made ({}), "
        "found token {}; remove --only-output-token",
        reading, shown);
  }
  // For a decoder the token after the text; an explained prediction is the output token's.
  const std::size_t next_of = explains ? shown : n - 1;
  std::vector<std::size_t> predicted = predicts_next ? std::vector<std::size_t>{next_of} : masks;
  if (tags) {
    predicted.resize(n);
    std::iota(predicted.begin(), predicted.end(), std::size_t{0});
  }
  if (predicts_masks || predicts_next || tags) run.logit_positions = predicted;
  if (of_class && info.causal) run.logit_positions = {reading};
  ModelOutput output;
  // Among several masks, the one in question.
  const auto choose_target = [&] {
    if (of_class) return chosen_target(asked, info, nullptr, output.logits.span(), std::nullopt);
    if (finds_answers) {
      AskedTarget begin = asked;
      if (!begin.label) begin.label = answers.front().first;
      const auto name = [&](std::int64_t t) { return display_text(report.input, static_cast<std::size_t>(t)); };
      return target_among(begin, "answer", std::as_const(output.logits)[0].span(), name, std::nullopt);
    }
    const auto looked_at = std::find(predicted.begin(), predicted.end(), shown);
    const std::size_t which =
        looked_at == predicted.end() ? 0 : static_cast<std::size_t>(looked_at - predicted.begin());
    return chosen_target(asked, info, &tokenizer, std::as_const(output.logits)[which].span(), predicted[which]);
  };
  // Maps of attention are checked against the prediction if they end in its token.
  const auto ends_in_prediction = [&] {
    if (of_class) return info.causal ? shown == reading : shown == 0 && report.input.tokens[shown].special;
    if (finds_answers) return shown == answers.front().first;
    return std::find(predicted.begin(), predicted.end(), shown) != predicted.end();
  };
  const bool wants_check =
      options.check == CheckWhen::kAlways || (options.check == CheckWhen::kIfCheap && !options.only_output_token);
  const bool checks = wants_check && !explains && info.head != ModelHead::kNone && ends_in_prediction();
  if (checks) asked = ask();
  // The model's prediction, once it has run. Positions remain those of tokens, even if words are merged.
  ScoreTarget explained;
  std::string quantity;  // where the report has no target that says it
  const auto note_output = [&] {
    if (tags) {
      add_token_classes(report, info, output, predicted, shown);
    } else if (finds_answers) {
      add_answers(report, answers);
    } else {
      add_predictions(report, info, tokenizer, output, run.logit_positions, candidates, options);
    }
    if (!explains && !checks) return;
    const ReportTarget target = choose_target();
    explained = score_target(target);
    if (of_class && info.causal) explained.position = reading;  // also where other tokens are blanked, or by padding
    if (explains)
      report.target = target;
    else
      quantity = compared_quantity(target);
  };
  // Called once the report holds the methods that aggregate.
  const auto add_scores = [&] {
    if (!explains && !checks) return;
    // A tokenizer without a blank token is an error only if blank-out was requested.
    const bool must = options.settings.wants(Method::kBlankOut);
    const std::optional<BlankToken> blank =
        must ? find_blank_token(tokenizer, info) : try_find_blank_token(tokenizer, info);
    TextQuestion methods = text_question(model, input, explained, groups, blank);
    methods.content = content;
    methods.quantity = quantity;
    methods.steps = options.integration_steps;
    methods.threads = options.threads;
    methods.check = wants_check ? options.check : CheckWhen::kNever;
    methods.phases = options.phases;
    methods.stop_token = options.stop_token;
    score_methods(report, methods);
  };
  if (replays) {
    check_replay_options(options, report.model, n);
    Decoder& decoder = *model.decoder();
    Tensor<float> logits;
    const std::unique_ptr<AttentionReplay> replay = decoder.run_for_replay(
        input.ids, predicts_next || of_class ? &logits : nullptr, options.stop_token, options.reading);
    if (predicts_next) logits = Tensor<float>({1, logits.size()}, {logits.span().begin(), logits.span().end()});
    output.logits = std::move(logits);
    note_output();
    fill_report_of_row(report, ReplaySource(*replay, question.settings.mixing), question, options);
    add_scores();
    return report;
  }
  if (std::optional<RunningAttention> running = running_attention(options, info.layers)) {
    RunningSink sink(*running, options.settings.heads.fusion);
    StopSink stoppable({&sink}, options.stop_token, PassProgress(options.reading, info.layers, n));
    output = model.run(input, &stoppable, run);
    note_output();
    fill_report(report, running->source, question, options);
    add_scores();
    return report;
  }
  require_memory(report_bytes(report, options, n),
                 fmt::format("the matrices of {} layers between {} tokens", info.layers, n),
                 info.causal ? "A shorter text, fewer --layers, or --only-output-token needs less"
                             : "A shorter text or fewer --layers needs less",
                 options.max_memory);
  ModelGraph made = model_graph(model, input,
                                {.mixing = question.settings,
                                 .keep_attention = options.keep_attention,
                                 .tokens = n,
                                 .in_chunks = info.causal,
                                 .threads = options.threads,
                                 .stop_token = options.stop_token,
                                 .run = run,
                                 .reading = options.reading,
                                 .phases = options.phases},
                                [&](const ModelOutput& found) {
                                  output = found;
                                  note_output();
                                  return report.target;
                                });
  report.attention = std::move(made.attention);
  note_negative_share(report.notes, made.negative_share, report.target);
  fill_report(report, GraphSource(std::move(made.graph), info.causal), question, options);
  add_scores();
  return report;
}

}  // namespace attnflow
