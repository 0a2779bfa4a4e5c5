//! Encoding, together with what attnflow needs to know about each token: its position in the user's text, the word it
//! belongs to, and whether it comes from the template.
//!
//! The steps are those of `tokenizers::Tokenizer::encode`, performed one by one through the crate's public parts,
//! because the crate loses three facts: which splits are added tokens such as [MASK], byte ranges before a
//! post-processor trims them (or not) in its own way, and whether truncation cut anything. This also keeps `encode`
//! free of locks: truncation is a setting of the crate's tokenizer, but an argument here.

use crate::declared::{self, AddedTokenWithId, Declared};
use crate::growth;
use crate::numbering::{self, Numbering};
use crate::offsets::{self, Range};
use crate::spelling::{find_component, Spelling};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;
use tokenizers::utils::truncation::{truncate_encodings, TruncationParams};
use tokenizers::{
    AddedToken, DecoderWrapper, Encoding, Model, ModelWrapper, NormalizerWrapper, OffsetReferential, OffsetType,
    PostProcessor, PostProcessorWrapper, PreTokenizer, PreTokenizerWrapper, Tokenizer,
};

pub type Result<T> = std::result::Result<T, String>;

pub fn message(error: impl Display) -> String {
    error.to_string()
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextToken {
    pub id: u32,
    pub type_id: u32,
    pub text: String,
    /// 0, or 1 for the pair. A template token belongs to the segment of the preceding text.
    pub segment: usize,
    pub special: bool,
    /// Absent for template tokens.
    pub place: Option<Place>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub id: u32,
    /// Byte range in the segment's text.
    pub range: Range,
    /// Word number over both segments, without gaps.
    pub word: usize,
    /// Whether it is an added token spelled out in the text, special or not.
    pub added: bool,
}

#[derive(Debug, Default)]
pub struct TextEncoding {
    pub tokens: Vec<TextToken>,
    pub truncated: bool,
}

pub struct TextTokenizer {
    tokenizer: Tokenizer,
    added: HashMap<u32, AddedToken>,
    /// All ids with a piece. If two pieces share an id, the added token wins, then the first in byte order.
    pieces: BTreeMap<u32, String>,
    spelling: Spelling,
    numbering: Option<Numbering>,
    id_limit: usize,
    settings: BTreeMap<&'static str, bool>,
}

/// The used fields of tokenizer.json. Not "truncation": the caller handles input that is too long. Batches are not
/// padded, but the padding token is one of the tokens.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    added_tokens: Vec<AddedTokenWithId>,
    #[serde(default)]
    normalizer: Option<NormalizerWrapper>,
    #[serde(default)]
    pre_tokenizer: Option<PreTokenizerWrapper>,
    #[serde(default)]
    post_processor: Option<PostProcessorWrapper>,
    #[serde(default)]
    decoder: Option<DecoderWrapper>,
    model: ModelWrapper,
    #[serde(default)]
    padding: Value,
    #[serde(default)]
    attnflow_numbering: Option<numbering::Declared>,
}

/// A segment's tokens before the template is applied.
struct Segment {
    encoding: Encoding,
    places: Vec<Place>,
}

