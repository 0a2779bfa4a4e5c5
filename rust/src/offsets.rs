//! Byte ranges that people can read: whole characters, without the spaces around a word.

use unicode_segmentation::GraphemeCursor;

pub type Range = std::ops::Range<usize>;

/// `range` clamped to the text and widened to whole characters: pieces of byte-level vocabularies may cover only some
/// bytes of a character.
pub fn snap(text: &str, range: Range) -> Range {
    let mut begin = range.start.min(text.len());
    let mut end = range.end.clamp(begin, text.len());
    while !text.is_char_boundary(begin) {
        begin -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    begin..end
}

/// `range` without white space at its ends; a range that is all white space stays as it is.
pub fn trim(text: &str, range: Range) -> Range {
    let slice = &text[range.clone()];
    let trimmed = slice.trim();
    if trimmed.is_empty() {
        return range;
    }
    let begin = range.start + (slice.len() - slice.trim_start().len());
    begin..begin + trimmed.len()
}

/// Widens each range to the end of the user-perceived character (grapheme cluster) that it ends in, as far as no other
/// range covers those bytes. Normalization drops accents, Arabic vowel marks, joiners and variation selectors; the
/// word in the user's text still ends after them.
pub fn extend_to_graphemes(text: &str, ranges: &mut [Range]) {
    let mut limit = text.len(); // where the next range begins
    for range in ranges.iter_mut().rev() {
        let covered_after = limit.max(range.end);
        if range.start < range.end && range.end < covered_after {
            range.end = grapheme_end(text, range.end).min(covered_after);
        }
        limit = limit.min(range.start);
    }
}

fn grapheme_end(text: &str, position: usize) -> usize {
    let mut cursor = GraphemeCursor::new(position, text.len(), true);
    if cursor.is_boundary(text, 0) == Ok(true) {
        return position;
    }
    match cursor.next_boundary(text, 0) {
        Ok(Some(end)) => end,
        _ => position,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapping_covers_whole_characters() {
        let text = "a😀b";
        assert_eq!(snap(text, 2..3), 1..5);
        assert_eq!(snap(text, 0..2), 0..5);
        assert_eq!(snap(text, 5..99), 5..6);
        assert_eq!(snap(text, 99..100), 6..6);
        #[allow(clippy::reversed_empty_ranges)]
        let reversed = 3..1;
        assert_eq!(snap(text, reversed), 1..5);
    }

    #[test]
    fn trimming_keeps_all_white_ranges() {
        assert_eq!(trim(" ab\u{3000}", 0..6), 1..3);
        assert_eq!(trim("a  b", 1..3), 1..3);
        assert_eq!(trim("ab", 1..1), 1..1);
    }

    #[test]
    fn dropped_marks_belong_to_the_word_before() {
        let text = "cafe\u{301} x";
        let mut ranges = [0..2, 2..4, 7..8];
        extend_to_graphemes(text, &mut ranges);
        assert_eq!(ranges, [0..2, 2..6, 7..8]);
        // A mark that another token covers stays there.
        let mut ranges = [0..4, 4..6];
        extend_to_graphemes(text, &mut ranges);
        assert_eq!(ranges, [0..4, 4..6]);
        // Overlapping ranges (several byte pieces of one character) do not disturb each other.
        let mut ranges = [0..4, 0..4];
        extend_to_graphemes("😀", &mut ranges);
        assert_eq!(ranges, [0..4, 0..4]);
    }
}
