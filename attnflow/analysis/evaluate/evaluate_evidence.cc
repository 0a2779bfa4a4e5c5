#include "attnflow/analysis/evaluate/evaluate_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <utility>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/analysis/explain/memory_check.h"
#include "attnflow/analysis/explain/text_input.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/words.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/evaluate/evidence_rank.h"
#include "attnflow/evaluate/importance.h"
#include "attnflow/graph/layers.h"
#include "attnflow/model/sampling.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr std::array kVariants = {EvidenceVariant::kPlain, EvidenceVariant::kReceptiveField,
                                  EvidenceVariant::kMaskFirst, EvidenceVariant::kReceptiveFieldMaskFirst};

// A sample as tokens.
struct EvidenceQuestion {
  std::vector<std::int64_t> ids;
  TokenGroups words;                // all positions, special tokens as words of their own
  std::vector<std::size_t> ranked;  // of words: those that are ranked
  std::size_t evidence = 0;         // of ranked
  std::size_t good = 0;             // token ids
  std::size_t bad = 0;
};

std::size_t column(const std::vector<std::string>& header, std::initializer_list<const char*> names,
                   const std::filesystem::path& path, std::size_t line) {
  for (const char* name : names) {
    const auto found = std::find(header.begin(), header.end(), name);
    if (found != header.end()) return static_cast<std::size_t>(found - header.begin());
  }
  throw Error(ErrorKind::kBadFile, fmt::format("{}, line {}: expected a column named {}, found none", path.string(),
                                               line, fmt::join(names, " or ")));
}

// Byte ranges of `word` in `text` as a word of its own.
std::vector<std::pair<std::size_t, std::size_t>> occurrences(const std::string& text, const std::string& word) {
  const auto is_letter_at = [&](std::size_t at) {
    const CharacterClass kind = character_class(next_or_replacement(text, at));
    return kind == CharacterClass::kLetter || kind == CharacterClass::kMark || kind == CharacterClass::kNumber;
  };
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if (at > 0 && is_letter_at(code_point_begin(text, at - 1))) continue;
    if (end < text.size() && is_letter_at(end)) continue;
    found.emplace_back(at, end);
  }
  return found;
}

// The question of a sample, or why there is none.
std::optional<EvidenceQuestion> make_question(const EvidenceSample& sample, const TextCodec& codec,
                                              const ModelInfo& info, const std::string& begin, std::string& reason) {
  EvidenceQuestion question;
  const std::string text = begin + sample.prefix;
  const auto places = sample.evidence.empty() ? std::vector<std::pair<std::size_t, std::size_t>>{}
                                              : occurrences(sample.prefix, sample.evidence);
  if (places.size() != 1) {
    reason = places.empty() ? "the evidence does not occur in the prefix" : "the evidence occurs more than once";
    return std::nullopt;
  }
  const std::vector<std::int64_t> good = codec.word_to_ids(sample.good);
  const std::vector<std::int64_t> bad = codec.word_to_ids(sample.bad);
  if (good.empty() || bad.empty() || good.front() == bad.front()) {
    reason = "the right and the wrong word begin with the same token";
    return std::nullopt;
  }
  question.good = static_cast<std::size_t>(good.front());
  question.bad = static_cast<std::size_t>(bad.front());
  const Encoding encoding = codec.encode(text);
  if (encoding.tokens.size() > info.max_tokens) {
    reason = "longer than the model's positions";
    return std::nullopt;
  }
  const std::vector<InputToken> tokens = report_tokens(encoding);
  for (const EncodedToken& token : encoding.tokens) question.ids.push_back(token.id);
  question.words = word_groups(tokens);
  const std::size_t from = begin.size() + places.front().first;
  const std::size_t to = begin.size() + places.front().second;
  std::vector<std::size_t> holders;
  for (std::size_t w = 0; w < question.words.size(); ++w) {
    const auto& group = question.words[w];
    if (tokens[group.front()].special) continue;
    const bool holds = std::any_of(group.begin(), group.end(), [&](std::size_t t) {
      return tokens[t].begin && tokens[t].end && *tokens[t].begin<to&& * tokens[t].end> from;
    });
    if (holds) holders.push_back(question.ranked.size());
    question.ranked.push_back(w);
  }
  if (holders.size() != 1) {
    reason = "the evidence is not a separate word to the tokenizer";
    return std::nullopt;
  }
  question.evidence = holders.front();
  return question;
}

