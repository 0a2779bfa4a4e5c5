// What the tables of a report say: which tokens an output token draws on most, and the settings in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

struct RankedToken {
  std::size_t token = 0;
  double value = 0.0;
  bool special = false;
  bool unknown = false;         // InputToken::unknown
  bool sink = false;            // a decoder's first token, set aside: the last of a ranking, whatever its value
  bool tied = false;            // with the token ranked before it: equal, or for flow closer than the certified gap
  std::uint8_t degenerate = 0;  // flow: 1 the first layer's column, 2 the top row
};

// Positions of the layers, of `count`, that a generation shows where nobody chose: the last, which the method is
// defined by, but for attention, whose rollout lies on the first token there: the mean over all (docs/generation.md).
std::vector<std::size_t> usual_layers(const Report& report, std::size_t count);

// The mean over `layers` (positions in the method's layers; empty: all) of row `row` of [layer, output, input]: one
// value an input token.
std::vector<double> mean_over_layers(const Tensor<double>& values, std::size_t row,
                                     const std::vector<std::size_t>& layers = {});

// What lies so many times above the rest is far above it: rankings set it aside, and it sets no top of a scale of
// colors.
inline constexpr double kFarAbove = 2.0;

// Whether a decoder's first token is set aside, as special tokens are: models of that kind put there what they have no
// other use for. At these layers (numbers), it holds more than twice what any other token does that the output token
// sees, by raw attention, by rollout or by `method`: one rule for all three, since flow hardly tells a sink from other
// tokens and would rank it first.
bool sets_first_aside(const Report& report, Method method, std::size_t output_token,
                      const std::vector<std::size_t>& layers);

// The settings.top_k input tokens with the largest values of `method` for one output token, by falling value, equal
// ones by position; the values are means over `layers` (positions in the method's layers; empty: all). Tokens without
// any value (0), values that are not numbers and tokens that a rule excludes are left out. Ties and degenerate flows
// are marked where there is one layer. Empty when the report does not hold that row. Of a method beside the graph,
// which knows one prediction and no layers: by falling size, whatever the sign.
std::vector<RankedToken> rank_input_tokens(const Report& report, Method method, std::size_t output_token,
                                           const std::vector<std::size_t>& layers);

// Whether no relevance in favor of the prediction reaches an output token after a layer (a position in
// settings.layers): its row of relevance is all zero. Rollout then holds 1 on the token itself, which lets layers above
// pass through it, and by itself means nothing. Never of a generation.
bool carries_nothing(const Report& report, std::size_t output_token, std::size_t layer);
// "The output token carries no relevance in favor of the prediction at layer 3: there is nothing to rank.", as on the
// page.
std::string carries_nothing_line(const Report& report, std::size_t layer);

enum class TableLayers {
  kLast,
  kChosen,  // all where somebody chose them (named, or fewer than the model has above start_layer); else the last
};
// The positions in settings.layers of the layers that tables show.
std::vector<std::size_t> table_layers(const Report& report, TableLayers which);

// What the marks beside ranked tokens mean, for those that any of these has; "" where none has. `star` marks special
// tokens, `line` is what a token has in the table, `ring` marks degenerate flows.
std::string marks_legend(const std::vector<RankedToken>& tokens, std::string_view star, std::string_view line,
                         std::string_view ring);

// Why each input token is excluded from rankings: the first rule that names it, or nothing ("").
std::vector<std::string> excluded_by(const Report& report);
// The share of the sum of `values` (one an input token) that excluded tokens hold.
double excluded_share(const Report& report, const std::vector<double>& values);

// Whether rows of raw and rollout sum to 1, over prompt and generated tokens where there are such: no column is masked,
// or none but that of the first token, which only its own row misses. Other masks may leave rows empty.
bool rows_sum_to_one(const Report& report);

// The methods that the report holds values of, those beside the graph among them, in the order of settings.methods.
std::vector<Method> ranked_methods(const Report& report);

// "raw, layer 6", "rollout, layers 1-6", "attnlrp": what a method's numbers at settings.layers[layer] span.
std::string method_title(const Report& report, Method method, std::size_t layer);

// Of a generation by an encoder-decoder: tokens (or words) of its source, the first of the input. 0: by a decoder.
std::size_t source_tokens(const Report& report);

// "MiniLM (bert, 6 layers, 12 heads), 12 tokens"; of a generation "12 prompt tokens, 5 generated"
std::string model_line(const Report& report);
// "both.png, 224 x 224 pixels, given to the model as 28 x 28, grayscale"; "" where the input is no picture.
std::string picture_line(const Report& report);
// "mean over heads", "the first token": a setting's value, from attnflow/attribution/setting_words.json, which the page
// reads as well.
std::string setting_words(std::string_view setting, std::string_view value);
// "the first token masked"
std::string mask_words(const ColumnMask& mask);
// "Mean over heads, residual 0.5, word pieces merged." Settings at their defaults are left out, apart from these two.
std::string settings_line(const Report& report);
struct TargetQuotes {
  std::string open = "\"";
  std::string close = "\"";
};
// 'class "positive" against all others', 'the next token "his" against "her"': what is explained; "" without a target.
// On one line, safe to print, long names cut.
std::string target_title(const std::optional<ReportTarget>& target, TargetQuotes quotes = {});
// 'relevance for the next token "his" against "her"', "contributions (value zeroing), residual 0.5": what the matrices
// of the layers are made of, of mixings other than attention.
std::string mixing_title(const Settings& settings, const std::optional<ReportTarget>& target, TargetQuotes quotes = {});
// What scores are of, what belongs to no token, and by how much they miss what they add up to; nothing without scores.
std::vector<std::string> score_lines(const Report& report);
// "Prediction: positive 98.2%, negative 1.8%"; one or two lines for each prediction.
std::vector<std::string> prediction_lines(const Report& report);
// 'Output token 4 "cats"', or 'Output token 4' where tokens have no text; on one line, safe to print, long texts cut.
std::string output_token_title(const Report& report, std::size_t token, std::string_view ellipsis);

}  // namespace attnflow
