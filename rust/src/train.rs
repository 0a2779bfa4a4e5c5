//! Learns a WordPiece tokenizer from texts, using the crate's own trainer.
//!
//! The trainer merges the most frequent pair of pieces until the vocabulary is full (byte-pair encoding); the finished
//! tokenizer splits words as BERT's does, from the left, taking the longest piece first.

use crate::text_tokenizer::{message, Result};
use crate::{guarded, into_pointer, StringObject, Text};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tokenizers::decoders::wordpiece::WordPiece as WordPieceDecoder;
use tokenizers::models::wordpiece::{WordPiece, WordPieceTrainerBuilder};
use tokenizers::normalizers::BertNormalizer;
use tokenizers::pre_tokenizers::bert::BertPreTokenizer;
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{
    AddedToken, Model, NormalizedString, Normalizer, OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer,
    Tokenizer, Trainer,
};

const SPECIALS: [&str; 5] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
const PREFIX: &str = "##";

/// `attnflow_word_piece_options` in C.
#[repr(C)]
pub struct Options {
    pub pieces: usize,
    pub min_frequency: u64,
    pub min_character_count: u64,
    pub single: Text,
    pub pair: Text,
}

/// The words of a text as the finished tokenizer looks them up.
fn words_of(text: &str) -> Result<Vec<String>> {
    let mut normalized = NormalizedString::from(text);
    BertNormalizer::default().normalize(&mut normalized).map_err(message)?;
    let mut split = PreTokenizedString::from(normalized);
    BertPreTokenizer.pre_tokenize(&mut split).map_err(message)?;
    let splits = split.get_splits(OffsetReferential::Original, OffsetType::Byte);
    Ok(splits.into_iter().map(|(word, _, _)| word.to_owned()).collect())
}

/// Counts each word's occurrences. Splits texts at white space first, since most of the parts occur many times.
fn count_words(texts: &[&str]) -> Result<BTreeMap<String, u64>> {
    let mut runs: HashMap<&str, u64> = HashMap::new();
    for run in texts.iter().flat_map(|text| text.split_whitespace()) {
        *runs.entry(run).or_default() += 1;
    }
    let mut words = BTreeMap::new();
    for (run, count) in runs {
        for word in words_of(run)? {
            *words.entry(word).or_default() += count;
        }
    }
    Ok(words)
}

/// Removes words with a character that occurs fewer than `least` times: they become [UNK].
fn drop_rare_characters(words: &mut BTreeMap<String, u64>, least: u64) {
    let mut counts: HashMap<char, u64> = HashMap::new();
    for (word, count) in words.iter() {
        for character in word.chars() {
            *counts.entry(character).or_default() += count;
        }
    }
    words.retain(|word, _| word.chars().all(|character| counts[&character] >= least));
}

/// The vocabulary learned from `words`.
///
/// The same words give the same vocabulary. The trainer's tables differ in order from run to run, and number the
/// characters inside words ("##x") as encountered; equally frequent pairs are ordered by these numbers. So all these
/// characters are put in the vocabulary beforehand, in code point order. Counts are sums of integers, whatever the
/// threads. Only the order of two entries for one pair still depends on the tables, if two pairs spell the same piece
/// ("##in" "##g", "##i" "##ng"): of 29,849 merges on 15 MB of prose none did, because whichever comes first takes all
/// its places.
fn learn(words: &BTreeMap<String, u64>, options: &Options) -> Result<WordPiece> {
    // ASCII letters and digits are always included, so that every plain English word can be split.
    let plain: BTreeSet<char> = ('a'..='z').chain('0'..='9').collect();
    let inner: BTreeSet<char> = words
        .keys()
        .flat_map(|word| word.chars().skip(1))
        .chain(plain.iter().copied())
        .collect();
    let mut first: Vec<AddedToken> = SPECIALS
        .iter()
        .map(|special| AddedToken::from(*special, true))
        .collect();
    first.extend(
        inner
            .iter()
            .map(|character| AddedToken::from(format!("{PREFIX}{character}"), true)),
    );

    let mut trainer = WordPieceTrainerBuilder::new()
        .vocab_size(options.pieces)
        .min_frequency(options.min_frequency)
        .show_progress(false)
        .special_tokens(first)
        .initial_alphabet(plain.into_iter().collect())
        .continuing_subword_prefix(PREFIX.to_owned())
        .build();
    trainer
        .feed(words.keys(), |word| {
            Ok((0..words[word]).map(|_| word.to_owned()).collect())
        })
        .map_err(message)?;
    let mut model = WordPiece::default();
    Trainer::train(&trainer, &mut model).map_err(message)?;
    if model.get_vocab_size() > options.pieces {
        return Err(format!(
            "expected room for {} pieces, the special tokens and single characters, found room for {}",
            model.get_vocab_size(),
            options.pieces
        ));
    }
    Ok(model)
}

fn train(texts: &[&str], options: &Options, single: &str, pair: &str) -> Result<String> {
    let mut words = count_words(texts)?;
    drop_rare_characters(&mut words, options.min_character_count);
    if words.is_empty() {
        return Err("expected texts with words in them, found none".to_owned());
    }
    let model = learn(&words, options)?;
    let template = TemplateProcessing::builder()
        .try_single(single)
        .map_err(message)?
        .try_pair(pair)
        .map_err(message)?
        .special_tokens(vec![("[CLS]", 2), ("[SEP]", 3)])
        .build()
        .map_err(message)?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(BertNormalizer::default()))
        .map_err(message)?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(template))
        .with_decoder(Some(WordPieceDecoder::new(PREFIX.to_owned(), true)));
    tokenizer
        .add_special_tokens(SPECIALS.map(|special| AddedToken::from(special, true)))
        .map_err(message)?;
    tokenizer.to_string(true).map_err(message)
}

/// `texts` points to `count` texts.
#[no_mangle]
pub unsafe extern "C" fn attnflow_word_piece_train(
    texts: *const Text,
    count: usize,
    options: &Options,
    error: *mut *mut StringObject,
) -> *mut StringObject {
    let trained = guarded(error, || {
        let texts = (0..count)
            .map(|number| Ok((*texts.add(number)).string()?.unwrap_or_default()))
            .collect::<Result<Vec<&str>>>()?;
        let single = options.single.string()?.unwrap_or_default();
        let pair = options.pair.string()?.unwrap_or_default();
        train(&texts, options, single, pair)
    });
    into_pointer(trained.map(StringObject::of))
}
