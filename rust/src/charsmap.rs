//! SentencePiece's character map, applied as SentencePiece does: at each position of a text, the longest entry that
//! begins there is replaced by its text; a character that begins no entry is kept.
//!
//! The tokenizers crate's "Precompiled" comes close, but it matches a whole grapheme against an entry that is only its
//! beginning, so that an accent after a wide letter is lost, and it turns "\r\n" into one space rather than two. Where
//! the models' own tokenizers in Python run SentencePiece itself, this module gives the same ids.
//!
//! The format: the size of a trie in bytes (32 bits, little-endian), the trie, and the texts, each followed by a zero.
//! The trie is a double array of 32-bit units (darts-clone: https://github.com/s-yata/darts-clone). A unit has a label
//! (bits 0 to 7), a flag for a value at its children's base (bit 8), and the XOR distance to that base (bits 10 to 30,
//! times 256 if bit 9 is set). A value's unit has bit 31 set; its other bits are the offset of its text.

use crate::text_tokenizer::Result;
use tokenizers::NormalizedString;

pub struct Charsmap {
    units: Vec<u32>,
    texts: String,
}

impl Charsmap {
    pub fn from_base64(code: &str) -> Result<Self> {
        let bytes = base64::decode(code).map_err(|error| format!("a map of characters: {error}"))?;
        let broken = || "a map of characters that is cut off".to_owned();
        let (size, rest) = bytes.split_first_chunk::<4>().ok_or_else(broken)?;
        let size = u32::from_le_bytes(*size) as usize;
        if size % 4 != 0 || size > rest.len() {
            return Err(broken());
        }
        let (trie, texts) = rest.split_at(size);
        let units = trie.chunks_exact(4);
        Ok(Self {
            units: units
                .map(|unit| u32::from_le_bytes([unit[0], unit[1], unit[2], unit[3]]))
                .collect(),
            texts: String::from_utf8(texts.to_vec()).map_err(|_| "a map of characters that is not UTF-8".to_owned())?,
        })
    }

    /// The longest entry that `text` begins with: its length, and its replacement.
    fn longest(&self, text: &str) -> Option<(usize, &str)> {
        let offset = |unit: u32| ((unit >> 10) << ((unit & (1 << 9)) >> 6)) as usize;
        let mut position = offset(*self.units.first()?);
        let mut found = None;
        for (index, byte) in text.bytes().enumerate() {
            position ^= usize::from(byte);
            let Some(&unit) = self.units.get(position) else { break };
            if byte == 0 || unit & (1 << 31 | 0xFF) != u32::from(byte) {
                break;
            }
            position ^= offset(unit);
            if unit & (1 << 8) != 0 {
                let value = self
                    .units
                    .get(position)
                    .map_or(usize::MAX, |value| (value & !(1 << 31)) as usize);
                found = self.text_at(value).map(|text| (index + 1, text));
            }
        }
        found.filter(|(length, _)| text.is_char_boundary(*length))
    }

    fn text_at(&self, begin: usize) -> Option<&str> {
        self.texts.get(begin..)?.split('\0').next()
    }

