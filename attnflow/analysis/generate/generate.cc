#include "attnflow/analysis/generate/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/analysis/generate/chat_prompt.h"
#include "attnflow/analysis/generate/excluded_tokens.h"
#include "attnflow/analysis/generate/generated_text.h"
#include "attnflow/analysis/generate/generation_scores.h"
#include "attnflow/analysis/generate/generation_sink.h"
#include "attnflow/analysis/generate/generation_values.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/text/begin_report.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/token_notes.h"
#include "attnflow/graph/layers.h"
#include "attnflow/model/generation_rules.h"
#include "attnflow/model/model_input.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

using internal::GenerationSink;
using internal::GenerationSinkOptions;

struct Prompt {
  std::vector<std::int64_t> ids;   // m
  std::vector<InputToken> tokens;  // m
  std::size_t source = 0;          // of an encoder-decoder: those of the source
  TokenGroups words;               // where words are merged: those of the tokens; else empty
  std::vector<TextSpan> written;   // what is the user's in a chat template's text
};

Encoding encode_prompt(const TextCodec& codec, const GenerateOptions& options, const std::string& prompt) {
  Encoding encoding = codec.encode(prompt);
  // A template may begin with the token that the tokenizer adds.
  std::vector<EncodedToken>& tokens = encoding.tokens;
  if (options.chat && tokens.size() > 1 && tokens[0].special && tokens[1].special && tokens[0].id == tokens[1].id) {
    tokens.erase(tokens.begin());
  }
  if (tokens.empty()) {
    throw internal::usage_error("expected a prompt with at least one token, found none");
  }
  return encoding;
}

// The target's first tokens follow the source.
void begin_target(const TextCodec& codec, const TargetInfo& target, Prompt& prompt) {
  prompt.source = prompt.ids.size();
  for (const std::int64_t id : target.begin) {
    prompt.ids.push_back(id);
    prompt.tokens.push_back({codec.spelled(id), {}, {}, codec.is_special(id), {}, 1});
  }
}

Prompt read_prompt(const TextCodec& codec, const ModelInfo& info, const GenerateOptions& options, Report& report) {
  Prompt prompt;
  if (options.chat) {
    ChatPrompt chat = chat_prompt(codec, options.system, report.input.text);
    report.input.text = std::move(chat.text);
    prompt.written = std::move(chat.written);
  }
  const Encoding encoding = encode_prompt(codec, options, report.input.text);
  for (const EncodedToken& token : encoding.tokens) prompt.ids.push_back(token.id);
  prompt.tokens = report_tokens(encoding);
  if (info.target) begin_target(codec, *info.target, prompt);
  report.input.tokens = prompt.tokens;
  note_special_twice(report);
  std::size_t none = 0;
  if (options.settings.words) prompt.words = merge_words(report, none);
  return prompt;
}

// Generations of an encoder-decoder start from the decoder's layers; in the encoder's its tokens stand alone.
std::vector<std::size_t> decoder_layers(const TargetInfo& target, std::size_t start_layer) {
  std::vector<std::size_t> layers(2 * target.decoder_layers);
  std::iota(layers.begin(), layers.end(), target.encoder_layers + 1);
  std::erase_if(layers, [start_layer](std::size_t layer) { return layer <= start_layer; });
  return layers;
}

void check_room(const ModelInfo& info, std::size_t prompt) {
  if (prompt <= info.max_tokens) return;
  throw Error(ErrorKind::kInputTooLong, fmt::format("expected a prompt of at most {} tokens (the positions of {}), "
                                                    "found {}; shorten it",
                                                    info.max_tokens, info.name, prompt));
}

void check_given(const std::vector<std::size_t>& ids, const ModelInfo& info) {
  for (const std::size_t id : ids) {
    if (id < info.vocabulary) continue;
    throw internal::usage_error("--begin-with: expected token ids of {} from 0 to {}, found {}", info.name,
                                info.vocabulary - 1, id);
  }
}

