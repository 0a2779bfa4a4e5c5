// Held-out prefixes of prose as a file of samples: what `attnflow evaluate agreement --data` reads.
//
// A .tsv with a header. Columns: text (the prefix), label (singular or plural), group ("attractor" where the last noun
// before the verb has the other number, else "no attractor") and source (the document's name).
#ifndef ATTNFLOW_TRAINING_AGREEMENT_PREFIXES_H_
#define ATTNFLOW_TRAINING_AGREEMENT_PREFIXES_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "training/agreement/agreement_data.h"

namespace attnflow {

// The content of such a file. Tabs in a text become spaces, which is what a tokenizer makes of them.
std::string prefixes_tsv(const std::vector<AgreementExample>& examples);

// At most `count` of the examples, as many singular as plural, drawn by the seed, in their order; 0: all.
std::vector<AgreementExample> draw_prefixes(const std::vector<AgreementExample>& examples, std::size_t count,
                                            std::uint64_t seed);

struct PrefixOptions {
  std::vector<std::filesystem::path> prose;  // text files, or folders of them
  std::filesystem::path output;              // a .tsv
  std::filesystem::path model;               // a folder with training.json; empty: none
  std::vector<std::string> test_sources;     // names of documents; empty: those that the model was not trained on
  std::size_t samples = 0;                   // 0: all
  std::uint64_t seed = 1;
};

// Splits the prose by whole documents (agreement_data.h) and writes the prefixes of the test documents: those that are
// named, else those that were kept apart when the model was trained, else some that are drawn. `say` is told how many
// there are, which documents were drawn, and which of them the model was trained on.
//
// Throws what read_prose() and build_agreement_data() throw; Error(kUsage) for another ending than .tsv, fewer than
// three documents, or a model without training.json; Error(kBadFile) for a damaged one.
void write_prefixes(const PrefixOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace attnflow

#endif  // ATTNFLOW_TRAINING_AGREEMENT_PREFIXES_H_
