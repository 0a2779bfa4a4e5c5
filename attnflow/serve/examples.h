// Good inputs to begin with, of a kind that a model was made for.
//
// A model's folder may bring its own: `examples.txt`, a text in each line, and, of a built-in one, pictures
// `example_NAME.png`. Other models of text get sentences that suit their task, other models of pictures none: what they
// know is theirs.
#ifndef ATTNFLOW_SERVE_EXAMPLES_H_
#define ATTNFLOW_SERVE_EXAMPLES_H_

#include <span>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct Example {
  std::string text = {};     // of a model of text
  std::string name = {};     // of a picture: "ankle boot"
  std::string picture = {};  // the bytes of a PNG file
};

// The lines of examples.txt, at most 20, without empty ones and repeats. Throws Error(kBadFile): it cannot be read, is
// larger than 64 KiB, or is not UTF-8.
std::vector<Example> text_examples(const Folder& folder);

// The files example_NAME.png, by name; "_" stands for a space.
std::vector<Example> picture_examples(std::span<const MemoryFile> files);

// What suits the task of a model that brings none. `mask` is written where a masked language model is asked.
std::vector<Example> examples_by_task(const ModelInfo& info, const std::string& mask);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_EXAMPLES_H_
