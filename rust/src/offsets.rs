//! Byte ranges for display: whole characters, without the spaces around a word.

use tokenizers::NormalizedString;
use unicode_segmentation::GraphemeCursor;

pub type Range = std::ops::Range<usize>;

/// `range` clamped to the text and widened to whole characters: byte-level pieces may be parts of characters.
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

/// `range` without white space at its ends; a range of only white space is kept.
pub fn trim(text: &str, range: Range) -> Range {
    let slice = &text[range.clone()];
    let trimmed = slice.trim();
    if trimmed.is_empty() {
        return range;
    }
    let begin = range.start + (slice.len() - slice.trim_start().len());
    begin..begin + trimmed.len()
}

/// Gives space markers their white space, or nothing. Tokenizers put a marker before a text and before words split at
/// spaces; the crate places it at the next character, which belongs to the next token. `is_mark`: whether a token
/// consists only of markers.
pub fn place_marks(text: &str, ranges: &mut [Range], pieces: &[String], is_mark: impl Fn(usize) -> bool) {
    for index in 0..ranges.len().saturating_sub(1) {
        let range = ranges[index].clone();
        let next = &ranges[index + 1];
        let covered = &text[range.clone()];
        let is_shared = next.start < range.end && range.start < next.end;
        if !is_shared || !is_mark(index) || covered.contains(char::is_whitespace) {
            continue;
        }
        if covered.chars().all(|c| pieces[index].contains(c)) || becomes_space(covered) {
            continue;
        }
        let free_from = index.checked_sub(1).map_or(0, |before| ranges[before].end);
        let before = &text[free_from.min(range.start)..range.start];
        let blank = before.len() - before.trim_end().len();
        ranges[index] = range.start - blank..range.start;
    }
}

/// Whether normalization turns a character into a space and more, as it does with a free-standing accent.
fn becomes_space(text: &str) -> bool {
    let mut normalized = NormalizedString::from(text);
    normalized.nfkd();
    normalized.get().starts_with(char::is_whitespace)
}

/// Widens each range to the end of its last user-perceived character (grapheme cluster), except into other ranges.
/// Normalization drops accents, Arabic vowel marks, joiners and variation selectors; the word still ends after them.
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
    fn marks_of_spaces_have_the_spaces() {
        let text = "a  key \u{b4} ▁";
        let placed = |ranges: &[Range]| {
            let mut ranges = ranges.to_vec();
            let pieces = vec!["▁".to_owned(); ranges.len()];
            place_marks(text, &mut ranges, &pieces, |index| index % 2 == 0);
            ranges
        };
        assert_eq!(placed(&[0..1, 0..1]), [0..0, 0..1]);
        assert_eq!(placed(&[0..1, 0..1, 3..4, 3..6]), [0..0, 0..1, 1..3, 3..6]);
        assert_eq!(placed(&[1..3, 3..6]), [1..3, 3..6]); // a space that was kept
        assert_eq!(placed(&[3..4, 4..6]), [3..4, 4..6]); // no other token has it
        assert_eq!(placed(&[7..9, 7..9]), [7..9, 7..9]); // normalized, it is a space and an accent
        assert_eq!(placed(&[10..13, 10..13]), [10..13, 10..13]); // the character itself
    }

    #[test]
    fn dropped_marks_belong_to_the_word_before() {
        let text = "cafe\u{301} x";
        let mut ranges = [0..2, 2..4, 7..8];
        extend_to_graphemes(text, &mut ranges);
        assert_eq!(ranges, [0..2, 2..6, 7..8]);
        let mut ranges = [0..4, 4..6];
        extend_to_graphemes(text, &mut ranges);
        assert_eq!(ranges, [0..4, 4..6]);
        // Several byte tokens of one character.
        let mut ranges = [0..4, 0..4];
        extend_to_graphemes("😀", &mut ranges);
        assert_eq!(ranges, [0..4, 0..4]);
    }
}
