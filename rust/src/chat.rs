//! Chat templates: Jinja as Hugging Face transformers runs it.
//!
//! A model's chat template is a Jinja program that writes a conversation the way the model was trained to see it.
//! Templates are written for Python's Jinja2 with the settings of `apply_chat_template`; MiniJinja gets the same
//! settings and additional functions here, and Python's methods of strings and maps.
//!
//! Templates come with model files, which may be hostile: a template can reach no files and no network, and stops after
//! `FUEL` instructions. MiniJinja does not bound the length of concatenated strings, so memory is not limited.

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, State, Value};
use regex::Regex;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io;
use std::sync::LazyLock;

/// Enough: a conversation of a thousand turns takes under a million instructions.
const FUEL: u64 = 5_000_000;

/// Tags with which transformers marks the assistant's text. They write nothing, and MiniJinja does not know them.
static GENERATION_TAG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\{%([-+]?)\s*(end)?generation\s*([-+]?)%\}").expect("a valid expression"));

#[derive(Debug, PartialEq)]
pub enum Failure {
    /// The template is invalid Jinja, or fails at run time.
    Broken(String),
    /// The template itself refuses the conversation, with this message.
    Refused(String),
}

/// Renders `template` with `context`, its variables as a JSON object. `format_time`: the current time, like C's strftime.
pub fn render(
    template: &str,
    context: &[u8],
    format_time: impl Fn(&str) -> Result<String, String> + Send + Sync + 'static,
) -> Result<String, Failure> {
    let context: Value = serde_json::from_slice(context).map_err(|error| Failure::Broken(error.to_string()))?;
    let template = GENERATION_TAG.replace_all(template, |found: &regex::Captures| {
        let keyword = if found.get(2).is_some() { "endif" } else { "if true" };
        format!("{{%{} {keyword} {}%}}", &found[1], &found[3])
    });
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.map_err(|error| describe(&error))?);
    environment.set_fuel(Some(FUEL));
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.set_formatter(write_value);
    environment.add_filter("tojson", to_json);
    for name in ["count", "length"] {
        environment.add_filter(name, length);
    }
    environment.add_test("iterable", |value: &Value| !value.is_none() && value.try_iter().is_ok());
    environment.add_function("raise_exception", |message: String| -> Result<Value, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message.clone()).with_source(Refusal(message)))
    });
    environment.add_function("strftime_now", move |format: String| {
        format_time(&format).map_err(|reason| Error::new(ErrorKind::InvalidOperation, reason))
    });
    let rendered = environment
        .template_from_str(&template)
        .and_then(|program| program.render(context));
    rendered.map_err(|error| describe(&error))
}

#[derive(Debug)]
struct Refusal(String);

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

fn describe(error: &Error) -> Failure {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(cause) = source {
        if let Some(refusal) = cause.downcast_ref::<Refusal>() {
            return Failure::Refused(refusal.0.clone());
        }
        source = cause.source();
    }
    let mut message = error.kind().to_string();
    if let Some(detail) = error.detail() {
        message = format!("{message}: {detail}");
    }
    if let Some(line) = error.line() {
        message = format!("{message} (line {line})");
    }
    Failure::Broken(message)
}

/// Writes the value of `{{ ... }}`, using Python's names for the three constants.
fn write_value(output: &mut Output, state: &mut State, value: &Value) -> Result<(), Error> {
    let constant = match value.kind() {
        ValueKind::None => "None",
        ValueKind::Bool if value.is_true() => "True",
        ValueKind::Bool => "False",
        _ => return minijinja::escape_formatter(output, state, value),
    };
    output.write_str(constant).map_err(Error::from)
}

/// In Jinja, None has no length, and an undefined value has length 0.
fn length(value: &Value) -> Result<usize, Error> {
    if value.is_undefined() {
        return Ok(0);
    }
    value
        .len()
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, format!("{} has no length", value.kind())))
}

/// Python's json.dumps as transformers calls it: no HTML escapes, a space after commas and colons.
fn to_json(value: &Value, arguments: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    // Templates request non-ASCII characters as they are, explicitly or by default.
    let ascii: Option<bool> = arguments.get("ensure_ascii")?;
    if ascii == Some(true) {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "tojson cannot write ASCII only",
        ));
    }
    arguments.assert_all_used()?;
    let mut bytes = vec![];
    let written = match indent {
        Some(width) => {
            let spaces = " ".repeat(width.min(16));
            serialize(value, PrettyFormatter::with_indent(spaces.as_bytes()), &mut bytes)
        }
        None => serialize(value, Spaced, &mut bytes),
    };
    written
        .map_err(|error| error.to_string())
        .and_then(|()| String::from_utf8(bytes).map_err(|error| error.to_string()))
        .map_err(|reason| Error::new(ErrorKind::BadSerialization, reason))
}

fn serialize<F: Formatter>(value: &Value, formatter: F, bytes: &mut Vec<u8>) -> serde_json::Result<()> {
    value.serialize(&mut serde_json::Serializer::with_formatter(bytes, formatter))
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn try_render(template: &str, context: serde_json::Value) -> Result<String, Failure> {
        render(template, context.to_string().as_bytes(), |format| {
            Ok(format!("<{format}>"))
        })
    }

    #[test]
    fn broken_templates_say_where() {
        let endless = "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}";
        for (template, reason) in [
            ("a\n{% if x %}", "line 2"),
            ("{{ x.y.z }}", "undefined"),
            ("{{ nothing_like(1) }}", "nothing_like"),
            ("{{ none | length }}", "no length"),
            ("{% include 'x' %}", "include"),
            (&"{% if x %}".repeat(10_000), "recursion"),
            (&format!("{{{{ {}1 }}}}", "(".repeat(100_000)), "recursion"),
            (endless, "fuel"),
            ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ] {
            match try_render(template, json!({})) {
                Err(Failure::Broken(found)) => assert!(found.contains(reason), "{found}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
