//! Tokens outside a model's vocabulary: those listed in tokenizer.json, and those declared in the files next to it.
//!
//! The order and the rules are those of Hugging Face transformers (version 5), since a token without an id of its own
//! takes the next free one. Ids stated in files are checked against the resulting ids.

use crate::text_tokenizer::{message, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use tokenizers::{AddedToken, Model, Tokenizer};

#[derive(Clone, Deserialize)]
pub struct AddedTokenWithId {
    pub id: u32,
    #[serde(flatten)]
    pub token: AddedToken,
}

#[derive(Deserialize)]
struct Named {
    #[serde(flatten)]
    token: AddedToken,
    /// Named in no file, but implied by the tokenizer's class.
    #[serde(default)]
    usual: bool,
}

/// Declarations in the files next to a tokenizer.json.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Declared {
    /// Tokens with ids: added_tokens_decoder or added_tokens.json.
    added: Vec<AddedTokenWithId>,
    /// Named special tokens, such as mask_token, in order of addition.
    named: Vec<Named>,
    /// Position among these of tokenizer.json's padding token, if the files name none.
    padding_at: Option<usize>,
    extra: Vec<AddedToken>,
    /// `added` lists every added token: tokens in tokenizer.json count only if they are also in it.
    complete: bool,
    /// transformers builds its tokenizer from tokenizer.json's vocabulary, ignoring the tokens listed there.
    rebuilt: bool,
    /// Special tokens spelled out in a text are treated as ordinary text.
    split_special_tokens: bool,
}

impl Declared {
    pub fn pad_with(&mut self, piece: &str) {
        if let Some(place) = self.padding_at.filter(|place| *place <= self.named.len()) {
            let token = AddedToken::from(piece, true);
            self.named.insert(place, Named { token, usual: false });
        }
    }
}

/// Adds tokenizer.json's tokens and those declared next to it; `number` gives a piece's id. Returns the ids that only
/// files next to tokenizer.json assign: a model may lack rows for unused tokens.
pub fn add_tokens(
    tokenizer: &mut Tokenizer,
    listed: Vec<AddedTokenWithId>,
    declared: Declared,
    number: impl Fn(&Tokenizer, &str) -> Option<u32>,
) -> Result<HashSet<u32>> {
    let keeps_listed = !(declared.rebuilt && declared.complete);
    if keeps_listed {
        tokenizer
            .add_tokens(listed.iter().map(|entry| entry.token.clone()))
            .map_err(message)?;
        check_numbers(tokenizer, &listed, &number, "")?;
    }
    let names: HashSet<&str> = declared
        .named
        .iter()
        .map(|named| named.token.content.as_str())
        .collect();
    let mut known: HashSet<String> = tokenizer.get_added_vocabulary().get_vocab().keys().cloned().collect();
    let mut adding: Vec<AddedToken> = vec![];
    for mut token in by_number(&declared, if declared.complete { &[] } else { &listed }) {
        token.special |= names.contains(token.content.as_str());
        known.insert(token.content.clone());
        adding.push(token);
    }
    let is_new = |tokenizer: &Tokenizer, token: &AddedToken| number(tokenizer, &token.content).is_none();
    for Named { token, usual } in &declared.named {
        let is_dropped = *usual && is_new(tokenizer, token) && has_holes(tokenizer);
        if !is_dropped && known.insert(token.content.clone()) {
            adding.push(token.clone());
        }
    }
    adding.extend(
        declared
            .extra
            .iter()
            .filter(|token| known.insert(token.content.clone()))
            .cloned(),
    );
    let new: Vec<String> = adding
        .iter()
        .filter(|token| is_new(tokenizer, token))
        .map(|token| token.content.clone())
        .collect();
    tokenizer.add_tokens(adding).map_err(message)?;
    check_numbers(
        tokenizer,
        &declared.added,
        &number,
        " in added_tokens.json or tokenizer_config.json",
    )?;
    tokenizer.set_encode_special_tokens(declared.split_special_tokens);
    let mut beyond = HashSet::new();
    for token in &new {
        let Some(id) = number(tokenizer, token) else { continue };
        if let Some(piece) = tokenizer.get_model().id_to_token(id) {
            return Err(format!(
                "the new token {token:?} would have the id {id} of the piece {piece:?}"
            ));
        }
        beyond.insert(id);
    }
    Ok(beyond)
}

/// Whether ids are missing, as with a duplicate line in vocab.txt: a new token would get an id that is in use.
fn has_holes(tokenizer: &Tokenizer) -> bool {
    let vocabulary = tokenizer.get_model().get_vocab();
    vocabulary.values().any(|id| *id as usize >= vocabulary.len())
}

/// In order of id; tokens of tokenizer.json replace others with the same id.
fn by_number(declared: &Declared, listed: &[AddedTokenWithId]) -> impl Iterator<Item = AddedToken> {
    let tokens: BTreeMap<u32, AddedToken> = declared
        .added
        .iter()
        .chain(listed)
        .map(|entry| (entry.id, entry.token.clone()))
        .collect();
    tokens.into_values()
}

/// The crate assigns ids to added tokens itself. If a file's ids differ, encoding would use the wrong rows of the
/// embedding.
fn check_numbers(
    tokenizer: &Tokenizer,
    expected: &[AddedTokenWithId],
    number: impl Fn(&Tokenizer, &str) -> Option<u32>,
    place: &str,
) -> Result<()> {
    for AddedTokenWithId { id, token } in expected.iter().filter(|entry| !entry.token.content.is_empty()) {
        let found = number(tokenizer, &token.content);
        if found != Some(*id) {
            return Err(format!(
                "added token {:?} is declared with id {id}{place}, but the vocabulary gives it {}",
                token.content,
                found.map_or("none".to_owned(), |id| id.to_string())
            ));
        }
    }
    Ok(())
}
