#include "attnflow/analysis/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "attnflow/analysis/chat_prompt.h"
#include "attnflow/analysis/explain.h"
#include "attnflow/analysis/fill_report.h"
#include "attnflow/analysis/generated_text.h"
#include "attnflow/analysis/generation_sink.h"
#include "attnflow/analysis/memory_check.h"
#include "attnflow/analysis/sink_note.h"
#include "attnflow/analysis/text_input.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/layers.h"
#include "attnflow/model/model_input.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

using internal::GenerationSink;
using internal::GenerationSinkOptions;

Encoding encode_prompt(const TextCodec& codec, const GenerateOptions& options, std::string& prompt) {
  if (options.chat) {
    std::vector<ChatMessage> messages;
    if (options.system) messages.push_back({"system", *options.system});
    messages.push_back({"user", prompt});
    prompt = codec.chat(messages);
  }
  Encoding encoding = codec.encode(prompt);
  // A template may begin with the token that the tokenizer puts in front by itself.
  std::vector<EncodedToken>& tokens = encoding.tokens;
  if (options.chat && tokens.size() > 1 && tokens[0].special && tokens[1].special && tokens[0].id == tokens[1].id) {
    tokens.erase(tokens.begin());
  }
  if (tokens.empty()) {
    throw Error(ErrorKind::kUsage, "expected a prompt with at least one token, found none");
  }
  return encoding;
}

void check_room(const ModelInfo& info, std::size_t prompt) {
  if (prompt <= info.max_tokens) return;
  throw Error(ErrorKind::kInputTooLong, fmt::format("expected a prompt of at most {} tokens (the positions of {}), "
                                                    "found {}; shorten it",
                                                    info.max_tokens, info.name, prompt));
}

