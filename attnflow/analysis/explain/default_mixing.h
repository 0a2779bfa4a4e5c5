// What Mixing::kAuto stands for of a model that the program has loaded (explain/mixing_choice.h).
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Bytes of weights that may be written out in float32 for it (Gradients::preparation_bytes()).
inline constexpr std::size_t kDefaultPreparation = std::size_t{2} << 30U;

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes);

// The same of an image.
void choose_mixing_of_image(Settings& settings);

// Says what gradients cost beside the passes.
void note_preparation(const Gradients<TextInput>& gradients, std::vector<Note>& notes);

}  // namespace attnflow
