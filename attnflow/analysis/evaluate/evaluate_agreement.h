// Samples for the verb-number model: prefixes of sentences, and the number of the verb that follows.
//
// They come from a file of samples (evaluate_samples.h) with the labels singular and plural; where none is given, from
// the model's folder: prefixes.tsv, prefixes that it was not trained on. A column `group` (or `attractors`) parts them:
// how many nouns of the other number stand between subject and verb, as a number or in words ("attractor", "no
// attractor"). A column `source` names the document that a sample is from: what the model's training.json lists as a
// document that it was trained on is marked in a note and beside every accuracy.
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

// `folder` is the model's. Throws Error(kUnsupportedModel) for a model without the classes singular and plural,
// Error(kUsage) for prose in the place of samples, or where there is neither `data` nor prefixes.tsv, Error(kBadFile)
// for samples without labels and for a damaged training.json, and what read_samples() throws.
AgreementSamples read_agreement_samples(const Folder& folder, const ModelInfo& info,
                                        const std::optional<std::filesystem::path>& data);

}  // namespace attnflow
