// Builds examples for subject-verb agreement from English prose.
//
// Problem. Given a sentence up to, but not including, a verb that is marked for number, predict whether the verb is
// singular or plural ("The key to the cabinets" -> singular): the task of Linzen, Dupoux and Goldberg, "Assessing the
// Ability of LSTMs to Learn Syntax-Sensitive Dependencies" (TACL 2016), on which Abnar and Zuidema (ACL 2020) trained
// their verb-number model. Their examples came from parsed text. There is no parser here, so a sentence gives an
// example only if a cautious set of rules is sure that the word is a finite verb whose subject is in the prefix.
//
// Verbs. is/are, was/were, has/have, does/do before "not", and present-tense verbs from a list whose two forms are
// rarely nouns, adjectives or past forms (agreement_verbs). The label is the number of the form that the author wrote.
//
// Rules. Each rule looks at the words around the verb and at the pair of forms to which it belongs, never at which of
// the two occurs. So exclusion says nothing about the label, and no rule can create a shortcut for a model to learn.
// AgreementCounts lists them. They exclude about half of the verbs; by manual inspection, at most 1 in 100 of the
// remaining labels is wrong.
//
// Attractor. The last noun of the prefix differs in number from the verb: the case in which the noun nearest to the
// verb misleads. An example whose last apparent noun is not in the lexicon does not count as having an attractor.
//
// Examples per sentence. Training uses every usable verb; validation and test use at most one of a sentence, drawn with
// the seed, so that their examples are independent. No prefix (compared in lower case) occurs twice, within or across
// splits: a duplicate is kept in test if it occurs there, otherwise in validation.
//
// Splits are whole documents, so training, and the lexicon, see nothing of a held-out source. Unless they are named,
// held-out sources are drawn with the seed: sources are ranked by mean sentence length and cut into strata of equal
// bytes, and each stratum in turn contributes a source until the share of bytes is reached, so each split holds several
// styles.
//
// Balance. Each split has as many singular as plural examples: the surplus is dropped with the seed. Pronoun subjects
// directly before the verb are trivial; they are excluded from validation and test, and make up at most `pronoun_share`
// of training.
//
// Determinism: the same documents, options and seed give the same examples in the same order (by source, then by
// position in the text; training shuffles them itself). Cost: O(bytes), about 6 MB per second on one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "training/agreement/noun_lexicon.h"
#include "training/agreement/prose.h"

namespace attnflow {

struct AgreementExample {
  std::string text;              // the prefix as in the source, without trailing white space
  bool plural = false;           // the label
  bool attractor = false;        // the last noun of the prefix has the other number
  bool pronoun_subject = false;  // a pronoun directly before the verb, ignoring adverbs
  std::string verb;              // as found, in lower case
  std::string source;            // name of the document; "grammar"
  std::size_t words = 0;         // of the prefix, punctuation included
};

struct AgreementDataOptions {
  std::uint64_t seed = 1;
  std::size_t min_words = 2;  // of a prefix, as split_words counts them
  std::size_t max_words = 40;
  double pronoun_share = 0.05;                    // maximum, for the training part; 0 to 1
  std::vector<std::string> test_sources;          // names of documents; empty: drawn, about test_share of all bytes
  std::vector<std::string> validation_sources;    // likewise
  double test_share = 0.10;                       // above 0, together with validation_share below 1
  double validation_share = 0.05;                 // above 0
  std::vector<std::string> placeholders{"xref"};  // lower-case words that stand for removed text
};

// Why verbs and sentences gave no example. A verb is counted under the first rule that excludes it.
struct AgreementCounts {
  std::size_t sentences = 0;
  std::size_t no_sentence = 0;    // excluded sentences: heading, list item, question, reference, address, ...
  std::size_t without_verb = 0;   // sentences without any of the verbs
  std::size_t verbs = 0;          // in the other sentences
  std::size_t length = 0;         // prefix too short or too long
  std::size_t placeholder = 0;    // prefix contains one of options.placeholders
  std::size_t not_a_verb = 0;     // part of a contraction or compound, a participle, "do" without "not"
  std::size_t base_form = 0;      // may be an infinitive, imperative or subjunctive
  std::size_t inverted = 0;       // the subject may follow the verb
  std::size_t person = 0;         // first or second person singular, whose forms do not show number
  std::size_t undetermined = 0;   // subject of either number (species, all, "what ..."), "or", no noun at all
  std::size_t quotation = 0;      // directly after a quotation mark, or inside a quotation that began earlier
  std::size_t pronoun = 0;        // pronoun subject in validation and test, or above pronoun_share
  std::size_t same_sentence = 0;  // validation and test: another verb of the sentence was drawn
  std::size_t duplicate = 0;      // the same prefix occurred earlier
  std::size_t balance = 0;        // surplus of the more frequent number
  std::size_t used = 0;           // examples
};

struct AgreementSplit {
  std::vector<AgreementExample> examples;  // half of them singular, half plural
  std::vector<std::string> sources;        // names of its documents, sorted
  std::size_t attractors = 0;              // examples with an attractor
  AgreementCounts counts;
};

struct AgreementData {
  AgreementSplit train;
  AgreementSplit validation;
  AgreementSplit test;
  NounLexicon lexicon;  // built from the training sources
};

// Throws Error(kUsage): a source that is not among the documents or is named for two splits. Throws Error(kBadFile):
// fewer than three documents and no split named, no document left for a split, or a split without a usable sentence of
// each number.
AgreementData build_agreement_data(const std::vector<ProseDocument>& documents,
                                   const AgreementDataOptions& options = {});

// Returns the verbs as (singular, plural), in a fixed order.
const std::vector<std::pair<std::string, std::string>>& agreement_verbs();

}  // namespace attnflow
