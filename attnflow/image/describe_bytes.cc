#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attnflow/files/messages.h"
#include "attnflow/image/picture_decoder.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

struct Signature {
  std::size_t at;
  std::string_view bytes;
  const char* what;
};

constexpr std::array kSignatures = {
    Signature{0, "GIF8", "a GIF image"},
    Signature{0, "BM", "a BMP image"},
    Signature{0, std::string_view("II*\0", 4), "a TIFF image"},
    Signature{0, std::string_view("MM\0*", 4), "a TIFF image"},
    Signature{4, "ftypavif", "an AVIF image"},
    Signature{4, "ftypavis", "an animated AVIF image"},
    Signature{4, "ftyphei", "a HEIC image"},
    Signature{4, "ftyphev", "a HEIC image"},
    Signature{4, "ftypmif1", "a HEIF image"},
    Signature{4, "ftyp", "an MPEG-4 file (such as a video)"},
    Signature{4, "jP  ", "a JPEG 2000 image"},
    Signature{0, "\xFF\x0A", "a JPEG XL image"},
    Signature{4, "JXL ", "a JPEG XL image"},
    Signature{0, "8BPS", "a Photoshop document"},
    Signature{0, std::string_view("\0\0\1\0", 4), "an icon (.ico)"},
    Signature{0, "P1", "a PNM image"},
    Signature{0, "P2", "a PNM image"},
    Signature{0, "P3", "a PNM image"},
    Signature{0, "P4", "a PNM image"},
    Signature{0, "P5", "a PNM image"},
    Signature{0, "P6", "a PNM image"},
    Signature{0, "%PDF", "a PDF document"},
    Signature{0, "<svg", "an SVG drawing"},
    Signature{0, "<!DOCTYPE html", "an HTML page"},
    Signature{0, "<html", "an HTML page"},
    Signature{0, "version https://git-lfs", "a Git LFS pointer: the image itself was not fetched"},
    Signature{0, "PK\3\4", "a zip archive (.npz files are)"},
    Signature{0, "\x1F\x8B", "a gzip archive"},
    Signature{0, "\x93NUMPY", "a NumPy array"},
    Signature{0, "GGUF", "a GGUF model"},
    Signature{0, "\x89PN", "a PNG image damaged by a transfer as text"},
};

bool is_text(std::string_view text) {
  text.remove_suffix(incomplete_utf8(text));
  for (std::size_t at = 0; at < text.size();) {
    const auto c = next_code_point(text, at);
    if (!c || (*c < 0x20 && *c != '\n' && *c != '\r' && *c != '\t')) return false;
  }
  return true;
}

}  // namespace

std::string describe_bytes(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "an empty file";
  for (const Signature& signature : kSignatures) {
    if (has_text(bytes, signature.at, signature.bytes)) return signature.what;
  }
  constexpr std::size_t kShown = 24;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kShown));
  if (is_text(text)) {
    if (text.find("<?xml") == 0) return "an XML document (such as an SVG drawing)";
    return "text that begins " + quote_name(text);
  }
  std::string hex;
  for (std::size_t i = 0; i < std::min<std::size_t>(bytes.size(), 8); ++i)
    hex += fmt::format(" {:02x}", byte_at(bytes, i));
  return fmt::format("{} bytes that begin{}", bytes.size(), hex);
}

}  // namespace attnflow::internal
