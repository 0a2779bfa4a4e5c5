/* The C ABI of the Rust crate in rust/, which wraps the Hugging Face tokenizers crate and everything else that
 * attnflow/text uses from Rust: a Jinja interpreter, Unicode tables, regular expressions.
 *
 * Ownership: the caller owns each object returned by pointer and releases it with the matching _free, which accepts
 * NULL. attnflow_text values are borrowed: arguments must live until the call returns, and results live as long as the
 * object that returned them.
 * Errors: a function with `error` returns NULL (or false) and stores a message there, to be freed by the caller. This
 * includes panics inside Rust: nothing unwinds through this ABI. `error` may be NULL.
 * Threads: a tokenizer is immutable, so several threads may use one at once; an encoding may be used by only one thread
 * at a time. */
#ifndef ATTNFLOW_TEXT_TOKENIZERS_ABI_H_
#define ATTNFLOW_TEXT_TOKENIZERS_ABI_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct attnflow_tokenizer attnflow_tokenizer;
typedef struct attnflow_encoding attnflow_encoding;
typedef struct attnflow_string attnflow_string;
typedef struct attnflow_pattern attnflow_pattern;

/* UTF-8 unless a function says otherwise, not terminated, may contain NUL. data == NULL means that it is absent. */
typedef struct attnflow_text {
  const uint8_t* data;
  size_t size;
} attnflow_text;

typedef struct attnflow_token {
  attnflow_text text; /* the piece as the vocabulary spells it */
  size_t begin;       /* bytes of the segment's text; begin, end and word mean nothing unless in_text */
  size_t end;
  size_t word; /* counts from 0 over both segments, without gaps */
  uint32_t id;
  uint32_t type_id;
  uint32_t segment; /* 0, or 1 for the pair; a template token belongs to the segment of the text before it */
  bool special;     /* from the template, or a special token spelled out in the text */
  bool in_text;     /* false: from the template */
} attnflow_token;

/* `json` is the content of a tokenizer.json, whose "truncation" is ignored. `declared` is a JSON object with the
 * declarations of the files next to it: "added", "named" and "extra" are arrays of {content, single_word, lstrip,
 * rstrip, normalized, special}, those in "added" with an "id", and "complete", "rebuilt", "split_special_tokens" and
 * "padding_at" are as rust/src/declared.rs describes them. */
attnflow_tokenizer* attnflow_tokenizer_from_json(attnflow_text json, attnflow_text declared, attnflow_string** error);
void attnflow_tokenizer_free(attnflow_tokenizer* tokenizer);

/* Encodes `text`, and `pair` unless it is absent, with the template. max_tokens: SIZE_MAX for no limit; otherwise the
 * longer segment is truncated first, and a limit below attnflow_tokenizer_template_tokens is an error. */
attnflow_encoding* attnflow_tokenizer_encode(const attnflow_tokenizer* tokenizer, attnflow_text text,
                                             attnflow_text pair, size_t max_tokens, attnflow_string** error);
/* Number of tokens that the template adds to one segment, or to two. */
size_t attnflow_tokenizer_template_tokens(const attnflow_tokenizer* tokenizer, bool is_pair);
/* The ids of `word` as it would appear inside a sentence, after a space. Stores their number in *count, and the ids
 * only if `capacity` is large enough. */
bool attnflow_tokenizer_word_to_ids(const attnflow_tokenizer* tokenizer, attnflow_text word, uint32_t* ids,
                                    size_t capacity, size_t* count, attnflow_string** error);

/* Whether `json` does what tokenizer_config.json calls do_lower_case, strip_accents, tokenize_chinese_chars or
 * add_prefix_space, or splits words into bytes ("byte_level"): 1, 0, or -1 if it specifies neither. */
int attnflow_tokenizer_setting(const attnflow_tokenizer* tokenizer, attnflow_text key);

