// A model's card: README.md of a Hugging Face folder.
//
// It may begin with front matter, lines of "key: value" between two lines "---"; then comes Markdown.
#ifndef ATTNFLOW_MODEL_MODEL_CARD_H_
#define ATTNFLOW_MODEL_MODEL_CARD_H_

#include <optional>
#include <string>
#include <string_view>

#include "attnflow/files/folder.h"

namespace attnflow {

struct ModelCard {
  // Both without line breaks and control characters, and short enough to print. Empty when the card does not say.
  std::string licence;  // "license" of the front matter, such as "cc-by-4.0"; "license_name" when that says "other"
  std::string summary;  // the first paragraph that is no heading, table, list, image or HTML
  std::string text;     // the card as it is
};

ModelCard parse_model_card(std::string text);

// README.md of the folder; nothing when there is none. Throws Error(kBadFile): it cannot be read, or is larger than
// 16 MiB.
std::optional<ModelCard> read_model_card(const Folder& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_CARD_H_
