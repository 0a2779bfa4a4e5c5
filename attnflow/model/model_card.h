// Reads a model card: README.md of a Hugging Face folder.
//
// The card may begin with front matter, lines of "key: value" between two "---" lines; Markdown follows.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attnflow/files/folder.h"

namespace attnflow {

struct ModelCard {
  // `licence` and `summary` have no line breaks or control characters and are short enough to print. Empty when the
  // card gives none.
  std::string licence;  // "license" in the front matter, such as "cc-by-4.0"; "license_name" when that is "other"
  std::string summary;  // the first paragraph that is not a heading, table, list, image or HTML
  std::string text;     // the card, unchanged
};

ModelCard parse_model_card(std::string text);

// Reads README.md of the folder; nothing when there is none. Throws Error(kBadFile) if it cannot be read or is larger
// than 16 MiB.
std::optional<ModelCard> read_model_card(const Folder& folder);

}  // namespace attnflow
