//! How a vocabulary spells its pieces, and how to display them.
//!
//! A piece is not text: WordPiece marks continuations with "##", byte-level BPE writes every byte as a printable
//! character ("Ġ" is a space), SentencePiece writes spaces as "▁" and unknown bytes as "<0xF0>". A tokenizer's
//! convention follows from its components, so a `Spelling` is derived from them once.
//!
//! There are two inverses: `readable` gives one piece for display, `bytes` what it adds to running text.

use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Byte-level BPE's alphabet (GPT-2): printable Latin-1 bytes as themselves, the others as characters from U+0100 on.
static BYTE_OF_CHAR: LazyLock<HashMap<char, u8>> = LazyLock::new(|| {
    let mut next_free = 0x100_u32;
    (0..=u8::MAX)
        .map(|byte| {
            let printable = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let character = if printable {
                char::from(byte)
            } else {
                next_free += 1;
                char::from_u32(next_free - 1).expect("characters below U+0200 exist")
            };
            (character, byte)
        })
        .collect()
});

#[derive(Debug, Default, PartialEq)]
pub struct Spelling {
    /// Pieces inside a word start with this ("##").
    continuing_prefix: String,
    /// Pieces that end a word end with this ("</w>").
    end_of_word_suffix: String,
    /// Pieces are bytes in byte-level BPE's alphabet.
    byte_level: bool,
    /// The character that represents a space ("▁").
    space: Option<char>,
    /// Pieces such as "<0xF0>" represent single bytes.
    byte_fallback: bool,
    /// Every piece is a word, and no piece carries information about spaces.
    whole_words: bool,
}

impl Spelling {
    /// `model` is the model's JSON without its vocabulary, `components` the other parts of a tokenizer.json.
    pub fn new(model: &Value, components: &[Value]) -> Self {
        let text = |key: &str| model.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let flag = |key: &str| model.get(key).and_then(Value::as_bool).unwrap_or(false);
        let metaspace = components.iter().find_map(|part| find_component(part, "Metaspace"));
        Self {
            continuing_prefix: text("continuing_subword_prefix"),
            end_of_word_suffix: text("end_of_word_suffix"),
            byte_level: components
                .iter()
                .any(|part| find_component(part, "ByteLevel").is_some()),
            space: metaspace
                .and_then(|part| part.get("replacement"))
                .and_then(Value::as_str)
                .and_then(|replacement| replacement.chars().next())
                // Some tokenizers use a normalizer for spaces instead, with SentencePiece's character.
                .or_else(|| components.iter().any(|part| mentions(part, "▁")).then_some('▁')),
            byte_fallback: flag("byte_fallback"),
            whole_words: flag("whole_words"),
        }
    }

    /// The characters of `piece` for display, without position markers. Bytes of a partial character become "\xF0". A
    /// piece of only a space is shown as one.
    pub fn readable(&self, piece: &str) -> String {
        let mut rest = self.without_prefix(piece).unwrap_or(piece);
        rest = self.without_suffix(rest).unwrap_or(rest);
        let text = if let Some(byte) = self.fallback_byte(rest) {
            show_bytes(&[byte])
        } else if let Some(bytes) = self.bytes_of(rest) {
            show_bytes(&bytes)
        } else if let Some(space) = self.space {
            rest.replace(space, " ")
        } else {
            rest.to_owned()
        };
        match text.strip_prefix(' ') {
            Some(word) if !word.is_empty() => word.to_owned(),
            _ if text.is_empty() => piece.to_owned(), // a piece that is only a marker, such as "##"
            _ => text,
        }
    }

    /// The text that `piece` adds, with any space before it. Half a character stays half a character.
    ///
    /// Spaces are exact if pieces have space markers. If pieces only mark that a word continues ("##ets"), or nothing
    /// (whole words), all others follow a space, even punctuation.
    pub fn bytes(&self, piece: &str) -> Vec<u8> {
        let inside = self.without_prefix(piece);
        let (rest, ends_word) = match self.without_suffix(inside.unwrap_or(piece)) {
            Some(rest) => (rest, true),
            None => (inside.unwrap_or(piece), false),
        };
        let marked = self.byte_level || self.space.is_some() || !self.end_of_word_suffix.is_empty();
        let starts_word = if self.continuing_prefix.is_empty() {
            self.whole_words && !marked
        } else {
            inside.is_none()
        };
        let mut bytes = Vec::with_capacity(rest.len() + 1);
        bytes.extend(starts_word.then_some(b' '));
        if let Some(byte) = self.fallback_byte(rest) {
            bytes.push(byte);
        } else if let Some(decoded) = self.bytes_of(rest) {
            bytes.extend(decoded);
        } else if let Some(space) = self.space {
            bytes.extend(rest.replace(space, " ").into_bytes());
        } else {
            bytes.extend(rest.as_bytes());
        }
        bytes.extend(ends_word.then_some(b' '));
        bytes
    }

    pub fn is_space(&self, piece: &str) -> bool {
        let bytes = self.bytes(piece);
        !bytes.is_empty() && bytes.iter().all(|byte| *byte == b' ')
    }