void check_generation_memory(const GenerationSinkOptions& sink, const GenerateOptions& options, std::size_t layers,
                             std::size_t prompt, std::size_t generated) {
  std::size_t bytes = GenerationSink::bytes(sink, prompt, generated);
  std::size_t columns = prompt;
  if (options.settings.normalization == Normalization::kReceptiveField) columns += prompt;
  if (options.generated_columns) columns += generated;
  if (options.settings.has_target()) {  // a graph for each generated token
    bytes += sizeof(double) * generated * sink.layers * (prompt + generated) * (prompt + generated);
  }
  for (const Method method : {Method::kRaw, Method::kRollout}) {
    if (options.settings.wants(method)) bytes += sizeof(double) * generated * columns * layers;
  }
  if (options.settings.wants(Method::kFlow)) {  // with gaps and flags
    const std::size_t rows = options.flow_tokens.empty() ? generated : options.flow_tokens.size();
    const std::size_t from = options.flow_layers.empty() ? 1 : options.flow_layers.size();
    bytes += rows * from * (sizeof(double) * (columns + prompt) + prompt);
  }
  require_memory(
      bytes, fmt::format("the rows of {} prompt and {} generated tokens in {} layers", prompt, generated, sink.layers),
      "A shorter prompt, fewer tokens (-n), --method raw, or no flow and no generated columns needs less",
      options.max_memory);
}

// Tokens that lie wholly in the chat template's text.
ExcludedTokens template_tokens(const InputText& input, std::span<const TextSpan> written) {
  ExcludedTokens found{"chat template", {}};
  for (std::size_t j = 0; j < input.tokens.size(); ++j) {
    const InputToken& token = input.tokens[j];
    const bool is_written = token.begin && token.end && std::ranges::any_of(written, [&](const TextSpan& span) {
                              return std::max(*token.begin, span.begin) < std::min(*token.end, span.end);
                            });
    if (!is_written) found.tokens.push_back(j);
  }
  return found;
}

// The template's own system text is in every table and picture, and is not the user's.
void note_own_system_turn(Report& report, const TextCodec& codec, const std::string& prompt) {
  const std::optional<std::string> own = own_system_turn(codec, prompt);
  if (!own) return;
  constexpr std::size_t kMaxCells = 120;
  report.notes.push_back({NoteCode::kSystemTurn, {{"turn", shorten(clean_line(*own), kMaxCells, "...")}}});
}

GenerationSinkOptions sink_options(const GenerateOptions& options, const Prompt& prompt, const ModelInfo& info,
                                   std::size_t most) {
  const Settings& settings = options.settings;
  const std::size_t m = prompt.ids.size();
  GenerationSinkOptions keep;
  keep.layers = info.layers;
  keep.start_layer = settings.start_layer;
  keep.first_row = m - 1;
  keep.source = prompt.source;
  keep.mask = attention_mask(info, prompt.source);
  const ResolvedMixing resolved = resolve_mixing(settings, prompt.tokens, info.heads);
  keep.mixing = resolved.mixing;
  const MixingInfo& mixing = mixing_info(settings.mixing);
  if (mixing.needs == MixingNeeds::kTerms) {
    keep.contributions = resolved.contributions(resolve_threads(options.threads));
    if (!mixing.takes_residual()) keep.mixing.residual = 0.0;  // it is contained
  }
  // With a target each token has its own graph, made afterwards.
  const bool has_graphs = mixing.has_target();
  keep.rollout = settings.wants(Method::kRollout) && !has_graphs;
  const bool all_columns = options.generated_columns || settings.normalization == Normalization::kReceptiveField;
  keep.columns = all_columns ? 0 : m;
  keep.threads = resolve_threads(options.threads);
  if (settings.wants(Method::kFlow) && !has_graphs) keep.graph_tokens = m - 1 + most;
  return keep;
}

