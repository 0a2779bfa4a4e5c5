#pragma once

#include "attnflow/analysis/text/mixing_choice.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The opening of every report whose input is read: chooses the mixing, with its note, and sets settings and model.
// Throws Error(kUsage) where the mixing does not go with other settings.
template <typename Model>
void begin_report(Report& report, Settings& settings, Model& model, const DefaultQuestion& question) {
  choose_mixing(settings, model, question, report.notes);
  validate(settings);
  const ModelInfo& info = model.info();
  report.settings = settings;
  report.model = {info.name, info.architecture, info.layers, info.heads, info.causal};
}

}  // namespace attnflow
