// The part of the reader of torch.save's files that works on bytes in memory; PytorchFile maps a file and calls it.
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
  std::map<std::string, PytorchFile::Entry, std::less<>> entries;  // `bytes` point into the file's, or into `copies`
  std::deque<std::vector<std::byte>> copies;                       // no more bytes than the file has
};

// `file` is the whole file; `name` is what messages call it. Throws Error(kBadFile). Work and memory are linear in the
// pickles' length and in what is copied; the tensors' own bytes are not touched otherwise.
PytorchContent parse_pytorch(std::span<const std::byte> file, const std::string& name);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_PYTORCH_PARSE_H_