impl TextTokenizer {
    /// `json` is the content of a tokenizer.json, `declared` the declarations in the files next to it (declared.rs).
    pub fn from_json(json: &[u8], declared: &[u8]) -> Result<Self> {
        let document: Document = serde_json::from_slice(json).map_err(message)?;
        if let Some(version) = document.version.filter(|version| version != "1.0") {
            return Err(format!("expected format version 1.0, found {version}"));
        }
        let mut declared: Declared =
            serde_json::from_slice(declared).map_err(|error| format!("declared tokens: {error}"))?;
        if let Some(piece) = document.padding.get("pad_token").and_then(Value::as_str) {
            declared.pad_with(piece);
        }

        let mut model = document.model;
        if let ModelWrapper::BPE(bpe) = &mut model {
            // Dropout would make the pieces random. The cache is in thread-local memory that outlives the tokenizer.
            bpe.dropout = None;
            bpe.resize_cache(0);
        }
        let components = [
            to_json(&document.normalizer)?,
            to_json(&document.pre_tokenizer)?,
            to_json(&document.decoder)?,
        ];
        match &document.attnflow_numbering {
            Some(declared) => growth::check(&json!({"normalizers": [declared.normalizer(), components[0]]}))?,
            None => growth::check(&components[0])?,
        }
        let spelling = Spelling::new(&model_settings(&model), &components);

        let mut tokenizer = Tokenizer::new(model);
        tokenizer.with_normalizer(document.normalizer).map_err(message)?;
        tokenizer.with_pre_tokenizer(document.pre_tokenizer);
        tokenizer.with_post_processor(document.post_processor);
        let numbering = document.attnflow_numbering.map(Numbering::new).transpose()?;
        let number = |tokenizer: &Tokenizer, piece: &str| match &numbering {
            Some(numbering) => numbering.get(piece),
            None => tokenizer.token_to_id(piece),
        };
        let beyond = declared::add_tokens(&mut tokenizer, document.added_tokens, declared, number)?;

        let added: HashMap<u32, AddedToken> = tokenizer
            .get_added_tokens_decoder()
            .into_values()
            .filter_map(|token| Some((number(&tokenizer, &token.content)?, token)))
            .collect();
        let pieces = match &numbering {
            Some(numbering) => numbering.pieces().map(|(piece, id)| (id, piece.to_owned())).collect(),
            None => pieces_by_id(&tokenizer, &added),
        };
        let mut result = Self {
            tokenizer,
            added,
            id_limit: 0,
            pieces,
            spelling,
            numbering,
            settings: settings_of(&components[0], &components[1]),
        };
        // Encoding an empty text runs the template, to find a broken one now.
        let template = result.encode("", None, None)?;
        let pieces = result.pieces.keys().copied().filter(|id| !beyond.contains(id));
        let ids = template.tokens.iter().map(|token| token.id);
        result.id_limit = ids.chain(pieces).max().map_or(0, |id| id as usize + 1);
        Ok(result)
    }

    /// The file's equivalent of a setting of tokenizer_config.json; None if the file determines neither value.
    pub fn setting(&self, key: &str) -> Option<bool> {
        self.settings.get(key).copied()
    }

    /// Encodes with the template. `max_tokens` includes the template's tokens, which are never cut; the longer segment
    /// is cut first.
    pub fn encode(&self, text: &str, pair: Option<&str>, max_tokens: Option<usize>) -> Result<TextEncoding> {
        let mut first = self.segment(text, 0)?;
        let mut second = match pair {
            Some(pair) => Some(self.segment(pair, 1)?),
            None => None,
        };
        let template = self.template_tokens(pair.is_some());
        let mut truncated = false;
        if let Some(max_tokens) = max_tokens {
            let max_length = max_tokens
                .checked_sub(template)
                .ok_or_else(|| format!("the template alone has {template} tokens, more than {max_tokens}"))?;
            truncated = truncate(&mut first, &mut second, max_length)?;
        }
        let (second_encoding, second_places) =
            second.map_or((None, vec![]), |segment| (Some(segment.encoding), segment.places));
        let encoding = self.apply_template(first.encoding, second_encoding)?;
        Ok(TextEncoding {
            tokens: self.describe(&encoding, [first.places, second_places], template)?,
            truncated,
        })
    }

    /// Number of tokens that the template adds to one segment, or to two.
    pub fn template_tokens(&self, is_pair: bool) -> usize {
        self.tokenizer
            .get_post_processor()
            .map_or(0, |processor| processor.added_tokens(is_pair))
    }

