#include "attnflow/analysis/evaluate/evaluate_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "attnflow/analysis/check/replacement_check.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/evidence_question.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/random.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/graph/layers.h"
#include "attnflow/metrics/evidence_rank.h"
#include "attnflow/metrics/importance.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/prediction.h"
#include "attnflow/model/sampling.h"

namespace attnflow {
namespace {

constexpr std::array kVariants = {EvidenceVariant::kPlain, EvidenceVariant::kReceptiveField,
                                  EvidenceVariant::kMaskFirst, EvidenceVariant::kReceptiveFieldMaskFirst};

// Scores outside the graph that are ranked with their sign.
constexpr std::array<std::string_view, 4> kSigned = {"attnlrp", "logit", "alti-logit", "integrated-gradients"};
constexpr std::string_view kCheck = "check";
constexpr std::array<std::string_view, 3> kUnsigned = {"blank-out", "gradient", "gradient-x-input"};

struct WordValues {
  std::vector<double> values;
  std::vector<double> gaps;  // of flow
};

bool has_variants(Mixing mixing, bool causal) { return causal && mixing == Mixing::kAttention; }

std::span<const EvidenceVariant> variants_of(Mixing mixing, bool causal) {
  return {kVariants.data(), has_variants(mixing, causal) ? kVariants.size() : 1};
}

// One graph for each mixing, and for one with variants a second, in which the first token is masked.
std::vector<Settings> graph_choices(const EvidenceOptions& options, std::span<const Mixing> mixings, bool causal) {
  std::vector<Settings> choices;
  for (const Settings& choice : settings_of_mixings(options.settings, mixings)) {
    choices.push_back(choice);
    if (!has_variants(choice.mixing, causal)) continue;
    choices.push_back(choice);
    choices.back().column_mask.kind = ColumnMask::Kind::kFirst;
  }
  return choices;
}

// The logit, or difference of logits, in question. Runs the model if the tokens depend on what it predicts.
ScoreTarget evidence_target(TextModel& model, const TextCodec& codec, const EvidenceQuestion& question,
                            const std::stop_token& stop_token) {
  const AskedTarget& asked = question.asked;
  const bool of_mask = model.info().head == ModelHead::kMaskedLm;
  const auto position = of_mask ? std::optional(question.position) : std::nullopt;
  if (asked.label && asked.against == AskedTarget::Against::kLabels) {
    return {.kind = ScoreTarget::Kind::kLogitDifference,
            .label = *asked.label,
            .others = asked.others,
            .position = position};
  }
  const Tensor<float> logits = token_logits(model, question.input, question.position, stop_token);
  return score_target(chosen_target(asked, model.info(), &codec, logits.span(), position));
}

// The same of probabilities.
ScoreTarget with_probabilities(ScoreTarget target) {
  target.kind = target.has_others() ? ScoreTarget::Kind::kProbabilityDifference : ScoreTarget::Kind::kProbability;
  return target;
}

bool is_right(const EvidenceQuestion& question, const ScoreTarget& target, std::span<const float> logits) {
  if (question.bad) return logits[target.label] > logits[*question.bad];
  return logits[target.label] >= *std::max_element(logits.begin(), logits.end());
}

MixedGraphsQuestion graphs_question(const EvidenceQuestion& question, const ScoreTarget& target,
                                    const EvidenceOptions& options) {
  MixedGraphsQuestion asked{.input = question.input, .tokens = question.tokens, .position = question.position};
  asked.target = target;
  asked.threads = options.threads;
  asked.stop_token = options.stop_token;
  return asked;
}

// Whether the right word is the more probable one with the evidence, and the wrong one with the swapped word.
bool follows_evidence(TextModel& model, const EvidenceQuestion& question, const std::stop_token& stop_token) {
  const auto says_good = [&](const TextInput& input, std::size_t position) {
    const Tensor<float> logits = token_logits(model, input, position, stop_token);
    return logits.span()[*question.asked.label] > logits.span()[*question.bad];
  };
  return says_good(question.input, question.position) && !says_good(question.swapped, question.swapped_position);
}

class Measurement {
 public:
  Measurement(TextModel& model, const TextCodec& codec, const EvidenceOptions& options,
              const std::vector<Mixing>& mixings, const std::vector<std::size_t>& layers,
              const std::vector<std::size_t>& flow_layers)
      : model_(model),
        codec_(codec),
        options_(options),
        mixings_(mixings),
        choices_(graph_choices(options, mixings, model.info().causal)),
        layers_(layers),
        flow_layers_(flow_layers) {
    if (options.wants_score("blank-out") || options.wants_score("integrated-gradients"))
      blank_ = find_blank_token(codec, model.info());
  }

