// The in-memory part of the reader of torch.save's files; PytorchFile maps a file and calls it.
#ifndef ATTNFLOW_FILES_PYTORCH_PARSE_H_
#define ATTNFLOW_FILES_PYTORCH_PARSE_H_

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/pytorch_file.h"

namespace attnflow::internal {

struct PytorchContent {
  std::map<std::string, PytorchFile::Entry, std::less<>> entries;  // `bytes` point into the file or into `copies`
  std::deque<std::vector<std::byte>> copies;                       // no more bytes in total than the file has
};

// Parses `file`, the content of a whole file; messages call it `name`. Throws Error(kBadFile). Time and memory are
// linear in the pickles' length and the bytes copied; other tensor data is not touched.
PytorchContent parse_pytorch(std::span<const std::byte> file, const std::string& name);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_PYTORCH_PARSE_H_
