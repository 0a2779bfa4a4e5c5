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
  // `licence` and `summary` are printable: short, without line breaks or control characters. Empty: not in the card.
  std::string licence;  // "license" in the front matter, such as "cc-by-4.0"; "license_name" when that is "other"
  std::string summary;  // the first paragraph that is not a heading, table, list, image or HTML
  std::string text;     // the card, unchanged
};

ModelCard parse_model_card(std::string text);

// Reads the folder's README.md; nothing when there is none. Throws Error(kBadFile) if it is unreadable or above 16 MiB.
std::optional<ModelCard> read_model_card(const Folder& folder);

}  // namespace attnflow
