// What a reader should know beside the numbers: that flow is mostly degenerate, that a token was guessed, that a text
// was cut.
//
// A note is a code with named values, so that programs can ask what it is of, and the words that its code has in the
// one table of them (attribution/note_texts.cc; docs/report-format.md lists the codes). Its words come in two parts:
// `text` says what is so; `advice`, where there is something to do, names options of the command line. A surface with
// controls of its own shows the text and puts its own advice behind it.
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

// What a note is of. Documents have the names in docs/report-format.md.
enum class NoteCode : std::uint8_t {
  kText,  // none of the others: words of a user, of an old document or of a newer attnflow
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
  kDefaultAttention,
  kDequantisedGradients,
  kAttentionSink,
  kAttentionSinkGenerated,  // the same of a generation
  kSecondTokenSink,
  kSecondTokenSinkGenerated,
  // The values
  kRolloutNotShares,
  kFlowDegenerate,
  kWideGap,
  kFlowTimeLimit,
  kSmallBaseline,
  kFlowTokensNotGenerated,
  kBlankOutAgreement,
  kIntegrationError,
  // How a generation began and ended
  kGenerationRules,
  kGenerationSettingsLeft,
  kTokensGiven,
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
  // Takes the words from the table. The values are those that the table names for the code.
  Note(NoteCode of, NoteValues with);
  explicit Note(NoteCode of) : Note(of, {}) {}
  // Words without a code.
  explicit Note(std::string words);

  // Nothing where there is no value of that name.
  const NoteValue* find(std::string_view name) const;

  NoteCode code = NoteCode::kText;
  NoteValues values;
  std::string text;    // whole sentences
  std::string advice;  // a whole sentence, or nothing

  friend bool operator==(const Note&, const Note&) = default;
};

// Text and advice, which names options.
std::string note_text(const Note& note, OptionNames names = OptionNames::kShell);
std::vector<std::string> note_texts(const std::vector<Note>& notes, OptionNames names = OptionNames::kShell);

// "flow-degenerate", and back.
std::string to_text(NoteCode code);
std::optional<NoteCode> find_note_code(std::string_view name);

}  // namespace attnflow