  // Values of the ranked words of one sample, and any gaps, in a fixed order of cells.
  std::vector<WordValues> values(const EvidenceQuestion& question, bool& right) {
    question_ = &question;
    const bool causal = model_.info().causal;
    target_ = evidence_target(model_, codec_, question, options_.stop_token);
    MixedGraphs mixed = mixed_graphs(model_, choices_, graphs_question(question, target_, options_));
    value_ = target_value(with_probabilities(target_), mixed.logits.span());
    right = is_right(question, target_, mixed.logits.span());

    std::vector<WordValues> cells;
    auto graph = mixed.graphs.begin();
    for (const Mixing mixing : mixings_) {
      GraphSource source(std::move(*graph++), causal);
      std::optional<GraphSource> masked;
      std::unique_ptr<AttentionSource> uniform;
      if (has_variants(mixing, causal)) {
        masked.emplace(std::move(*graph++), causal);
        uniform = source.uniform();
      }
      for (const Method method : options_.settings.methods) {
        const Query query = query_of(method);
        const Attribution plain = attribute(source, query, attribute_options());
        Attribution without_first;
        Tensor<double> baseline;
        if (masked) {
          without_first = attribute(*masked, query, attribute_options());
          baseline = attribute(*uniform, query, attribute_options()).values;
        }
        for (const EvidenceVariant variant : variants_of(mixing, causal)) {
          const bool is_masked =
              variant == EvidenceVariant::kMaskFirst || variant == EvidenceVariant::kReceptiveFieldMaskFirst;
          Attribution values = is_masked ? without_first : plain;
          if (variant == EvidenceVariant::kReceptiveField || variant == EvidenceVariant::kReceptiveFieldMaskFirst) {
            values.baseline = baseline;
            normalize(values, Normalization::kReceptiveField);
          }
          add_cells(values, cells);
        }
      }
    }
    for (const std::string& score : options_.scores) {
      const std::vector<double> words = score_of(score);
      std::vector<double>& values = cells.emplace_back().values;
      for (const std::size_t w : question.ranked) values.push_back(words[w]);
    }
    return cells;
  }

 private:
  Query query_of(Method method) const {
    Query query{.method = method, .outputs = {{question_->position}}};
    query.layers = query.method == Method::kFlow ? flow_layers_ : layers_;
    query.start_layer = options_.settings.start_layer;
    query.inputs = question_->words;
    query.flow_tolerance = options_.settings.flow_tolerance;
    return query;
  }

  AttributeOptions attribute_options() const {
    return {.threads = options_.threads, .stop_token = options_.stop_token};
  }

  // The mean over layers first, then each layer.
  void add_cells(const Attribution& found, std::vector<WordValues>& cells) const {
    const std::vector<std::size_t>& ranked = question_->ranked;
    const std::size_t layers = found.values.extent(0);
    std::vector<WordValues> all(layers + 1);
    const auto fill = [&](const Tensor<double>& values, std::vector<double> WordValues::*part) {
      if (values.empty()) return;
      (all[0].*part).resize(ranked.size());
      for (std::size_t l = 0; l < layers; ++l) {
        for (std::size_t r = 0; r < ranked.size(); ++r) {
          (all[l + 1].*part).push_back(values(l, 0, ranked[r]));
          (all[0].*part)[r] += values(l, 0, ranked[r]) / static_cast<double>(layers);
        }
      }
    };
    fill(found.values, &WordValues::values);
    fill(found.gap, &WordValues::gaps);
    cells.insert(cells.end(), all.begin(), all.end());
  }

