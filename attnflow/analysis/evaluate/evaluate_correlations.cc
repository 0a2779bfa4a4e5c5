#include "attnflow/analysis/evaluate/evaluate_correlations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/evaluate/sample_relevance.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/base/random.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/explain/degeneracy_note.h"
#include "attnflow/graph/layers.h"
#include "attnflow/metrics/rank_correlation.h"

namespace attnflow {
namespace {

constexpr std::array<const char*, 2> kTokenSets = {"all", "without-special"};
constexpr std::array<std::pair<const char*, SpearmanFormula>, 2> kFormulas = {
    {{"spearman", SpearmanFormula::kStandard}, {"dense-ranks", SpearmanFormula::kDenseRanks}}};

void expect_once(const std::vector<std::string>& names, const char* option) {
  if (names.empty()) throw internal::usage_error("{}: expected at least one, found none", option);
  for (const std::string& name : names) {
    if (std::count(names.begin(), names.end(), name) == 1) continue;
    throw internal::usage_error("{}: expected each once, found '{}' twice", option, name);
  }
}

std::vector<ScoreQuestion> score_questions(const CorrelationOptions& options, const ModelInfo& info) {
  std::vector<ScoreQuestion> questions;
  for (const std::string& score : options.scores) {
    const ImportanceMethod method = parse_importance_method(score);
    std::vector<std::string> targets = options.targets;
    if (targets.empty()) targets = {method == ImportanceMethod::kBlankOut ? "probability" : "difference"};
    for (const std::string& target : targets) {
      questions.push_back({method, parse_target(target, info), score, full_target_name(target)});
    }
  }
  return questions;
}

std::vector<EncodedSample> encode_samples(const Tokenizer& tokenizer, const ModelInfo& info,
                                          const std::vector<EvaluationSample>& samples,
                                          const CorrelationOptions& options, SampleCounts& data) {
  std::vector<EncodedSample> encoded(samples.size());
  std::vector<char> cut(samples.size(), 0);
  const ParallelOptions parallel{.threads = options.threads, .stop_token = options.stop_token};
  parallel_for(samples.size(), parallel, [&](std::size_t s, std::size_t) {
    const Encoding encoding = encode_text(tokenizer, info, samples[s].text, samples[s].pair, options.truncate);
    cut[s] = encoding.truncated ? 1 : 0;
    EncodedSample& one = encoded[s];
    one.number = s;
    one.label = samples[s].label;
    one.input = text_input(encoding);
    one.tokens = report_tokens(encoding);
  });
  data.found = samples.size();
  data.truncated = static_cast<std::size_t>(std::count(cut.begin(), cut.end(), 1));
  const auto is_too_long = [&](const EncodedSample& one) { return one.input.ids.size() > info.max_tokens; };
  const auto longest = std::max_element(encoded.begin(), encoded.end(), [](const auto& a, const auto& b) {
    return a.input.ids.size() < b.input.ids.size();
  });
  const std::size_t most = longest->input.ids.size();
  const auto kept = std::remove_if(encoded.begin(), encoded.end(), is_too_long);
  data.too_long = static_cast<std::size_t>(encoded.end() - kept);
  if (data.too_long == encoded.size()) {
    throw Error(ErrorKind::kInputTooLong,
                fmt::format("expected samples of at most {} tokens (the positions of {}), found only longer ones, of "
                            "up to {}; pass --truncate to truncate them",
                            info.max_tokens, info.name, most));
  }
  encoded.erase(kept, encoded.end());
  return encoded;
}

// Draws at most options.samples of them, each equally likely, and keeps their order.
void draw_samples(std::vector<EncodedSample>& samples, const CorrelationOptions& options) {
  if (options.samples == 0 || options.samples >= samples.size()) return;
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(options.seed).shuffle(order);
  order.resize(options.samples);
  std::sort(order.begin(), order.end());
  std::vector<EncodedSample> drawn;
  drawn.reserve(order.size());
  for (const std::size_t s : order) drawn.push_back(std::move(samples[s]));
  samples = std::move(drawn);
}

std::vector<Accuracy> accuracies(const std::vector<EncodedSample>& encoded,
                                 const std::vector<EvaluationSample>& samples, double confidence) {
  std::map<std::string, Accuracy> groups;  // "" sorts first
  for (const EncodedSample& one : encoded) {
    const auto add = [&](const std::string& group) {
      Accuracy& accuracy = groups[group];
      accuracy.group = group;
      ++accuracy.count;
      if (one.predicted == *one.label) ++accuracy.correct;
    };
    add("");
    if (!samples[one.number].group.empty()) add(samples[one.number].group);
  }
  std::vector<Accuracy> result;
  for (auto& [name, accuracy] : groups) {
    accuracy.interval = wilson_interval(accuracy.correct, accuracy.count, confidence);
    result.push_back(accuracy);
  }
  return result;
}

std::vector<CorrelationCell> make_cells(const CorrelationReport& report) {
  std::vector<CorrelationCell> cells;
  for (const std::string& relevance : report.options.relevance) {
    for (const ScoreName& score : report.scores) {
      for (const char* const tokens : kTokenSets) {
        for (const auto& formula : kFormulas) {
          for (const CorrelationSeries& series : report.series) {
            for (const std::size_t layer : series.layers) {
              cells.push_back({relevance, score.score, score.target, tokens, formula.first, series.method, layer,
                               Summary{}, series.mixing});
            }
          }
        }
      }
    }
  }
  return cells;
}

// One sample's correlation in every cell, NaN where it has none. `scores` is [score][token].
std::vector<double> correlate(const SampleRelevance& methods, const std::vector<const std::vector<double>*>& scores,
                              const std::vector<bool>& keep, std::size_t relevances) {
  const std::size_t per_relevance = methods.relevance.size() / relevances;  // series times layers
  std::vector<double> result;
  for (std::size_t r = 0; r < relevances; ++r) {
    for (const std::vector<double>* const score : scores) {
      for (std::size_t t = 0; t < kTokenSets.size(); ++t) {
        const std::vector<double> importance = t == 0 ? *score : select(*score, keep);
        for (const auto& formula : kFormulas) {
          for (std::size_t k = 0; k < per_relevance; ++k) {
            const Relevance& whole = methods.relevance[r * per_relevance + k];
            const Relevance some = t == 0 ? Relevance{} : select(whole, keep);
            const Relevance& one = t == 0 ? whole : some;
            const SpearmanOptions options{.formula = formula.second, .first_gaps = one.gaps};
            result.push_back(spearman(one.values, importance, options).value_or(kMissing));
          }
        }
      }
    }
  }
  return result;
}

// The pairs of cells to compare, as indices: at every layer, every two methods over one mixing (the later minus the
// earlier), and each method over every other mixing minus the same over the first.
std::vector<std::pair<std::size_t, std::size_t>> compared_cells(const std::vector<CorrelationSeries>& series) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::size_t begin_b = 0;
  for (const CorrelationSeries& b : series) {
    std::size_t begin_a = 0;
    for (const CorrelationSeries& a : series) {
      if (begin_a == begin_b || !b.mixing || !a.mixing) break;
      const bool first_mixing = a.mixing == series.front().mixing;
      if (a.mixing == b.mixing || (first_mixing && a.method == b.method)) {
        for (std::size_t l = 0; l < b.layers.size(); ++l) pairs.emplace_back(begin_b + l, begin_a + l);
      }
      begin_a += a.layers.size();
    }
    begin_b += b.layers.size();
  }
  return pairs;
}

void compare_methods(CorrelationReport& report, const Tensor<double>& values, const ResamplingOptions& resampling) {
  std::size_t block = 0;
  for (const CorrelationSeries& series : report.series) block += series.layers.size();
  const std::vector<std::pair<std::size_t, std::size_t>> compared = compared_cells(report.series);
  std::vector<std::pair<std::size_t, std::size_t>> cells;
  for (std::size_t begin = 0; begin < report.cells.size(); begin += block) {
    if (report.cells[begin].formula != kFormulas[0].first) continue;
    for (const auto& [first, second] : compared) cells.emplace_back(begin + first, begin + second);
  }
  if (cells.empty()) return;
  const std::size_t samples = values.extent(1);
  Tensor<double> first({cells.size(), samples});
  Tensor<double> second({cells.size(), samples});
  for (std::size_t c = 0; c < cells.size(); ++c) {
    std::copy_n(values.data() + cells[c].first * samples, samples, first.data() + c * samples);
    std::copy_n(values.data() + cells[c].second * samples, samples, second.data() + c * samples);
  }
  const std::vector<PairedComparison> found = compare_paired(first.view(), second.view(), resampling);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const CorrelationCell& one = report.cells[cells[c].first];
    const CorrelationCell& other = report.cells[cells[c].second];
    report.comparisons.push_back({one.relevance, one.score, one.target, one.tokens, one.method, other.method, one.layer,
                                  found[c], *one.mixing, *other.mixing});
  }
}

