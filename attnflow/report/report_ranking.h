// The contents of a report's tables: the tokens that an output token draws on most, and the settings in words.
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
  bool tied = false;            // with the token ranked above: equal, or for flow closer than the certified gap
  std::uint8_t degenerate = 0;  // flow: 1 the first layer's column, 2 the top row
};

// A token's name on one line. One that the text has more than once is numbered from its second occurrence on: "the",
// "the (2)". A patch is named by its place, "row 3, column 5".
std::string numbered_token(const Report& report, std::size_t token);
// The same within a sentence, cut with `ellipsis` if it is longer than `most_cells`: “the” (2).
std::string quoted_token(const Report& report, std::size_t token, std::size_t most_cells = 48,
                         std::string_view ellipsis = "\u2026");
// Any other name within a sentence: on one line, cut, in “ ”.
std::string quoted_name(const std::string& name, std::size_t most_cells = 48, std::string_view ellipsis = "\u2026");
// The first `count` choices of a prediction, each name isolated if it runs from right to left and `isolates`:
// "“Paris” 76.5%, “the” 6.8%"; names of classes need no quotes.
std::string choice_list(const ReportPrediction& prediction, const std::vector<ReportChoice>& choices, std::size_t count,
                        bool isolates = false);

// Positions, among `count` layers, that a generation shows by default: the last, which defines the method; for
// attention, whose rollout ends on the first token there, the mean over all (docs/generation.md).
std::vector<std::size_t> usual_layers(const Report& report, std::size_t count);

// The mean over `layers` (positions in the method's layers; empty: all) of row `row` of [layer, output, input]: one
// value per input token.
std::vector<double> mean_over_layers(const Tensor<double>& values, std::size_t row,
                                     const std::vector<std::size_t>& layers = {});

// A map's values for an output token, one per input token: a prediction's scores, or the mean of the method's rows over
// `layers` (numbers); empty if the report lacks them.
std::vector<double> map_values(const Report& report, Method method, std::size_t output_token,
                               const std::vector<std::size_t>& layers);

// Values this many times above the rest are set aside in rankings and do not set the top of a color scale.
inline constexpr double kFarAbove = 2.0;

// Whether a decoder's first token is set aside, as special tokens are, because decoders put there what they have no
// other use for: at these layers (numbers), it holds more than twice what any other token holds that the output token
// sees, by raw attention, rollout or `method`. One rule for all three, since flow hardly separates a sink from other
// tokens and would rank it first. Never over relevance, where what a token holds is what it gives the prediction.
bool sets_first_aside(const Report& report, Method method, std::size_t output_token,
                      const std::vector<std::size_t>& layers);

// The settings.top_k input tokens with the largest values of `method` for one output token, descending, equal ones by
// position; values are means over `layers` (positions in the method's layers; empty: all). Omits tokens with a value of
// 0 or NaN and excluded tokens. Ties and degenerate flows are marked for a single layer. Empty if the report lacks that
// row. Methods outside the graph, which know one prediction and no layers, rank by absolute value.
std::vector<RankedToken> rank_input_tokens(const Report& report, Method method, std::size_t output_token,
                                           const std::vector<std::size_t>& layers);

// Whether no relevance in favor of the prediction reaches an output token after a layer (a position in
// settings.layers): its row of relevance is all zero. Rollout then holds 1 on the token itself, so that upper layers
// pass through it, which alone means nothing. Always false for a generation.
bool carries_nothing(const Report& report, std::size_t output_token, std::size_t layer);
// "The output token carries no relevance in favor of the prediction at layer 3: there is nothing to rank.", as on the
// page.
std::string carries_nothing_line(const Report& report, std::size_t layer);

// Whether an attention sink, the first of one value per input token, leaves so small a share of their sum to all others
// that their order means nothing.
bool sink_holds_all(const std::vector<double>& values);

// Why the order of a map's values for an output token means nothing: "all of its values are 0" (in a generation "on the
// prompt"), "“The”, an attention sink, holds nearly all of it"; "" if it means something, or the map is not held.
// Values of methods that aggregate are averaged over `layers` (numbers).
std::string why_nothing_ranked(const Report& report, Method method, std::size_t output_token,
                               const std::vector<std::size_t>& layers);

enum class TableLayers {
  kLast,
  kChosen,  // all where somebody chose them (named, or fewer than the model has above start_layer); else the last
};
// The positions in settings.layers that tables show.
std::vector<std::size_t> table_layers(const Report& report, TableLayers which);

// Explains the marks that these tokens have; "" if none. `star` marks special tokens, `ring` degenerate flows; `line`
// names a table's lines ("row").
std::string marks_legend(const std::vector<RankedToken>& tokens, std::string_view star, std::string_view line,
                         std::string_view ring);

// The first rule that excludes each input token from rankings, or "".
std::vector<std::string> excluded_by(const Report& report);
// The excluded tokens' share of the sum of `values` (one per input token).
double excluded_share(const Report& report, const std::vector<double>& values);

// Whether rows of raw and rollout sum to 1, over prompt and generated tokens: no column is masked, or only that of the
// first token, which only its own row misses. Other masks may leave rows empty.
bool rows_sum_to_one(const Report& report);

// The methods with values, including those outside the graph, in the order of settings.methods.
std::vector<Method> ranked_methods(const Report& report);

// "raw, layer 6", "rollout, layers 1-6", "attnlrp": a method's numbers at settings.layers[layer].
std::string method_title(const Report& report, Method method, std::size_t layer);

// For an encoder-decoder: its source's tokens (or words), the first of the input. 0 for other models.
std::size_t source_tokens(const Report& report);

// "MiniLM (bert, 6 layers, 12 heads), 12 tokens"; for a generation "12 prompt tokens, 5 generated"
std::string model_line(const Report& report);
// "both.png, 224 x 224 pixels, given to the model as 28 x 28, grayscale"; "" without a picture.
std::string picture_line(const Report& report);
// "mean over heads", "the first token": a setting's value, from attnflow/attribution/setting_words.json as on the page.
std::string setting_words(std::string_view setting, std::string_view value);
// "the first token masked"
std::string mask_words(const ColumnMask& mask);
// "Mean over heads, residual 0.5, word pieces merged." Omits other settings at their defaults.
std::string settings_line(const Report& report);
// "class “positive” rather than all others", "the next token “his” rather than “her”"; "" without a target. On one
// line, safe to print, long names cut.
std::string target_title(const std::optional<ReportTarget>& target);
// "12 tokens", or of another unit, that the model was given: without the one that stands for their mean. For an
// encoder-decoder "9 source tokens, 7 target tokens".
std::string input_counts(const Report& report, std::string_view unit);

// The quantity of the target's value: "logit", "logit difference", "cosine similarity".
std::string target_quantity(const ReportTarget& target);
// "relevance for the next token “his” rather than “her”", "contributions (value zeroing), residual 0.5": the layers'
// matrices, for mixings other than attention.
std::string mixing_title(const Settings& settings, const std::optional<ReportTarget>& target);
// Describes the scores' quantity, the parts that belong to no token, and the error of their sum; empty without scores.
std::vector<std::string> score_lines(const Report& report);
// "Prediction: positive 98.2%, negative 1.8%"; one or two lines for each prediction.
std::vector<std::string> prediction_lines(const Report& report);
// 'Output token 4 “cats”', or 'Output token 4' without text; on one line, safe to print, long texts cut.
std::string output_token_title(const Report& report, std::size_t token, std::string_view ellipsis);

}  // namespace attnflow
