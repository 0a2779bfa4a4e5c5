#include "attnflow/attribution/note_texts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/words/lists.h"
#include "attnflow/words/numbers.h"

namespace attnflow {
namespace {

template <typename T>
const T& note_value(const Note& note, std::string_view name) {
  return std::get<T>(*note.find(name));
}

std::size_t count_in(const Note& note, std::string_view name) { return note_value<std::size_t>(note, name); }
double share_in(const Note& note, std::string_view name) { return note_value<double>(note, name); }
const std::string& text_in(const Note& note, std::string_view name) { return note_value<std::string>(note, name); }
const std::vector<std::string>& texts_in(const Note& note, std::string_view name) {
  return note_value<std::vector<std::string>>(note, name);
}
const std::vector<std::size_t>& counts_in(const Note& note, std::string_view name) {
  return note_value<std::vector<std::size_t>>(note, name);
}

std::string zero_rows_text(const Note& note) {
  const std::size_t count = count_in(note, "count");
  const auto named = [&](const char* what, std::string_view name) {
    const std::vector<std::size_t>& numbers = counts_in(note, name);
    return fmt::format("{}{} {}", what, numbers.size() == 1 ? "" : "s",
                       internal::listed(internal::ranges(numbers, " to ")));
  };
  return fmt::format("{} attention held zeros alone ({}, {}, {}): {} keeps only itself there.",
                     count == 1 ? "A row of the" : fmt::format("{} rows of the", count), named("layer", "layers"),
                     named("head", "heads"), named("position", "positions"),
                     count == 1 ? "the position" : "each such position");
}

std::string adapter_applied_text(const Note& note) {
  const std::string& base = text_in(note, "base");
  return fmt::format("A LoRA adapter (adapter_config.json) was added to the weights{}.",
                     base.empty() ? "" : " of " + base);
}

std::string adapter_text(const Note& note) {
  const std::string& base = text_in(note, "base");
  return fmt::format(
      "The folder also holds an adapter{} (adapter_config.json), which was not applied: all numbers come from the "
      "weights alone.",
      base.empty() ? "" : " for " + base);
}

std::string blanked_text(const Note& note) {
  const std::vector<std::size_t>& positions = counts_in(note, "positions");
  const char* const many = positions.size() == 1 ? "" : "s";
  return fmt::format("The model sees {} in place of the token{} at position{} {}.", text_in(note, "blank"), many, many,
                     fmt::join(positions, ", "));
}

std::string unknown_words_text(const Note& note) {
  const std::size_t count = count_in(note, "count");
  const std::size_t more = count_in(note, "not_listed");
  return fmt::format("{} not in the model's vocabulary, so the model cannot tell {}: {}{}.",
                     count == 1 ? "1 word is" : fmt::format("{} words are", count),
                     count == 1 ? "it from any other unknown word" : "them apart",
                     fmt::join(texts_in(note, "words"), ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string special_twice_text(const Note& note) {
  const std::vector<std::string>& tokens = texts_in(note, "tokens");
  return fmt::format("{} stand{} in the text, and the tokenizer adds {}, too: the model sees {} twice in a row.",
                     internal::listed(tokens), tokens.size() == 1 ? "s" : "", tokens.size() == 1 ? "it" : "them",
                     tokens.size() == 1 ? "it" : "each");
}

constexpr const char* kConvertAgain = "Convert the model again from its original folder, or use that folder.";

std::string special_doubtful_text(const Note& note) {
  const std::string& key = text_in(note, "key");
  const std::string& problem = text_in(note, "problem");
  const bool ends = key.find(".eos_") != std::string::npos;
  const std::string taken =
      note.find("id") == nullptr ? std::string() : fmt::format("{}, {}", count_in(note, "id"), text_in(note, "token"));
  if (problem == "missing") {
    return fmt::format("The file does not say which token {} a text ({}): libllama takes {}, and {}.",
                       ends ? "ends" : "begins", key, taken,
                       ends ? "a generation ends where it is chosen" : "puts it before every text");
  }
  if (problem == "ordinary") {
    return fmt::format(
        "The file marks the token that ends a text ({}), {}, as ordinary text: a generation ends wherever it is "
        "chosen.",
        key, taken);
  }
  return fmt::format("{} names token {}, which the vocabulary does not have: libllama {}.", key, problem,
                     taken.empty() ? "does without it" : "takes " + taken + ", instead");
}

std::string tensors_unused_text(const Note& note) {
  const std::size_t count = count_in(note, "count");
  const std::vector<std::string>& tensors = texts_in(note, "tensors");
  const std::size_t more = count - std::min(count, tensors.size());
  return fmt::format("libllama leaves out {} of the file: {}{}.",
                     count == 1 ? std::string("1 tensor") : fmt::format("{} tensors", count), fmt::join(tensors, ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string generation_rules_text(const Note& note) {
  const std::size_t changed = count_in(note, "changed");
  return fmt::format(
      "As {} asks, {} changed the choice of {} of {} tokens. Probabilities, and what tokens depend on, are those of "
      "the model's own logits.",
      text_in(note, "file"), internal::listed(texts_in(note, "settings")), changed, count_in(note, "of"));
}

std::string generation_left_text(const Note& note) {
  return fmt::format(
      "{} also asks for {}, which attnflow does not follow here: each token {}.", text_in(note, "file"),
      internal::listed(texts_in(note, "settings")),
      count_in(note, "sampled") == 0 ? "is the most probable one" : "is drawn as --temperature and --top-p say");
}

// The options make generation sample; none selects beam search.
std::string generation_left_advice(const Note& note) {
  const std::vector<std::string>& settings = texts_in(note, "settings");
  const bool draws = std::any_of(settings.begin(), settings.end(), [](const std::string& setting) {
    return setting.starts_with("do_sample ") || setting.starts_with("general.sampling.temp ");
  });
  return draws ? "--temperature and --top-p draw tokens." : "";
}

std::string joint_layers_text(const Note& note) {
  const std::size_t encoder = count_in(note, "encoder_layers");
  const std::size_t decoder = count_in(note, "decoder_layers");
  const std::size_t last = encoder + 2 * decoder;
  std::string text = fmt::format(
      "Encoder and decoder form one graph of {} layers: the first {} tokens are the source, the others the target. {} "
      "of the graph {} the encoder\u2019s. Each layer of the decoder is two layers of the graph, its self-attention "
      "and then its attention to the source: layers {} and {} are the decoder\u2019s layer 1",
      last, count_in(note, "source_tokens"), encoder == 1 ? "Layer 1" : fmt::format("Layers 1 to {}", encoder),
      encoder == 1 ? "is" : "are", encoder + 1, encoder + 2);
  if (decoder > 1) {
    text += decoder == 2 ? fmt::format("; layers {} and {} are its layer 2", last - 1, last)
                         : fmt::format(", and so on up to layers {} and {}, its layer {}", last - 1, last, decoder);
  }
  return text + '.';
}

std::string option_words(const Note& note, std::string_view option, const char* words) {
  const std::vector<std::string>& options = texts_in(note, "options");
  return std::find(options.begin(), options.end(), option) != options.end() ? words : "";
}

std::string attention_by_option_text(const Note& note) {
  std::vector<std::string> lacking;
  for (std::string words : {option_words(note, "heads", "choice of heads"),
                            option_words(note, "residual", "weight of the residual connection to choose")}) {
    if (!words.empty()) lacking.push_back(std::move(words));
  }
  return fmt::format("Built from attention weights, because the model\u2019s default mixing has no {}.",
                     internal::listed(std::move(lacking), "and no"));
}

std::string attention_by_option_advice(const Note& note) {
  std::vector<std::string> options;
  for (const std::string& option : texts_in(note, "options")) options.push_back("--" + option);
  return fmt::format("Leave out {} for the model\u2019s default.", internal::listed(std::move(options)));
}

std::string system_turn_text(const Note& note) {
  const std::string& turn = text_in(note, "turn");
  return fmt::format("The model's chat template begins with a system turn of its own{}.",
                     turn.empty() ? "" : ", \u201c" + turn + "\u201d");
}

// "layer 4", "layers 4-6 and 9", or the number of layers if that list would be long; `layers` is increasing.
std::string layer_ranges(const std::vector<std::size_t>& layers) {
  constexpr std::size_t kMostRanges = 3;
  std::vector<std::string> parts = internal::ranges(layers, "-");
  if (parts.size() > kMostRanges) return fmt::format("{} layers", layers.size());
  return (layers.size() == 1 ? "layer " : "layers ") + internal::listed(std::move(parts));
}

bool is_over_relevance(const Note& note) { return text_in(note, "mixing").starts_with("relevance"); }

std::string degenerate_text(const Note& note) {
  constexpr double kFew = 0.05;
  const std::vector<std::size_t>& layers = counts_in(note, "layers");
  const std::size_t bottom = count_in(note, "start_layer") + 1;
  const double share = share_in(note, "first_layer_share");
  const bool only_first = share >= 1.0 - kFew;
  const bool only_last = share <= kFew;

  const std::string where = note.find("from_layer") != nullptr ? fmt::format("From layer {} on", layers.front())
                                                               : "At " + layer_ranges(layers);
  const NoteValue* const token = note.find("output_token");
  const std::string values = token == nullptr
                                 ? "the flow values"
                                 : fmt::format("the flow values of output token {}", std::get<std::size_t>(*token));
  const std::string shown =
      note.find("shown") == nullptr
          ? std::string()
          : fmt::format(" ({} of the {} shown)", count_in(note, "shown_degenerate"), count_in(note, "shown"));
  const std::string first = bottom == 1 ? std::string("the first") : fmt::format("layer {}", bottom);
  const std::string ends = only_first  ? first + (bottom == 1 ? " layer" : "")
                           : only_last ? std::string("the last layer")
                                       : first + " or the last layer";
  const std::string meaning = is_over_relevance(note)
                                  ? " Such a value is the token's relevance there: the layers between do not limit it."
                                  : "";
  return fmt::format("{}, {} of {}{} are set by {} alone.{}", where,
                     internal::percent_range(share_in(note, "least"), share_in(note, "most")), values, shown, ends,
                     meaning);
}

std::string degenerate_advice(const Note& note) {
  if (is_over_relevance(note)) return {};
  return fmt::format("Look at rollout instead, or at flow from fewer layers (--layers {}), or choose another {}.",
                     text_in(note, "fewer_layers"),
                     text_in(note, "mixing") == "attention" ? "--start-layer, --residual or mixing (--heads, --discard)"
                                                            : "--start-layer or --mixing (or --discard)");
}

std::string not_the_answer_text(const Note& note) {
  const std::string relevance =
      note.find("time") == nullptr
          ? "Relevance, which shows that, is not available for this model."
          : fmt::format("Relevance, which shows that, would take about {} on two processors.", text_in(note, "time"));
  return fmt::format(
      "Not yet the answer: these values are built from {}. They show what the output token took in, not what the "
      "prediction depends on. {}",
      text_in(note, "mixing"), relevance);
}

std::string negative_relevance_text(const Note& note) {
  const NoteValue* const target = note.find("target");
  return fmt::format("{:.0f}% of the relevance argues against {} and is hidden.", 100.0 * share_in(note, "share"),
                     target == nullptr ? "the target" : fmt::format("\u201c{}\u201d", std::get<std::string>(*target)));
}

std::string array_name(const std::string& array) {
  if (array == "raw" || array == "graph") return "raw attention";
  if (array == "attention") return "the attention of single heads";
  if (array == "flow_gap") return "the gaps of flow values";
  if (array == "generated") return "the columns of generated tokens";
  if (array == "normalized") return "normalized values";
  const auto words = [&](std::string_view ending, const char* text) -> std::optional<std::string> {
    if (!array.ends_with(ending)) return std::nullopt;
    return array_name(array.substr(0, array.size() - ending.size())) + text;
  };
  if (const auto name = words("_generated", " on generated tokens")) return *name;
  if (const auto name = words("_normalized", " after normalization")) return *name;
  return array;
}

std::vector<std::string> array_names(const Note& note) {
  std::vector<std::string> names;
  for (const std::string& array : texts_in(note, "arrays")) names.push_back(array_name(array));
  return names;
}

constexpr const char* kAllNumbers = "A .json or .npz file holds all of the numbers.";

std::string largest_kept_text(const Note& note) {
  std::vector<std::string> shares = array_names(note);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    shares[i] = fmt::format("{}% of {} (at least {}% of a row)", counts_in(note, "mean_percent")[i], shares[i],
                            counts_in(note, "least_percent")[i]);
  }
  return fmt::format(
      "Not all values fit here: only the largest in each row are kept, on average {}, and the others are replaced by "
      "their mean.",
      internal::listed(std::move(shares)));
}

std::string undefined_text(const Note& note) {
  return fmt::format("Undefined values of {} are shown as 0 here.", internal::listed(array_names(note)));
}

std::string left_out_text(const Note& note) {
  std::vector<std::string> parts = array_names(note);
  if (note.find("layers") != nullptr) {
    parts.push_back(fmt::format("{} of the {} layers", count_in(note, "layers_left_out"), count_in(note, "layers")));
  }
  return fmt::format("Left out here to save space: {}.", internal::listed(std::move(parts)));
}

using internal::NoteRow;
using Code = NoteCode;

constexpr auto kRows = std::to_array<NoteRow>({
    {Code::kText, "text", "", ""},
    {Code::kTextCut, "text-cut", "tokens", "The text was cut to {tokens} tokens, the model's maximum."},
    {Code::kUnknownWords, "unknown-words", "count words not_listed", unknown_words_text},
    {Code::kSpecialTokenTwice, "special-token-twice", "tokens", special_twice_text,
     "Leave out of the text what the tokenizer adds."},
    {Code::kJointLayers, "joint-layers", "source_tokens encoder_layers decoder_layers", joint_layers_text},
    {Code::kTokensBlanked, "tokens-blanked", "blank positions", blanked_text},
    {Code::kFewClasses, "few-classes", "width height classes labels",
     "The model sees the image as {width} x {height} pixels and knows only {classes} classes ({labels}): it picks one "
     "of them whatever the image shows."},
    {Code::kReferentsPossible, "referents-possible", "",
     "Besides the candidates, you can compare the mask's weights on words of the text.",
     "Name the words with --referents WORD,WORD."},
    {Code::kOutputTokenGuessed, "output-token-guessed", "",
     "No token is marked as a mask or class token, so the output token is position 0.",
     "--output-token chooses another."},
    {Code::kOutputTokenMiddle, "output-token-middle", "patch",
     "The model has no class token, so the output token is the patch in the middle, {patch}.",
     "--output-token ROW,COLUMN, counted from 0, chooses another."},
    {Code::kOutputTokenSurest, "output-token-surest", "token",
     "The model classifies each token; the output token is the one of whose class it is most certain, "
     "\u201c{token}\u201d.",
     "--output-token chooses another."},
    {Code::kNoAnswer, "no-answer", "probability",
     "The model's most probable answer is that the second text has none ({probability:%})."},
    {Code::kOutputTokenAnswer, "output-token-answer", "token",
     "The model answers with a span of the second text; the output token is the first of the answer, "
     "\u201c{token}\u201d.",
     "--output-token chooses another."},
    {Code::kOutputTokenOfWord, "output-token-of-word", "word tokens position",
     "\u201c{word}\u201d is {tokens} tokens; the output token is the last of them, at position {position}.",
     "--words merges the tokens of each word."},
    {Code::kTargetFirstToken, "target-first-token", "option word tokens token",
     "--{option} {word} is {tokens} tokens; the model predicts one at a time, so only the first, \u201c{token}\u201d, "
     "is explained."},
    {Code::kSystemTurn, "system-turn", "turn", system_turn_text,
     "--system TEXT replaces it; --system \"\" empties it."},

    {Code::kNoHead, "no-head", "", "The model predicts no classes, so there is no prediction to explain."},
    {Code::kAdapterApplied, "adapter-applied", "base", adapter_applied_text,
     "To run the model without it, give a folder that holds only the weights."},
    {Code::kAdapterNotApplied, "adapter-not-applied", "base", adapter_text,
     "If the weights do not include the adapter yet, merge it (peft's merge_and_unload) and save the result."},
    {Code::kWindowNotApplied, "window-not-applied", "window",
     "This is Mistral 7B v0.1 or a model derived from it, in which each token sees only the {window} tokens before it. "
     "The GGUF file does not record this limit, so here each token sees all earlier tokens: beyond {window} tokens, "
     "the numbers differ from the trained model's.",
     "Its Hugging Face folder keeps the window."},
    {Code::kWindowIgnored, "window-ignored", "window",
     "The file says that each token sees the {window} before it, which libllama does not apply to models of this "
     "architecture: beyond {window} tokens the numbers are not those of the trained model.",
     "Its Hugging Face folder keeps the window."},
    {Code::kPreTokenizerUnknown, "pre-tokenizer-unknown", "found",
     "The file does not say how its tokenizer splits a text before it merges pieces (tokenizer.ggml.pre is {found}), "
     "so libllama splits by a general rule. Where that is not the model's own, tokens differ, and with them all "
     "numbers.",
     "Convert the model again with a current llama.cpp, or use its Hugging Face folder."},
    {Code::kSpecialTokenDoubtful, "special-token-doubtful", "key problem token id?", special_doubtful_text,
     kConvertAgain},
    {Code::kTokenTypesChanged, "token-types-changed", "tokens",
     "The file marks these tokens as ordinary text, and libllama takes them for control tokens that end a text: "
     "{tokens}.",
     kConvertAgain},
    {Code::kEmptyTokens, "empty-tokens", "count",
     "The vocabulary of the file has {count} tokens without a spelling; libllama gives them names such as [EMPTY_7].",
     kConvertAgain},
    {Code::kTensorsUnused, "tensors-unused", "count tensors", tensors_unused_text},
    {Code::kLlamaWarning, "llama-warning", "warning", "libllama warns: {warning}"},

    {Code::kAnyWeights, "any-weights", "",
     "The attention was used unchanged: its rows, and the values computed from them, may not sum to 1."},
    {Code::kZeroRows, "zero-rows", "count layers heads positions", zero_rows_text,
     "If these positions are padding, leave them out of the attention."},
    {Code::kAttentionRounded, "attention-rounded", "",
     "The attention in the report is rounded to float32; the values were computed from float64."},
    {Code::kNoPositiveAttention, "no-positive-attention", "",
     "No attention weight supports the target: the target's gradient is 0 or negative at every attention weight, so "
     "each token depends on itself alone."},
    {Code::kNegativeRelevance, "negative-relevance", "share target?", negative_relevance_text},
    {Code::kDefaultMixing, "default-mixing", "mixing reason",
     "Built from {mixing}, {reason}, not from attention weights.", "--mixing attention shows the paper's attention."},
    {Code::kAttentionByOption, "attention-by-option", "options", attention_by_option_text, attention_by_option_advice},
    {Code::kNotTheAnswer, "not-the-answer", "mixing time?", not_the_answer_text,
     "--mixing relevance computes it, or says why it cannot."},
    {Code::kLearnedSinks, "learned-sinks", "share",
     "{share:%} of the attention goes to learned sinks, on average over layers. They are not tokens, so the tokens' "
     "shares sum to less than 1."},
    {Code::kAttentionSink, "attention-sink", "share token",
     "{share:%} of the output token's attention falls on the first token, \u201c{token}\u201d, on average over layers: "
     "decoders use it as an attention sink.",
     "--mask-columns first masks it."},
    {Code::kAttentionSinkGenerated, "attention-sink-generated", "share token",
     "{share:%} of the attention falls on the first token, \u201c{token}\u201d, on average over layers: decoders use "
     "it as an attention sink.",
     "--mask-columns first masks it."},
    {Code::kSecondTokenSink, "second-token-sink", "share token",
     "With the first token masked, the second, \u201c{token}\u201d, can attend to itself alone, so rollout accumulates "
     "there: {share:%} of what the output token depends on.",
     "--normalize receptive-field removes that advantage."},
    {Code::kSecondTokenSinkGenerated, "second-token-sink-generated", "share token",
     "With the first token masked, the second, \u201c{token}\u201d, can attend to itself alone, so rollout accumulates "
     "there: {share:%} of what generated tokens depend on, on average.",
     "--normalize receptive-field removes that advantage."},

    {Code::kRolloutNotShares, "rollout-not-shares", "output_token layer sum",
     "As published, rollout adds the identity to the gradient-weighted attention without normalizing rows, so its "
     "values do not sum to 1: the row of output token {output_token} sums to {sum:.3g} at layer {layer}.",
     "--mixing gradient-renormalized or --normalize row makes each row sum to 1."},
    {Code::kFlowDegenerate, "flow-degenerate",
     "layers from_layer? start_layer fewer_layers least most first_layer_share output_token? shown? shown_degenerate? "
     "mixing",
     degenerate_text, degenerate_advice},
    {Code::kWideGap, "wide-gap", "widest tolerance",
     "The widest flow interval is {widest:.1e}, wider than the tolerance of {tolerance:g}. Fewer tokens or layers, or "
     "rows that sum to 1, make it narrower."},
    {Code::kFlowTimeLimit, "flow-time-limit", "seconds share widest tolerance",
     "Flow stopped after {seconds:g} s: for {share:%} of its values the interval is still wider than {tolerance:g}, up "
     "to {widest:.2g}; the lower end is shown."},
    {Code::kSmallBaseline, "small-baseline", "count smallest",
     "Receptive-field normalization divides each value by its value under uniform attention: {count} values, for which "
     "that is below {smallest}, are shown as 0."},
    {Code::kFlowTokensNotGenerated, "flow-tokens-not-generated", "tokens",
     "Flow was requested for tokens that were not generated: the model generated only {tokens}."},

    {Code::kIntegrationError, "integration-error", "steps share",
     "The integrated-gradients scores, computed from {steps} points, should add up to the change that they explain, "
     "but are off by {share:%}.",
     "--integration-steps sets a larger number."},

    {Code::kNotChecked, "not-checked", "time",
     "The maps are not checked: that would take about {time} on two processors.", "--check always does it."},
    {Code::kGenerationRules, "generation-rules", "file settings changed of", generation_rules_text},
    {Code::kGenerationSettingsLeft, "generation-settings-left", "file settings sampled", generation_left_text,
     generation_left_advice},
    {Code::kTokensGiven, "tokens-given", "tokens",
     "The generation starts with given tokens (--begin-with): {tokens}. The model chose the rest."},
    {Code::kNoPositionsLeft, "no-positions-left", "tokens positions",
     "The generation ended after {tokens} tokens, because the model has only {positions} positions."},
    {Code::kModelStopped, "model-stopped", "error", "The model stopped: {error}"},
    {Code::kInterrupted, "interrupted", "tokens", "Interrupted after {tokens} tokens."},
    {Code::kFlowInterrupted, "flow-interrupted", "", "Interrupted before flow was computed."},
    {Code::kValuesInterrupted, "values-interrupted", "", "Interrupted before the generated tokens were explained."},
    {Code::kScoresInterrupted, "scores-interrupted", "",
     "Interrupted before the other methods, which have no layers, were computed."},
    {Code::kTimeLimit, "time-limit", "", "The server's time limit ended the generation.",
     "attnflow serve --timeout sets it."},

    {Code::kLargestKept, "largest-kept", "arrays mean_percent least_percent", largest_kept_text, kAllNumbers},
    {Code::kUndefinedValues, "undefined-values", "arrays", undefined_text, kAllNumbers},
    {Code::kLeftOut, "left-out", "arrays layers_left_out? layers?", left_out_text, kAllNumbers},

    {Code::kEmptyLines, "empty-lines", "lines", "{lines} empty lines were left out."},
    {Code::kSamplesTooLong, "samples-too-long", "samples of",
     "{samples} of {of} samples were left out: they have more tokens than the model has positions.",
     "--truncate cuts them instead."},
    {Code::kSamplesCut, "samples-cut", "samples of", "{samples} of {of} samples were cut to the model's maximum."},
    {Code::kNoLabels, "no-labels", "",
     "The samples have no labels: the predicted class stands in for the correct one."},
    {Code::kTokensAlreadyBlank, "tokens-already-blank", "count of blank",
     "{count} of {of} tokens are {blank} already, so blanking them changes nothing and scores 0."},
    {Code::kScoresAreNoise, "scores-are-noise", "score target samples of",
     "{score} of {target}: in {samples} of {of} samples the sums over dimensions are no larger than rounding noise, so "
     "their order means nothing (layer norm removes the mean direction).",
     "Use gradient, the L2 norm."},
    {Code::kOutputTokensGuessed, "output-tokens-guessed", "",
     "Some samples have no mask or class token, so their output token is position 0."},
    {Code::kNoIntervals, "no-intervals", "fewest",
     "No interval is given where fewer than {fewest} samples are scored: that is too few to tell how certain a mean "
     "is."},
    {Code::kPositionsDiffer, "positions-differ", "importance values",
     "Importance refers to the prediction at position {importance}, the methods' values to the output token at "
     "position {values}: they answer different questions."},
    {Code::kTrainedOnSamples, "trained-on-samples", "model sources",
     "{model} was trained on {sources}, so these are not results on held-out data."},
    {Code::kEvidenceFirst, "evidence-first", "share",
     "In {share:%} of the samples the evidence contains the first token of the input, which decoders use as an "
     "attention sink anyway, and which 'first token masked' rules out.",
     "--begin puts another token in front."},
    {Code::kHeadsUnused, "heads-unused", "",
     "--heads applies to --mixing attention alone, and --residual to attention and value-zeroing: the other mixings "
     "combine heads, and include the residual connection, in their own way."},
});

}  // namespace

std::span<const internal::NoteRow> internal::note_rows() { return kRows; }

}  // namespace attnflow
