#include "attnflow/draw/notebook_cell.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attnflow/draw/answer_html.h"
#include "attnflow/draw/viewer_page.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/zlib_bytes.h"

namespace attnflow {
namespace {

constexpr std::size_t kDocumentBytes = 600'000;
constexpr std::size_t kDocumentBytesWithAttention = 1'200'000;

// With marks for the cell's name, what the section holds, and the compressed page.
constexpr std::string_view kSection = R"cell(<details id="@NAME@" style="margin-top: 0.6em">
<summary style="cursor: pointer">Explore: @VIEWS@</summary>
<div>The interactive views appear here once the notebook is trusted, or its cell is run.</div>
</details>
<script>
(() => {
  const section = document.getElementById("@NAME@");
  if (!section) return;
  const room = section.lastElementChild;
  room.textContent = "Opening ...";
  const isDark = () => {
    for (let at = section; at; at = at.parentElement) {
      const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
      if (alpha > 0) return red + green + blue < 384;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const show = async () => {
    const code = "@PAGE@";
    const bytes = new Uint8Array(@BYTES@);
    const digit = (at, c = code.charCodeAt(at)) => c - 33 - (c > 34) - (c > 60) - (c > 92);
    for (let i = 0, at = 0, held = 0, bits = 0; i < code.length; i += 2) {
      bits = (bits << 13) | (digit(i) * 91 + digit(i + 1));
      for (held += 13; held >= 8; held -= 8) bytes[at++] = bits >> (held - 8);
      bits &= (1 << held) - 1;
    }
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const page = await new Response(stream).text();
    const frame = document.createElement("iframe");
    frame.title = "attnflow";
    frame.sandbox = "allow-scripts allow-downloads";
    frame.style.cssText = "width: 100%; height: 360px; border: 0";
    addEventListener("message", ({ source, data }) => {
      const height = data?.attnflow?.height;
      if (source === frame.contentWindow && Number.isFinite(height)) frame.style.height = `${height}px`;
    });
    frame.srcdoc = page.replace("data-embed", `data-embed="${isDark() ? "dark" : "light"}"`);
    room.replaceChildren(frame);
  };
  const open = () => {
    show().catch(() => {
      room.textContent = "The views need a browser of 2023 or newer.";
    });
  };
  if (section.open) open();
  else section.addEventListener("toggle", open, { once: true });
})();
</script>
)cell";

// Bytes as text: each 13 bits as two of the 91 printable characters that need no escape in a script's string, in HTML
// or in JSON (none of " < and \). 6% shorter than base64.
std::string packed_text(std::span<const std::byte> bytes) {
  constexpr unsigned kDigits = 91;
  constexpr int kBits = 13;
  const auto digit = [](unsigned value) {
    unsigned c = '!' + value;
    for (const unsigned skipped : {'"', '<', '\\'}) c += c >= skipped ? 1 : 0;
    return static_cast<char>(c);
  };
  std::string text;
  text.reserve(bytes.size() * 16 / kBits + 2);
  unsigned held = 0;
  int count = 0;
  const auto write = [&](unsigned value) {
    text += digit(value / kDigits);
    text += digit(value % kDigits);
  };
  for (const std::byte byte : bytes) {
    held = held << 8U | static_cast<unsigned>(byte);
    count += 8;
    if (count < kBits) continue;
    count -= kBits;
    write(held >> count);
    held &= (1U << count) - 1U;
  }
  if (count > 0) write(held << (kBits - count));
  return text;
}

std::vector<std::byte> packed_page(const Report& report) {
  const CompactOptions options{.exact_bytes = 0,
                               .bytes = kDocumentBytes,
                               .bytes_with_attention = kDocumentBytesWithAttention,
                               .max_bytes = 2 * kDocumentBytes,
                               .small_bytes = 0,
                               .option_names = OptionNames::kPython,
                               .replacements = false};
  const std::string page = viewer_cell_page(compact_report_json(report, options));
  return internal::zlib_compress(std::as_bytes(std::span(page)));
}

// The frame's contents beyond the answer.
std::string views_of(const Report& report) {
  if (report.generation) return "every generated token, layers, all tokens, ranking";
  return fmt::format("layers, other output tokens, full matrix, graph, {}ranking",
                     report.attention.empty() ? "" : "heads, ");
}

}  // namespace

std::string notebook_cell(const Report& report, std::string_view name) {
  std::string section;
  std::size_t at = 0;
  const auto fill = [&](std::string_view mark, std::string_view value) {
    const std::size_t found = kSection.find(mark, at);
    section += kSection.substr(at, found - at);
    section += value;
    at = found + mark.size();
  };
  fill("@NAME@", name);
  fill("@VIEWS@", views_of(report));
  fill("@NAME@", name);
  const std::vector<std::byte> page = packed_page(report);
  fill("@PAGE@", packed_text(page));
  fill("@BYTES@", std::to_string(page.size()));
  section += kSection.substr(at);
  return answer_html(report) + section;
}

}  // namespace attnflow
