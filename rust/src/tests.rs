//! Tests of encoding with small tokenizers defined here, and of the C ABI's contract. Equality with the Python packages
//! is tested from C++, with the files in attnflow/text/testdata.

use crate::text_tokenizer::{TextToken, TextTokenizer};
use crate::*;
use serde_json::{json, Value};

fn word_piece() -> Value {
    let pieces = [
        "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "key", "##s", "cafe", "a",
    ];
    let vocab: serde_json::Map<String, Value> = pieces
        .iter()
        .enumerate()
        .map(|(id, piece)| (piece.to_string(), json!(id)))
        .collect();
    let special = |id: u32, content: &str| {
        json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    json!({
        "version": "1.0",
        "truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 64}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "[PAD]"},
        "added_tokens": [special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]"), special(4, "[MASK]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocab},
    })
}

fn try_load(document: &Value) -> Result<TextTokenizer> {
    TextTokenizer::from_json(document.to_string().as_bytes(), b"{}")
}

fn load(document: &Value) -> TextTokenizer {
    try_load(document).expect("a valid document")
}

fn ids(tokens: &[TextToken]) -> Vec<u32> {
    tokens.iter().map(|token| token.id).collect()
}

fn words(tokens: &[TextToken]) -> Vec<usize> {
    tokens
        .iter()
        .flat_map(|token| &token.place)
        .map(|place| place.word)
        .collect()
}

fn encoded(tokenizer: &TextTokenizer, text: &str) -> Vec<TextToken> {
    tokenizer.encode(text, None, None).unwrap().tokens
}

#[test]
fn places_and_specials() {
    let text = "The keys, [MASK] café\u{301} 😀";
    let tokens = load(&word_piece()).encode(text, Some("a"), None).unwrap().tokens;
    assert_eq!(ids(&tokens), [2, 5, 6, 7, 1, 4, 8, 1, 3, 9, 3]);
    let seen: Vec<_> = tokens
        .iter()
        .map(|token| {
            token
                .place
                .as_ref()
                .map(|place| (&[text, "a"][token.segment][place.range.clone()], place.word))
        })
        .collect();
    let expected = [
        None,
        Some(("The", 0)),
        Some(("key", 1)),
        Some(("s", 1)),
        Some((",", 2)),
        Some(("[MASK]", 3)),
        Some(("café\u{301}", 4)),
        Some(("😀", 5)),
        None,
        Some(("a", 6)),
        None,
    ];
    assert_eq!(seen, expected);
    let special: Vec<bool> = tokens.iter().map(|token| token.special).collect();
    // The model makes "," and the emoji [UNK]; nobody wrote "[UNK]".
    assert_eq!(
        special,
        [true, false, false, false, false, true, false, false, true, false, true]
    );
    assert_eq!(
        tokens.iter().map(|token| token.type_id).collect::<Vec<_>>(),
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    );
}

#[test]
fn steps_agree_with_the_crate() {
    let mut document = word_piece();
    document["truncation"] = Value::Null;
    document["padding"] = Value::Null;
    let ours = load(&document);
    let theirs = tokenizers::Tokenizer::from_bytes(document.to_string()).unwrap();
    for (text, pair) in [
        ("The keys", None),
        ("", None),
        ("a key [SEP]", Some("keys the")),
        ("", Some("")),
    ] {
        let tokens = ours.encode(text, pair, None).unwrap().tokens;
        let encoding = match pair {
            Some(pair) => theirs.encode((text, pair), true),
            None => theirs.encode(text, true),
        }
        .unwrap();
        assert_eq!(ids(&tokens), encoding.get_ids());
        let template: Vec<u32> = tokens.iter().map(|token| u32::from(token.place.is_none())).collect();
        assert_eq!(template, encoding.get_special_tokens_mask());
    }
}

#[test]
fn truncation_is_an_argument() {
    let tokenizer = load(&word_piece());
    let whole = tokenizer.encode("the the the the", Some("key"), None).unwrap();
    assert_eq!((whole.tokens.len(), whole.truncated), (8, false));
    let cut = tokenizer.encode("the the the the", Some("key"), Some(6)).unwrap();
    assert_eq!((ids(&cut.tokens), cut.truncated), (vec![2, 5, 5, 3, 6, 3], true));
    let same = tokenizer.encode("the the the the", Some("key"), Some(8)).unwrap();
    assert_eq!((same.tokens.len(), same.truncated), (8, false));
    assert_eq!(words(&cut.tokens), [0, 1, 2]);
    let empty = tokenizer.encode("the the", Some("key"), Some(3)).unwrap();
    assert_eq!((ids(&empty.tokens), empty.truncated), (vec![2, 3, 3], true));
    assert!(tokenizer.encode("the", None, Some(1)).unwrap_err().contains("2 tokens"));
}