    pub fn normalize(&self, text: &mut NormalizedString) {
        // Each new character and its change in count: 1 inserts a character, -2 also replaces the two that follow.
        let mut changes: Vec<(char, isize)> = vec![];
        let mut dropped_first = 0;
        let mut changed = false;
        let mut rest = text.get();
        while let Some(character) = rest.chars().next() {
            let Some((length, new)) = self.longest(rest) else {
                changes.push((character, 0));
                rest = &rest[character.len_utf8()..];
                continue;
            };
            changed = true;
            let old_count = rest[..length].chars().count();
            let new_count = new.chars().count();
            changes.extend(new.chars().enumerate().map(|(i, c)| (c, isize::from(i >= old_count))));
            let fewer = old_count.saturating_sub(new_count);
            match changes.last_mut() {
                Some((_, change)) => *change -= fewer as isize,
                None => dropped_first += fewer,
            }
            rest = &rest[length..];
        }
        if changed {
            text.transform(changes, dropped_first);
        }
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A map whose trie has one block of 256 units per node.
    pub fn encoded(entries: &[(&str, &str)]) -> String {
        let mut texts = vec![];
        let mut nodes: Vec<(BTreeMap<u8, usize>, Option<u32>)> = vec![Default::default()];
        for (from, to) in entries {
            let mut node = 0;
            for byte in from.bytes() {
                let next = nodes.len();
                let child = *nodes[node].0.entry(byte).or_insert(next);
                if child == next {
                    nodes.push(Default::default());
                }
                node = child;
            }
            nodes[node].1 = Some(texts.len() as u32);
            texts.extend(to.bytes().chain([0]));
        }
        let mut units = vec![0xFF_u32; 256 * (nodes.len() + 1)];
        let mut places = vec![0; nodes.len()];
        for (number, (children, value)) in nodes.iter().enumerate() {
            let (place, base) = (places[number], 256 * (number + 1));
            let label = if number == 0 { 0 } else { (place & 0xFF) as u32 };
            units[place] = label | ((place ^ base) as u32) << 10 | u32::from(value.is_some()) << 8;
            if let Some(value) = value {
                units[base] = value | 1 << 31;
            }
            for (byte, child) in children {
                places[*child] = base ^ usize::from(*byte);
            }
        }
        let mut bytes = (units.len() as u32 * 4).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes.extend(texts);
        base64::encode(bytes)
    }

    fn normalized(map: &Charsmap, text: &str) -> NormalizedString {
        let mut text = NormalizedString::from(text);
        map.normalize(&mut text);
        text
    }

    #[test]
    fn the_longest_entry_counts_and_nothing_else_is_touched() {
        let code = encoded(&[
            ("Ａ", "A"),
            ("ﬁ", "fi"),
            ("\r", " "),
            ("\n", " "),
            ("\u{200b}", ""),
            ("e\u{301}", "é"),
            ("…", "..."),
        ]);
        let map = Charsmap::from_base64(&code).unwrap();
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("Ａ\u{301}Ａ", "A\u{301}A"),
            ("ﬁ\u{301}", "fi\u{301}"),
            ("a\r\nb", "a  b"),
            ("\u{200b}a\u{200b}b\u{200b}", "ab"),
            ("\u{200b}", ""),
            ("cafe\u{301} e", "café e"),
            ("…", "..."),
        ] {
            assert_eq!(normalized(&map, text).get(), expected, "{text:?}");
        }
    }

    #[test]
    fn places_in_the_text_are_kept() {
        let map = Charsmap::from_base64(&encoded(&[("ﬁ", "fi"), ("\u{200b}", ""), ("e\u{301}", "é")])).unwrap();
        let text = normalized(&map, "\u{200b}aﬁ\u{200b}e\u{301}z");
        assert_eq!(text.get(), "afiéz");
        let original =
            |range: std::ops::Range<usize>| text.get_range_original(tokenizers::normalizer::Range::Normalized(range));
        assert_eq!(original(0..1), Some("a"));
        assert_eq!(original(5..6), Some("z"));
        assert_eq!(original(1..3).map(|part| part.starts_with('ﬁ')), Some(true));
    }

    #[test]
    fn a_damaged_map_is_refused_or_changes_nothing() {
        assert!(Charsmap::from_base64("!").is_err());
        assert!(Charsmap::from_base64("AAA=").is_err());
        assert!(Charsmap::from_base64(&base64::encode([8, 0, 0, 0, 1])).is_err());
        assert!(Charsmap::from_base64(&base64::encode([0, 0, 0, 0, 0xFF])).is_err());
        let empty = Charsmap::from_base64(&base64::encode([0, 0, 0, 0])).unwrap();
        assert_eq!(normalized(&empty, "abc").get(), "abc");
        // Units that point outside the trie, and values that point outside the texts.
        for unit in [u32::MAX, 1 << 30, 0x61 | 1 << 8, 0x161 | 1 << 9] {
            let mut bytes = 512_u32.to_le_bytes().to_vec();
            bytes.extend(std::iter::repeat_n(unit.to_le_bytes(), 128).flatten());
            let map = Charsmap::from_base64(&base64::encode(bytes)).unwrap();
            assert_eq!(normalized(&map, "abc a").get(), "abc a");
        }
    }
}
