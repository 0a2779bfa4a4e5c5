// Memory in large pages, which saves the kernel work for large arrays.
//
// Problem. The kernel provides memory in pages of 4 KiB, each when it is first touched. For an array of gigabytes,
// these few hundred thousand steps cost as much as filling the array. Pages of 2 MiB take a few hundred.
//
// Linux uses large pages for ranges that request them (madvise(2), MADV_HUGEPAGE), if it has any, and only within a
// range; the content and the total memory stay the same. On other systems this does nothing.
#pragma once

#include <cstddef>
#include <vector>

namespace attnflow {

// Requests large pages, before the memory is first touched; does nothing for small arrays.
void prefer_large_pages(const void* data, std::size_t bytes);

template <typename T>
void reserve_in_large_pages(std::vector<T>& elements, std::size_t count) {
  elements.reserve(count);
  prefer_large_pages(elements.data(), elements.capacity() * sizeof(T));
}

template <typename T>
std::vector<T> zeros_in_large_pages(std::size_t count) {
  std::vector<T> elements;
  reserve_in_large_pages(elements, count);
  elements.resize(count);
  return elements;
}

}  // namespace attnflow
