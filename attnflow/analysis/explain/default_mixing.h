// Resolves Mixing::kAuto for a loaded model (explain/mixing_choice.h).
#pragma once

#include <cstddef>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/explain/mixing_choice.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Bytes of weights that may be expanded to float32 for it (Gradients::preparation_bytes()).
inline constexpr std::size_t kDefaultPreparation = std::size_t{2} << 30U;

void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes);

// The same for an image.
void choose_mixing_of_image(Settings& settings);

// Notes what gradients cost in addition to the passes.
void note_preparation(const Gradients<TextInput>& gradients, std::vector<Note>& notes);

}  // namespace attnflow