// The rows that are kept while the model runs, and the arrays of the report.
void check_generation_memory(const GenerationSinkOptions& sink, const GenerateOptions& options, std::size_t layers,
                             std::size_t prompt, std::size_t generated) {
  std::size_t bytes = GenerationSink::bytes(sink, prompt, generated);
  std::size_t columns = prompt;
  if (options.settings.normalization == Normalization::kReceptiveField) columns += prompt;
  if (options.generated_columns) columns += generated;
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

// Columns of one row: words of the prompt, then generated tokens one by one.
TokenGroups column_groups(const std::vector<InputToken>& prompt, bool words, std::size_t columns) {
  TokenGroups groups;
  if (words) groups = word_groups(prompt);
  for (std::size_t j = words ? prompt.size() : 0; j < columns; ++j) groups.push_back({j});
  return groups;
}

// What the output at `position` drew on by one method: columns of the prompt, which are words where they are merged,
// and with `all_columns` of the generated tokens before it.
Query query_of(Method method, const GenerateOptions& options, const GenerationReport& report, std::size_t position,
               bool all_columns) {
  const std::size_t m = report.prompt_tokens.size();
  Query query{.method = method, .outputs = {{position}}};
  query.layers = method == Method::kFlow ? report.flow_layers : report.settings.layers;
  query.start_layer = options.settings.start_layer;
  query.flow_tolerance = options.settings.flow_tolerance;
  if (options.settings.words || !all_columns) {
    query.inputs = column_groups(report.prompt_tokens, options.settings.words, all_columns ? position + 1 : m);
  }
  return query;
}

// The mean over layers of rollout, of the prompt's columns and the generated ones that are kept.
std::vector<double> step_rollout(internal::GenerationSource& source, const Query& query) {
  const Tensor<double> rows = attribute(source, query).values;
  std::vector<double> mean(rows.extent(2), 0.0);
  for (std::size_t l = 0; l < rows.extent(0); ++l) {
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += rows(l, 0, j) / static_cast<double>(rows.extent(0));
  }
  return mean;
}

// The numbers of a finished generation.
class Values {
 public:
  Values(const GenerateOptions& options, const GenerationSink& sink, std::size_t prompt_columns,
         GenerationReport& report)
      : options_(options),
        sink_(sink),
        source_(sink),
        prompt_(report.prompt_tokens.size()),
        columns_(prompt_columns),
        report_(report) {}

  void add(Method method, GenerationValues& values) {
    std::vector<std::size_t> tokens(count());
    std::iota(tokens.begin(), tokens.end(), std::size_t{0});
    add(method, tokens, values);
  }

  void add_flow() {
    std::vector<std::size_t>& tokens = report_.flow_tokens;
    tokens = options_.flow_tokens;
    std::sort(tokens.begin(), tokens.end());
    if (tokens.empty()) {
      tokens.resize(count());
      std::iota(tokens.begin(), tokens.end(), std::size_t{0});
    }
    if (std::erase_if(tokens, [&](std::size_t t) { return t >= count(); }) > 0) {
      report_.notes.push_back(fmt::format("Flow was asked for tokens that were not generated: there are {}.", count()));
    }
    if (tokens.empty()) return;
    if (report_.flow_layers.empty()) report_.flow_layers = {report_.settings.layers.back()};
    const Shape shape{tokens.size(), columns_, report_.flow_layers.size()};
    report_.flow_gap = Tensor<double>(shape);
    report_.flow_degenerate = Tensor<std::uint8_t>(shape);
    add(Method::kFlow, tokens, report_.flow);
  }

  void add_sink_share() {
    const auto& layers = report_.settings.layers;
    report_.sink_share = Tensor<double>({count(), layers.size()});
    for (std::size_t t = 0; t < count(); ++t) {
      for (std::size_t l = 0; l < layers.size(); ++l) {
        report_.sink_share(t, l) = sink_.first_share(layers[l], prompt_ - 1 + t);
      }
    }
  }

  std::size_t flagged() const { return flagged_; }

 private:
  std::size_t count() const { return report_.tokens.size(); }

  // Rows of generated tokens, each of the network of the positions that it sees.
  void add(Method method, const std::vector<std::size_t>& tokens, GenerationValues& values) {
    const bool by_field = options_.settings.normalization == Normalization::kReceptiveField;
    // Every token of the row takes part in flow and in the row's sum, whether its column is kept or not.
    const bool all_columns = options_.generated_columns || by_field || method == Method::kFlow;
    for (std::size_t row = 0; row < tokens.size(); ++row) {
      const std::size_t position = prompt_ - 1 + tokens[row];
      Query query = query_of(method, options_, report_, position, all_columns);
      query.baseline = by_field;
      Attribution found = attribute(source_, query, {.threads = options_.threads, .stop_token = options_.stop_token});
      const std::size_t layers = found.layers.size();
      if (values.prompt.empty()) {
        values.prompt = Tensor<double>({tokens.size(), columns_, layers});
        if (options_.generated_columns) values.generated = Tensor<double>({tokens.size(), count(), layers});
        if (by_field) values.normalized = Tensor<double>({tokens.size(), columns_, layers});
      }
      for (std::size_t l = 0; l < layers; ++l) {
        for (std::size_t j = 0; j < columns_; ++j) values.prompt(row, j, l) = found.values(l, 0, j);
        for (std::size_t s = columns_; !values.generated.empty() && s < found.values.extent(2); ++s) {
          values.generated(row, s - columns_, l) = found.values(l, 0, s);
        }
        for (std::size_t j = 0; !found.gap.empty() && j < columns_; ++j) {
          report_.flow_gap(row, j, l) = found.gap(l, 0, j);
          report_.flow_degenerate(row, j, l) = found.degenerate(l, 0, j);
        }
      }
      if (by_field) {
        flagged_ += normalize(found, Normalization::kReceptiveField);
        for (std::size_t l = 0; l < layers; ++l) {
          for (std::size_t j = 0; j < columns_; ++j) values.normalized(row, j, l) = found.values(l, 0, j);
        }
      }
      if (method == Method::kFlow && options_.progress) options_.progress(row + 1, tokens.size());
    }
  }

  const GenerateOptions& options_;
  const GenerationSink& sink_;
  internal::GenerationSource source_;
  std::size_t prompt_;   // m, pieces
  std::size_t columns_;  // words or pieces
  GenerationReport& report_;
  std::size_t flagged_ = 0;
};

void merge_prompt_words(GenerationReport& report) {
  InputText text;
  text.text = report.prompt;
  text.tokens = report.prompt_tokens;
  std::vector<InputToken> words;
  for (const auto& group : word_groups(report.prompt_tokens)) words.push_back(merge_tokens(text, group));
  report.prompt_tokens = std::move(words);
}

// The same rules one by one: each says which tokens it drops.
std::vector<TokenFilterOptions> single_rules(const TokenFilterOptions& filter) {
  std::vector<TokenFilterOptions> rules;
  if (filter.special) rules.emplace_back().special = true;
  for (const std::string& language : filter.stop_words) rules.emplace_back().stop_words = {language};
  if (filter.punctuation) rules.emplace_back().punctuation = true;
  for (const std::string& pattern : filter.patterns) rules.emplace_back().patterns = {pattern};
  for (const std::string& index : filter.indices) rules.emplace_back().indices = {index};
  return rules;
}

// What rankings leave out.
std::vector<DroppedTokens> dropped_tokens(const GenerationReport& report, const TokenFilterOptions& filter) {
  std::vector<FilterToken> tokens;
  for (const auto& group : word_groups(report.prompt_tokens)) {
    std::string word;
    for (const std::size_t j : group) word += prompt_text(report, j);
    for (const std::size_t j : group) {
      tokens.push_back(
          {prompt_text(report, j), group.size() > 1 ? word : std::string(), report.prompt_tokens[j].special});
    }
  }
  std::vector<DroppedTokens> dropped;
  for (const TokenFilterOptions& rule : single_rules(filter)) {
    const TokenFilterResult result = filter_tokens(tokens, rule);
    DroppedTokens& found = dropped.emplace_back();
    found.rule = result.rules.front().reason;
    for (std::size_t j = 0; j < tokens.size(); ++j) {
      if (result.dropped[j]) found.tokens.push_back(j);
    }
  }
  return dropped;
}

void note_generation_sink(GenerationReport& report) {
  const Tensor<double>& share = report.sink_share;
  double sum = 0.0;
  for (const double value : share.span()) sum += value;
  const double mean = sum / static_cast<double>(share.size());
  if (report.settings.column_mask.kind != ColumnMask::Kind::kNone) return;
  std::string note = sink_note(mean, "the attention", prompt_text(report, 0), "--drop-sink sets that token aside.");
  if (!note.empty()) report.notes.push_back(std::move(note));
}

void note_next_generation_sink(GenerationReport& report) {
  const Tensor<double>& values = report.rollout.prompt;
  const Settings& settings = report.settings;
  if (settings.column_mask.kind != ColumnMask::Kind::kFirst || settings.normalization != Normalization::kNone ||
      settings.start_layer != 0 || values.empty() || values.extent(1) < 2) {
    return;
  }
  double sum = 0.0;
  for (std::size_t t = 0; t < values.extent(0); ++t) {
    for (std::size_t l = 0; l < values.extent(2); ++l) sum += values(t, 1, l);
  }
  const double share = sum / static_cast<double>(values.extent(0) * values.extent(2));
  std::string note = next_sink_note(share, "what generated tokens draw on, on average", prompt_text(report, 1));
  if (!note.empty()) report.notes.push_back(std::move(note));
}

// What the template says before the user does is in every table and picture, and is not the user's.
void note_own_system_turn(GenerationReport& report, const TextCodec& codec, const std::string& prompt) {
  const std::optional<std::string> own = own_system_turn(codec, prompt);
  if (!own) return;
  constexpr std::size_t kMaxCells = 120;
  report.notes.push_back(
      own->empty()
          ? std::string("--chat: the model's template begins with a system's turn by itself; --system TEXT "
                        "writes into it.")
          : fmt::format("--chat: the model's template begins with a system's turn of its own, \"{}\"; --system "
                        "TEXT replaces it, --system \"\" empties it.",
                        shorten(clean_line(*own), kMaxCells, "...")));
}

}  // namespace

