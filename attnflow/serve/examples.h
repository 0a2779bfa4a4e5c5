// Example inputs that suit a model.
//
// A model's folder may contain `examples.txt`, with one text per line, and, for a built-in model, images
// `example_NAME.png`. Other text models get sentences for their task, except models that answer questions; other image
// models, whose subject is unknown, get none.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct Example {
  std::string text = {};     // for a text model
  std::string name = {};     // of an image: "ankle boot"
  std::string picture = {};  // the bytes of a PNG file
};

// The lines of examples.txt, at most 20, without empty lines and repeats. Throws Error(kBadFile) if it cannot be read,
// is larger than 64 KiB, or is not UTF-8.
std::vector<Example> text_examples(const Folder& folder);

// The files example_NAME.png, by name; "_" stands for a space.
std::vector<Example> picture_examples(std::span<const MemoryFile> files);

// Examples for a model without its own. `mask` is a masked language model's mask text.
std::vector<Example> examples_by_task(const ModelInfo& info, const std::string& mask);

}  // namespace attnflow
