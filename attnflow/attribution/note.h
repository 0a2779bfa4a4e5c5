// Notes: what a reader should know besides the numbers, such as that most flow is degenerate or a text was cut.
//
// A note has a code and named values, for programs, and words made from them by the table in attribution/note_texts.cc
// (docs/report-format.md lists the codes). `text` states the fact; `advice`, if something can be done, names
// command-line options. A user interface with its own controls shows the text and appends its own advice.
//
// Example:
//
//     const Note note{NoteCode::kWideGap, {{"widest", 3e-4}, {"tolerance", 1e-6}}};
//     assert(to_text(note.code) == "wide-gap");
//     assert(std::get<double>(*note.find("widest")) == 3e-4);
//     assert(note_text(note).starts_with("The widest flow interval is 3.0e-04"));
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/attribution/option_names.h"

namespace attnflow {

enum class NoteCode : std::uint8_t {
  kText,  // no other code: words of a user, an old document or a newer attnflow
  // The input
  kTextCut,
  kUnknownWords,
  kSpecialTokenTwice,
  kJointLayers,
  kTokensBlanked,
  kFewClasses,
  kReferentsPossible,
  kOutputTokenGuessed,
  kOutputTokenMiddle,
  kOutputTokenSurest,
  kNoAnswer,
  kOutputTokenAnswer,
  kOutputTokenOfWord,
  kTargetFirstToken,
  kSystemTurn,
  // The model
  kNoHead,
  kAdapterApplied,
  kAdapterNotApplied,
  kWindowNotApplied,
  kWindowIgnored,
  kPreTokenizerUnknown,
  kSpecialTokenDoubtful,
  kTokenTypesChanged,
  kEmptyTokens,
  kTensorsUnused,
  kLlamaWarning,
  // The attention
  kAnyWeights,
  kZeroRows,
  kAttentionRounded,
  kNoPositiveAttention,
  kNegativeRelevance,
  kDefaultMixing,
  kAttentionByOption,
  kNotTheAnswer,
  kLearnedSinks,
  kAttentionSink,
  kAttentionSinkGenerated,  // likewise for a generation
  kSecondTokenSink,
  kSecondTokenSinkGenerated,
  // The values
  kRolloutNotShares,
  kFlowDegenerate,
  kWideGap,
  kFlowTimeLimit,
  kSmallBaseline,
  kFlowTokensNotGenerated,
  kIntegrationError,
  kNotChecked,
  // How a generation began and ended
  kGenerationRules,
  kGenerationSettingsLeft,
  kTokensGiven,
  kNoPositionsLeft,
  kModelStopped,
  kInterrupted,
  kFlowInterrupted,
  kValuesInterrupted,
  kScoresInterrupted,
  kTimeLimit,
  // What a compact document keeps
  kLargestKept,
  kUndefinedValues,
  kLeftOut,
  // Evaluations
  kEmptyLines,
  kSamplesTooLong,
  kSamplesCut,
  kNoLabels,
  kTokensAlreadyBlank,
  kScoresAreNoise,
  kOutputTokensGuessed,
  kNoIntervals,
  kPositionsDiffer,
  kTrainedOnSamples,
  kEvidenceFirst,
  kHeadsUnused,
};

// A count or position, a measure or share (of 1), a text, several counts, several texts.
using NoteValue = std::variant<std::size_t, double, std::string, std::vector<std::size_t>, std::vector<std::string>>;
using NoteValues = std::map<std::string, NoteValue, std::less<>>;

struct Note {
  // Takes the words from the table. `with` holds the values that the table names for the code.
  Note(NoteCode of, NoteValues with);
  explicit Note(NoteCode of) : Note(of, {}) {}
  explicit Note(std::string words);

  const NoteValue* find(std::string_view name) const;

  NoteCode code = NoteCode::kText;
  NoteValues values;
  std::string text;    // whole sentences
  std::string advice;  // a whole sentence, or empty

  friend bool operator==(const Note&, const Note&) = default;
};

// Text and advice, with option names as given.
std::string note_text(const Note& note, OptionNames names = OptionNames::kShell);
std::vector<std::string> note_texts(const std::vector<Note>& notes, OptionNames names = OptionNames::kShell);

std::string to_text(NoteCode code);
std::optional<NoteCode> find_note_code(std::string_view name);

}  // namespace attnflow
