//! The C ABI of attnflow/text/tokenizers_abi.h, which documents each function.
//!
//! Nothing unwinds into C: every function that runs code of the tokenizers crate catches panics and reports them as
//! errors. Objects that a function returns belong to the caller until the matching `_free`.
//!
//! # Safety
//! Callers keep the header's promises: texts are readable, objects are alive (or null, for `_free`) and not used after
//! `_free`, `error` is null or writable.

#![allow(clippy::missing_safety_doc)]

/// The function that frees an object, which came from `into_pointer`; null is allowed.
macro_rules! free {
    ($name:ident, $object:ty) => {
        #[no_mangle]
        pub unsafe extern "C" fn $name(object: *mut $object) {
            if !object.is_null() {
                drop(Box::from_raw(object));
            }
        }
    };
}

mod charsmap;
mod chat;
mod declared;
mod growth;
mod numbering;
mod offsets;
mod spelling;
mod text_abi;
mod text_tokenizer;
mod train;
mod words;

use std::any::Any;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;
use text_tokenizer::{Result, TextEncoding, TextTokenizer};

/// `attnflow_text` in C: bytes owned by the caller, or valid as long as their object.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Text {
    data: *const u8,
    size: usize,
}

/// `attnflow_token` in C.
#[repr(C)]
pub struct Token {
    text: Text,
    begin: usize,
    end: usize,
    word: usize,
    id: u32,
    type_id: u32,
    segment: u32,
    special: bool,
    in_text: bool,
}

/// `attnflow_encoding` in C.
pub struct EncodingObject {
    tokens: Vec<Token>,
    truncated: bool,
    /// Keeps the texts alive that `tokens` points to.
    _encoding: TextEncoding,
}

/// `attnflow_string` in C.
pub struct StringObject(Vec<u8>);

impl StringObject {
    fn of(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl Text {
    const ABSENT: Text = Text {
        data: std::ptr::null(),
        size: 0,
    };

    fn of(text: &str) -> Self {
        Self::of_bytes(text.as_bytes())
    }

    fn of_bytes(bytes: &[u8]) -> Self {
        Text {
            data: bytes.as_ptr(),
            size: bytes.len(),
        }
    }

    /// The bytes, which must outlive the result; None if absent.
    unsafe fn bytes<'a>(self) -> Option<&'a [u8]> {
        (!self.data.is_null()).then(|| std::slice::from_raw_parts(self.data, self.size))
    }

    unsafe fn string<'a>(self) -> Result<Option<&'a str>> {
        self.bytes()
            .map(std::str::from_utf8)
            .transpose()
            .map_err(|error| format!("text is not UTF-8 at byte {}", error.valid_up_to()))
    }

    unsafe fn valid<'a>(self) -> Option<&'a str> {
        self.string().ok().flatten()
    }
}

impl EncodingObject {
    fn new(encoding: TextEncoding) -> Self {
        let tokens = encoding
            .tokens
            .iter()
            .map(|token| {
                let place = token.place.as_ref();
                Token {
                    text: Text::of(&token.text),
                    begin: place.map_or(0, |place| place.range.start),
                    end: place.map_or(0, |place| place.range.end),
                    word: place.map_or(0, |place| place.word),
                    id: token.id,
                    type_id: token.type_id,
                    segment: u32::from(token.segment != 0),
                    special: token.special,
                    in_text: place.is_some(),
                }
            })
            .collect();
        Self {
            tokens,
            truncated: encoding.truncated,
            _encoding: encoding,
        }
    }
}

/// A panic's message without its location: a path on the build machine means nothing to users.
fn panic_message(payload: &(dyn Any + Send)) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given");
    message.replace('\n', " ")
}

/// Keeps panics off standard error, to which a library does not write; `guarded` reports them.
fn silence_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        if cfg!(not(test)) {
            std::panic::set_hook(Box::new(|_| ()));
        }
    });
}

/// Runs `body`; on an error or a panic, sets `error` and returns `None`.
unsafe fn guarded<T>(error: *mut *mut StringObject, body: impl FnOnce() -> Result<T>) -> Option<T> {
    silence_panics();
    let message = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(value)) => return Some(value),
        Ok(Err(message)) => message,
        Err(payload) => format!("a library failed inside: {}", panic_message(payload.as_ref())),
    };
    if !error.is_null() {
        *error = into_pointer(Some(StringObject::of(message)));
    }
    None
}

