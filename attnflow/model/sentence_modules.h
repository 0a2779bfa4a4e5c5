// Reads how a sentence encoder pools: the files that sentence-transformers writes beside a model.
//
// modules.json lists what a text passes, in order: a Transformer, whose files stand in the folder itself or in one of
// its own ("0_Transformer"), then a Pooling, whose config.json says how one vector is made of the last hidden states,
// and perhaps a Normalize, which changes the vector's length alone and so no cosine.
//
// Source: sentence-transformers 2 to 5 (https://sbert.net/docs/package_reference/sentence_transformer/models.html).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct SentenceModule {
  std::string type;  // the last part of its name in Python: "Transformer"
  std::string path;  // its folder, beside modules.json; empty: the same folder
};

// The modules of the sentence encoder in `folder`; none without modules.json. Throws Error(kBadFile) if that file is
// not a list of modules, or names a folder elsewhere.
std::vector<SentenceModule> sentence_modules(const std::filesystem::path& folder);

struct SentencePooling {
  Pooling pooling = Pooling::kMean;  // also where nothing is said
  bool is_declared = false;          // the folder is a sentence encoder's
  std::string unknown;               // what attnflow does not compute, for messages: "max pooling", "a Dense module"
};

// `folder`: that of the Transformer's config.json. The mean of token states divided by another number than that of the
// tokens (mean_sqrt_len) has the mean's direction. Throws Error(kBadFile) for damaged files.
SentencePooling read_sentence_pooling(const Folder& folder);

}  // namespace attnflow