#[test]
fn without_a_pre_tokenizer_spaces_part_words() {
    let vocab = json!({"<unk>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4, "▁b": 5});
    let document = json!({
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "model": {"type": "BPE", "dropout": 0.9, "unk_token": "<unk>", "vocab": vocab,
                  "merges": [["▁", "a"], ["▁", "b"]]},
    });
    let tokenizer = load(&document);
    let tokens = encoded(&tokenizer, "a ab b");
    assert_eq!((ids(&tokens), words(&tokens)), (vec![2, 4, 3, 5], vec![0, 1, 1, 2]));
    let ranges: Vec<_> = tokens
        .iter()
        .flat_map(|token| &token.place)
        .map(|place| place.range.clone())
        .collect();
    assert_eq!(ranges, [0..1, 2..3, 3..4, 5..6]);
    // A space that is a separate piece starts the word after it.
    let spaced = encoded(&tokenizer, "a  b");
    assert_eq!((ids(&spaced), words(&spaced)), (vec![2, 1, 5], vec![0, 1, 1]));
    assert_eq!(tokenizer.word_to_ids("b").unwrap(), [5]);
    assert_eq!(tokenizer.word_to_ids("").unwrap(), [0_u32; 0]);
    assert_eq!(tokenizer.readable(5).as_deref(), Some("b"));
}

#[test]
fn vocabulary() {
    let tokenizer = load(&word_piece());
    assert_eq!((tokenizer.vocabulary_size(), tokenizer.id_limit()), (10, 10));
    assert_eq!(
        (tokenizer.token_to_id("##s"), tokenizer.token_to_id("nothing")),
        (Some(7), None)
    );
    assert_eq!((tokenizer.piece(7), tokenizer.piece(10)), (Some("##s"), None));
    assert_eq!(tokenizer.readable(7).as_deref(), Some("s"));
    assert_eq!(tokenizer.readable(4).as_deref(), Some("[MASK]"));
    assert_eq!(tokenizer.word_to_ids("KEYS").unwrap(), [6, 7]);
    // Two pieces with one id: the same one is always shown.
    let mut document = word_piece();
    document["model"]["vocab"]["zoo"] = json!(7);
    document["model"]["vocab"]["far"] = json!(4_000_000_000_u32);
    let tokenizer = load(&document);
    assert_eq!(
        (tokenizer.piece(7), tokenizer.token_to_id("zoo")),
        (Some("##s"), Some(7))
    );
    assert_eq!((tokenizer.vocabulary_size(), tokenizer.id_limit()), (11, 4_000_000_001));
}

#[test]
fn special_tokens_from_beside_the_document() {
    let mut document = word_piece();
    document["added_tokens"] = json!([]);
    let json = document.to_string();
    let bare = TextTokenizer::from_json(json.as_bytes(), b"{}").unwrap();
    assert!(!ids(&encoded(&bare, "[MASK]")).contains(&4));
    let special = |content: &str, usual: bool| {
        json!({"content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
               "special": true, "usual": usual})
    };
    let with = |json: &str, named: Value| {
        TextTokenizer::from_json(json.as_bytes(), json!({"named": named}).to_string().as_bytes())
    };
    let named = json!([
        special("[MASK]", false),
        special("[NEW]", true),
        special("[LAST]", false)
    ]);
    let tokenizer = with(&json, named.clone()).unwrap();
    let tokens = encoded(&tokenizer, "the [MASK]");
    assert_eq!((ids(&tokens), tokens[2].special), (vec![2, 5, 4, 3], true));
    let id = |tokenizer: &TextTokenizer, piece: &str| tokenizer.token_to_id(piece);
    assert_eq!(
        (id(&tokenizer, "[NEW]"), id(&tokenizer, "[LAST]")),
        (Some(10), Some(11))
    );
    assert_eq!(tokenizer.id_limit(), 10); // the model need not have rows for them

    // A vocabulary with gaps, where the id equal to its size is in use.
    document["model"]["vocab"]["a"] = json!(10);
    let json = document.to_string();
    let error = with(&json, named).err().unwrap();
    assert_eq!(
        error,
        "the new token \"[LAST]\" would have the id 10 of the piece \"a\""
    );
    let usual = with(&json, json!([special("[NEW]", true)])).unwrap();
    assert_eq!((id(&usual, "[NEW]"), usual.piece(10)), (None, Some("a")));
}

#[test]
fn bad_documents_are_refused() {
    let whole = word_piece().to_string();
    for cut in (0..whole.len()).step_by(7) {
        assert!(
            TextTokenizer::from_json(&whole.as_bytes()[..cut], b"{}").is_err(),
            "cut at {cut}"
        );
    }
    assert!(TextTokenizer::from_json(b"\xff\xfe", b"{}").is_err());
    assert!(TextTokenizer::from_json(&b"[".repeat(1_000_000), b"{}").is_err());
    assert!(TextTokenizer::from_json(whole.as_bytes(), b"{").is_err());

    let changed = |place: &str, value: Value| {
        let mut document = word_piece();
        *document.pointer_mut(place).unwrap() = value;
        document
    };
    assert_eq!(
        try_load(&changed("/version", json!("2.0"))).err().unwrap(),
        "expected format version 1.0, found 2.0"
    );
    assert!(try_load(&changed("/added_tokens/3/id", json!(7)))
        .err()
        .unwrap()
        .contains("[MASK]"));
    let sequence = json!({"Sequence": {"id": "A", "type_id": 0}});
    for (single, words) in [(json!([]), "leaves out"), (json!([sequence, sequence]), "")] {
        let template = json!({"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {}});
        let tokenizer = load(&changed("/post_processor", template));
        assert!(tokenizer.encode("the", None, None).unwrap_err().contains(words));
    }
    let no_unknown = load(&changed("/model/unk_token", json!("[NONE]")));
    assert!(no_unknown.encode("zebra", None, None).is_err());
}

fn text_of(object: *mut StringObject) -> String {
    assert!(!object.is_null());
    // SAFETY: created by the ABI, freed once.
    unsafe {
        let text = attnflow_string_text(&*object).string().unwrap().unwrap().to_owned();
        attnflow_string_free(object);
        text
    }
}

#[test]
fn panics_become_errors() {
    let mut document = word_piece();
    document["pre_tokenizer"] = json!({"type": "FixedLength", "length": 0}); // splits text into empty pieces
    let json = document.to_string();
    let mut error = std::ptr::null_mut();
    // SAFETY: the arguments are alive, and each object is freed once.
    unsafe {
        let tokenizer = attnflow_tokenizer_from_json(Text::of(&json), Text::ABSENT, &mut error);
        assert!(error.is_null() && !tokenizer.is_null());
        let encoding = attnflow_tokenizer_encode(&*tokenizer, Text::of("the"), Text::ABSENT, usize::MAX, &mut error);
        assert!(encoding.is_null());
        let message = text_of(error);
        assert!(message.contains("failed inside: "), "{message}");
        assert!(
            !message.contains(".rs") && !message.contains('/'),
            "a path of the builder: {message}"
        );
        attnflow_tokenizer_free(tokenizer);
    }
}

#[test]
fn the_abi_hands_out_what_it_encoded() {
    let json = word_piece().to_string();
    let mut error = std::ptr::null_mut();
    // SAFETY: the arguments are alive, and each object is freed once.
    unsafe {
        let tokenizer = attnflow_tokenizer_from_json(Text::of(&json), Text::ABSENT, &mut error);
        let invalid = Text {
            data: b"a\xff".as_ptr(),
            size: 2,
        };
        assert!(attnflow_tokenizer_encode(&*tokenizer, invalid, Text::ABSENT, usize::MAX, &mut error).is_null());
        assert!(text_of(error).contains("byte 1"));

        let encoding = attnflow_tokenizer_encode(&*tokenizer, Text::of("keys"), Text::of("a"), 5, &mut error);
        assert!(attnflow_encoding_truncated(&*encoding));
        assert_eq!(attnflow_encoding_size(&*encoding), 5);
        let tokens = std::slice::from_raw_parts(attnflow_encoding_tokens(&*encoding), 5);
        assert_eq!(tokens[1].text.string().unwrap(), Some("key"));
        assert_eq!(
            (tokens[1].begin, tokens[1].end, tokens[1].in_text, tokens[1].special),
            (0, 3, true, false)
        );
        assert_eq!((tokens[3].segment, tokens[3].word, tokens[3].type_id), (1, 1, 1));
        assert!(!tokens[4].in_text && tokens[4].special);
        attnflow_encoding_free(encoding);

        let (mut count, mut found) = (0, [0_u32; 1]);
        assert!(attnflow_tokenizer_word_to_ids(
            &*tokenizer,
            Text::of("keys"),
            found.as_mut_ptr(),
            1,
            &mut count,
            &mut error
        ));
        assert_eq!((count, found[0]), (2, 0)); // does not fit: nothing is written
        assert_eq!(text_of(attnflow_tokenizer_readable(&*tokenizer, 7)), "s");
        assert!(attnflow_tokenizer_readable(&*tokenizer, 70).is_null());
        attnflow_tokenizer_free(tokenizer);
        attnflow_tokenizer_free(std::ptr::null_mut());

        assert!(attnflow_tokenizer_from_json(Text::of("{}"), Text::ABSENT, &mut error).is_null());
        assert!(text_of(error).contains("model"));
    }
}

mod training {
    use super::*;
    use crate::train::{attnflow_word_piece_train, Options};

    const TEXTS: [&str; 4] = [
        "The keys to the cabinets are new, and the key to the cabinet is old.",
        "Drawing keys, drawing cabinets; drawings of naïve cats and of a cat.",
        "The cats are drawing. The cat is drawn: the drawings are old, Ω",
        "Old keys open old cabinets; new keys open nothing at all.",
    ];

    fn learn(texts: &[&str], pieces: usize, min_character_count: u64) -> Result<String> {
        let texts: Vec<Text> = texts.iter().map(|text| Text::of(text)).collect();
        let options = Options {
            pieces,
            min_frequency: 2,
            min_character_count,
            single: Text::of("[CLS] $A"),
            pair: Text::of("[CLS] $A [SEP] $B"),
        };
        let mut error = std::ptr::null_mut();
        // SAFETY: everything lives until the end of this function.
        unsafe {
            let trained = attnflow_word_piece_train(texts.as_ptr(), texts.len(), &options, &mut error);
            let of = |object: *mut StringObject| {
                let text = String::from_utf8((*object).0.clone()).unwrap();
                attnflow_string_free(object);
                text
            };
            if trained.is_null() {
                Err(of(error))
            } else {
                Ok(of(trained))
            }
        }
    }

    #[test]
    fn the_tokenizer_is_berts() {
        let json = learn(&TEXTS, 200, 2).unwrap();
        let tokenizer = TextTokenizer::from_json(json.as_bytes(), b"{}").unwrap();
        let pieces = |text: &str, pair: Option<&str>| -> Vec<String> {
            let encoding = tokenizer.encode(text, pair, None).unwrap();
            encoding.tokens.into_iter().map(|token| token.text).collect()
        };
        assert_eq!(pieces("The KEYS", None), ["[CLS]", "the", "keys"]);
        assert_eq!(
            pieces("cabinets", Some("old [MASK]")),
            ["[CLS]", "cabinets", "[SEP]", "old", "[MASK]"]
        );
        // Accents are removed; any word of plain letters can be split; a character that is too rare is unknown.
        assert_eq!(pieces("zq7 Ω", None), ["[CLS]", "z", "##q", "##7", "[UNK]"]);
        for (id, special) in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "##0"].iter().enumerate() {
            assert_eq!(tokenizer.piece(id as u32), Some(*special));
        }
        let document: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(
            document["decoder"],
            json!({"type": "WordPiece", "prefix": "##", "cleanup": true})
        );
        assert_eq!(document["added_tokens"].as_array().unwrap().len(), 5);
    }

    // The trainer's tables have a different order each time.
    #[test]
    fn the_same_texts_give_the_same_bytes() {
        let once = learn(&TEXTS, 150, 1).unwrap();
        let mut reversed = TEXTS;
        reversed.reverse();
        for _ in 0..20 {
            assert_eq!(learn(&TEXTS, 150, 1).unwrap(), once);
            assert_eq!(learn(&reversed, 150, 1).unwrap(), once);
        }
    }

    #[test]
    fn what_cannot_be_learned_is_said() {
        let room = learn(&TEXTS, 50, 1).unwrap_err();
        assert!(room.starts_with("expected room for "), "{room}");
        assert!(
            room.ends_with(" pieces, the special tokens and single characters, found room for 50"),
            "{room}"
        );
        for texts in [&["", " \n"][..], &[]] {
            assert_eq!(
                learn(texts, 200, 1).unwrap_err(),
                "expected texts with words in them, found none"
            );
        }
    }
}