  std::vector<double> score_of(const std::string& score) {
    const std::size_t words = question_->words.size();
    std::vector<double> values(words, 0.0);
    if (score == "blank-out") {
      for (const std::size_t w : question_->ranked) {
        const TextInput input = blank_tokens(question_->input, question_->words[w], blank_->id);
        const Tensor<float> logits = token_logits(model_, input, question_->position, options_.stop_token);
        values[w] = std::fabs(value_ - target_value(with_probabilities(target_), logits.span()));
      }
      return values;
    }
    if (score == kCheck) return drops();
    if (std::find(kSigned.begin(), kSigned.end(), score) != kSigned.end()) return signed_scores(parse_method(score));
    if (gradient_of_ != question_) {
      const ScoreTarget target = with_probabilities(target_);
      gradient_ = std::move(gradients_of(model_).input_gradients({&question_->input, 1}, {&target, 1}).front());
      gradient_of_ = question_;
    }
    const std::vector<double> pieces =
        score == "gradient"
            ? gradient_norm(gradient_.gradient.view())
            : gradient_times_input(gradient_.gradient.view(), gradient_.embedding.view(), Sign::kAbsolute);
    for (std::size_t w = 0; w < words; ++w) {
      for (const std::size_t piece : question_->words[w]) values[w] += pieces[piece];
    }
    return values;
  }

  // Returns the drops of the check: the prediction survives the replacement of the largest least.
  std::vector<double> drops() {
    std::vector<bool> wanted(question_->words.size(), false);
    for (const std::size_t w : question_->ranked) wanted[w] = true;
    const ReplacementCheck found = check_by_replacement({model_, codec_, question_->input, target_, question_->words},
                                                        wanted, {.stop_token = options_.stop_token});
    std::vector<double> values;
    for (const PlaceDrop& place : found.places) values.push_back(place.drop);
    return values;
  }

  std::vector<double> signed_scores(Method method) {
    const EvidenceQuestion& asked = *question_;
    TextQuestion question = text_question(model_, asked.input, target_, asked.words, blank_);
    question.stop_token = options_.stop_token;
    for (const std::size_t w : asked.ranked) {
      question.content.insert(question.content.end(), asked.words[w].begin(), asked.words[w].end());
    }
    const MethodScores found = method_scores(method, question);
    return {found.values.span().begin(), found.values.span().end()};
  }