std::vector<Summary*> summaries_of(CorrelationReport& report) {
  std::vector<Summary*> summaries;
  for (CorrelationCell& cell : report.cells) summaries.push_back(&cell.summary);
  for (MethodComparison& one : report.comparisons) summaries.push_back(&one.comparison.difference);
  return summaries;
}

// For several mixings the tables say it: a note for each would bury everything else.
void note_degenerate_share(CorrelationReport& report) {
  if (report.options.mixings.size() != 1) return;
  DegeneracyQuestion question;
  question.start_layer = report.options.settings.start_layer;
  question.mixing = report.options.mixings.front();
  question.layers.assign(report.degeneracy.begin(), report.degeneracy.end());
  if (auto note = degeneracy_note(question)) report.notes.push_back(*std::move(note));
}

void add_up(CorrelationReport& report, const std::vector<SampleRelevance>& found) {
  std::size_t at = 0;
  for (const CorrelationSeries& series : report.series) {
    if (!series.mixing) continue;
    for (const std::size_t layer : series.layers) {
      double sum = 0.0;
      for (const SampleRelevance& one : found) sum += one.own[at];
      report.own_share.push_back({series.method, layer, sum / static_cast<double>(found.size()), *series.mixing});
      ++at;
    }
  }
  for (std::size_t i = 0; i < found.front().degeneracy.size(); ++i) {
    MixingDegeneracy sum = found.front().degeneracy[i];
    for (std::size_t s = 1; s < found.size(); ++s) {
      const MixingDegeneracy& one = found[s].degeneracy[i];
      sum.values += one.values;
      sum.first_layer_column += one.first_layer_column;
      sum.top_row += one.top_row;
    }
    report.degeneracy.push_back(sum);
  }
}