void check_generate_options(const GenerateOptions& options) {
  const Settings& settings = options.settings;
  validate(settings);
  const auto expect = [](bool holds, const std::string& message) {
    if (!holds) throw Error(ErrorKind::kUsage, message);
  };
  expect(options.tokens >= 1, "-n: expected at least 1 token to generate, found 0");
  expect(settings.discard == 0.0,
         "--discard is not available for a generation: it drops the smallest weights of whole layers, and a generation "
         "adds row after row");
  expect(settings.normalization != Normalization::kRow,
         "--normalize: expected none or receptive-field for a generation, found row");
  expect(!options.system || options.chat, "--system requires --chat");
  // Rows of rollout are kept as they come, and below a head's own layer lie the mean's.
  expect(
      !settings.heads.is_single() || (!settings.wants(Method::kRollout) && !settings.wants(Method::kFlow)),
      fmt::format(
          "--heads {0}: expected --method raw, the only method for a single head of a generation, found --method {1}; "
          "for rollout and flow use --heads mean, max or min, or attnflow explain --heads {0} on the finished text",
          to_text(settings.heads), fmt::join(to_texts(settings.methods), ",")));
}

GenerationReport generate(Decoder& decoder, const TextCodec& codec, const std::string& prompt,
                          const GenerateOptions& options) {
  check_generate_options(options);
  const ModelInfo& info = decoder.info();
  check_vocabulary(codec, info);
  GenerationReport report;
  report.settings = options.settings;
  report.sampling = {options.sampling.temperature, options.sampling.top_p, options.sampling.seed};
  report.chat = options.chat;
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.prompt = prompt;
  const Encoding encoding = encode_prompt(codec, options, report.prompt);
  report.prompt_tokens = report_tokens(encoding);
  if (options.chat && !options.system) note_own_system_turn(report, codec, prompt);
  const std::size_t m = encoding.tokens.size();
  check_room(info, m);
  check_decoder_head(info);
  report.settings.layers = resolve_layers(options.settings.layers, options.settings.start_layer, info.layers);
  if (options.settings.wants(Method::kFlow) && !options.flow_layers.empty()) {
    report.flow_layers = resolve_layers(options.flow_layers, options.settings.start_layer, info.layers);
  }

  GenerationReport shown = report;
  if (options.settings.words) merge_prompt_words(shown);
  report.dropped = dropped_tokens(shown, options.filter);  // of what rankings show: the words where merged

  GenerationSinkOptions keep;
  keep.layers = info.layers;
  keep.to_layer = options.settings.start_layer;
  keep.first_row = m - 1;
  keep.mixing = mixing_options(options.settings, report.prompt_tokens, info.heads);
  keep.rollout = options.settings.wants(Method::kRollout);
  const bool all_columns =
      options.generated_columns || options.settings.normalization == Normalization::kReceptiveField;
  keep.columns = all_columns ? 0 : m;
  keep.threads = resolve_threads(options.threads);
  const std::size_t most = std::min(options.tokens, info.max_tokens - m + 1);
  if (options.settings.wants(Method::kFlow)) keep.graph_tokens = m - 1 + most;
  // The model's own memory first, so that what is left counts for the rows.
  decoder.clear();
  decoder.reserve(m + most - 1);
  check_generation_memory(keep, options, report.settings.layers.size(), m, most);
  GenerationSink sink(keep);
  Sampler sampler(options.sampling);

  std::vector<std::int64_t> next;
  for (const EncodedToken& token : encoding.tokens) next.push_back(token.id);
  internal::GeneratedText text(codec, options.said);
  report.stopped = most < options.tokens ? "context" : "length";
  if (options.start) options.start({report.model, report.prompt, shown.prompt_tokens, report.settings.layers});
  std::size_t said = 0;  // bytes of the text that steps have had
  while (report.tokens.size() < most) {
    // The prompt itself can be given up; a generation keeps what it has.
    if (!report.tokens.empty() && options.stop_token.stop_requested()) {
      report.stopped = "interrupted";
      break;
    }
    Tensor<float> logits;
    try {
      logits = decoder.append(next, &sink, report.tokens.empty() ? options.stop_token : std::stop_token());
    } catch (const std::exception& error) {
      // Out of memory, most likely: what was said until here is worth keeping.
      if (report.tokens.empty()) throw;
      report.stopped = "interrupted";
      report.notes.push_back(fmt::format("The model stopped: {}", error.what()));
      break;
    }
    const std::size_t chosen = sampler.choose(logits.span());
    GeneratedToken token;
    token.id = static_cast<std::int64_t>(chosen);
    token.text = codec.spelled(token.id);
    token.special = codec.is_special(token.id);
    token.probability = token_probability(logits.span(), chosen);
    for (const TokenProbability& choice : most_probable(logits.span(), options.choices)) {
      token.choices.push_back({codec.readable(static_cast<std::int64_t>(choice.id)), choice.probability});
    }
    report.tokens.push_back(std::move(token));
    text.add(static_cast<std::int64_t>(chosen));
    next = {static_cast<std::int64_t>(chosen)};
    const bool ends = !options.ignore_end && codec.is_end(next.front());
    if (ends) report.stopped = "end";
    if (options.step) {
      const std::size_t t = report.tokens.size() - 1;
      if (ends || t + 1 == most) text.finish();
      std::vector<double> row;
      const std::size_t columns = shown.prompt_tokens.size();
      if (keep.rollout) {
        internal::GenerationSource source(sink);
        row = step_rollout(source, query_of(Method::kRollout, options, report, m - 1 + t, options.generated_columns));
      }
      const std::span<const double> values(row);
      options.step({.index = t,
                    .token = report.tokens.back(),
                    .text = std::string_view(text.text()).substr(said),
                    .rollout = values.first(std::min(columns, values.size())),
                    .generated = values.subspan(std::min(columns, values.size()))});
      said = text.text().size();
    }
    if (ends) break;
  }
  text.finish();
  report.text = text.text();
  for (std::size_t t = 0; t < report.tokens.size(); ++t) {
    std::tie(report.tokens[t].begin, report.tokens[t].end) = text.range(t);
  }

  const std::size_t columns = options.settings.words ? word_groups(report.prompt_tokens).size() : m;
  Values values(options, sink, columns, report);
  if (options.settings.wants(Method::kRaw)) values.add(Method::kRaw, report.raw);
  if (keep.rollout) values.add(Method::kRollout, report.rollout);
  if (keep.graph_tokens > 0) {
    try {
      values.add_flow();
    } catch (const Cancelled&) {  // flow takes longest; what is cheap is kept
      report.flow = {};
      report.flow_gap = {};
      report.flow_degenerate = {};
      report.flow_tokens.clear();
      report.flow_layers.clear();
      report.notes.emplace_back("Interrupted: flow was not computed.");
    }
  }
  values.add_sink_share();
  note_generation_sink(report);
  note_next_generation_sink(report);
  if (values.flagged() > 0) report.notes.push_back(flagged_note(values.flagged()));
  for (std::string& note : info.notes_for(m + report.tokens.size())) report.notes.push_back(std::move(note));
  if (report.stopped == "interrupted") {
    report.notes.push_back(fmt::format("Interrupted after {} tokens.", report.tokens.size()));
  }
  if (options.settings.words) merge_prompt_words(report);
  return report;
}

}  // namespace attnflow
