// What settings mean for one input: which layers, which output token, which matrices.
//
// Settings are resolved once, before a model runs, so that whatever does not fit an input is said at once and in the
// same words everywhere.
//
// Example:
//
//     Settings settings;
//     settings.output_token = parse_output_token("keys");
//     const ResolvedSettings resolved = resolve(settings, {.input = input, .layers = 6, .heads = 2, .causal = false});
//     assert(resolved.output_token == 3 && resolved.layers.size() == 6);       // "##s" of "key", "##s"
//     assert(resolved.notes.front().code == NoteCode::kOutputTokenOfWord);     // says so
//     const AttentionGraph graph = attention_graph(stack, resolved.mixing);
#ifndef ATTNFLOW_ATTRIBUTION_RESOLVE_H_
#define ATTNFLOW_ATTRIBUTION_RESOLVE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

// What is known of an input and the model that reads it.
struct InputFacts {
  const InputText& input;
  std::size_t layers = 0;
  std::size_t heads = 0;
  bool causal = false;
};

// What the matrices of the layers are made of, and which weights are removed.
struct ResolvedMixing {
  Mixing kind = Mixing::kAttention;
  MixingOptions mixing;  // heads of Mixing::kAttention only; what is removed, and the residual, of all that have them

  WeightRemoval removal() const { return mixing.removal(); }
  // Of mixings that need terms.
  ContributionOptions contributions(std::size_t threads) const {
    return {.contribution = mixing_info(kind).contribution,
            .residual = mixing.residual,
            .removal = removal(),
            .threads = threads};
  }
};

struct ResolvedSettings : ResolvedMixing {
  std::vector<std::size_t> layers;  // as Query::layers
  std::size_t output_token = 0;     // a position, before words are merged
  std::vector<Note> notes;          // what had to be guessed
};

// Throws Error(kUsage) for layers, heads, tokens or columns that are not there.
ResolvedSettings resolve(const Settings& settings, const InputFacts& facts);

// The parts of it, for analyses of many inputs.

// Throws Error(kUsage) for heads or columns that are not there.
ResolvedMixing resolve_mixing(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads);
// Of attention. Throws the same, and Error(kUsage) for settings.mixing other than attention.
MixingOptions mixing_options(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads);

// The position of the output token that `asked` names; of kAll what kAuto gives. A token that is named by its text is
// looked for in this order: the word of that text ("cabinets"), of several subword tokens the last one, with a note
// unless words are merged; the token of that text, the user's or the tokenizer's ("ets", "##ets", "[SEP]"); the word
// that differs in case alone ("Cabinets").
// Throws Error(kUsage) where there is no such token, or several.
std::size_t resolve_output_token(const OutputToken& asked, const InputText& input, bool causal, bool merges_words,
                                 std::vector<Note>& notes);
// The same for a token that is not named by its text, of the option `option` (with dashes).
std::size_t resolve_token(const OutputToken& asked, std::string_view option, const std::vector<InputToken>& tokens,
                          bool causal, std::vector<Note>& notes);

// Mask tokens and class tokens are known by their texts, and so is the token that stands for what the vocabulary lacks.
bool is_mask_piece(std::string_view piece);
bool is_class_piece(std::string_view piece);
bool is_unknown_piece(std::string_view piece);

}  // namespace attnflow

#endif  // ATTNFLOW_ATTRIBUTION_RESOLVE_H_