void add_notes(CorrelationReport& report, const ScoreResult& scores, bool guessed_output_token) {
  const SampleCounts& data = report.data;
  std::vector<Note>& notes = report.notes;
  if (data.empty_lines > 0) notes.push_back({NoteCode::kEmptyLines, {{"lines", data.empty_lines}}});
  if (data.too_long > 0) {
    notes.push_back({NoteCode::kSamplesTooLong, {{"samples", data.too_long}, {"of", data.found}}});
  }
  if (data.truncated > 0) {
    notes.push_back({NoteCode::kSamplesCut, {{"samples", data.truncated}, {"of", data.found}}});
  }
  if (!data.labelled) notes.emplace_back(NoteCode::kNoLabels);
  if (report.already_blank > 0) {
    notes.push_back({NoteCode::kTokensAlreadyBlank,
                     {{"count", report.already_blank}, {"of", data.tokens}, {"blank", report.blank}}});
  }
  for (std::size_t q = 0; q < report.scores.size(); ++q) {
    const std::size_t noise = scores.scores[q].noise;
    if (noise == 0) continue;
    notes.push_back({NoteCode::kScoresAreNoise,
                     {{"score", report.scores[q].score},
                      {"target", report.scores[q].target},
                      {"samples", noise},
                      {"of", data.used}}});
  }
  if (guessed_output_token) notes.emplace_back(NoteCode::kOutputTokensGuessed);
  if (leaves_heads_or_residual(report.options.settings, report.options.mixings)) {
    notes.emplace_back(NoteCode::kHeadsUnused);
  }
}

