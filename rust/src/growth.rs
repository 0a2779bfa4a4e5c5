//! Bounds how much longer a normalizer can make a text.
//!
//! Replacements feed each other: six rules that each replace one letter by 200 turn it into 64 million million. The
//! most that a byte can become follows from the rules alone, so a file that allows too much is refused before any text
//! passes through it, including its own added tokens.
//!
//! The bound: let cost[b] be the most bytes that a byte b becomes from some step on; after the last step it is 1. A
//! preceding replacement of p by c turns each byte of p into at most (sum of cost over c) / |p| bytes, and leaves the
//! others unchanged; a pattern may match any byte, or none, and then adds to all. Other steps turn some bytes into
//! others, which are assumed to have the largest cost of all; what Unicode's own decompositions add is bounded by
//! Unicode.

use crate::text_tokenizer::Result;
use serde_json::Value;

/// The most bytes that a byte may become. Real normalizers stay below 20: a space becomes the three bytes of "▁".
const MOST_GROWTH: f64 = 100.0;

type Costs = [f64; 256];

fn of_text(cost: &Costs, text: &str) -> f64 {
    text.bytes().map(|byte| cost[usize::from(byte)]).sum()
}

fn dearest(cost: &Costs) -> f64 {
    cost.iter().copied().fold(0.0, f64::max)
}

/// The fewest bytes that a regular expression matches. 0 if regex-syntax cannot tell, as with look-around.
fn fewest_bytes(pattern: &str) -> usize {
    regex_syntax::parse(pattern)
        .ok()
        .and_then(|parsed| parsed.properties().minimum_len())
        .unwrap_or(0)
}

/// The most bytes that SentencePiece's character map writes for one byte. Its format is the trie's size in bytes, the
/// trie, and zero-terminated texts. 1 for anything else, which the tokenizers crate then refuses.
fn longest_text(charsmap: &str) -> usize {
    let bytes = base64::decode(charsmap).unwrap_or_default();
    let Some((size, rest)) = bytes.split_first_chunk::<4>() else {
        return 1;
    };
    let texts = rest.get(u32::from_le_bytes(*size) as usize..).unwrap_or_default();
    texts
        .split(|&byte| byte == 0)
        .map(<[u8]>::len)
        .max()
        .unwrap_or(1)
        .max(1)
}

fn add_steps<'a>(part: &'a Value, steps: &mut Vec<&'a Value>) {
    match part.get("normalizers").and_then(Value::as_array) {
        Some(parts) => parts.iter().for_each(|part| add_steps(part, steps)),
        None => steps.push(part),
    }
}

fn put_before(step: &Value, cost: &mut Costs) {
    let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
    let pattern = |kind: &str| step.pointer(&format!("/pattern/{kind}")).and_then(Value::as_str);
    match text("type") {
        "Replace" => {
            let content = of_text(cost, text("content"));
            match pattern("String").filter(|pattern| !pattern.is_empty()) {
                Some(pattern) => {
                    let share = content / pattern.len() as f64;
                    for byte in pattern.bytes() {
                        let own = &mut cost[usize::from(byte)];
                        *own = own.max(share);
                    }
                }
                None => {
                    let fewest = fewest_bytes(pattern("Regex").unwrap_or_default());
                    for own in cost.iter_mut() {
                        // A pattern that can match nothing also writes between the bytes.
                        *own = if fewest == 0 {
                            *own + content
                        } else {
                            own.max(content / fewest as f64)
                        };
                    }
                }
            }
        }
        // Before the whole text, or each part between added tokens.
        "Prepend" => {
            let prepended = of_text(cost, text("prepend"));
            cost.iter_mut().for_each(|own| *own += prepended);
        }
        "Strip" | "StripAccents" => {}
        "NFC" | "NFD" | "NFKC" | "NFKD" => {
            let most = dearest(cost);
            cost[0x80..].fill(most);
        }
        "Precompiled" => {
            let most = dearest(cost) * longest_text(text("precompiled_charsmap")) as f64;
            cost.fill(most);
        }
        _ => {
            let most = dearest(cost);
            cost.fill(most);
        }
    }
}

fn growth(steps: &[&Value]) -> f64 {
    let mut cost = [1.0; 256];
    for step in steps.iter().rev() {
        put_before(step, &mut cost);
    }
    dearest(&cost)
}

