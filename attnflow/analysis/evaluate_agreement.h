// Samples for the verb-number model: prefixes of sentences, and the number of the verb that follows.
//
// From one of three places:
//
//   a file of samples   (.tsv, .csv, .jsonl), made earlier: read_samples()
//   prose               text files or folders of them: build_agreement_data() splits them by whole documents, and the
//                       samples are those of the test documents. Which documents these are is what the caller says;
//                       else what the model's folder says of its training (training.json: "test_sources",
//                       "validation_sources" and "settings"."seed"), so that nothing is measured on what the model was
//                       trained on; else they are drawn, with a note that says so.
//   nothing             sentences of a small grammar (train/grammar.h) with the nouns of the model's folder: nouns.tsv,
//                       "singular TAB plural" a line, the most frequent first. They need no data, and mean little.
//
// Samples of prose and grammar are in the groups "attractor" (the last noun before the verb has the other number) and
// "no attractor".
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_AGREEMENT_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_AGREEMENT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate_correlations.h"
#include "attnflow/analysis/evaluate_samples.h"
#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct AgreementSampleOptions {
  std::vector<std::filesystem::path> data;  // one file of samples, or prose; empty: the grammar
  std::vector<std::string> test_sources;    // names of documents; empty: see above
  std::size_t grammar_samples = 2000;
  std::uint64_t seed = 1;  // of the grammar
};

struct AgreementSamples {
  std::vector<EvaluationSample> samples;
  SampleCounts data;               // source, sources, empty_lines
  std::vector<std::string> notes;  // whole sentences
};

// `folder` is the model's. Throws Error(kUnsupportedModel) for a model without the classes singular and plural,
// Error(kUsage) where there is neither data nor nouns.tsv, what read_samples() and build_agreement_data() throw, and
// Error(kBadFile) for a damaged training.json or nouns.tsv.
AgreementSamples read_agreement_samples(const Folder& folder, const ModelInfo& info,
                                        const AgreementSampleOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_AGREEMENT_H_
