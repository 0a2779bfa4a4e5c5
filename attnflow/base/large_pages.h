// Memory in large pages: less work for the kernel where arrays are large.
//
// Problem. The kernel hands memory out in pages of 4 KiB, each when it is first touched. Filling an array of gigabytes
// takes a few hundred thousand such steps, which cost as much as the filling. With pages of 2 MiB it takes a few
// hundred.
//
// Linux uses them for ranges that ask for it (madvise(2), MADV_HUGEPAGE), where it has any, and only inside of a range;
// what is stored and how much memory it takes stay the same. Elsewhere this does nothing.
#ifndef ATTNFLOW_BASE_LARGE_PAGES_H_
#define ATTNFLOW_BASE_LARGE_PAGES_H_

#include <cstddef>
#include <vector>

namespace attnflow {

// Asks for large pages, before the memory is first touched; of small arrays nothing.
void prefer_large_pages(const void* data, std::size_t bytes);

// reserve(), in large pages.
template <typename T>
void reserve_in_large_pages(std::vector<T>& elements, std::size_t count) {
  elements.reserve(count);
  prefer_large_pages(elements.data(), elements.capacity() * sizeof(T));
}

// An array of zeros.
template <typename T>
std::vector<T> zeros_in_large_pages(std::size_t count) {
  std::vector<T> elements;
  reserve_in_large_pages(elements, count);
  elements.resize(count);
  return elements;
}

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_LARGE_PAGES_H_