// Hands attention to several sinks.
class Tee : public AttentionSink {
 public:
  explicit Tee(std::vector<AttentionSink*> sinks) : sinks_(std::move(sinks)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    for (AttentionSink* sink : sinks_) sink->layer(layer, query_begin, attention);
  }

 private:
  std::vector<AttentionSink*> sinks_;
};

class Measurement {
 public:
  Measurement(Decoder& decoder, const TextCodec& codec, const EvidenceOptions& options,
              const std::vector<std::size_t>& layers, const std::vector<std::size_t>& flow_layers)
      : decoder_(decoder), options_(options), layers_(layers), flow_layers_(flow_layers) {
    for (std::size_t id = 0; id < codec.id_limit() && blank_ < 0; ++id) {
      if (codec.is_end(static_cast<std::int64_t>(id))) blank_ = static_cast<std::int64_t>(id);
    }
  }

  bool has_blank() const { return blank_ >= 0; }

  // Reciprocal ranks of one sample, in a fixed order of cells; NaN where a value is none.
  std::vector<double> ranks(const EvidenceQuestion& question, bool& right) {
    question_ = &question;
    const std::size_t n = question.ids.size();
    MixingOptions mixing = mixing_options(options_.settings, {}, decoder_.info().heads);
    MixingOptions without_first = mixing;
    without_first.mask_columns = {0};
    GraphSink plain(decoder_.info().layers, mixing, n);
    GraphSink masked(decoder_.info().layers, without_first, n);
    Tee tee({&plain, &masked});
    decoder_.clear();
    const Tensor<float> logits = decoder_.append(question.ids, &tee, options_.stop_token);
    target_ = token_probability(logits.span(), question.good) - token_probability(logits.span(), question.bad);
    right = target_ > 0.0;
    GraphSource plain_source(plain.take(), /*causal=*/true);
    GraphSource masked_source(masked.take(), /*causal=*/true);
    const std::unique_ptr<AttentionSource> uniform = plain_source.uniform();

    std::vector<double> ranks;
    for (const Method method : options_.settings.methods) {
      const Query query = query_of(method, n);
      const Tensor<double> baseline = attribute(*uniform, query, attribute_options()).values;
      const Attribution found[2] = {attribute(plain_source, query, attribute_options()),
                                    attribute(masked_source, query, attribute_options())};
      for (const EvidenceVariant variant : kVariants) {
        const bool is_masked =
            variant == EvidenceVariant::kMaskFirst || variant == EvidenceVariant::kReceptiveFieldMaskFirst;
        Attribution values = found[is_masked ? 1 : 0];
        if (variant == EvidenceVariant::kReceptiveField || variant == EvidenceVariant::kReceptiveFieldMaskFirst) {
          values.baseline = baseline;
          normalize(values, Normalization::kReceptiveField);
        }
        add_ranks(values, ranks);
      }
    }
    for (const std::string& score : options_.scores) ranks.push_back(rank(score_of(score)));
    ranks.push_back(random_reciprocal_rank(question.ranked.size()));
    return ranks;
  }

 private:
  // What the last of n positions drew on, word by word.
  Query query_of(Method method, std::size_t n) const {
    Query query{.method = method, .outputs = {{n - 1}}};
    query.layers = query.method == Method::kFlow ? flow_layers_ : layers_;
    query.start_layer = options_.settings.start_layer;
    query.inputs = question_->words;
    query.flow_tolerance = options_.settings.flow_tolerance;
    return query;
  }

  AttributeOptions attribute_options() const {
    return {.threads = options_.threads, .stop_token = options_.stop_token};
  }

  // Of the words that are ranked.
  double rank(const std::vector<double>& words, const std::vector<double>& gaps = {}) const {
    std::vector<double> values;
    std::vector<double> widths;
    for (const std::size_t w : question_->ranked) {
      values.push_back(words[w]);
      if (!gaps.empty()) widths.push_back(gaps[w]);
    }
    return expected_reciprocal_rank(values, question_->evidence, widths);
  }

