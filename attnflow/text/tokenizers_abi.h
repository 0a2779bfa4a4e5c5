/* The C ABI of the Rust crate in rust/, which wraps the Hugging Face tokenizers crate, and what else attnflow/text
 * takes from Rust: a Jinja interpreter, Unicode's tables, regular expressions.
 *
 * Ownership: what a function returns as a pointer belongs to the caller until the matching _free, which accepts NULL.
 * attnflow_text values are borrowed: arguments need to live until the call returns, results live as long as the object
 * they were asked from.
 * Errors: a function with `error` returns NULL (or false) and stores a message there, to be freed by the caller. It
 * does so for panics inside Rust too: nothing unwinds through this ABI. `error` may be NULL.
 * Threads: a tokenizer is immutable, so several threads may use one at once; an encoding belongs to one thread at a
 * time. */
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

/* UTF-8 unless a function says otherwise, not terminated, may contain NUL. data == NULL means that there is none. */
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

/* `json` is the content of a tokenizer.json, whose "truncation" is not used. `declared` is what the files beside it
 * declare, a JSON object: "added", "named" and "extra" are arrays of {content, single_word, lstrip, rstrip, normalized,
 * special}, those in "added" with an "id", and "complete", "rebuilt", "split_special_tokens" and "padding_at" are as
 * rust/src/declared.rs describes them. */
attnflow_tokenizer* attnflow_tokenizer_from_json(attnflow_text json, attnflow_text declared, attnflow_string** error);
void attnflow_tokenizer_free(attnflow_tokenizer* tokenizer);

/* Encodes `text`, and `pair` unless it is absent, with the template. max_tokens: SIZE_MAX for no limit; else the longer
 * segment is cut first, and a limit below attnflow_tokenizer_template_tokens is an error. */
attnflow_encoding* attnflow_tokenizer_encode(const attnflow_tokenizer* tokenizer, attnflow_text text,
                                             attnflow_text pair, size_t max_tokens, attnflow_string** error);
/* How many tokens the template adds to one segment, or to two. */
size_t attnflow_tokenizer_template_tokens(const attnflow_tokenizer* tokenizer, bool is_pair);
/* The ids of `word` as it stands inside a sentence, after a space. Stores their number in *count, and the ids
 * themselves only if `capacity` is enough. */
bool attnflow_tokenizer_word_to_ids(const attnflow_tokenizer* tokenizer, attnflow_text word, uint32_t* ids,
                                    size_t capacity, size_t* count, attnflow_string** error);

/* What `json` does of what tokenizer_config.json calls do_lower_case, strip_accents, tokenize_chinese_chars or
 * add_prefix_space, and whether its words are made of bytes ("byte_level"): 1, 0, or -1 where it says neither. */
int attnflow_tokenizer_setting(const attnflow_tokenizer* tokenizer, attnflow_text key);

/* Number of ids that have a piece, and one more than the largest id of a piece or of the template. */
size_t attnflow_tokenizer_vocabulary_size(const attnflow_tokenizer* tokenizer);
size_t attnflow_tokenizer_id_limit(const attnflow_tokenizer* tokenizer);
/* False, with *id unchanged, when there is no such piece. */
bool attnflow_tokenizer_token_to_id(const attnflow_tokenizer* tokenizer, attnflow_text piece, uint32_t* id);
/* Absent when no piece has this id. */
attnflow_text attnflow_tokenizer_piece(const attnflow_tokenizer* tokenizer, uint32_t id);
/* What the piece looks like on the page; NULL when no piece has this id. */
attnflow_string* attnflow_tokenizer_readable(const attnflow_tokenizer* tokenizer, uint32_t id);
/* The bytes that the token adds to a running text, which need not be UTF-8; none for a special token. NULL when no
 * piece has this id. */
attnflow_string* attnflow_tokenizer_bytes(const attnflow_tokenizer* tokenizer, uint32_t id);
/* Whether the id is that of a special token. */
bool attnflow_tokenizer_is_special(const attnflow_tokenizer* tokenizer, uint32_t id);

size_t attnflow_encoding_size(const attnflow_encoding* encoding);
const attnflow_token* attnflow_encoding_tokens(const attnflow_encoding* encoding);
bool attnflow_encoding_truncated(const attnflow_encoding* encoding);
void attnflow_encoding_free(attnflow_encoding* encoding);

typedef struct attnflow_word_piece_options {
  size_t pieces;                /* in the vocabulary, at most; special tokens and single characters included */
  uint64_t min_frequency;       /* of a pair of pieces that becomes one */
  uint64_t min_character_count; /* words with rarer characters are unknown */
  attnflow_text single;         /* the template of one text, as the tokenizers crate writes it: "[CLS] $A [SEP]" */
  attnflow_text pair;           /* that of two: "[CLS] $A [SEP] $B:1 [SEP]:1" */
} attnflow_word_piece_options;
/* The content of the tokenizer.json of a WordPiece tokenizer that is learned from `texts`: lower case, accents dropped,
 * words end at white space and punctuation (BERT's normalizer and pre-tokenizer), [PAD] [UNK] [CLS] [SEP] [MASK] as ids
 * 0 to 4, "##" before what goes on inside a word. The same texts and options give the same bytes on any number of
 * threads. Only the trainer calls it: a program that does not is not made larger. */
attnflow_string* attnflow_word_piece_train(const attnflow_text* texts, size_t count,
                                           const attnflow_word_piece_options* options, attnflow_string** error);

/* As C's strftime, which writes `time` at most `capacity` bytes long, and returns their number or 0. */
typedef size_t (*attnflow_format_time)(const void* time, const char* format, char* buffer, size_t capacity);
/* What a chat template (Jinja, as Hugging Face transformers runs it) makes of `context`, the template's variables as a
 * JSON object. `format_time` is called with `time`, before the function returns, for templates that ask for the date.
 * On failure *refused says whether it was the template that refused what is in `context`: then the message is its
 * own. */
attnflow_string* attnflow_chat_render(attnflow_text chat_template, attnflow_text context,
                                      attnflow_format_time format_time, const void* time, bool* refused,
                                      attnflow_string** error);

/* Whether the text has a letter or a number of any script (Unicode's Alphabetic, Nd, Nl, No). */
bool attnflow_text_has_letter_or_number(attnflow_text text);
/* The text in the form in which words are compared: lower case, composed (NFC), plain apostrophes, and nothing at the
 * ends but letters and numbers. */
attnflow_string* attnflow_text_fold(attnflow_text text, attnflow_string** error);

/* A regular expression in the syntax of Rust's regex crate: that of Perl without look-around and back references.
 * Matching takes time proportional to the text, and finds the expression anywhere in it. */
attnflow_pattern* attnflow_pattern_new(attnflow_text expression, attnflow_string** error);
bool attnflow_pattern_matches(const attnflow_pattern* pattern, attnflow_text text);
void attnflow_pattern_free(attnflow_pattern* pattern);

attnflow_text attnflow_string_text(const attnflow_string* string);
void attnflow_string_free(attnflow_string* string);

#ifdef __cplusplus
}
#endif

#endif /* ATTNFLOW_TEXT_TOKENIZERS_ABI_H_ */