  TextModel& model_;
  const TextCodec& codec_;
  const EvidenceOptions& options_;
  const std::vector<Mixing>& mixings_;
  std::vector<Settings> choices_;
  const std::vector<std::size_t>& layers_;
  const std::vector<std::size_t>& flow_layers_;
  const EvidenceQuestion* question_ = nullptr;
  const EvidenceQuestion* gradient_of_ = nullptr;
  InputGradient gradient_;
  ScoreTarget target_;
  double value_ = 0.0;               // of its probabilities
  std::optional<BlankToken> blank_;  // where a score needs it
};

// Otherwise those that the model supports are tried.
bool names_mixings(const EvidenceOptions& options) {
  return !options.mixings.empty() && options.mixings != std::vector<Mixing>{Mixing::kAuto};
}

void check_evidence_options(const EvidenceOptions& options) {
  if (names_mixings(options)) check_mixings(options.mixings);
  // --against matters even if only attention is evaluated, since blank-out follows it.
  Settings shared = options.settings;
  shared.against = "auto";
  for (const Settings& settings : settings_of_mixings(shared, options.mixings)) validate(settings);
  validate(shared);
  require_aggregations(options.settings.methods, "this evaluation");
  const Settings usual;
  if (options.settings.column_mask != usual.column_mask || options.settings.normalization != usual.normalization ||
      options.settings.discard != usual.discard) {
    throw internal::usage_error(
        "evidence: expected no mask_columns, normalize or discard, since every method is scored with and without the "
        "first token and receptive-field normalization, found one of them");
  }
  std::vector<std::string> names(kUnsigned.begin(), kUnsigned.end());
  names.insert(names.end(), kSigned.begin(), kSigned.end());
  names.emplace_back(kCheck);
  for (const std::string& score : options.scores) {
    if (std::find(names.begin(), names.end(), score) != names.end()) continue;
    throw Error(ErrorKind::kUsage, internal::not_among("--scores", names, score));
  }
}

// The graphs of the longest sample, and of uniform attention if it is compared with; a single head's layers below the
// top one are those of all heads. One layer of a product is added. Flow checks its own memory.
void check_evidence_memory(std::span<const EvidenceQuestion> questions, const EvidenceOptions& options,
                           std::span<const Mixing> mixings, const ModelInfo& info) {
  std::size_t longest = 0;
  for (const EvidenceQuestion& question : questions) longest = std::max(longest, question.input.ids.size());
  std::size_t graphs = 0;
  for (const Settings& choice : graph_choices(options, mixings, info.causal)) {
    const bool attention = choice.mixing == Mixing::kAttention;
    const bool one_head =
        attention && mixing_options(choice, questions.front().tokens, info.heads).heads == HeadFusion::kSingle;
    graphs += one_head ? 2 : 1;
  }
  for (const Mixing mixing : mixings) graphs += has_variants(mixing, info.causal) ? 1 : 0;
  const std::array<std::size_t, 4> extents = {graphs * info.layers + 1, longest, longest, sizeof(double)};
  require_memory(
      checked_product(extents).value_or(std::numeric_limits<std::size_t>::max()),
      fmt::format("the matrices of {} layers between the {} tokens of the longest prefix", info.layers, longest),
      "Remove the longest prefixes from the file");
}

// `ranks`: [cell, sample], chance last.
void add_statistics(EvidenceReport& report, const Tensor<double>& ranks,
                    const std::vector<std::vector<RankedWords>>& words, const ResamplingOptions& resampling) {
  const std::size_t cells = words.size();
  const std::size_t samples = ranks.extent(1);
  const std::vector<Summary> summaries = summarize(ranks.view(), resampling);
  for (std::size_t c = 0; c < report.cells.size(); ++c) report.cells[c].reciprocal_rank = summaries[c];
  Tensor<double> above_position({cells, samples});
  Tensor<double> above_chance({cells, samples});
  for (std::size_t c = 0; c < cells; ++c) {
    EvidenceCell& cell = report.cells[c];
    std::vector<double> best;
    for (const PlaceFrom from : {PlaceFrom::kStart, PlaceFrom::kEnd}) {
      std::vector<double> found = positional_reciprocal_ranks(words[c], from);
      const double reached = mean(found);
      if (!best.empty() && !(reached > cell.positional_rank)) continue;
      cell.positional_rank = reached;
      cell.place_from = from;
      best = std::move(found);
    }
    for (std::size_t s = 0; s < samples; ++s) {
      above_position(c, s) = ranks(c, s) - best[s];
      above_chance(c, s) = ranks(c, s) - ranks(cells, s);
    }
  }
  const std::vector<Summary> position = summarize(std::as_const(above_position).view(), resampling);
  const std::vector<Summary> chance = summarize(std::as_const(above_chance).view(), resampling);
  for (std::size_t c = 0; c < cells; ++c) {
    report.cells[c].above_position = position[c];
    report.cells[c].above_chance = chance[c];
  }
  std::vector<Summary*> all;
  for (EvidenceCell& cell : report.cells) {
    all.insert(all.end(), {&cell.reciprocal_rank, &cell.above_position, &cell.above_chance});
  }
  drop_intervals(all, report.notes);
}

std::vector<std::size_t> quarters(std::size_t start_layer, std::size_t layers) {
  std::set<std::size_t> chosen;
  const std::size_t span = layers - start_layer;
  for (std::size_t quarter = 1; quarter <= 4; ++quarter) {
    chosen.insert(start_layer + std::max<std::size_t>(1, quarter * span / 4));
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace

std::string_view variant_name(EvidenceVariant variant) {
  constexpr std::array<std::string_view, 4> kNames = {"as it is", "receptive field", "first token masked", "both"};
  return kNames[static_cast<std::size_t>(variant)];
}

bool EvidenceOptions::wants_score(std::string_view name) const {
  return std::find(scores.begin(), scores.end(), name) != scores.end();
}

EvidenceReport evaluate_evidence(TextModel& model, const TextCodec& codec, const std::vector<EvidenceSample>& samples,
                                 const EvidenceOptions& options) {
  check_evidence_options(options);
  const ModelInfo& info = model.info();
  check_one_text(info);
  if (info.head != ModelHead::kCausalLm && info.head != ModelHead::kMaskedLm &&
      info.head != ModelHead::kClassification) {
    throw internal::model_error(
        "evidence: expected a model that predicts a word or the class of a text (a decoder, a masked language model, a "
        "classifier), found {}, which does not",
        info.name);
  }
  EvidenceReport report;
  report.settings = options.settings;
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
  report.notes = info.notes_for(1);
  report.begin = options.begin;
  report.seed = options.seed;
  report.available = samples.size();
  const std::vector<std::size_t> layers =
      resolve_layers(options.settings.layers, options.settings.start_layer, info.layers);
  const std::vector<std::size_t> flow_layers =
      options.flow_layers.empty() ? quarters(options.settings.start_layer, info.layers)
                                  : resolve_layers(options.flow_layers, options.settings.start_layer, info.layers);
  report.settings.layers = layers;

  const AskedTarget asked = asked_target(options.settings, info, &codec, report.notes);
  const bool before_wrong = options.settings.against != "auto";
  // Attention's memory is known before the model runs for the first time.
  constexpr std::array kAttention = {Mixing::kAttention};
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(stream_seed(options.seed, "evidence samples")).shuffle(order);
  const std::size_t wanted = options.samples == 0 ? samples.size() : options.samples;
  std::vector<EvidenceQuestion> questions;
  for (const std::size_t i : order) {
    if (questions.size() == wanted) break;
    std::string reason;
    auto question = make_question(samples[i], codec, info, options.begin, asked, before_wrong, reason);
    if (question && !question->swapped.ids.empty()) {
      check_evidence_memory({&*question, 1}, options, kAttention, info);
      if (!follows_evidence(model, *question, options.stop_token))
        reason = "the answer does not follow the swapped word";
    }
    if (reason.empty()) {
      questions.push_back(std::move(*question));
    } else {
      ++report.left_out[reason];
    }
  }
  if (questions.empty()) {
    std::string reasons;
    for (const auto& [reason, count] : report.left_out) reasons += fmt::format("; {}: {}", reason, count);
    throw internal::file_error("expected samples whose evidence can be ranked, found none{}", reasons);
  }
  report.scored = questions.size();
  report.has_right = samples.front().good.has_value();
  report.has_wrong = samples.front().bad.has_value();
  check_evidence_memory(questions, options, kAttention, info);
  report.mixings = options.mixings;
  if (!names_mixings(options)) {
    const ScoreTarget first = evidence_target(model, codec, questions.front(), options.stop_token);
    const auto attempt = [&](Mixing mixing) {
      mixed_graphs(model, settings_of_mixings(options.settings, std::span(&mixing, 1)),
                   graphs_question(questions.front(), first, options));
    };
    constexpr std::array kUsual = {Mixing::kAttention, Mixing::kRelevance};
    std::tie(report.mixings, report.impossible) =
        options.mixings.empty() ? possible_mixings(attempt) : possible_mixings(attempt, kUsual);
  }
  check_evidence_memory(questions, options, report.mixings, info);

  Measurement measurement(model, codec, options, report.mixings, layers, flow_layers);
  for (const Mixing mixing : report.mixings) {
    for (const Method method : options.settings.methods) {
      for (const EvidenceVariant variant : variants_of(mixing, info.causal)) {
        report.cells.push_back({to_text(method), mixing, variant, 0, {}});
        for (const std::size_t l : method == Method::kFlow ? flow_layers : layers)
          report.cells.push_back({to_text(method), mixing, variant, l, {}});
      }
    }
  }
  for (const std::string& score : options.scores) report.cells.push_back({score, {}, EvidenceVariant::kPlain, 0, {}});
  report.cells.push_back({kChance, {}, EvidenceVariant::kPlain, 0, {}});

  std::vector<std::vector<RankedWords>> words(report.cells.size() - 1);
  Tensor<double> ranks({report.cells.size(), questions.size()});
  for (std::size_t s = 0; s < questions.size(); ++s) {
    bool right = false;
    const std::size_t word = questions[s].evidence;
    std::vector<WordValues> found = measurement.values(questions[s], right);
    for (std::size_t c = 0; c < found.size(); ++c) {
      ranks(c, s) = expected_reciprocal_rank(found[c].values, word, found[c].gaps);
      words[c].push_back({std::move(found[c].values), word});
    }
    ranks(found.size(), s) = random_reciprocal_rank(questions[s].ranked.size());
    report.right += right ? 1 : 0;
    report.words += static_cast<double>(questions[s].ranked.size()) / static_cast<double>(questions.size());
    if (questions[s].evidence_tokens().front() == 0)
      report.evidence_is_first += 1.0 / static_cast<double>(questions.size());
    if (options.progress) options.progress(s + 1, questions.size());
    if (options.stop_token.stop_requested()) throw Cancelled();
  }
  add_statistics(report, ranks, words, options.resampling);
  if (report.evidence_is_first > 0.0) {
    report.notes.push_back({NoteCode::kEvidenceFirst, {{"share", report.evidence_is_first}}});
  }
  return report;
}

}  // namespace attnflow
