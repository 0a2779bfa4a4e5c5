//! Functions that need Unicode's tables (letters, case, composed forms), and regular expressions.

use regex::Regex;
use tokenizers::NormalizedString;

pub fn has_letter_or_number(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The form for comparing words: lower case, letters composed with their accents (NFC), plain apostrophes for
/// typographic ones, only letters and numbers at the ends.
pub fn fold(text: &str) -> String {
    let mut folded = NormalizedString::from(text.replace('’', "'").to_lowercase());
    folded.nfc();
    let is_around = |c: char| !c.is_alphanumeric();
    folded.get().trim_matches(is_around).to_owned()
}

/// Compiles an expression that matches in time linear in the text: look-around, back references and automata of over
/// `SIZE_LIMIT` bytes are refused.
pub fn pattern(expression: &str) -> Result<Regex, String> {
    const SIZE_LIMIT: usize = 4 << 20;
    regex::RegexBuilder::new(expression)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "an expression that grows too large".to_owned(),
            // The library prints the expression with a marker below it; the last line is the reason.
            other => {
                let text = other.to_string();
                let reason = text.lines().last().unwrap_or_default();
                reason.strip_prefix("error: ").unwrap_or(reason).to_owned()
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_and_numbers_of_any_script() {
        for text in ["a", "Ж", "日", "س", "7", "٣", "½", "x.", "é", "e\u{301}", "한"] {
            assert!(has_letter_or_number(text), "{text}");
        }
        for text in [
            "", " ", ".", "’", "—", "😀", "¿", "\n\t", "。", "$", "+", "\u{301}", "\u{200d}",
        ] {
            assert!(!has_letter_or_number(text), "{text}");
        }
    }

    #[test]
    fn words_are_compared_in_one_form() {
        assert_eq!(fold("ÉTÉ"), "été");
        assert_eq!(fold("E\u{301}te\u{301}"), "été");
        assert_eq!(fold("Don’t"), "don't");
        assert_eq!(fold(" Über, "), "über");
        assert_eq!(fold("’s"), "s");
        assert_eq!(fold("..."), "");
    }

    #[test]
    fn expressions_are_checked() {
        assert!(pattern("^the$").unwrap().is_match("the"));
        assert!(pattern(r"^\d+$").unwrap().is_match("٣"));
        assert_eq!(pattern("(").unwrap_err(), "unclosed group");
        assert!(pattern("(?=a)").unwrap_err().contains("look-around"));
        assert!(pattern(r"(a)\1").unwrap_err().contains("backreferences"));
        assert!(pattern("((a{1000}){1000}){1000}").unwrap_err().contains("too large"));
        assert!(pattern(&"(".repeat(100_000)).is_err());
        // Exponential for backtracking matchers.
        assert!(!pattern("^(a+)+$").unwrap().is_match(&("a".repeat(20_000) + "b")));
    }
}
