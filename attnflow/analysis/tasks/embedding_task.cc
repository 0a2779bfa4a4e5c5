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
// Replacing token j lowers it by d_j = 1 - cos(e(x_j), e(x)) >= 0: how far the vector turns.
//
// Relevance. F is largest at x itself, so its gradient there is 0, and so is every score made of that gradient. AttnLRP
// takes the scale of a norm as a constant. The length by which the cosine divides is such a scale:
//
//     F(x) = r . e(x) / |e(x)|,    |e(x)| constant,
//
// is linear in e, and its relevance, which adds up to 1 but for biases, says how much of the vector each token brings:
// the projection of its part on the whole, in units of the whole's length.
//
// The output. A mean of n states belongs to no single token. It is shown as one more token, "[mean]", after the text:
// its row is the mean of the rows of all tokens (of the shares that rollout makes of relevance, weighted by the
// relevance that each token carries), and no token attends to it.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/tasks/text_task.h"
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
    if (settings.target != "auto" || settings.against != "auto") {
      throw internal::usage_error(
          "--{}: expected none for {}, which has an embedding and predicts no class and no word, found '{}'",
          settings.target != "auto" ? "target" : "against", info().name,
          settings.target != "auto" ? settings.target : settings.against);
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
  AskedTarget ask() override { return {}; }
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
    double squares = 0.0;
    for (const float number : output.logits.span()) squares += std::pow(static_cast<double>(number), 2);
    const double length = std::sqrt(squares);
    if (!(length > 0.0) || !std::isfinite(length)) {
      throw internal::file_error(
          "expected an embedding that is a vector of finite numbers, not all of them 0, found one of length {}; the "
          "weights of {} are damaged or overflow in float32",
          length, info().name);
    }
    direction_.clear();
    for (const float number : output.logits.span()) {
      direction_.push_back(static_cast<float>(static_cast<double>(number) / length));
    }
    ReportTarget found;
    found.kind = "embedding";
    found.label = "the embedding";
    found.logit = 1.0;
    return found;
  }
  ScoreTarget score(const ReportTarget&) const override {
    ScoreTarget found;
    found.kind = ScoreTarget::Kind::kCosine;
    found.direction = direction_;
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
  std::optional<std::size_t> pooled_;  // the token that stands for the mean
  std::vector<float> direction_;       // r
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