fn into_pointer<T>(value: Option<T>) -> *mut T {
    value.map_or(std::ptr::null_mut(), |value| Box::into_raw(Box::new(value)))
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_tokenizer_from_json(
    json: Text,
    declared: Text,
    error: *mut *mut StringObject,
) -> *mut TextTokenizer {
    into_pointer(guarded(error, || {
        TextTokenizer::from_json(json.bytes().unwrap_or_default(), declared.bytes().unwrap_or(b"{}"))
    }))
}

free!(attnflow_tokenizer_free, TextTokenizer);

#[no_mangle]
pub unsafe extern "C" fn attnflow_tokenizer_encode(
    tokenizer: &TextTokenizer,
    text: Text,
    pair: Text,
    max_tokens: usize,
    error: *mut *mut StringObject,
) -> *mut EncodingObject {
    into_pointer(guarded(error, || {
        let text = text.string()?.unwrap_or_default();
        let limit = (max_tokens != usize::MAX).then_some(max_tokens);
        tokenizer.encode(text, pair.string()?, limit).map(EncodingObject::new)
    }))
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_template_tokens(tokenizer: &TextTokenizer, is_pair: bool) -> usize {
    tokenizer.template_tokens(is_pair)
}

/// `ids` has room for `capacity` ids.
#[no_mangle]
pub unsafe extern "C" fn attnflow_tokenizer_word_to_ids(
    tokenizer: &TextTokenizer,
    word: Text,
    ids: *mut u32,
    capacity: usize,
    count: &mut usize,
    error: *mut *mut StringObject,
) -> bool {
    let found = guarded(error, || tokenizer.word_to_ids(word.string()?.unwrap_or_default()));
    let Some(found) = found else { return false };
    *count = found.len();
    if found.len() <= capacity && !ids.is_null() {
        std::ptr::copy_nonoverlapping(found.as_ptr(), ids, found.len());
    }
    true
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_vocabulary_size(tokenizer: &TextTokenizer) -> usize {
    tokenizer.vocabulary_size()
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_tokenizer_setting(tokenizer: &TextTokenizer, key: Text) -> i32 {
    key.valid().and_then(|key| tokenizer.setting(key)).map_or(-1, i32::from)
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_id_limit(tokenizer: &TextTokenizer) -> usize {
    tokenizer.id_limit()
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_tokenizer_token_to_id(tokenizer: &TextTokenizer, piece: Text, id: &mut u32) -> bool {
    let found = piece.valid().and_then(|piece| tokenizer.token_to_id(piece));
    *id = found.unwrap_or(*id);
    found.is_some()
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_piece(tokenizer: &TextTokenizer, id: u32) -> Text {
    tokenizer.piece(id).map_or(Text::ABSENT, Text::of)
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_readable(tokenizer: &TextTokenizer, id: u32) -> *mut StringObject {
    into_pointer(tokenizer.readable(id).map(StringObject::of))
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_bytes(tokenizer: &TextTokenizer, id: u32) -> *mut StringObject {
    into_pointer(tokenizer.bytes(id).map(StringObject))
}

#[no_mangle]
pub extern "C" fn attnflow_tokenizer_is_special(tokenizer: &TextTokenizer, id: u32) -> bool {
    tokenizer.is_special(id)
}

#[no_mangle]
pub extern "C" fn attnflow_encoding_size(encoding: &EncodingObject) -> usize {
    encoding.tokens.len()
}

#[no_mangle]
pub extern "C" fn attnflow_encoding_tokens(encoding: &EncodingObject) -> *const Token {
    encoding.tokens.as_ptr()
}

#[no_mangle]
pub extern "C" fn attnflow_encoding_truncated(encoding: &EncodingObject) -> bool {
    encoding.truncated
}

free!(attnflow_encoding_free, EncodingObject);

#[no_mangle]
pub extern "C" fn attnflow_string_text(string: &StringObject) -> Text {
    Text::of_bytes(&string.0)
}

free!(attnflow_string_free, StringObject);

#[cfg(test)]
mod tests;