GeneratedToken generated_token(const TextCodec& codec, std::size_t id, std::span<const float> logits,
                               std::size_t choices) {
  GeneratedToken token;
  token.id = static_cast<std::int64_t>(id);
  token.text = codec.spelled(token.id);
  token.special = codec.is_special(token.id);
  token.probability = token_probability(logits, id);
  for (const TokenProbability& choice : most_probable(logits, choices)) {
    const auto number = static_cast<std::int64_t>(choice.id);
    token.choices.push_back({codec.readable(number), choice.probability, number});
  }
  return token;
}

// Rules of the model's files see the prompt and the generated text; those of an encoder-decoder only the target, whose
// first token is given, not generated.
RuledSampler ruled_sampler(const ModelInfo& info, const TextCodec& codec, const GenerateOptions& options,
                           const Prompt& prompt) {
  GenerationRules rules = read_generation_rules(info.generation, info.vocabulary, info.target.has_value());
  std::vector<std::int64_t> ends;
  if (!rules.followed.empty()) {
    for (std::size_t id = 0; id < codec.id_limit(); ++id) {
      if (codec.is_end(static_cast<std::int64_t>(id))) ends.push_back(static_cast<std::int64_t>(id));
    }
  }
  if (!info.target) return {options.sampling, std::move(rules), prompt.ids, prompt.ids, std::move(ends)};
  const std::vector<std::int64_t>& begin = info.target->begin;
  if (begin.size() > 1) rules.forced_begin = begin[1];
  const auto target = prompt.ids.begin() + static_cast<std::ptrdiff_t>(prompt.source);
  RuledSampler sampler(options.sampling, std::move(rules), {target, target + 1}, {prompt.ids.begin(), target},
                       std::move(ends));
  for (auto id = target + 1; id != prompt.ids.end(); ++id) sampler.keep(static_cast<std::size_t>(*id));
  return sampler;
}

// A generated token, with its target if one is explained or checked.
GeneratedToken chosen_token(const ModelInfo& info, const TextCodec& codec, const GenerateOptions& options,
                            std::size_t id, std::span<const float> logits, std::size_t position) {
  GeneratedToken token = generated_token(codec, id, logits, options.choices);
  if (options.settings.mixing == Mixing::kAttention && !options.settings.explains_prediction() &&
      options.check_tokens.empty()) {
    return token;
  }
  const auto against =
      options.settings.weights_by_gradient() ? AskedTarget::Against::kNothing : AskedTarget::Against::kNext;
  token.target = chosen_target({.label = id, .against = against}, info, &codec, logits, position);
  return token;
}

void place_text(const internal::GeneratedText& text, Generation& generation) {
  generation.text = text.text();
  for (std::size_t t = 0; t < generation.tokens.size(); ++t) {
    GeneratedToken& token = generation.tokens[t];
    std::tie(token.begin, token.end) = text.range(t);
  }
}

// A text that was generated elsewhere: one pass over prompt and text.
void take_made(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const Prompt& prompt,
               GenerationSink& sink, Report& report) {
  Generation& generation = *report.generation;
  generation.stopped = options.made_stopped;
  internal::GeneratedText text(codec, {}, decoder.info().target.has_value());
  std::vector<std::int64_t> ids = prompt.ids;
  for (const std::size_t id : options.made) {
    ids.push_back(static_cast<std::int64_t>(id));
    text.add(ids.back());
  }
  text.finish();
  ids.pop_back();
  const std::size_t first = prompt.ids.size() - 1;
  StopSink whole({&sink}, {}, PassProgress(options.reading, decoder.info().layers, ids.size()));
  const Tensor<float> logits = decoder.append_each(ids, first, &whole, options.stop_token);
  for (std::size_t t = 0; t < options.made.size(); ++t) {
    generation.tokens.push_back(
        chosen_token(decoder.info(), codec, options, options.made[t], logits[t].span(), first + t));
  }
  place_text(text, generation);
}

