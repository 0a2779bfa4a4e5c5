//! The part of the C ABI that involves no tokenizer: chat templates, characters, regular expressions.

use crate::{chat, guarded, into_pointer, release, words, StringObject, Text};
use regex::Regex;
use std::ffi::{c_char, c_void, CString};

/// `attnflow_format_time` in C.
pub type FormatTime =
    unsafe extern "C" fn(time: *const c_void, format: *const c_char, buffer: *mut c_char, capacity: usize) -> usize;

/// The caller's clock. It is used only during the call that passed it, on the calling thread.
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

/// # Safety
/// See the header: both texts must be readable, `refused` writable, `error` writable or null; `format_time` may be called
/// with `time` until the call returns.
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
    let mut is_refusal = false;
    // SAFETY: the caller upholds the header's contract.
    let rendered = unsafe {
        guarded(error, || {
            let template = chat_template.string()?.unwrap_or_default();
            let context = context.bytes().unwrap_or_default();
            chat::render(template, context, move |format| clock.format(format)).map_err(|failure| match failure {
                chat::Failure::Broken(reason) => reason,
                chat::Failure::Refused(reason) => {
                    is_refusal = true;
                    reason
                }
            })
        })
    };
    *refused = is_refusal;
    into_pointer(rendered.map(StringObject::of))
}

/// # Safety
/// See the header: `text` must be readable.
#[no_mangle]
pub unsafe extern "C" fn attnflow_text_has_letter_or_number(text: Text) -> bool {
    // SAFETY: the caller upholds the header's contract.
    unsafe { text.valid() }.is_some_and(words::has_letter_or_number)
}

/// # Safety
/// See the header: `text` must be readable, `error` writable or null.
#[no_mangle]
pub unsafe extern "C" fn attnflow_text_fold(text: Text, error: *mut *mut StringObject) -> *mut StringObject {
    // SAFETY: the caller upholds the header's contract.
    let folded = unsafe { guarded(error, || Ok(words::fold(text.string()?.unwrap_or_default()))) };
    into_pointer(folded.map(StringObject::of))
}

/// # Safety
/// See the header: `expression` must be readable, `error` writable or null.
#[no_mangle]
pub unsafe extern "C" fn attnflow_pattern_new(expression: Text, error: *mut *mut StringObject) -> *mut Regex {
    // SAFETY: the caller upholds the header's contract.
    into_pointer(unsafe { guarded(error, || words::pattern(expression.string()?.unwrap_or_default())) })
}

/// # Safety
/// See the header: `pattern` must be alive, `text` readable.
#[no_mangle]
pub unsafe extern "C" fn attnflow_pattern_matches(pattern: &Regex, text: Text) -> bool {
    // SAFETY: the caller upholds the header's contract.
    unsafe { text.valid() }.is_some_and(|text| pattern.is_match(text))
}

/// # Safety
/// See the header: `pattern` must be null or alive, and must not be used again.
#[no_mangle]
pub unsafe extern "C" fn attnflow_pattern_free(pattern: *mut Regex) {
    // SAFETY: the caller upholds the header's contract.
    unsafe { release(pattern) };
}
