// Reads PNG files back with cairo, and makes small ones.
#pragma once

#include <cairo.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "attnflow/draw/cairo_canvas.h"
#include "attnflow/draw/canvas.h"

namespace attnflow::internal {

// Empty if the bytes are not a PNG.
inline Image read_png(const std::string& png) {
  struct Source {
    const std::string* bytes;
    std::size_t at;
  } source{&png, 0};
  cairo_surface_t* surface = cairo_image_surface_create_from_png_stream(
      [](void* closure, unsigned char* data, unsigned int length) {
        auto& from = *static_cast<Source*>(closure);
        if (from.at + length > from.bytes->size()) return CAIRO_STATUS_READ_ERROR;
        std::memcpy(data, from.bytes->data() + from.at, length);
        from.at += length;
        return CAIRO_STATUS_SUCCESS;
      },
      &source);
  Image image;
  EXPECT_EQ(cairo_surface_status(surface), CAIRO_STATUS_SUCCESS);
  if (cairo_surface_status(surface) == CAIRO_STATUS_SUCCESS) {
    image.width = static_cast<std::size_t>(cairo_image_surface_get_width(surface));
    image.height = static_cast<std::size_t>(cairo_image_surface_get_height(surface));
    const unsigned char* pixels = cairo_image_surface_get_data(surface);
    const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface));
    for (std::size_t y = 0; y < image.height; ++y) {
      for (std::size_t x = 0; x < image.width; ++x) {
        std::uint32_t pixel = 0;
        std::memcpy(&pixel, pixels + y * stride + x * 4, 4);
        image.pixels.push_back({static_cast<std::uint8_t>(pixel >> 16), static_cast<std::uint8_t>(pixel >> 8),
                                static_cast<std::uint8_t>(pixel)});
      }
    }
  }
  cairo_surface_destroy(surface);
  return image;
}

// Every pixel differs from its neighbors: red increases to the right, green downward, and blue alternates.
inline Image test_picture(std::size_t width, std::size_t height) {
  Image image{.width = width, .height = height, .pixels = {}};
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      image.pixels.push_back({static_cast<std::uint8_t>(255 * x / width), static_cast<std::uint8_t>(255 * y / height),
                              static_cast<std::uint8_t>((x + y) % 2 == 0 ? 40 : 200)});
    }
  }
  return image;
}

inline Image plain_picture(std::size_t width, std::size_t height, Color color) {
  Image image{.width = width, .height = height, .pixels = {}};
  image.pixels.assign(width * height, color);
  return image;
}

inline std::string test_png(std::size_t width, std::size_t height) { return encode_png(test_picture(width, height)); }

}  // namespace attnflow::internal
