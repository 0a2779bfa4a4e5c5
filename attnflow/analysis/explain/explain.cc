#include "attnflow/analysis/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "attnflow/analysis/explain/begin_report.h"
#include "attnflow/analysis/explain/blank_token.h"
#include "attnflow/analysis/explain/memory_check.h"
#include "attnflow/analysis/explain/model_graph.h"
#include "attnflow/analysis/explain/prediction_target.h"
#include "attnflow/analysis/explain/stop_sink.h"
#include "attnflow/analysis/explain/text_input.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/referents.h"
#include "attnflow/explain/token_notes.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model_input.h"

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

// The text as tokens. Throws as explain_text() does.
Encoding read_text(const TextCodec& tokenizer, const ModelInfo& info, const std::string& text,
                   const std::optional<std::string>& pair, bool truncate) {
  check_vocabulary(tokenizer, info);
  Encoding encoding = encode_text(tokenizer, info, text, pair, truncate);
  const bool has_text =
      !encoding.has_places || std::any_of(encoding.tokens.begin(), encoding.tokens.end(),
                                          [](const EncodedToken& token) { return token.begin.has_value(); });
  if (!has_text) {
    throw internal::usage_error("expected text with at least one token, found none (empty or only whitespace)");
  }
  if (encoding.tokens.size() > info.max_tokens) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected at most {} tokens (the positions of {}), found {}; shorten the text, or pass "
                            "--truncate to cut it there",
                            info.max_tokens, info.name, encoding.tokens.size()));
  }
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
    report.input.text_pair = pair.value_or("");
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
  TextExplanation(TextModel& model, const TextCodec& codec, const TextInput& input, const ExplainOptions& options,
                  TextTask& task, std::size_t reading, ReportQuestion question, Report& report)
      : model_(model),
        codec_(codec),
        input_(input),
        options_(options),
        task_(task),
        reading_(reading),
        question_(std::move(question)),
        report_(report),
        explains_(options.settings.explains_prediction()),
        wants_check_(options.check == CheckWhen::kAlways ||
                     (options.check == CheckWhen::kIfCheap && !options.only_output_token)) {
    // As long as they are tokens: words may be merged.
    const std::vector<InputToken>& tokens = report.input.tokens;
    groups_ = options.settings.words ? word_groups(tokens) : single_tokens(tokens.size());
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      if (!tokens[t].special && !task.is_predicted(t)) content_.push_back(t);
    }
  }

  // Decides on the output token and what is asked of the model, which may run for it.
  void resolve() {
    if (explains_) asked_ = task_.ask();
    std::size_t& output = question_.settings.output_token;
    if (!options_.settings.output_token.is_named()) output = task_.output_token(output, asked_);
    question_.pooled = task_.is_pooled();
    run_.logit_positions = task_.logit_positions(output);
    checks_ = wants_check_ && !explains_ && task_.ends_in(output);
    if (checks_) asked_ = task_.ask();
  }

  // For a decoder without its matrices.
  void fill_row() {
    const ModelInfo& info = model_.info();
    if (explains_ && shown() != reading_) {
      throw internal::usage_error(
          "--only-output-token: when a prediction is explained, expected the output token at which it is made ({}), "
          "found token {}; remove --only-output-token",
          reading_, shown());
    }
    check_replay_options(options_, report_.model, input_.ids.size());
    const bool predicts_next = info.head == ModelHead::kCausalLm;
    const bool predicts = predicts_next || info.head == ModelHead::kClassification;
    Tensor<float> logits;
    const std::unique_ptr<AttentionReplay> replay = model_.decoder()->run_for_replay(
        input_.ids, predicts ? &logits : nullptr, options_.stop_token, options_.reading);
    if (predicts_next) logits = Tensor<float>({1, logits.size()}, {logits.span().begin(), logits.span().end()});
    take({std::move(logits)});
    fill_report_of_rows(report_, ReplaySource(*replay, question_.settings.mixing), question_, options_);
    add_scores();
  }

  void fill() {
    const ModelInfo& info = model_.info();
    const std::size_t n = input_.ids.size();
    std::optional<RunningLayers> running;
    if (!question_.pooled) running = running_layers(options_, info.layers);
    if (running) {
      StopSink stoppable({&*running}, options_.stop_token, PassProgress(options_.reading, info.layers, n));
      take(model_.run(input_, &stoppable, run_));
      fill_report_of_rows(report_, running->source(), question_, options_, running->on_first(shown()));
      add_scores();
      return;
    }
    require_memory(report_bytes(report_, options_, n),
                   fmt::format("the matrices of {} layers between {} tokens", info.layers, n),
                   info.causal ? "A shorter text, fewer --layers, or --only-output-token needs less"
                               : "A shorter text or fewer --layers needs less",
                   options_.max_memory);
    ModelGraph made = model_graph(model_, input_,
                                  {.mixing = question_.settings,
                                   .keep_attention = options_.keep_attention,
                                   .beside = attention_beside(),
                                   .tokens = n,
                                   .in_chunks = info.causal,
                                   .threads = options_.threads,
                                   .stop_token = options_.stop_token,
                                   .run = run_,
                                   .reading = options_.reading,
                                   .phases = options_.phases},
                                  [&](const ModelOutput& found) {
                                    take(found);
                                    return explains_ ? std::optional(explained_) : std::nullopt;
                                  });
    report_.attention = std::move(made.attention);
    TokenGroups inputs = groups_;
    if (question_.pooled) inputs.emplace_back();  // the mean, which has no weight as an input
    keep_attention_row(report_, made.attention_row, inputs);
    note_negative_share(report_.notes, made.negative_share, report_.target);
    fill_report(report_, GraphSource(std::move(made.graph), info.causal), question_, options_);
    add_scores();
  }

 private:
  std::size_t shown() const { return question_.settings.output_token; }

  // The row of the output token, of its word, or of the mean of all tokens.
  DescendingQuestion attention_beside() const {
    DescendingQuestion beside{
        .tokens = {}, .top = question_.settings.layers.back(), .start_layer = options_.settings.start_layer};
    if (question_.pooled) {
      beside.tokens.resize(input_.ids.size());
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
    if (!explains_ && !checks_) return require_check(options_.check, report_, model_.info(), shown(), reading_);
    const ReportTarget target = task_.target(asked_, output, shown());
    explained_ = task_.score(target);
    // Also where other tokens are blanked, or by padding.
    const ModelInfo& info = model_.info();
    if (info.head == ModelHead::kClassification && info.causal) explained_.position = run_.logit_positions.front();
    if (explains_) report_.target = target;
    if (!explains_ || explained_.kind == ScoreTarget::Kind::kCosine) quantity_ = compared_quantity(target);
  }

  // Called once the report holds the methods that aggregate.
  void add_scores() {
    if (!explains_ && !checks_) return;
    const std::optional<BlankToken> blank = blank_token_for(options_.settings, codec_, model_.info());
    TextQuestion methods = text_question(model_, input_, explained_, groups_, blank);
    methods.content = content_;
    methods.quantity = quantity_;
    methods.steps = options_.integration_steps;
    methods.threads = options_.threads;
    methods.is_explained = explains_ || explained_.kind == ScoreTarget::Kind::kCosine;
    methods.check = wants_check_ ? options_.check : CheckWhen::kNever;
    methods.codec = &codec_;
    methods.replacements = options_.check_replacements;
    methods.phases = options_.phases;
    methods.stop_token = options_.stop_token;
    score_methods(report_, methods);
  }

  TextModel& model_;
  const TextCodec& codec_;
  const TextInput& input_;
  const ExplainOptions& options_;
  TextTask& task_;
  std::size_t reading_;  // where a decoder predicts for the whole text
  ReportQuestion question_;
  Report& report_;
  TokenGroups groups_;
  std::vector<std::size_t> content_;  // tokens that are blanked in the blank input
  bool explains_;
  bool wants_check_;
  bool checks_ = false;  // maps of attention against the prediction that they end in
  AskedTarget asked_;
  RunOptions run_;
  ScoreTarget explained_;
  std::string quantity_;  // where the target's kind does not say it
};

}  // namespace