internal::GenerationRows rows_of(const GenerationSink& sink, const Prompt& prompt, const ModelInfo& info) {
  return {.sink = sink,
          .sources = {},
          .prompt_tokens = prompt.ids.size(),
          .words = prompt.words,
          .is_joint = info.target.has_value()};
}

void continue_prompt(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const Prompt& prompt,
                     std::size_t most, RuledSampler& sampler, GenerationSink& sink, Report& report) {
  Generation& generation = *report.generation;
  std::vector<GeneratedToken>& tokens = generation.tokens;
  generation.stopped = most < options.tokens ? "context" : "length";
  internal::GeneratedText text(codec, options.on_text, decoder.info().target.has_value());
  std::vector<std::size_t> shown;  // layers whose mean a step has
  for (const std::size_t at : usual_layers(report, report.settings.layers.size())) {
    shown.push_back(report.settings.layers[at]);
  }
  if (options.on_start) options.on_start({report.model, report.input.text, report.input.tokens, shown});
  std::stop_source first;  // of the pass over the prompt, which leaves nothing to keep
  const std::stop_callback ended(options.stop_token, [&first] { first.request_stop(); });
  const std::stop_callback sufficed(options.enough, [&first] { first.request_stop(); });
  std::vector<std::int64_t> next = prompt.ids;
  std::size_t told = 0;  // bytes of the text that on_token has had
  for (bool ends = false; !ends && tokens.size() < most;) {
    // The prompt itself can be canceled; a generation keeps what it has.
    if (!tokens.empty() && (options.stop_token.stop_requested() || options.enough.stop_requested())) {
      generation.stopped = "interrupted";
      break;
    }
    Tensor<float> logits;
    std::size_t id = 0;
    try {
      if (tokens.empty()) {
        StopSink prompt_sink({&sink}, {}, PassProgress(options.reading, decoder.info().layers, next.size()));
        logits = decoder.append(next, &prompt_sink, first.get_token());
      } else {
        logits = decoder.append(next, &sink);
      }
      // Drawn for given tokens, too, so that a branch continues with the random numbers of its original.
      id = sampler.choose(logits.span());
    } catch (const std::exception& error) {
      // Out of memory, or rules that leave no token: the text so far is worth keeping.
      if (tokens.empty()) throw;
      generation.stopped = "interrupted";
      report.notes.push_back({NoteCode::kModelStopped, {{"error", error.what()}}});
      break;
    }
    if (tokens.size() < options.begin_with.size()) id = options.begin_with[tokens.size()];
    sampler.keep(id);
    tokens.push_back(
        chosen_token(decoder.info(), codec, options, id, logits.span(), prompt.ids.size() + tokens.size() - 1));
    if (options.generating) options.generating(tokens.size(), most);
    next = {tokens.back().id};
    text.add(next.front());
    ends = !options.ignore_end && codec.is_end(next.front());
    if (ends) generation.stopped = "end";
    if (!options.on_token) continue;
    const std::size_t t = tokens.size() - 1;
    if (ends || t + 1 == most) text.finish();
    std::vector<double> row;
    if (options.settings.wants(Method::kRollout) && !options.settings.has_target()) {
      const std::size_t position = prompt.ids.size() - 1 + t;
      Query query = internal::generation_query(Method::kRollout, report, rows_of(sink, prompt, decoder.info()),
                                               position, options.generated_columns);
      query.layers = shown;
      RowsSource source = sink.source();
      row = mean_over_layers(attribute(source, query).values, 0);
    }
    const std::span<const double> values(row);
    const std::size_t columns = std::min(report.input.tokens.size(), values.size());
    options.on_token({.index = t,
                      .token = tokens.back(),
                      .text = std::string_view(text.text()).substr(told),
                      .rollout = values.first(columns),
                      .generated = values.subspan(columns)});
    told = text.text().size();
  }
  text.finish();
  generation.given = std::min(options.begin_with.size(), tokens.size());
  place_text(text, generation);
}