    /// The rest of a piece after the marker for continuing a word; None without that marker.
    fn without_prefix<'a>(&self, piece: &'a str) -> Option<&'a str> {
        let prefix = self.continuing_prefix.as_str();
        piece.strip_prefix(prefix).filter(|_| !prefix.is_empty())
    }

    /// The part of a piece before the marker for a word's end; None without that marker.
    fn without_suffix<'a>(&self, piece: &'a str) -> Option<&'a str> {
        let suffix = self.end_of_word_suffix.as_str();
        piece.strip_suffix(suffix).filter(|_| !suffix.is_empty())
    }

    fn fallback_byte(&self, piece: &str) -> Option<u8> {
        let digits = piece.strip_prefix("<0x")?.strip_suffix('>')?;
        if !self.byte_fallback || digits.len() != 2 {
            return None;
        }
        u8::from_str_radix(digits, 16).ok()
    }

    fn bytes_of(&self, piece: &str) -> Option<Vec<u8>> {
        if !self.byte_level {
            return None;
        }
        piece
            .chars()
            .map(|character| BYTE_OF_CHAR.get(&character).copied())
            .collect()
    }
}

/// The component of this type in a part of tokenizer.json; sequences of components are searched as well.
pub fn find_component<'a>(part: &'a Value, component_type: &str) -> Option<&'a Value> {
    match part {
        Value::Object(fields) => {
            if fields.get("type").and_then(Value::as_str) == Some(component_type) {
                return Some(part);
            }
            fields.values().find_map(|field| find_component(field, component_type))
        }
        Value::Array(items) => items.iter().find_map(|item| find_component(item, component_type)),
        _ => None,
    }
}

fn mentions(part: &Value, text: &str) -> bool {
    match part {
        Value::String(value) => value == text,
        Value::Object(fields) => fields.values().any(|field| mentions(field, text)),
        Value::Array(items) => items.iter().any(|item| mentions(item, text)),
        _ => false,
    }
}

fn show_bytes(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02X}"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(model: Value, components: Value, pieces: &[(&str, &str, &[u8])]) {
        let spelling = Spelling::new(&model, components.as_array().unwrap());
        for &(piece, readable, bytes) in pieces {
            assert_eq!(spelling.readable(piece), readable, "{piece}");
            assert_eq!(spelling.bytes(piece), bytes, "{piece}");
        }
    }

    #[test]
    fn bytes_of_words_follow_a_space() {
        let word_piece = json!({"continuing_subword_prefix": "##"});
        let pieces: [(&str, &str, &[u8]); 5] = [
            ("##ets", "ets", b"ets"),
            ("cabin", "cabin", b" cabin"),
            ("##", "##", b""),
            ("#", "#", b" #"),
            (".", ".", b" ."),
        ];
        check(word_piece, json!([]), &pieces);
        let words = json!({"whole_words": true});
        check(words.clone(), json!([]), &[("cat", "cat", b" cat")]);
        let marks = json!([{"type": "Metaspace", "replacement": "▁"}]);
        check(words, marks, &[("cat", "cat", b"cat")]);
        let none: [(&str, &str, &[u8]); 2] = [("cat", "cat", b"cat"), ("▁the", "▁the", "▁the".as_bytes())];
        check(json!({}), json!([]), &none);
    }

    #[test]
    fn byte_level_pieces_are_decoded() {
        let byte_level = json!([{"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]}]);
        let pieces: [(&str, &str, &[u8]); 8] = [
            ("Ġthe", "the", b" the"),
            ("Ġ", " ", b" "),
            ("Ċ", "\n", b"\n"),
            ("ĉ", "\t", b"\t"),
            ("Ã©t", "ét", "ét".as_bytes()),
            ("ðŁ", "\\xF0\\x9F", b"\xf0\x9f"),
            ("Ã©ðŁ", "é\\xF0\\x9F", b"\xc3\xa9\xf0\x9f"),
            ("日", "日", "日".as_bytes()), // outside the alphabet: shown as it is
        ];
        check(json!({"type": "BPE"}), byte_level, &pieces);
        let clip: [(&str, &str, &[u8]); 2] = [("cat</w>", "cat", b"cat "), ("ca", "ca", b"ca")];
        check(
            json!({"end_of_word_suffix": "</w>"}),
            json!([{"type": "ByteLevel"}]),
            &clip,
        );
        assert_eq!(BYTE_OF_CHAR.len(), 256);
        assert_eq!((BYTE_OF_CHAR[&'Ġ'], BYTE_OF_CHAR[&'Ń']), (b' ', 0xAD));
    }

    #[test]
    fn sentence_piece_spaces_and_bytes() {
        let pieces: [(&str, &str, &[u8]); 5] = [
            ("_the_", "the ", b" the "),
            ("<0x41>", "A", b"A"),
            ("<0xE2>", "\\xE2", b"\xe2"),
            ("<0xZZ>", "<0xZZ>", b"<0xZZ>"),
            ("<0xe>", "<0xe>", b"<0xe>"),
        ];
        let marks = json!([{"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"}]);
        check(json!({"byte_fallback": true}), marks, &pieces);
        let replacing = json!([{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]);
        check(json!({}), replacing, &[("▁the", "the", b" the")]);
    }
}