    /// The ids of `word` inside a sentence, after a space.
    pub fn word_to_ids(&self, word: &str) -> Result<Vec<u32>> {
        if word.is_empty() {
            return Ok(vec![]);
        }
        // Tokenizers differ on whether the start of a text starts a word, so another word comes first.
        const BEFORE: &str = "a";
        let sentence = self.segment(&format!("{BEFORE} {word}"), 0)?;
        let tokens = || sentence.places.iter();
        let straddles = tokens().any(|place| place.range.start < BEFORE.len() && place.range.end > BEFORE.len());
        if straddles {
            // If pieces span spaces, the word is only available with nothing before it.
            let alone = self.segment(&format!(" {word}"), 0)?;
            return Ok(alone.places.iter().map(|place| place.id).collect());
        }
        Ok(tokens()
            .filter(|place| place.range.start >= BEFORE.len())
            .map(|place| place.id)
            .collect())
    }

    pub fn vocabulary_size(&self) -> usize {
        self.pieces.len()
    }

    /// One more than the largest id in the template or of a piece that tokenizer.json gives an id.
    pub fn id_limit(&self) -> usize {
        self.id_limit
    }

    pub fn token_to_id(&self, piece: &str) -> Option<u32> {
        match &self.numbering {
            Some(numbering) => numbering.get(piece),
            None => self.tokenizer.token_to_id(piece),
        }
    }

    pub fn piece(&self, id: u32) -> Option<&str> {
        self.pieces.get(&id).map(String::as_str)
    }

    pub fn readable(&self, id: u32) -> Option<String> {
        let piece = self.pieces.get(&id)?;
        Some(if self.added.contains_key(&id) {
            piece.clone()
        } else {
            self.spelling.readable(piece)
        })
    }

    /// What the token adds to running text: nothing if it is special.
    pub fn bytes(&self, id: u32) -> Option<Vec<u8>> {
        let piece = self.pieces.get(&id)?;
        Some(match self.added.get(&id) {
            Some(token) if token.special => vec![],
            Some(_) => piece.clone().into_bytes(),
            None => self.spelling.bytes(piece),
        })
    }

    pub fn is_special(&self, id: u32) -> bool {
        self.added.get(&id).is_some_and(|token| token.special)
    }

    fn segment(&self, text: &str, type_id: u32) -> Result<Segment> {
        let parts = &self.tokenizer;
        let mut splits = match &self.numbering {
            Some(numbering) => numbering.split(parts.get_added_vocabulary(), parts.get_normalizer(), text)?,
            None => parts
                .get_added_vocabulary()
                .extract_and_normalize(parts.get_normalizer(), text),
        };
        if let Some(pre_tokenizer) = parts.get_pre_tokenizer() {
            pre_tokenizer.pre_tokenize(&mut splits).map_err(message)?;
        }
        // Until the model runs, only added tokens have tokens.
        let added: Vec<bool> = splits
            .get_splits(OffsetReferential::Original, OffsetType::Byte)
            .iter()
            .map(|(_, _, tokens)| tokens.is_some())
            .collect();
        parts
            .get_model()
            .tokenize_in_pretokenized(&mut splits, None)
            .map_err(message)?;
        let renumbered = self.numbering.as_ref().map(|numbering| numbering.ids(&splits, &added));
        let encoding = splits.into_encoding(None, type_id, OffsetType::Byte).map_err(message)?;

        let mut ranges: Vec<Range> = encoding
            .get_offsets()
            .iter()
            .map(|&(begin, end)| offsets::trim(text, offsets::snap(text, begin..end)))
            .collect();
        let splits = encoding.get_word_ids();
        let pieces = encoding.get_tokens();
        offsets::place_marks(text, &mut ranges, pieces, |index| {
            let is_added = splits[index].is_some_and(|split| added.get(split as usize) == Some(&true));
            !is_added && self.spelling.is_space(&pieces[index])
        });
        offsets::extend_to_graphemes(text, &mut ranges);

        let mut word = 0;
        let mut places: Vec<Place> = Vec::with_capacity(ranges.len());
        for (index, range) in ranges.into_iter().enumerate() {
            if index > 0 {
                let previous = &places[index - 1].range;
                let new_split = splits[index] != splits[index - 1];
                word += usize::from(new_split || space_between(text, previous, &range));
            }
            let split = splits[index].ok_or("a token without a word")? as usize;
            places.push(Place {
                id: renumbered.as_ref().map_or(encoding.get_ids()[index], |ids| ids[index]),
                range,
                word,
                added: added.get(split).copied().unwrap_or(false),
            });
        }
        Ok(Segment { encoding, places })
    }