  // The mean over layers first, then each layer.
  void add_ranks(const Attribution& found, std::vector<double>& ranks) const {
    const std::size_t layers = found.values.extent(0);
    const std::size_t words = found.values.extent(2);
    std::vector<double> mean(words, 0.0);
    std::vector<double> mean_gap(found.gap.empty() ? 0 : words, 0.0);
    const std::size_t at = ranks.size();
    ranks.push_back(0.0);
    for (std::size_t l = 0; l < layers; ++l) {
      std::vector<double> row(words);
      std::vector<double> gap(mean_gap.size());
      for (std::size_t w = 0; w < words; ++w) {
        row[w] = found.values(l, 0, w);
        mean[w] += row[w] / static_cast<double>(layers);
        if (gap.empty()) continue;
        gap[w] = found.gap(l, 0, w);
        mean_gap[w] += gap[w] / static_cast<double>(layers);
      }
      ranks.push_back(rank(row, gap));
    }
    ranks[at] = rank(mean, mean_gap);
  }

  std::vector<double> score_of(const std::string& score) {
    const std::size_t words = question_->words.size();
    std::vector<double> values(words, 0.0);
    if (score == "blank-out") {
      for (const std::size_t w : question_->ranked) {
        std::vector<std::int64_t> ids = question_->ids;
        for (const std::size_t piece : question_->words[w]) ids[piece] = blank_;
        decoder_.clear();
        const Tensor<float> logits = decoder_.append(ids, nullptr, options_.stop_token);
        values[w] = std::fabs(target_ - (token_probability(logits.span(), question_->good) -
                                         token_probability(logits.span(), question_->bad)));
      }
      return values;
    }
    if (gradient_of_ != question_) {
      const TextInput input{question_->ids, {}};
      const ScoreTarget target{ScoreTarget::Kind::kProbabilityDifference, question_->good, question_->bad};
      gradient_ = std::move(gradients_of(decoder_).input_gradients({&input, 1}, {&target, 1}).front());
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

  Decoder& decoder_;
  const EvidenceOptions& options_;
  const std::vector<std::size_t>& layers_;
  const std::vector<std::size_t>& flow_layers_;
  const EvidenceQuestion* question_ = nullptr;
  const EvidenceQuestion* gradient_of_ = nullptr;
  InputGradient gradient_;
  double target_ = 0.0;
  std::int64_t blank_ = -1;
};

void check_evidence_options(const EvidenceOptions& options) {
  validate(options.settings);
  const Settings usual;
  if (options.settings.column_mask != usual.column_mask || options.settings.normalization != usual.normalization ||
      options.settings.discard != usual.discard) {
    throw Error(
        ErrorKind::kUsage,
        "evidence: expected no mask_columns, normalize or discard, since every method is scored with and without "
        "the first token and receptive-field normalization, found one of them");
  }
  for (const std::string& score : options.scores) {
    if (score != "gradient" && score != "gradient-x-input" && score != "blank-out") {
      throw Error(ErrorKind::kUsage,
                  fmt::format("--scores: expected gradient, gradient-x-input or blank-out, found '{}'", score));
    }
  }
}

// The graphs of the longest sample: with the first token and without, and of uniform attention; a single head's layers
// below the top one are those of all heads. One layer of a product beside them. What flow takes, it checks itself.
void check_evidence_memory(const std::vector<EvidenceQuestion>& questions, const Settings& settings,
                           const ModelInfo& info) {
  std::size_t longest = 0;
  for (const EvidenceQuestion& question : questions) longest = std::max(longest, question.ids.size());
  const bool one_head = mixing_options(settings, {}, info.heads).heads == HeadFusion::kSingle;
  const std::size_t graphs = one_head ? 5 : 3;
  const std::array<std::size_t, 4> extents = {graphs * info.layers + 1, longest, longest, sizeof(double)};
  require_memory(
      checked_product(extents).value_or(std::numeric_limits<std::size_t>::max()),
      fmt::format("the matrices of {} layers between the {} tokens of the longest prefix", info.layers, longest),
      "Remove the longest prefixes from the file");
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
  switch (variant) {
    case EvidenceVariant::kPlain:
      return "as it is";
    case EvidenceVariant::kReceptiveField:
      return "receptive field";
    case EvidenceVariant::kMaskFirst:
      return "first token masked";
    case EvidenceVariant::kReceptiveFieldMaskFirst:
      return "both";
  }
  return "";
}

std::vector<EvidenceSample> read_evidence(const std::filesystem::path& path) {
  const std::string content = read_utf8_text(path);
  CsvReader reader(content, path.string());
  std::vector<EvidenceSample> samples;
  std::optional<std::array<std::size_t, 4>> columns;
  std::size_t width = 0;
  while (!reader.done()) {
    CsvRow row = reader.next();
    if (row.cells.size() == 1 && row.cells.front().empty()) continue;
    if (!columns) {
      width = row.cells.size();
      columns = {column(row.cells, {"one_prefix_prefix", "prefix"}, path, row.line),
                 column(row.cells, {"one_prefix_word_good", "good"}, path, row.line),
                 column(row.cells, {"one_prefix_word_bad", "bad"}, path, row.line),
                 column(row.cells, {"target", "evidence"}, path, row.line)};
      continue;
    }
    if (row.cells.size() != width) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}, line {}: expected {} columns, as in the header, found {}",
                                                   path.string(), row.line, width, row.cells.size()));
    }
    const auto cell = [&](std::size_t which) { return row.cells[(*columns)[which]]; };
    samples.push_back({cell(0), cell(1), cell(2), cell(3)});
  }
  if (samples.empty()) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a header and at least one sample, found none", path.string()));
  }
  return samples;
}

