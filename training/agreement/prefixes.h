// Writes held-out prefixes of prose to a file of samples, which `attnflow evaluate agreement --data` reads.
//
// A .tsv with a header. Columns: text (the prefix), label (singular or plural), group ("attractor" if the last noun
// before the verb differs from it in number, else "no attractor") and source (the document's name).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "training/agreement/agreement_data.h"

namespace attnflow {

// Tabs in a text become spaces, as they would in a tokenizer.
std::string prefixes_tsv(const std::vector<AgreementExample>& examples);

// Draws at most `count` examples (0: all) with the seed, equally many singular and plural, in their original order.
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

// Splits the prose by whole documents (agreement_data.h) and writes the prefixes of the test documents: those named,
// else those held out when the model was trained, else randomly drawn ones. Reports through `say` how many there are,
// which documents were drawn, and which of them the model was trained on. Throws as read_prose() and
// build_agreement_data() do; Error(kUsage) for an extension other than .tsv, fewer than three documents, or a model
// without training.json; Error(kBadFile) for a damaged one.
void write_prefixes(const PrefixOptions& options, const std::function<void(const std::string&)>& say);

}  // namespace attnflow
