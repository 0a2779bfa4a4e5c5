//! Pieces whose ids come from a separate list rather than from the model.
//!
//! Marian and M2M100 split a text with a SentencePiece model and look the pieces up in a vocab.json built from two
//! languages: it lacks some of the model's pieces and has others that the model never produces. tokenizer.json cannot
//! express that, so attnflow's own documents have one more field:
//!
//! ```json
//! "attnflow_numbering": {"vocabulary": {"▁the": 7, "</s>": 0, "<unk>": 1}, "unknown": "<unk>",
//!                        "leading_codes": true, "charsmap": "..."}
//! ```
//!
//! A piece is looked up as it occurs in the normalized text, even if the model does not know it: a character missing
//! from the model may be in the list. With leading_codes, a text, or a part of it after an added token, that begins
//! with ">>" has everything up to the first "<<" as one token: Marian's name of the target language. The charsmap
//! (charsmap.rs, in base64) is applied before the normalizer.

use crate::charsmap::Charsmap;
use crate::text_tokenizer::{message, Result};
use serde::Deserialize;
use serde_json::{json, Value};
use std::collections::{BTreeMap, HashMap};
use tokenizers::normalizer::Range;
use tokenizers::{AddedVocabulary, Normalizer, NormalizerWrapper, OffsetReferential, OffsetType};
use tokenizers::{PreTokenizedString, Split, Token};

#[derive(Deserialize)]
pub struct Declared {
    vocabulary: HashMap<String, u32>,
    unknown: String,
    #[serde(default)]
    leading_codes: bool,
    #[serde(default)]
    charsmap: String,
}

pub struct Numbering {
    vocabulary: HashMap<String, u32>,
    unknown: u32,
    leading_codes: bool,
    charsmap: Option<Charsmap>,
}

impl Declared {
    /// The character map as in tokenizer.json; null without one.
    pub fn normalizer(&self) -> Value {
        if self.charsmap.is_empty() {
            return Value::Null;
        }
        json!({"type": "Precompiled", "precompiled_charsmap": self.charsmap})
    }
}

impl Numbering {
    pub fn new(declared: Declared) -> Result<Self> {
        let Some(&unknown) = declared.vocabulary.get(&declared.unknown) else {
            return Err(format!(
                "a numbering without its own unknown piece {:?}",
                declared.unknown
            ));
        };
        let mut owners: BTreeMap<u32, &str> = BTreeMap::new();
        for (piece, &id) in &declared.vocabulary {
            if let Some(owner) = owners.insert(id, piece) {
                return Err(format!(
                    "a numbering that gives {owner:?} and {piece:?} the same id {id}"
                ));
            }
        }
        let charsmap = Some(&declared.charsmap).filter(|code| !code.is_empty());
        Ok(Self {
            charsmap: charsmap.map(|code| Charsmap::from_base64(code)).transpose()?,
            vocabulary: declared.vocabulary,
            unknown,
            leading_codes: declared.leading_codes,
        })
    }

    pub fn get(&self, piece: &str) -> Option<u32> {
        self.vocabulary.get(piece).copied()
    }

    fn or_unknown(&self, piece: &str) -> u32 {
        self.get(piece).unwrap_or(self.unknown)
    }

    pub fn pieces(&self) -> impl Iterator<Item = (&str, u32)> {
        self.vocabulary.iter().map(|(piece, id)| (piece.as_str(), *id))
    }

    /// Splits the text into parts to normalize and parts that already have their token.
    pub fn split(
        &self,
        added: &AddedVocabulary,
        normalizer: Option<&NormalizerWrapper>,
        text: &str,
    ) -> Result<PreTokenizedString> {
        let mut parts = added.extract_and_normalize(None::<&NormalizerWrapper>, text);
        if self.leading_codes {
            parts
                .split(|_, part| {
                    let code = code_length(part.get());
                    let slice = |range| part.slice(Range::Normalized(range));
                    match (slice(0..code), slice(code..part.get().len())) {
                        (Some(first), rest) if code > 0 => {
                            let token = Token::new(0, first.get().to_owned(), (0, code));
                            let rest = rest.map(Split::from);
                            Ok(std::iter::once(Split::from((first, Some(vec![token]))))
                                .chain(rest)
                                .collect::<Vec<_>>())
                        }
                        _ => Ok(vec![part.into()]),
                    }
                })
                .map_err(message)?;
        }
        parts
            .split(|_, mut part| {
                if let Some(charsmap) = &self.charsmap {
                    charsmap.normalize(&mut part);
                }
                if let Some(normalizer) = normalizer {
                    normalizer.normalize(&mut part)?;
                }
                Ok([part])
            })
            .map_err(message)?;
        Ok(parts)
    }

    /// All ids, in order. `made`: for each part, whether its token existed before the model ran.
    pub fn ids(&self, splits: &PreTokenizedString, made: &[bool]) -> Vec<u32> {
        let mut ids = vec![];
        let parts = splits.get_splits(OffsetReferential::Normalized, OffsetType::Byte);
        for ((text, _, tokens), &made) in parts.iter().zip(made) {
            for token in tokens.iter().flatten() {
                let piece = if made {
                    token.value.as_str()
                } else {
                    text.get(token.offsets.0..token.offsets.1).unwrap_or(&token.value)
                };
                ids.push(self.or_unknown(piece));
            }
        }
        ids
    }
}

