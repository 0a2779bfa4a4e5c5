// Resolves settings for one input: which layers, which output token, which matrices.
//
// This happens once, before a model runs, so that mismatches are reported early and in the same words everywhere.
//
// Example:
//
//     Settings settings;
//     settings.output_token = parse_output_token("keys");
//     const ResolvedSettings resolved = resolve(settings, {.input = input, .layers = 6, .heads = 2, .causal = false});
//     assert(resolved.output_token == 3 && resolved.layers.size() == 6);       // "##s" of "key", "##s"
//     assert(resolved.notes.front().code == NoteCode::kOutputTokenOfWord);     // says so
//     const AttentionGraph graph = attention_graph(stack, resolved.mixing);
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/graph/mixing.h"

namespace attnflow {

struct InputFacts {
  const InputText& input;
  std::size_t layers = 0;
  std::size_t heads = 0;
  bool causal = false;
};

struct ResolvedMixing {
  Mixing kind = Mixing::kAttention;
  MixingOptions mixing;  // heads apply to Mixing::kAttention only; removal and residual to all mixings that have them

  WeightRemoval removal() const { return mixing.removal(); }
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
  std::vector<Note> notes;          // guesses made
};

// Throws Error(kUsage) for layers, heads, tokens or columns that do not exist.
ResolvedSettings resolve(const Settings& settings, const InputFacts& facts);

// Parts of resolve(), for analyses of many inputs. They throw Error(kUsage) for heads or columns that do not exist.

ResolvedMixing resolve_mixing(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads);
// For attention only: throws Error(kUsage) for another settings.mixing.
MixingOptions mixing_options(const Settings& settings, const std::vector<InputToken>& tokens, std::size_t heads);

// Returns the position of the output token that `asked` names; kAll gives the same as kAuto. A text names the first of
// these that exists:
//   1. the word with this text ("cabinets"). For a word of several subword tokens, this is the last one, with a note
//      unless words are merged;
//   2. the token with this text, in the user's or the tokenizer's spelling ("ets", "##ets", "[SEP]");
//   3. the word that differs only in case ("Cabinets").
// Throws Error(kUsage) if there is no such token, or more than one.
std::size_t resolve_output_token(const OutputToken& asked, const InputText& input, bool causal, bool merges_words,
                                 std::vector<Note>& notes);
// Likewise for a token not named by its text; `option` is the option's name (with dashes), for messages. kAuto and kAll
// give the first mask token; if there is none, a causal model's last token, else the class token, else (with a note) a
// picture's middle patch, or token 0.
std::size_t resolve_token(const OutputToken& asked, std::string_view option, const std::vector<InputToken>& tokens,
                          bool causal, std::vector<Note>& notes);

bool is_mask_piece(std::string_view piece);
bool is_class_piece(std::string_view piece);
bool is_unknown_piece(std::string_view piece);

}  // namespace attnflow
