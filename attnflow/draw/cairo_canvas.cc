#include "attnflow/draw/cairo_canvas.h"

#include <cairo-pdf.h>
#include <cairo.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numbers>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/draw/pango_text.h"

#if defined(__SANITIZE_ADDRESS__)
#define ATTNFLOW_DRAW_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTNFLOW_DRAW_UNDER_ASAN 1
#endif
#endif
#ifdef ATTNFLOW_DRAW_UNDER_ASAN
// Cairo keeps every used font until the process ends, in a table that the leak checker cannot read; it does not grow
// with the number of figures.
extern "C" const char* __lsan_default_suppressions();  // NOLINT: the name that the sanitizer looks for
extern "C" const char* __lsan_default_suppressions() { return "leak:libfontconfig\n"; }
#endif

namespace attnflow::internal {
namespace {

constexpr double kLongestPngSide = 16000.0;

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
struct DestroyCairo {
  void operator()(cairo_t* cr) const { cairo_destroy(cr); }
};
using SurfacePtr = std::unique_ptr<cairo_surface_t, DestroySurface>;
using CairoPtr = std::unique_ptr<cairo_t, DestroyCairo>;

void check(cairo_status_t status) {
  if (status != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::kOther, std::string("the figure could not be drawn: ") + cairo_status_to_string(status));
  }
}

cairo_status_t append_bytes(void* closure, const unsigned char* data, unsigned int length) {
  static_cast<std::string*>(closure)->append(reinterpret_cast<const char*>(data), length);
  return CAIRO_STATUS_SUCCESS;
}

SurfacePtr image_surface(const Image& image) {
  SurfacePtr surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(image.width), static_cast<int>(image.height)));
  check(cairo_surface_status(surface.get()));
  cairo_surface_flush(surface.get());
  unsigned char* data = cairo_image_surface_get_data(surface.get());
  const auto stride = static_cast<std::size_t>(cairo_image_surface_get_stride(surface.get()));
  for (std::size_t y = 0; y < image.height; ++y) {
    auto* row = reinterpret_cast<std::uint32_t*>(data + y * stride);
    for (std::size_t x = 0; x < image.width; ++x) {
      const Color color = image.pixels[y * image.width + x];
      row[x] = (static_cast<std::uint32_t>(color.red) << 16) | (static_cast<std::uint32_t>(color.green) << 8) |
               static_cast<std::uint32_t>(color.blue);
    }
  }
  cairo_surface_mark_dirty(surface.get());
  return surface;
}

struct Reader {
  const std::string* bytes;
  std::size_t at = 0;
};

cairo_status_t read_bytes(void* closure, unsigned char* data, unsigned int length) {
  auto* reader = static_cast<Reader*>(closure);
  if (length > reader->bytes->size() - reader->at) return CAIRO_STATUS_READ_ERROR;
  std::memcpy(data, reader->bytes->data() + reader->at, length);
  reader->at += length;
  return CAIRO_STATUS_SUCCESS;
}

SurfacePtr png_surface(const std::string& png) {
  Reader reader{&png};
  SurfacePtr surface(cairo_image_surface_create_from_png_stream(read_bytes, &reader));
  const cairo_status_t status = cairo_surface_status(surface.get());
  if (status != CAIRO_STATUS_SUCCESS) {
    throw Error(ErrorKind::kOther, "expected a complete PNG to draw, found " + std::to_string(png.size()) +
                                       " bytes that are not one: " + cairo_status_to_string(status));
  }
  return surface;
}

class CairoCanvas {
 public:
  CairoCanvas(cairo_t* cr, const std::string& language) : cr_(cr), context_(make_pango_context(language)) {}

  void operator()(const Group& group) {
    cairo_save(cr_);
    if (group.clip) {
      box(*group.clip);
      cairo_clip(cr_);
    }
  }

  void operator()(const GroupEnd&) { cairo_restore(cr_); }

  void operator()(const RectMark& mark) {
    box(mark.rect);
    apply(mark.paint);
  }

  void operator()(const LineMark& mark) {
    cairo_move_to(cr_, mark.from.x, mark.from.y);
    cairo_line_to(cr_, mark.to.x, mark.to.y);
    apply(mark.paint);
  }

  void operator()(const CircleMark& mark) {
    cairo_new_sub_path(cr_);
    cairo_arc(cr_, mark.center.x, mark.center.y, mark.radius, 0.0, 2.0 * std::numbers::pi);
    cairo_close_path(cr_);
    apply(mark.paint);
  }

  void operator()(const PathMark& mark) {
    for (const PathStep& step : mark.path) {
      if (step.kind == PathStep::Kind::kMove) cairo_move_to(cr_, step.end.x, step.end.y);
      if (step.kind == PathStep::Kind::kLine) cairo_line_to(cr_, step.end.x, step.end.y);
      if (step.kind == PathStep::Kind::kClose) cairo_close_path(cr_);
    }
    apply(mark.paint);
  }

  void operator()(const ImageMark& mark) { stretch(image_surface(mark.image).get(), mark.rect, Sampling::kPixels); }

  void operator()(const BitmapMark& mark) {
    stretch(png_surface(*mark.bitmap.png).get(), mark.rect, mark.bitmap.sampling);
  }

