// Whether there is memory for what is about to be computed.
#ifndef ATTNFLOW_ANALYSIS_MEMORY_CHECK_H_
#define ATTNFLOW_ANALYSIS_MEMORY_CHECK_H_

#include <cstddef>
#include <string>

namespace attnflow {

// Throws Error(kOther) when `bytes` are more than the machine could give (base/available_memory.h): the message says
// what they are for, how much they and the free memory are, and `remedy`, a sentence without its full stop.
void require_memory(std::size_t bytes, const std::string& what, const std::string& remedy);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_MEMORY_CHECK_H_