void check_ranking_methods(const std::vector<Method>& methods) {
  for (const Method method : methods) {
    if (method_info(method).aggregates() || method_info(method).needs == MethodNeeds::kGradients) continue;
    throw internal::usage_error(
        "--method: expected raw, rollout, flow, attnlrp, gradient-x-input or integrated-gradients, found {}{}",
        to_text(method), method == Method::kBlankOut ? ", which is one of --scores" : "");
  }
}

}  // namespace

void validate_options(const CorrelationOptions& options) {
  validate(options.settings);
  check_ranking_methods(options.settings.methods);
  check_mixings(options.mixings);
  if (options.settings.output_token.kind == OutputToken::Kind::kAll) {
    throw internal::usage_error("--output-token: expected a single token, found all; see --relevance column-max");
  }
  if (options.settings.output_token.kind == OutputToken::Kind::kText) {
    throw internal::usage_error(
        "--output-token: expected auto, cls, mask, last or a position, found '{}'; samples have different texts",
        options.settings.output_token.text);
  }
  expect_once(options.scores, "--scores");
  for (const std::string& score : options.scores) parse_importance_method(score);
  if (!options.targets.empty()) expect_once(options.targets, "--targets");
  expect_once(options.relevance, "--relevance");
  for (const std::string& name : options.relevance) {
    if (find_relevance(name)) continue;
    const std::vector<std::string> names = {"row", "column-max", "column-sum"};
    throw internal::usage_error("--relevance: expected a comma-separated list of {}, found '{}'{}",
                                fmt::join(names, ", "), name, internal::did_you_mean(name, names));
  }
  const std::vector<std::string> blanks = {"auto", "unk", "mask", "pad"};
  if (std::find(blanks.begin(), blanks.end(), options.blank) == blanks.end()) {
    throw Error(ErrorKind::kUsage, internal::not_among("--blank", blanks, options.blank));
  }
  if (options.resamples == 0) throw internal::usage_error("--resamples: expected at least 1, found 0");
}

void check_classifier(const ModelInfo& info) {
  std::string found;
  if (info.head != ModelHead::kClassification) {
    found = "it has no classification head";
  } else if (info.causal) {
    found = "it is a decoder; use attnflow explain to explain its class for one text";
  } else if (info.multi_label) {
    found = "its classes are not mutually exclusive (problem_type in config.json)";
  } else if (info.labels.size() < 2) {
    found = "it has only one class";
  } else {
    return;
  }
  throw internal::model_error("expected an encoder that classifies texts, with two or more classes, found {}: {}",
                              info.name, found);
}