/// Refuses a normalizer (as in tokenizer.json, or null) that can turn a byte into more than MOST_GROWTH bytes.
pub fn check(normalizer: &Value) -> Result<()> {
    let mut steps = vec![];
    add_steps(normalizer, &mut steps);
    let most = growth(&steps);
    if most <= MOST_GROWTH {
        return Ok(());
    }
    Err(format!(
        "a normalizer whose replacements can make a text {most:.0} times as long, where at most {MOST_GROWTH} times is \
         allowed"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn replace(pattern: &str, content: &str) -> Value {
        json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})
    }

    fn replace_all(pattern: &str, content: &str) -> Value {
        json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content})
    }

    fn growth(steps: &[Value]) -> f64 {
        super::growth(&steps.iter().collect::<Vec<_>>())
    }

    #[test]
    fn usual_normalizers_are_far_below() {
        let named = |name: &str| json!({"type": name});
        let llama = [json!({"type": "Prepend", "prepend": "▁"}), replace(" ", "▁")];
        assert_eq!(growth(&llama), 6.0);
        let albert = [
            replace("``", "\""),
            replace("''", "\""),
            named("NFKD"),
            named("StripAccents"),
            named("Lowercase"),
            named("Precompiled"),
            replace_all(" {2,}", " "),
        ];
        assert_eq!(growth(&albert), 1.0);
        let clip = [named("NFC"), replace_all(r"\s+", " "), named("Lowercase")];
        assert_eq!(growth(&clip), 1.0);
        // Many rules, none of which writes what a later one reads.
        let words = [("$", "dollars"), ("%", "percent"), ("+", "plus"), ("\n", "<newline>")];
        let mut spelled: Vec<Value> = words.iter().map(|(mark, word)| replace(mark, word)).collect();
        spelled.extend([named("Precompiled"), replace(" ", "▁")]);
        assert_eq!(growth(&spelled), 27.0);
        let patterns = ["[^a-z]+", r"\s+", r"(?:\r\n|\n)", r"[\p{P}&&[^.]]", "(?i)the|an?"];
        let cleaned = patterns.map(|pattern| replace_all(pattern, " "));
        assert_eq!(
            growth(&cleaned.iter().cycle().take(30).cloned().collect::<Vec<_>>()),
            1.0
        );
    }

    #[test]
    fn maps_of_characters_count_their_longest_text() {
        let map = |longest: usize| {
            let mut bytes = 8_u32.to_le_bytes().to_vec();
            bytes.extend([1; 8]);
            bytes.extend(format!("ab\0{}\0c\0", "a".repeat(longest)).bytes());
            json!({"type": "Precompiled", "precompiled_charsmap": base64::encode(bytes)})
        };
        assert_eq!(growth(&[map(33)]), 33.0);
        // T5's, with its longest text (U+FDFA), before a step that turns a space into three bytes.
        assert_eq!(growth(&[map(33), replace(" ", "▁")]), 99.0);
        assert!(check(&json!({"type": "Sequence", "normalizers": [map(200)]})).is_err());
        assert!(check(&json!({"type": "Sequence", "normalizers": [map(20), map(20)]})).is_err());
        let short = json!({"type": "Precompiled", "precompiled_charsmap": "AAA="});
        assert_eq!(growth(&[short]), 1.0);
    }

    #[test]
    fn rules_that_feed_each_other_are_refused() {
        let many = "a".repeat(200);
        let hostile = |count: usize| json!({"type": "Sequence", "normalizers": vec![replace("a", &many); count]});
        for count in [1, 2, 6, 200] {
            assert!(check(&hostile(count)).unwrap_err().contains("times as long"), "{count}");
        }
        // Nested, doubling, by patterns, between characters, before each text, and via other letters.
        let doubling = json!({"type": "Sequence", "normalizers": vec![replace("a", "aa"); 40]});
        let by_way = [
            replace("a", &"B".repeat(20)),
            json!({"type": "Lowercase"}),
            replace("b", &"c".repeat(20)),
        ];
        let mut hostile = vec![vec![doubling], by_way.to_vec(), vec![replace("", "ab"); 7]];
        hostile.extend([".", "x*", "", r"\b", "(?=a)"].map(|between| vec![replace_all(between, "ab"); 7]));
        hostile.push(vec![json!({"type": "Prepend", "prepend": many})]);
        for steps in hostile {
            assert!(check(&json!({"type": "Sequence", "normalizers": steps})).is_err());
        }
        assert!(check(&Value::Null).is_ok());
    }
}
