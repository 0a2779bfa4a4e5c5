#include "attnflow/analysis/text/explain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/begin_report.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/analysis/text/mixing_choice.h"
#include "attnflow/analysis/text/model_graph.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/token_notes.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model_input.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

TextInput model_input(const TextCodec& tokenizer, const ModelInfo& info, TextInput input,
                      const std::vector<std::size_t>& blank, std::vector<Note>& notes) {
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

// `is_joint`: the tokenizer has read a source and its target at once.
void check_texts(const ModelInfo& info, const std::optional<std::string>& pair, const ExplainOptions& options,
                 bool is_joint) {
  if (!info.target && options.target_text) {
    throw internal::usage_error("--target-text is for encoder-decoders only, found one for {} ({}); remove it",
                                info.name, info.architecture);
  }
  if (!info.target || is_joint) return;
  if (!options.target_text) {
    throw internal::usage_error(
        "--target-text: expected the text that the decoder of {} ({}) is given (\"\": its first tokens alone), found "
        "none; 'attnflow generate' lets the model write one",
        info.name, info.architecture);
  }
  if (pair) {
    throw internal::usage_error(
        "--pair: expected none for {}, an encoder-decoder, whose second text is --target-text, found one", info.name);
  }
}

void check_length(const ModelInfo& info, const Encoding& encoding) {
  const std::size_t n = encoding.tokens.size();
  const std::size_t first = info.target ? encoding.source : n;
  if (first > info.max_tokens) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens (the positions of {}), found {}; shorten the text, or pass "
                            "--truncate to cut it there",
                            info.max_tokens, info.name, first));
  }
  if (info.target && n - first > info.target->max_tokens) {
    throw Error(
        ErrorKind::kInputTooLong,
        fmt::format("--target-text: expected at most {} tokens (the positions of the decoder of {}), found {}; shorten "
                    "the text",
                    info.target->max_tokens, info.name, n - first));
  }
}

// The text as tokens. Throws as explain_text() does.
Encoding read_text(const TextCodec& tokenizer, const ModelInfo& info, const std::string& text,
                   const std::optional<std::string>& pair, const ExplainOptions& options) {
  check_vocabulary(tokenizer, info);
  const bool has_target = info.target && options.target_text;
  Encoding encoding = has_target ? encode_joint(tokenizer, info, text, *options.target_text, options.truncate)
                                 : encode_text(tokenizer, info, text, pair, options.truncate);
  check_texts(info, pair, options, !has_target && encoding.source > 0);
  const bool has_text = !encoding.has_places || std::ranges::any_of(encoding.tokens, [&](const EncodedToken& token) {
    return token.begin.has_value() && (!info.target || token.segment == 0);
  });
  if (!has_text) {
    throw internal::usage_error("expected text with at least one token, found none (empty or only whitespace)");
  }
  check_length(info, encoding);
  return encoding;
}

// Whether the model predicts something at the output token, unless that mask is blanked.
bool predicts_there(const Report& report, const ModelInfo& info, const ExplainOptions& options, std::size_t reading) {
  const Settings& settings = options.settings;
  if (!is_predicted_at(info, settings, report.input, reading)) return false;
  if (info.head == ModelHead::kEmbedding && info.pooling == Pooling::kMean) return has_pooled_output(info, options);
  if (info.head != ModelHead::kMaskedLm) return true;
  std::vector<Note> notes;  // the report has them
  const std::size_t mask = resolve_output_token(settings.output_token, report.input, false, settings.words, notes);
  return std::find(options.blank.begin(), options.blank.end(), mask) == options.blank.end();
}

// The report's text, mixing and model, before anything is asked of the model.
Report begin_text(const Encoding& encoding, const std::string& text, const std::optional<std::string>& pair,
                  TextModel& model, ExplainOptions& options, std::size_t reading, bool replays) {
  const ModelInfo& info = model.info();
  const std::size_t n = encoding.tokens.size();
  Report report;
  report.input.kind = encoding.has_places ? "text" : "attention";
  report.input.tokens = report_tokens(encoding);
  if (encoding.has_places) {
    report.input.text = text;
    report.input.text_pair = options.target_text.value_or(pair.value_or(""));
  }
  const bool predicts = predicts_there(report, info, options, reading);
  begin_report(report, options.settings, model, {.tokens = n, .predicts = predicts, .only_row = replays});
  for (Note& note : info.notes_for(n)) report.notes.push_back(std::move(note));
  if (encoding.truncated) report.notes.push_back({NoteCode::kTextCut, {{"tokens", n}}});
  note_special_twice(report);
  mark_unknown_words(report);
  return report;
}

