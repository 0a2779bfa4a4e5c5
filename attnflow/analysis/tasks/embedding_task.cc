// The embedding of a text: one vector for all of it, of an encoder without a head.
//
// Problem. A sentence encoder predicts no class and no word. What it gives is a vector, which is compared with the
// vectors of other texts by the cosine of the angle between them. Which tokens does the vector depend on?
//
// Definition. With x_i the last hidden states of the text's n tokens, the embedding is
//
//     e(x) = (1/n) sum_i x_i  (mean pooling)    or    e(x) = x_1  (the first token's),
//
// as the folder of sentence-transformers says (model/sentence_modules.h), by default the mean. The target is the
// similarity to the text's own embedding: with the text x as given and r = e(x) / |e(x)| fixed,
//
//     F(x') = cos(e(x'), r),    F(x) = 1.
//
// Replacing token j lowers it by d_j = 1 - cos(e(x_j), e(x)) >= 0: how far the vector turns. With --target TEXT, r is
// the direction of that text's embedding: F(x) is the similarity of the two texts, and d_j says what makes them
// similar. With --against TEXT, too, F is the difference of two similarities, and r that of two directions: why is x
// nearer to one text than to the other?
//
// Relevance. The similarity to itself is largest at x, so its gradient there is 0, and so is every score made of that
// gradient. AttnLRP takes the scale of a norm as a constant. The length by which the cosine divides is such a scale:
//
//     F(x) = r . e(x) / |e(x)|,    |e(x)| constant,
//
// is linear in e, and its relevance, which adds up to F(x) but for biases, says how much of the vector each token
// brings: the projection of its part on r, in units of the whole's length.
//
// The output. A mean of n states belongs to no single token. It is shown as one more token, "[mean]", after the text:
// its row is the mean of the rows of all tokens (of the shares that rollout makes of relevance, weighted by the
// relevance that each token carries), and no token attends to it.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/tasks/text_task.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/mixings.h"
#include "attnflow/base/format_error.h"

namespace attnflow {
namespace {

class EmbeddingTask final : public TextTask {
 public:
  using TextTask::TextTask;

  void check() const override {
    TextTask::check();
    const Settings& settings = asked().options.settings;
    if (of_other_text()) return;
    if (settings.against != "auto") {
      throw internal::usage_error(
          "--against: expected --target with it, the text to which the embedding's similarity is explained rather than "
          "to "
          "this one, found '{}' alone",
          settings.against);
    }
    const auto refuse = [](const std::string& option) {
      throw internal::usage_error(
          "--{}: expected a prediction whose gradient is not 0, found the similarity of an embedding to itself, which "
          "is largest at the text itself; use relevance or alti, or the methods attnlrp, integrated-gradients or "
          "blank-out",
          option);
    };
    if (mixing_info(settings.mixing).needs == MixingNeeds::kGradients) refuse("mixing " + to_text(settings.mixing));
    if (settings.wants(Method::kGradientTimesInput)) refuse("method " + to_text(Method::kGradientTimesInput));
  }
  // Runs the model for the other texts.
  AskedTarget ask() override {
    const Settings& settings = asked().options.settings;
    if (!of_other_text()) return {};
    toward_ = unit(embedding_of("--target", settings.target));
    if (settings.against != "auto") away_ = unit(embedding_of("--against", settings.against));
    return {};
  }
  std::size_t output_token(std::size_t usual, const AskedTarget&) override {
    if (!has_pooled_output(info(), asked().options)) return usual;
    std::vector<InputToken>& tokens = report().input.tokens;
    InputToken mean;
    mean.text = "[mean]";
    mean.special = true;
    mean.segment = tokens.back().segment;
    mean.role = "mean";
    tokens.push_back(std::move(mean));
    pooled_ = tokens.size() - 1;
    return *pooled_;
  }
  std::vector<std::size_t> logit_positions(std::size_t) override { return {}; }
  ReportTarget target(const AskedTarget&, const ModelOutput& output, std::size_t) override {
    const std::vector<double> own = unit(output.logits);
    ReportTarget found;
    if (!of_other_text()) {
      found.kind = "embedding";
      found.label = "the embedding";
      found.logit = 1.0;
      toward_ = own;
      return found;
    }
    const Settings& settings = asked().options.settings;
    found.kind = "similarity";
    found.label = settings.target;
    found.logit = product(own, toward_);
    if (!away_.empty()) {
      ReportAgainst& against = found.against.emplace();
      against.label = settings.against;
      against.index = 1;  // of the texts
      against.logit = product(own, away_);
    }
    return found;
  }
  ScoreTarget score(const ReportTarget&) const override {
    ScoreTarget found;
    found.kind = ScoreTarget::Kind::kCosine;
    for (std::size_t k = 0; k < toward_.size(); ++k) {
      found.direction.push_back(static_cast<float>(toward_[k] - (away_.empty() ? 0.0 : away_[k])));
    }
    return found;
  }
  bool ends_in(std::size_t token) const override {
    return pooled_ ? token == *pooled_ : info().pooling == Pooling::kFirstToken && token == 0;
  }
  void add_predictions(const ModelOutput&, std::size_t) override {
    const std::size_t position = pooled_.value_or(0);
    if (!ends_in(position)) return;
    report().predictions.push_back({.kind = "embedding", .position = position, .choices = {}, .candidates = {}});
  }
  bool is_pooled() const override { return pooled_.has_value(); }

 private:
  bool of_other_text() const { return asked().options.settings.target != "auto"; }

  Tensor<float> embedding_of(const char* option, const std::string& text) const {
    const Encoding encoding = encode_text(asked().codec, info(), text, std::nullopt, asked().options.truncate);
    const bool is_empty = std::none_of(encoding.tokens.begin(), encoding.tokens.end(),
                                       [](const EncodedToken& token) { return !token.special; });
    if (is_empty) throw internal::usage_error("{}: expected a text with at least one token, found none", option);
    StopSink sink({}, asked().options.stop_token);
    return asked().model.run(text_input(encoding), &sink).logits;
  }

  // The embedding divided by its length.
  std::vector<double> unit(const Tensor<float>& embedding) const {
    std::vector<double> found(embedding.span().begin(), embedding.span().end());
    const double length = std::sqrt(product(found, found));
    if (!(length > 0.0) || !std::isfinite(length)) {
      throw internal::file_error(
          "expected an embedding that is a vector of finite numbers, not all of them 0, found one of length {}; the "
          "weights of {} are damaged or overflow in float32",
          length, info().name);
    }
    for (double& number : found) number /= length;
    return found;
  }

  static double product(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  std::optional<std::size_t> pooled_;  // the token that stands for the mean
  std::vector<double> toward_;         // the unit vectors whose difference is r; the second may be empty
  std::vector<double> away_;
};

}  // namespace

bool has_pooled_output(const ModelInfo& info, const ExplainOptions& options) {
  return info.head == ModelHead::kEmbedding && info.pooling == Pooling::kMean && !options.keep_attention &&
         options.settings.output_token.kind == OutputToken::Kind::kAuto;
}

std::unique_ptr<TextTask> embedding_task(const TextQuestionAsked& asked) {
  return std::make_unique<EmbeddingTask>(asked);
}

}  // namespace attnflow