/// Length in bytes of ">>…<<" at the beginning of a text.
fn code_length(text: &str) -> usize {
    if !text.starts_with(">>") {
        return 0;
    }
    text.find("<<").map_or(0, |end| end + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text_tokenizer::TextTokenizer;

    fn document(numbering: Value) -> Value {
        let pieces = json!([["<unk>", 0.0], ["▁a", -1.0], ["▁", -2.0], ["b", -2.0], ["</s>", 0.0]]);
        json!({
            "version": "1.0",
            "added_tokens": [{"id": 0, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false,
                              "normalized": false, "special": true}],
            "normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true},
            "post_processor": {"type": "TemplateProcessing",
                               "single": [{"Sequence": {"id": "A", "type_id": 0}},
                                          {"SpecialToken": {"id": "</s>", "type_id": 0}}],
                               "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                                        {"Sequence": {"id": "B", "type_id": 0}}],
                               "special_tokens": {"</s>": {"id": "</s>", "ids": [0], "tokens": ["</s>"]}}},
            "decoder": null,
            "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": false},
            "attnflow_numbering": numbering,
        })
    }

    fn try_load(numbering: Value) -> Result<TextTokenizer> {
        TextTokenizer::from_json(document(numbering).to_string().as_bytes(), b"{}")
    }

    fn numbering() -> Value {
        // The model's "b" is not in the list; the list's "c" and "▁target" are not in the model.
        json!({"vocabulary": {"</s>": 0, "<unk>": 1, "▁a": 9, "c": 4, "▁": 5, ">>fr<<": 6, "▁target": 7},
               "unknown": "<unk>", "leading_codes": true})
    }

    fn ids(tokenizer: &TextTokenizer, text: &str) -> Vec<u32> {
        let tokens = tokenizer.encode(text, None, None).unwrap().tokens;
        tokens.iter().map(|token| token.id).collect()
    }

    #[test]
    fn pieces_have_the_numbers_of_the_list() {
        let tokenizer = try_load(numbering()).unwrap();
        assert_eq!(ids(&tokenizer, "a  a"), [9, 9, 0]);
        assert_eq!(ids(&tokenizer, "b"), [5, 1, 0]);
        assert_eq!(ids(&tokenizer, "c"), [5, 4, 0]);
        assert_eq!(ids(&tokenizer, "cc"), [5, 1, 0]); // one unknown piece, "cc"
        assert_eq!(ids(&tokenizer, "a</s>a"), [9, 0, 9, 0]);
        assert_eq!(tokenizer.word_to_ids("a").unwrap(), [9]);
        assert_eq!(tokenizer.piece(7), Some("▁target"));
        assert_eq!(tokenizer.readable(7).as_deref(), Some("target"));
        assert_eq!(tokenizer.token_to_id("b"), None);
        assert_eq!(tokenizer.token_to_id("▁a"), Some(9));
        assert!(tokenizer.is_special(0));
        assert_eq!((tokenizer.vocabulary_size(), tokenizer.id_limit()), (7, 10));
    }

    #[test]
    fn codes_count_only_at_the_beginning() {
        let tokenizer = try_load(numbering()).unwrap();
        assert_eq!(ids(&tokenizer, ">>fr<< a"), [6, 9, 0]);
        assert_eq!(ids(&tokenizer, ">>fr<<a"), [6, 9, 0]);
        assert_eq!(ids(&tokenizer, ">>fr<<"), [6, 0]);
        assert_eq!(ids(&tokenizer, ">>xx yy<< a"), [1, 9, 0]);
        assert_eq!(ids(&tokenizer, ">>"), [5, 1, 0]);
        assert_eq!(ids(&tokenizer, "a >>frb<<"), [9, 5, 1, 1, 1, 0]);
        let tokens = tokenizer.encode(">>fr<< a", None, None).unwrap().tokens;
        assert_eq!(tokens[0].text, ">>fr<<");
        assert_eq!(tokens[0].place.as_ref().unwrap().range, 0..6);
        assert_eq!(tokens[1].place.as_ref().unwrap().range, 7..8);
    }

    #[test]
    fn characters_are_replaced_first() {
        let mut with_map = numbering();
        with_map["charsmap"] = json!(crate::charsmap::tests::encoded(&[("Ａ", "a"), ("\n", " ")]));
        let tokenizer = try_load(with_map.clone()).unwrap();
        assert_eq!(ids(&tokenizer, "Ａ\n\na"), [9, 9, 0]);
        let tokens = tokenizer.encode("Ａ\na", None, None).unwrap().tokens;
        assert_eq!(tokens[1].place.as_ref().unwrap().range, 4..5);
        with_map["charsmap"] = json!(crate::charsmap::tests::encoded(&[("a", &"a".repeat(200))]));
        assert!(try_load(with_map).err().unwrap().contains("times as long"));
    }

    #[test]
    fn a_list_with_gaps_is_refused() {
        let twice = json!({"vocabulary": {"<unk>": 1, "a": 1}, "unknown": "<unk>"});
        assert!(try_load(twice).err().unwrap().contains("the same id 1"));
        let none = json!({"vocabulary": {"a": 1}, "unknown": "<unk>"});
        assert!(try_load(none).err().unwrap().contains("unknown piece"));
        let declared = json!({"vocabulary": {"<unk>": 1, "</s>": 2}, "unknown": "<unk>"});
        assert!(try_load(declared).err().unwrap().contains("declared with id 0"));
    }
}
