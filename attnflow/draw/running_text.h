// Running text with a colored background for every token.
//
// Tokens are byte ranges of one or more texts. Tokens for the same characters (the bytes of one emoji) share their
// place; tokens without text appear between the others as labels; uncovered characters are drawn, too. Letters shaped
// together are drawn together, so joined scripts stay joined across tokens.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/draw/canvas.h"
#include "attnflow/draw/scene.h"
#include "attnflow/draw/text_layout.h"

namespace attnflow::internal {

struct RunningToken {
  std::string label;                 // shown for white space, and for a token without text; not empty
  std::optional<std::size_t> begin;  // byte range in texts[text]; absent: only a label
  std::optional<std::size_t> end;
  std::size_t text = 0;
  bool italic = false;
};

struct RunningSource {
  std::vector<std::string> texts;
  std::vector<RunningToken> tokens;  // in display order
  // How line breaks and tabs inside a token are drawn.
  enum class Breaks { kSpaces, kMarks } breaks = Breaks::kSpaces;
};

// A stretch with one background: several tokens if they represent the same characters, none if no token covers it.
struct RunningCell {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::vector<std::size_t> tokens;
};

struct RunningText {
  std::string text;
  std::vector<RunningCell> cells;
  Paragraph paragraph;
  TextStyle style;
  std::vector<bool> italic;  // per token
  double width = 0.0;        // of the widest line
  double height = 0.0;
};

std::string marked_breaks(const std::string& text);

RunningText lay_out_running_text(const RunningSource& source, const TextStyle& style, double width,
                                 const TextMeasurer& measure);

struct TokenLook {
  std::optional<Color> ground = {};  // absent: the page
  std::optional<Color> ink = {};     // absent: readable on the background
  bool above = false;                // with the white corner that marks values above the scale
  bool selected = false;             // between two bars
  bool hatched = false;
  bool dashed = false;  // with a dashed underline
  std::string title = {};
};

// `looks` has one entry per token of the source.
void draw_running_text(const RunningText& text, const std::vector<TokenLook>& looks, double top, Scene* scene);

}  // namespace attnflow::internal
