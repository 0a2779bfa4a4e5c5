//! The part of the C ABI that involves no tokenizer: chat templates, characters, regular expressions.

use crate::{chat, guarded, into_pointer, words, StringObject, Text};
use regex::Regex;
use std::ffi::{c_char, c_void, CString};

/// `attnflow_format_time` in C.
pub type FormatTime =
    unsafe extern "C" fn(time: *const c_void, format: *const c_char, buffer: *mut c_char, capacity: usize) -> usize;

/// The caller's clock, used only during the call that passed it, on its thread.
struct Clock {
    format_time: FormatTime,
    time: *const c_void,
}

// SAFETY: `time` is only passed back to the caller's function, on the caller's thread.
unsafe impl Send for Clock {}
// SAFETY: as above.
unsafe impl Sync for Clock {}

impl Clock {
    fn format(&self, format: &str) -> Result<String, String> {
        let mut buffer = [0_u8; 256];
        let format = CString::new(format).map_err(|_| "a time format with a NUL in it")?;
        // SAFETY: the buffer has the given size, and the caller upholds the header's contract for the function.
        let size = unsafe { (self.format_time)(self.time, format.as_ptr(), buffer.as_mut_ptr().cast(), buffer.len()) };
        if size == 0 {
            return Err("a time format that writes nothing, or too much".to_owned());
        }
        let text = buffer.get(..size).ok_or("a time that is too long")?;
        String::from_utf8(text.to_vec()).map_err(|error| error.to_string())
    }
}

/// `format_time` may be called with `time` until the call returns.
#[no_mangle]
pub unsafe extern "C" fn attnflow_chat_render(
    chat_template: Text,
    context: Text,
    format_time: FormatTime,
    time: *const c_void,
    refused: &mut bool,
    error: *mut *mut StringObject,
) -> *mut StringObject {
    *refused = false;
    let clock = Clock { format_time, time };
    into_pointer(guarded(error, || {
        let template = chat_template.string()?.unwrap_or_default();
        let context = context.bytes().unwrap_or_default();
        let rendered = chat::render(template, context, move |format| clock.format(format));
        rendered.map(StringObject::of).map_err(|failure| match failure {
            chat::Failure::Broken(reason) => reason,
            chat::Failure::Refused(reason) => {
                *refused = true;
                reason
            }
        })
    }))
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_text_has_letter_or_number(text: Text) -> bool {
    text.valid().is_some_and(words::has_letter_or_number)
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_text_fold(text: Text, error: *mut *mut StringObject) -> *mut StringObject {
    let folded = guarded(error, || Ok(words::fold(text.string()?.unwrap_or_default())));
    into_pointer(folded.map(StringObject::of))
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_pattern_new(expression: Text, error: *mut *mut StringObject) -> *mut Regex {
    into_pointer(guarded(error, || {
        words::pattern(expression.string()?.unwrap_or_default())
    }))
}

#[no_mangle]
pub unsafe extern "C" fn attnflow_pattern_matches(pattern: &Regex, text: Text) -> bool {
    text.valid().is_some_and(|text| pattern.is_match(text))
}

free!(attnflow_pattern_free, Regex);