CorrelationReport evaluate_correlations(Encoder& model, const Tokenizer& tokenizer,
                                        const std::vector<EvaluationSample>& samples, SampleCounts data,
                                        const CorrelationOptions& options) {
  validate_options(options);
  const ModelInfo& info = model.info();
  check_classifier(info);
  check_vocabulary(tokenizer, info);
  if (samples.empty()) throw internal::usage_error("expected at least one sample, found none");

  CorrelationReport report;
  report.options = options;
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.notes = info.notes_for(1);
  report.labels = info.labels;
  report.options.settings.layers = resolve_layers(options.settings.layers, options.settings.start_layer, info.layers);
  const std::vector<ScoreQuestion> questions = score_questions(options, info);
  for (const ScoreQuestion& question : questions) report.scores.push_back({question.method_name, question.target_name});

  report.data = std::move(data);
  std::vector<EncodedSample> encoded = encode_samples(tokenizer, info, samples, options, report.data);
  draw_samples(encoded, options);
  report.data.used = encoded.size();
  report.data.labelled = encoded.front().label.has_value();
  bool guessed_output_token = false;
  for (const EncodedSample& one : encoded) {
    report.data.tokens += one.tokens.size();
    for (const InputToken& token : one.tokens) report.data.special_tokens += token.special ? 1 : 0;
    std::vector<Note> notes;
    resolve_token(options.settings.output_token, "output-token", one.tokens, info.causal, notes);
    guessed_output_token = guessed_output_token || !notes.empty();
    mixing_options(options.settings, one.tokens, info.heads);
  }

  const ScoringOptions scoring{options.blank, options.progress, options.stop_token};
  const SampleReader reader(model, tokenizer, report.options);
  predict(model, encoded, scoring);
  if (options.mixings.empty()) {
    std::tie(report.options.mixings, report.impossible) =
        possible_mixings([&](Mixing mixing) { reader.attempt(encoded.front(), mixing); });
  } else {
    for (const Mixing mixing : options.mixings) {
      if (mixing != Mixing::kAttention) reader.attempt(encoded.front(), mixing);
    }
  }
  report.series = correlation_series(report.options);
  if (report.data.labelled) report.accuracy = accuracies(encoded, samples, options.confidence);
  const ScoreResult scores = importance_scores(model, tokenizer, encoded, questions, scoring);
  report.blank = scores.blank;
  report.already_blank = scores.already_blank;

  report.cells = make_cells(report);
  const std::size_t count = encoded.size();
  Tensor<double> correlations({report.cells.size(), count});
  std::vector<SampleRelevance> found(count);
  if (options.keep_samples) report.samples.resize(count);
  ParallelOptions parallel{.threads = options.threads, .stop_token = options.stop_token};
  if (options.progress) parallel.progress = options.progress("attention");
  parallel_for(count, parallel, [&](std::size_t s, std::size_t) {
    const EncodedSample& one = encoded[s];
    SampleRelevance& methods = found[s];
    methods = reader.read(one);
    std::vector<const std::vector<double>*> of_sample;
    for (const SampleScores& score : scores.scores) of_sample.push_back(&score.values[s]);
    std::vector<bool> special;
    std::vector<bool> keep;
    for (const InputToken& token : one.tokens) {
      special.push_back(token.special);
      keep.push_back(!token.special);
    }
    std::vector<double> values = correlate(methods, of_sample, keep, options.relevance.size());
    for (std::size_t c = 0; c < values.size(); ++c) correlations(c, s) = values[c];
    if (options.keep_samples) {
      const EvaluationSample& sample = samples[one.number];
      SampleRecord& record = report.samples[s];
      record.number = one.number;
      record.text = sample.text;
      record.pair = sample.pair;
      record.group = sample.group;
      record.label = one.label;
      record.predicted = one.predicted;
      record.output_token = methods.output_token;
      for (const InputToken& token : one.tokens) record.tokens.push_back(token.text);
      record.special = std::move(special);
      for (const std::vector<double>* const score : of_sample) record.scores.push_back(*score);
      for (const Relevance& relevance : methods.relevance) {
        record.relevance.push_back(relevance.values);
        record.gaps.push_back(relevance.gaps);
      }
      record.correlations = std::move(values);
    }
    methods.relevance = {};  // what is left of it is a few numbers
  });

  ResamplingOptions resampling{
      .seed = options.seed, .resamples = options.resamples, .confidence = options.confidence, .parallel = parallel};
  if (options.progress) resampling.parallel.progress = options.progress("bootstrap");
  const std::vector<Summary> summaries = summarize(correlations.view(), resampling);
  for (std::size_t c = 0; c < report.cells.size(); ++c) report.cells[c].summary = summaries[c];
  if (options.progress) resampling.parallel.progress = options.progress("comparisons");
  compare_methods(report, correlations, resampling);

  add_up(report, found);
  add_notes(report, scores, guessed_output_token);
  drop_intervals(summaries_of(report), report.notes);
  note_degenerate_share(report);
  return report;
}

}  // namespace attnflow