std::vector<std::shared_ptr<AttentionSource>> sources_of(Decoder& decoder, const GenerateOptions& options,
                                                         const GenerationSink& sink, const Prompt& prompt,
                                                         Report& report) {
  const std::vector<GeneratedToken>& tokens = report.generation->tokens;
  if (!options.settings.wants_aggregation()) return {};
  if (!options.settings.has_target()) return {tokens.size(), std::make_shared<RowsSource>(sink.source())};
  TextInput written{prompt.ids, {}, prompt.source};
  std::vector<ReportTarget> targets;
  for (const GeneratedToken& token : tokens) {
    written.ids.push_back(token.id);
    targets.push_back(*token.target);
  }
  return internal::relevance_sources(
      decoder, written, targets, resolve_mixing(options.settings, prompt.tokens, decoder.info().heads),
      {.threads = options.threads, .progress = options.progress, .stop_token = options.stop_token}, report.notes);
}

Report new_report(const std::string& text, const GenerateOptions& options) {
  Report report;
  report.input.kind = "generation";
  report.input.text = text;
  report.generation.emplace().sampling = {options.sampling.temperature, options.sampling.top_p, options.sampling.seed};
  report.generation->chat = options.chat;
  return report;
}

// Finds errors before generation, which may take minutes.
void check_request(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const Prompt& prompt) {
  const ModelInfo& info = decoder.info();
  check_room(info, info.target ? prompt.source : prompt.ids.size());
  check_decoder_head(info);
  check_methods(options.settings, decoder, options.integration_steps);
  check_given(options.begin_with, info);
  check_given(options.made, info);
  const bool blanks = options.settings.wants(Method::kBlankOut) || options.settings.wants(Method::kIntegratedGradients);
  if (blanks || !options.check_tokens.empty()) find_blank_token(codec, info);
}

void choose_layers(const GenerateOptions& options, Decoder& decoder, Report& report) {
  const ModelInfo& info = decoder.info();
  const Settings& settings = options.settings;
  std::vector<std::size_t> asked_layers = settings.layers;
  if (info.target && asked_layers.empty()) asked_layers = decoder_layers(*info.target, settings.start_layer);
  report.settings.layers = resolve_layers(asked_layers, settings.start_layer, info.layers);
  // A prediction is read from the last layer; values of lower layers, or their mean, do not explain it.
  if (settings.has_target() && settings.layers.empty()) report.settings.layers = {info.layers};
  if (!settings.wants(Method::kFlow)) return;
  report.flow_layers = {report.settings.layers.back()};
  if (!options.flow_layers.empty()) {
    report.flow_layers = resolve_layers(options.flow_layers, settings.start_layer, info.layers);
  }
}

// The positions that chose the generated tokens.
void place_outputs(Report& report) {
  const std::size_t first = report.input.tokens.size() - 1;
  for (std::size_t t = 0; t < report.generation->tokens.size(); ++t) report.output_tokens.push_back(first + t);
  report.output_token = first;
  report.all_output_tokens = true;
}

// Raw attention, rollout and flow of each generated token. Keeps the text if a target's values are unavailable.
void fill_values(Decoder& decoder, const GenerateOptions& options, const GenerationSink& sink, const Prompt& prompt,
                 bool by_default, Report& report) {
  const bool has_target = options.settings.has_target();
  try {
    internal::GenerationRows rows = rows_of(sink, prompt, decoder.info());
    rows.sources = sources_of(decoder, options, sink, prompt, report);
    fill_generation(report, rows, options);
  } catch (const Cancelled&) {
    if (!has_target) throw;
    internal::drop_values(report);
    report.notes.emplace_back(NoteCode::kValuesInterrupted);
  } catch (const std::exception& error) {  // the user did not ask for the mixing that failed
    if (!has_target || !by_default) throw;
    internal::drop_values(report);
    report.notes.push_back({NoteCode::kModelStopped, {{"error", error.what()}}});
  }
}