    /// Applies the template to the segments. Each segment's tokens match its `places`.
    fn apply_template(&self, first: Encoding, second: Option<Encoding>) -> Result<Encoding> {
        match self.tokenizer.get_post_processor() {
            Some(processor) => processor.process(first, second, true),
            None => <dyn PostProcessor>::default_process(std::iter::once(first).chain(second).collect(), true)
                .and_then(|mut merged| merged.pop().ok_or_else(|| "no encoding".into())),
        }
        .map_err(message)
    }

    /// Pairs the encoding's tokens with their places, each used once and in order: a template that repeats or drops a
    /// segment yields no input that attention could explain.
    fn describe(&self, encoding: &Encoding, places: [Vec<Place>; 2], template_tokens: usize) -> Result<Vec<TextToken>> {
        const REPEATED: &str = "the template of post_processor uses a segment more than once";
        let words_before = [0, places[0].last().map_or(0, |place| place.word + 1)];
        let mut places = places.map(|segment| segment.into_iter());
        let mut segment = 0;
        let mut tokens = Vec::with_capacity(encoding.len());
        for index in 0..encoding.len() {
            let place = match encoding.token_to_sequence(index) {
                Some(sequence) => {
                    segment = sequence;
                    let mut next = places.get_mut(sequence).and_then(Iterator::next).ok_or(REPEATED)?;
                    next.word += words_before[sequence];
                    Some(next)
                }
                None => None,
            };
            let id = place.as_ref().map_or(encoding.get_ids()[index], |place| place.id);
            let special = match &place {
                Some(place) => place.added && self.added.get(&id).is_some_and(|token| token.special),
                None => true,
            };
            let text = self.piece(id).unwrap_or(&encoding.get_tokens()[index]).to_owned();
            tokens.push(TextToken {
                id,
                type_id: encoding.get_type_ids()[index],
                text,
                segment,
                special,
                place,
            });
        }
        // For a repeated segment the crate keeps only its last place; the other tokens look like template tokens.
        let from_template = tokens.iter().filter(|token| token.place.is_none()).count();
        if from_template > template_tokens {
            return Err(REPEATED.into());
        }
        if places.iter().any(|segment| segment.len() > 0) {
            return Err("the template of post_processor leaves out a segment".into());
        }
        Ok(tokens)
    }
}

fn truncate(first: &mut Segment, second: &mut Option<Segment>, max_length: usize) -> Result<bool> {
    let length = |segment: &Segment| segment.places.len();
    if length(first) + second.as_ref().map_or(0, length) <= max_length {
        return Ok(false);
    }
    let params = TruncationParams {
        max_length,
        ..TruncationParams::default()
    };
    let (cut, cut_second) = truncate_encodings(
        std::mem::take(&mut first.encoding),
        second.as_mut().map(|segment| std::mem::take(&mut segment.encoding)),
        &params,
    )
    .map_err(message)?;
    first.keep(cut);
    if let (Some(second), Some(cut)) = (second, cut_second) {
        second.keep(cut);
    }
    Ok(true)
}

impl Segment {
    fn keep(&mut self, mut beginning: Encoding) {
        beginning.take_overflowing();
        self.places.truncate(beginning.len());
        self.encoding = beginning;
    }
}