// One explanation: the question, and the parts of the report that follow the model's run.
class TextExplanation {
 public:
  // `text` and `task` outlive it.
  TextExplanation(const TextQuestionAsked& text, TextTask& task, ReportQuestion question)
      : text_(text), task_(task), question_(std::move(question)) {
    const ExplainOptions& options = text.options;
    wants_check_ =
        options.check == CheckWhen::kAlways || (options.check == CheckWhen::kIfCheap && !options.only_output_token);
    // As long as they are tokens: words may be merged.
    const std::vector<InputToken>& tokens = text.report.input.tokens;
    groups_ = options.settings.words ? word_groups(tokens) : single_tokens(tokens.size());
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (!tokens[t].special && !task.is_predicted(t)) content_.push_back(t);
    }
  }

  // Decides on the output token and what is asked of the model, which may run for it.
  void resolve() {
    if (text_.explains) asked_ = task_.ask();
    std::size_t& output = question_.settings.output_token;
    if (!text_.options.settings.output_token.is_named()) {
      // An encoder-decoder predicts after the last token of its target.
      const bool is_joint = text_.model.info().target.has_value();
      const std::size_t guessed = std::exchange(output, is_joint ? text_.reading : task_.output_token(output, asked_));
      const auto is_guess = [](const Note& note) { return note.code == NoteCode::kOutputTokenGuessed; };
      if (output != guessed) std::erase_if(question_.settings.notes, is_guess);
    }
    question_.pooled = task_.is_pooled();
    run_.logit_positions = task_.logit_positions(output);
    checks_ = wants_check_ && !text_.explains && task_.ends_in(output);
    if (checks_) asked_ = task_.ask();
  }

  // For a decoder without its matrices.
  void fill_row() {
    const ModelInfo& info = text_.model.info();
    if (text_.explains && shown() != text_.reading) {
      throw internal::usage_error(
          "--only-output-token: when a prediction is explained, expected the output token at which it is made ({}), "
          "found token {}; remove --only-output-token",
          text_.reading, shown());
    }
    check_replay_options(text_.options, text_.report.model, text_.input.ids.size());
    const bool predicts_next = info.head == ModelHead::kCausalLm;
    const bool predicts = predicts_next || info.head == ModelHead::kClassification;
    Tensor<float> logits;
    const std::unique_ptr<AttentionReplay> replay = text_.model.decoder()->run_for_replay(
        text_.input.ids, predicts ? &logits : nullptr, text_.options.stop_token, text_.options.reading);
    if (predicts_next) logits = Tensor<float>({1, logits.size()}, {logits.span().begin(), logits.span().end()});
    take({std::move(logits)});
    fill_report_of_rows(text_.report, ReplaySource(*replay, question_.settings.mixing), question_, text_.options);
    add_scores();
  }

  void fill() {
    const ModelInfo& info = text_.model.info();
    const std::size_t n = text_.input.ids.size();
    std::optional<RunningLayers> running;
    // Running layers do not know the mask of a joint graph, which receptive fields need.
    const bool needs_mask = info.target && text_.options.settings.normalization == Normalization::kReceptiveField;
    if (!question_.pooled && !needs_mask) running = running_layers(text_.options, info.layers);
    if (running) {
      StopSink stoppable({&*running}, text_.options.stop_token, PassProgress(text_.options.reading, info.layers, n));
      take(text_.model.run(text_.input, &stoppable, run_));
      fill_report_of_rows(text_.report, running->source(), question_, text_.options, running->on_first(shown()));
      add_scores();
      return;
    }
    require_memory(report_bytes(text_.report, text_.options, n),
                   fmt::format("the matrices of {} layers between {} tokens", info.layers, n),
                   info.causal ? "A shorter text, fewer --layers, or --only-output-token needs less"
                               : "A shorter text or fewer --layers needs less",
                   text_.options.max_memory);
    ModelGraph made = model_graph(text_.model, text_.input,
                                  {.mixing = question_.settings,
                                   .options = text_.options,
                                   .beside = attention_beside(),
                                   .tokens = n,
                                   .mask = attention_mask(info, text_.input.source),
                                   .in_chunks = info.causal,
                                   .run = run_},
                                  [&](const ModelOutput& found) {
                                    take(found);
                                    return text_.explains ? std::optional(explained_) : std::nullopt;
                                  });
    TokenGroups inputs = groups_;
    if (question_.pooled) inputs.emplace_back();  // the mean, which has no weight as an input
    fill_report_of_model(text_.report, std::move(made), inputs, question_, text_.options);
    add_scores();
  }

 private:
  std::size_t shown() const { return question_.settings.output_token; }

  // The row of the output token, of its word, or of the mean of all tokens.
  DescendingQuestion attention_beside() const {
    DescendingQuestion beside{
        .tokens = {}, .top = question_.settings.layers.back(), .start_layer = text_.options.settings.start_layer};
    if (question_.pooled) {
      beside.tokens.resize(text_.input.ids.size());
      std::iota(beside.tokens.begin(), beside.tokens.end(), std::size_t{0});
      return beside;
    }
    const auto has_output = [this](const auto& group) {
      return std::find(group.begin(), group.end(), shown()) != group.end();
    };
    beside.tokens = *std::find_if(groups_.begin(), groups_.end(), has_output);
    return beside;
  }

  // The model's prediction, once it has run. Positions remain those of tokens, even if words are merged.
  void take(const ModelOutput& output) {
    task_.add_predictions(output, shown());
    const ModelInfo& info = text_.model.info();
    if (!text_.explains && !checks_) {
      return require_check(text_.options.check, text_.report, info, shown(), info.causal ? text_.reading : 0);
    }
    const ReportTarget target = task_.target(asked_, output, shown());
    explained_ = task_.score(target);
    // Also where other tokens are blanked, or by padding.
    if (info.head == ModelHead::kClassification && info.causal) explained_.position = run_.logit_positions.front();
    if (text_.explains) text_.report.target = target;
    quantity_ = target_quantity(target);
  }

  // Called once the report holds the methods that aggregate.
  void add_scores() {
    if (!text_.explains && !checks_) return;
    const std::optional<BlankToken> blank = blank_token_for(text_.options.settings, text_.codec, text_.model.info());
    TextQuestion methods = text_question(text_.model, text_.input, explained_, groups_, blank);
    methods.content = content_;
    methods.quantity = quantity_;
    methods.steps = text_.options.integration_steps;
    methods.threads = text_.options.threads;
    methods.is_explained = text_.explains || explained_.kind == ScoreTarget::Kind::kCosine;
    methods.check = wants_check_ ? text_.options.check : CheckWhen::kNever;
    methods.codec = &text_.codec;
    methods.replacements = text_.options.check_replacements;
    methods.phases = text_.options.phases;
    methods.stop_token = text_.options.stop_token;
    score_methods(text_.report, methods);
  }

  const TextQuestionAsked& text_;
  TextTask& task_;
  ReportQuestion question_;
  TokenGroups groups_;
  std::vector<std::size_t> content_;  // tokens that are blanked in the blank input
  bool wants_check_ = false;
  bool checks_ = false;  // maps of attention against the prediction that they end in
  AskedTarget asked_;
  RunOptions run_;
  ScoreTarget explained_;
  std::string quantity_;  // what the target's value is called
};

}  // namespace