Report explain_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                    const std::optional<std::string>& pair, const ExplainOptions& given) {
  validate(given.settings);
  ExplainOptions options = given;
  check_options(options);
  const ModelInfo& info = model.info();
  const Encoding encoding = read_text(tokenizer, info, text, pair, options.truncate);
  const TextInput read = text_input(encoding);
  const std::size_t reading = reading_position(info, read.ids);
  const bool replays = options.only_output_token && model.decoder() != nullptr;
  Report report = begin_text(encoding, text, pair, model, options, reading, replays);

  // Finds everything that can be wrong with the options before the model runs.
  check_methods(options.settings, model, options.integration_steps);
  const TextInput input = model_input(tokenizer, info, read, options.blank, report.notes);
  const std::unique_ptr<TextTask> task = text_task({.model = model,
                                                    .codec = tokenizer,
                                                    .given = read,
                                                    .input = input,
                                                    .options = options,
                                                    .report = report,
                                                    .reading = reading,
                                                    .explains = options.settings.explains_prediction()});
  ReportQuestion question = resolve_question(report, options);
  report.referents = resolve_referents(options.referents, report);
  if (!options.candidates.empty() && options.referents.empty() &&
      options.settings.output_token.kind == OutputToken::Kind::kMask) {
    report.notes.emplace_back(NoteCode::kReferentsPossible);
  }
  task->check();
  TextExplanation explanation(model, tokenizer, input, options, *task, reading, std::move(question), report);
  explanation.resolve();
  if (replays) {
    explanation.fill_row();
  } else {
    explanation.fill();
  }
  return report;
}

}  // namespace attnflow