/// Whether white space, and with it a word's end, lies between two adjacent tokens of one split; pieces of only a space
/// belong to the next word. Without a pre-tokenizer, one split is the whole text, which would be a single word.
fn space_between(text: &str, previous: &Range, next: &Range) -> bool {
    let is_space = |range: &Range| !range.is_empty() && text[range.clone()].trim().is_empty();
    if is_space(previous) {
        return false;
    }
    let gap = previous.end.min(next.start)..next.start;
    is_space(next) || text[gap].contains(char::is_whitespace)
}

fn pieces_by_id(tokenizer: &Tokenizer, added: &HashMap<u32, AddedToken>) -> BTreeMap<u32, String> {
    let mut pieces: BTreeMap<u32, String> = BTreeMap::new();
    for (piece, id) in tokenizer.get_vocab(false) {
        match pieces.entry(id) {
            Entry::Vacant(slot) => {
                slot.insert(piece);
            }
            Entry::Occupied(mut slot) if piece < *slot.get() => {
                slot.insert(piece);
            }
            Entry::Occupied(_) => {}
        }
    }
    for (id, token) in added {
        pieces.insert(*id, token.content.clone());
    }
    pieces
}

/// tokenizer_config.json's do_lower_case, strip_accents, tokenize_chinese_chars and add_prefix_space; and whether words
/// consist of bytes.
fn settings_of(normalizer: &Value, pre_tokenizer: &Value) -> BTreeMap<&'static str, bool> {
    let bert = |key: &str| find_component(normalizer, "BertNormalizer")?.get(key)?.as_bool();
    // If accents are not mentioned, BERT's normalizer strips them when it lowercases.
    let accents = bert("strip_accents").or_else(|| bert("lowercase"));
    let said = [
        ("do_lower_case", lowercases(normalizer)),
        ("strip_accents", accents),
        ("tokenize_chinese_chars", bert("handle_chinese_chars")),
        ("add_prefix_space", prefixes_space(normalizer, pre_tokenizer)),
        ("byte_level", Some(find_component(pre_tokenizer, "ByteLevel").is_some())),
    ];
    said.into_iter()
        .filter_map(|(key, value)| Some((key, value?)))
        .collect()
}

/// Whether a normalizer lowercases: as its BertNormalizer says, or because it has a step for it.
fn lowercases(normalizer: &Value) -> Option<bool> {
    match find_component(normalizer, "BertNormalizer") {
        Some(bert) => bert.get("lowercase").and_then(Value::as_bool),
        None => find_component(normalizer, "Lowercase").map(|_| true),
    }
}

/// Whether a text's first word gets a space before it, like the words after it.
fn prefixes_space(normalizer: &Value, pre_tokenizer: &Value) -> Option<bool> {
    if let Some(bytes) = find_component(pre_tokenizer, "ByteLevel") {
        return bytes.get("add_prefix_space").and_then(Value::as_bool);
    }
    if find_component(normalizer, "Prepend").is_some() {
        return Some(true);
    }
    let scheme = find_component(pre_tokenizer, "Metaspace")?
        .get("prepend_scheme")?
        .as_str()?;
    Some(scheme != "never")
}

fn to_json<T: Serialize>(part: &Option<T>) -> Result<Value> {
    serde_json::to_value(part).map_err(message)
}

fn model_settings(model: &ModelWrapper) -> Value {
    match model {
        ModelWrapper::BPE(bpe) => json!({
            "continuing_subword_prefix": bpe.continuing_subword_prefix,
            "end_of_word_suffix": bpe.end_of_word_suffix,
            "byte_fallback": bpe.byte_fallback,
        }),
        ModelWrapper::WordPiece(word_piece) => {
            json!({"continuing_subword_prefix": word_piece.continuing_subword_prefix})
        }
        ModelWrapper::Unigram(unigram) => json!({"byte_fallback": unigram.byte_fallback()}),
        ModelWrapper::WordLevel(_) => json!({"whole_words": true}),
    }
}
