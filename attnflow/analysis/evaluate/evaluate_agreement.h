// Samples for the verb-number model: prefixes of sentences, each labeled with the number of the verb that follows.
//
// They come from a file (evaluate_samples.h) with the labels singular and plural, or from the model's prefixes.tsv,
// which it was not trained on. A column `group` (or `attractors`) says how many nouns of the other number stand between
// subject and verb ("2", "no attractor"). A column `source` names a sample's document; notes and accuracies mark
// documents that the model's training.json lists.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/evaluate/evaluate_samples.h"
#include "attnflow/attribution/note.h"
#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct AgreementSamples {
  std::vector<EvaluationSample> samples;
  SampleCounts data;  // source, sources, empty_lines, caveat
  std::vector<Note> notes;
};

// `folder` is the model's. Throws Error(kUnsupportedModel) without the classes singular and plural, Error(kUsage) for
// prose instead of samples, or without both `data` and prefixes.tsv, Error(kBadFile) for samples without labels and for
// a damaged training.json, and what read_samples() throws.
AgreementSamples read_agreement_samples(const Folder& folder, const ModelInfo& info,
                                        const std::optional<std::filesystem::path>& data);

}  // namespace attnflow