/* Number of ids that have a piece, and one more than the largest id of a piece or of the template. */
size_t attnflow_tokenizer_vocabulary_size(const attnflow_tokenizer* tokenizer);
size_t attnflow_tokenizer_id_limit(const attnflow_tokenizer* tokenizer);
/* Returns false and leaves *id unchanged when there is no such piece. */
bool attnflow_tokenizer_token_to_id(const attnflow_tokenizer* tokenizer, attnflow_text piece, uint32_t* id);
/* Absent when no piece has this id. */
attnflow_text attnflow_tokenizer_piece(const attnflow_tokenizer* tokenizer, uint32_t id);
/* The piece in readable form; NULL when no piece has this id. */
attnflow_string* attnflow_tokenizer_readable(const attnflow_tokenizer* tokenizer, uint32_t id);
/* The bytes that the token appends to running text, which need not be UTF-8; none for a special token. NULL when no
 * piece has this id. */
attnflow_string* attnflow_tokenizer_bytes(const attnflow_tokenizer* tokenizer, uint32_t id);
/* Whether the id belongs to a special token. */
bool attnflow_tokenizer_is_special(const attnflow_tokenizer* tokenizer, uint32_t id);

size_t attnflow_encoding_size(const attnflow_encoding* encoding);
const attnflow_token* attnflow_encoding_tokens(const attnflow_encoding* encoding);
bool attnflow_encoding_truncated(const attnflow_encoding* encoding);
void attnflow_encoding_free(attnflow_encoding* encoding);

typedef struct attnflow_word_piece_options {
  size_t pieces;                /* maximum vocabulary size, including special tokens and single characters */
  uint64_t min_frequency;       /* minimum frequency of a pair of pieces to be merged */
  uint64_t min_character_count; /* words with rarer characters are unknown */
  attnflow_text single;         /* template for one text, in the tokenizers crate's syntax: "[CLS] $A [SEP]" */
  attnflow_text pair;           /* template for two: "[CLS] $A [SEP] $B:1 [SEP]:1" */
} attnflow_word_piece_options;
/* Trains a WordPiece tokenizer on `texts` and returns its tokenizer.json: lower case, accents dropped, words split at
 * white space and punctuation (BERT's normalizer and pre-tokenizer), [PAD] [UNK] [CLS] [SEP] [MASK] as ids 0 to 4, "##"
 * before pieces that continue a word. The same texts and options give the same bytes for any number of threads. Only
 * the trainer calls this, so other programs do not grow by it. */
attnflow_string* attnflow_word_piece_train(const attnflow_text* texts, size_t count,
                                           const attnflow_word_piece_options* options, attnflow_string** error);

/* Like C's strftime: formats `time` in at most `capacity` bytes, and returns their number or 0. */
typedef size_t (*attnflow_format_time)(const void* time, const char* format, char* buffer, size_t capacity);
/* Renders a chat template (Jinja, as Hugging Face transformers runs it) with `context`, a JSON object of the template's
 * variables. `format_time` is called with `time`, before the function returns, for templates that use the date. On
 * failure, *refused says whether the template itself rejected `context`; the message is then the template's. */
attnflow_string* attnflow_chat_render(attnflow_text chat_template, attnflow_text context,
                                      attnflow_format_time format_time, const void* time, bool* refused,
                                      attnflow_string** error);

/* Whether the text contains a letter or number of any script (Unicode's Alphabetic, Nd, Nl, No). */
bool attnflow_text_has_letter_or_number(attnflow_text text);
/* The text in the form in which words are compared: lower case, composed (NFC), with plain apostrophes, trimmed to
 * begin and end with a letter or number. */
attnflow_string* attnflow_text_fold(attnflow_text text, attnflow_string** error);

/* A regular expression in the syntax of Rust's regex crate: Perl's without look-around and backreferences. It matches
 * anywhere in the text, in time linear in the text's length. */
attnflow_pattern* attnflow_pattern_new(attnflow_text expression, attnflow_string** error);
bool attnflow_pattern_matches(const attnflow_pattern* pattern, attnflow_text text);
void attnflow_pattern_free(attnflow_pattern* pattern);

attnflow_text attnflow_string_text(const attnflow_string* string);
void attnflow_string_free(attnflow_string* string);

#ifdef __cplusplus
}
#endif

#endif /* ATTNFLOW_TEXT_TOKENIZERS_ABI_H_ */