EvidenceReport evaluate_evidence(Decoder& decoder, const TextCodec& codec, const std::vector<EvidenceSample>& samples,
                                 const EvidenceOptions& options) {
  check_evidence_options(options);
  const ModelInfo& info = decoder.info();
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

  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(stream_seed(options.seed, "evidence samples")).shuffle(order);
  const std::size_t wanted = options.samples == 0 ? samples.size() : options.samples;
  std::vector<EvidenceQuestion> questions;
  for (const std::size_t i : order) {
    if (questions.size() == wanted) break;
    std::string reason;
    if (auto question = make_question(samples[i], codec, info, options.begin, reason)) {
      questions.push_back(std::move(*question));
    } else {
      ++report.left_out[reason];
    }
  }
  if (questions.empty()) {
    std::string reasons;
    for (const auto& [reason, count] : report.left_out) reasons += fmt::format("; {}: {}", reason, count);
    throw Error(ErrorKind::kBadFile,
                fmt::format("expected samples whose evidence can be ranked, found none{}", reasons));
  }
  report.scored = questions.size();
  check_evidence_memory(questions, options.settings, info);

  Measurement measurement(decoder, codec, options, layers, flow_layers);
  if (!measurement.has_blank() &&
      std::find(options.scores.begin(), options.scores.end(), "blank-out") != options.scores.end()) {
    throw Error(ErrorKind::kUsage,
                "blank-out requires a model with an end-of-text token to blank out words; remove it from --scores");
  }
  for (const Method method : options.settings.methods) {
    for (const EvidenceVariant variant : kVariants) {
      report.cells.push_back({to_text(method), variant, 0, {}});
      for (const std::size_t l : method == Method::kFlow ? flow_layers : layers)
        report.cells.push_back({to_text(method), variant, l, {}});
    }
  }
  for (const std::string& score : options.scores) report.cells.push_back({score, EvidenceVariant::kPlain, 0, {}});
  report.cells.push_back({"random", EvidenceVariant::kPlain, 0, {}});

  Tensor<double> ranks({report.cells.size(), questions.size()});
  for (std::size_t s = 0; s < questions.size(); ++s) {
    bool right = false;
    const std::vector<double> found = measurement.ranks(questions[s], right);
    for (std::size_t c = 0; c < found.size(); ++c) ranks(c, s) = found[c];
    report.right += right ? 1 : 0;
    report.words += static_cast<double>(questions[s].ranked.size()) / static_cast<double>(questions.size());
    const auto& word = questions[s].words[questions[s].ranked[questions[s].evidence]];
    if (word.front() == 0) report.evidence_is_first += 1.0 / static_cast<double>(questions.size());
    if (options.progress) options.progress(s + 1, questions.size());
    if (options.stop_token.stop_requested()) throw Cancelled();
  }
  const std::vector<Summary> summaries = summarize(ranks.view(), options.resampling);
  for (std::size_t c = 0; c < report.cells.size(); ++c) report.cells[c].reciprocal_rank = summaries[c];
  if (report.evidence_is_first > 0.0) {
    report.notes.push_back({NoteCode::kEvidenceFirst, {{"share", report.evidence_is_first}}});
  }
  return report;
}

}  // namespace attnflow