// The scores of methods outside the graph, and the check. A failure here must not lose the text.
void fill_scores(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options, const Prompt& prompt,
                 Report& report) {
  try {
    internal::add_generation_scores(decoder, codec, options, {prompt.ids, {}, prompt.source},
                                    options.settings.words ? prompt.words : single_tokens(prompt.ids.size()), report);
  } catch (const std::exception& error) {
    report.scores.clear();
    report.notes.push_back({NoteCode::kModelStopped, {{"error", error.what()}}});
  }
}

void add_closing_notes(const ModelInfo& info, const RuledSampler& sampler, bool made_here, std::size_t prompt_tokens,
                       Report& report) {
  const Generation& generation = *report.generation;
  const std::size_t generated = generation.tokens.size();
  if (made_here) {
    for (Note& note : sampler.notes(generated, generation.stopped == "length")) report.notes.push_back(std::move(note));
  }
  if (generation.given > 0) report.notes.push_back({NoteCode::kTokensGiven, {{"tokens", generation.given}}});
  const std::size_t positions = info.target ? info.target->max_tokens : info.max_tokens;
  const std::size_t used = (info.target ? info.target->begin.size() : prompt_tokens) + generated;
  if (generation.stopped == "context" && used >= positions) {
    report.notes.push_back({NoteCode::kNoPositionsLeft, {{"tokens", generated}, {"positions", positions}}});
  }
  for (Note& note : info.notes_for(prompt_tokens + generated)) report.notes.push_back(std::move(note));
  if (generation.stopped == "interrupted") report.notes.push_back({NoteCode::kInterrupted, {{"tokens", generated}}});
}

}  // namespace

Report generate(Decoder& decoder, const TextCodec& codec, const std::string& text, const GenerateOptions& given) {
  check_generate_options(given);
  GenerateOptions options = given;
  const ModelInfo& info = decoder.info();
  check_vocabulary(codec, info);
  Report report = new_report(text, options);
  if (info.target) options.generated_columns = true;
  const Prompt prompt = read_prompt(codec, info, options, report);
  if (options.chat && !options.system) note_own_system_turn(report, codec, text);
  const std::size_t m = prompt.ids.size();
  check_request(decoder, codec, options, prompt);
  RuledSampler sampler = ruled_sampler(info, codec, options, prompt);
  const std::size_t room = info.target ? info.target->max_tokens - info.target->begin.size() : info.max_tokens - m;
  const std::size_t most = options.made.empty() ? std::min(options.tokens, room + 1) : options.made.size();
  const bool by_default = options.settings.mixing == Mixing::kAuto;
  begin_report(report, options.settings, decoder,
               {.tokens = m + most - 1, .predictions = most, .as_it_runs = options.as_it_runs});
  check_generate_options(options);
  choose_layers(options, decoder, report);
  report.generation->excluded = excluded_tokens(report.input, options.filter);
  if (!prompt.written.empty() && !options.keep_template) {
    report.generation->excluded.push_back(template_tokens(report.input, prompt.written));
  }

  const GenerationSinkOptions keep = sink_options(options, prompt, info, most);
  // The model reserves its memory first, so that the check sees what is left for the rows.
  decoder.clear();
  decoder.reserve(m + most - 1);
  check_generation_memory(keep, options, report.settings.layers.size(), m, most);
  GenerationSink sink(keep);
  if (options.made.empty()) {
    continue_prompt(decoder, codec, options, prompt, most, sampler, sink, report);
  } else {
    take_made(decoder, codec, options, prompt, sink, report);
  }
  place_outputs(report);
  fill_values(decoder, options, sink, prompt, by_default, report);
  note_joint_layers(report, info);
  if (by_default || options.settings.explains_prediction() || !options.check_tokens.empty()) {
    fill_scores(decoder, codec, options, prompt, report);
  }
  add_closing_notes(info, sampler, options.made.empty(), m, report);
  return report;
}

}  // namespace attnflow