  void operator()(const Text& text) {
    cairo_save(cr_);
    cairo_translate(cr_, text.at.x, text.at.y);
    cairo_rotate(cr_, text.angle * std::numbers::pi / 180.0);
    pango_cairo_update_context(cr_, context_.get());
    PangoLayoutPtr layout(pango_layout_new(context_.get()));
    set_line(layout.get(), text.text, text.style, text.spans);
    const double shift = text.anchor == Anchor::kStart ? 0.0 : text.anchor == Anchor::kMiddle ? 0.5 : 1.0;
    source(text.style.color, 1.0);
    cairo_move_to(cr_, -shift * text.width, 0.0);
    pango_cairo_show_layout_line(cr_, pango_layout_get_line_readonly(layout.get(), 0));
    cairo_restore(cr_);
    cairo_new_path(cr_);
  }

 private:
  void stretch(cairo_surface_t* surface, const Rect& rect, Sampling sampling) {
    const double width = cairo_image_surface_get_width(surface);
    const double height = cairo_image_surface_get_height(surface);
    cairo_save(cr_);
    cairo_translate(cr_, rect.x, rect.y);
    cairo_scale(cr_, rect.width / width, rect.height / height);
    cairo_set_source_surface(cr_, surface, 0.0, 0.0);
    cairo_pattern_t* pattern = cairo_get_source(cr_);
    cairo_pattern_set_filter(pattern, sampling == Sampling::kPixels ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    // Otherwise a smooth picture's border blends with its empty surroundings. In a PDF the viewer prevents that, and
    // cairo would enlarge the picture.
    const bool pixels = cairo_surface_get_type(cairo_get_target(cr_)) == CAIRO_SURFACE_TYPE_IMAGE;
    if (sampling == Sampling::kSmooth && pixels) cairo_pattern_set_extend(pattern, CAIRO_EXTEND_PAD);
    cairo_rectangle(cr_, 0.0, 0.0, width, height);
    cairo_fill(cr_);
    cairo_restore(cr_);
  }

  void source(Color color, double opacity) {
    cairo_set_source_rgba(cr_, color.red / 255.0, color.green / 255.0, color.blue / 255.0, opacity);
  }

  void box(const Rect& rect) { cairo_rectangle(cr_, rect.x, rect.y, rect.width, rect.height); }

  void apply(const Paint& paint) {
    if (paint.fill) {
      source(*paint.fill, paint.opacity);
      cairo_fill_preserve(cr_);
    }
    if (paint.stroke) {
      source(*paint.stroke, paint.opacity);
      cairo_set_line_width(cr_, paint.stroke_width);
      cairo_stroke_preserve(cr_);
    }
    cairo_new_path(cr_);
  }

  cairo_t* cr_;
  PangoContextPtr context_;
};

void draw(const Scene& scene, cairo_surface_t* surface, double scale) {
  const CairoPtr cr(cairo_create(surface));
  cairo_scale(cr.get(), scale, scale);
  cairo_set_source_rgb(cr.get(), 1.0, 1.0, 1.0);
  cairo_paint(cr.get());
  CairoCanvas canvas(cr.get(), scene.measure().language());
  scene.replay(canvas);
  check(cairo_status(cr.get()));
}

// The pHYs chunk, in pixels per meter.
std::string density_chunk(double per_inch) {
  constexpr double kInchesPerMeter = 1.0 / 0.0254;
  const auto number = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xffU);
    return bytes;
  };
  const std::string density = number(static_cast<std::uint32_t>(std::lround(per_inch * kInchesPerMeter)));
  const std::string body = "pHYs" + density + density + '\1';
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return number(static_cast<std::uint32_t>(body.size() - 4)) + body + number(static_cast<std::uint32_t>(sum));
}

}  // namespace

std::string scene_to_pdf(const Scene& scene, const std::string& title) {
  const double points = 0.75 * scene.scale();  // per pixel of the scene
  std::string bytes;
  {
    const SurfacePtr surface(
        cairo_pdf_surface_create_for_stream(append_bytes, &bytes, scene.width * points, scene.height * points));
    check(cairo_surface_status(surface.get()));
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_TITLE, title.c_str());
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATOR, "attnflow");
    cairo_pdf_surface_set_metadata(surface.get(), CAIRO_PDF_METADATA_CREATE_DATE, "2020-01-01T00:00:00Z");
    draw(scene, surface.get(), points);
    cairo_surface_finish(surface.get());
    check(cairo_surface_status(surface.get()));
  }
  return bytes;
}

std::string scene_to_png(const Scene& scene) {
  constexpr double kScreenScale = 2.0;
  constexpr double kPaperScale = 300.0 / 96.0;
  const bool on_paper = scene.size && scene.size->width.on_paper();
  const double wanted = (on_paper ? kPaperScale : kScreenScale) * scene.scale();
  const double used = std::min(wanted, kLongestPngSide / std::max(scene.width, scene.height));
  // 990.0000001 pixels count as 990.
  const auto side = [&](double length) { return static_cast<int>(std::ceil(length * used - 1e-6)); };
  const SurfacePtr surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, side(scene.width), side(scene.height)));
  check(cairo_surface_status(surface.get()));
  draw(scene, surface.get(), used);
  std::string bytes;
  check(cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes));
  // After the signature and the IHDR chunk, as the standard requires.
  constexpr std::size_t kBehindHeader = 33;
  return bytes.insert(kBehindHeader, density_chunk(used / scene.scale() * 96.0));
}

std::string encode_png(const Image& image) {
  const SurfacePtr surface = image_surface(image);
  std::string bytes;
  check(cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes));
  return bytes;
}

}  // namespace attnflow::internal