Report explain_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                    const std::optional<std::string>& pair, const ExplainOptions& given) {
  check_options(given);
  ExplainOptions options = given;
  const ModelInfo& info = model.info();
  check_methods(options.settings, model, options.integration_steps);
  const Encoding encoding = read_text(tokenizer, info, text, pair, options);
  const TextInput read = text_input(encoding);
  const std::size_t reading = reading_position(info, read.ids);
  const bool replays = options.only_output_token && model.decoder() != nullptr && !info.target;
  Report report = begin_text(encoding, text, pair, model, options, reading, replays);

  // Finds everything that can be wrong with the options before the model runs.
  const TextInput input = model_input(tokenizer, info, read, options.blank, report.notes);
  const TextQuestionAsked asked{.model = model,
                                .codec = tokenizer,
                                .given = read,
                                .input = input,
                                .options = options,
                                .report = report,
                                .reading = reading,
                                .explains = options.settings.explains_prediction()};
  const std::unique_ptr<TextTask> task = text_task(asked);
  ReportQuestion question = resolve_question(report, options);
  if (!options.candidates.empty() && options.referents.empty() &&
      options.settings.output_token.kind == OutputToken::Kind::kMask) {
    report.notes.emplace_back(NoteCode::kReferentsPossible);
  }
  task->check();
  TextExplanation explanation(asked, *task, std::move(question));
  explanation.resolve();
  if (replays) {
    explanation.fill_row();
  } else {
    explanation.fill();
  }
  note_joint_layers(report, info);
  return report;
}

}  // namespace attnflow
