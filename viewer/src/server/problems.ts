// The server's messages without API fields and paths, which mean nothing to a page's readers. Others stay as they are.
const PHRASES: readonly [RegExp, string][] = [
  [
    /^expected at most (\d+) tokens \(the positions of (.*?)\), found (\d+)(?:; shorten the text)?/,
    "Too long: $3 tokens; $2 takes at most $1.",
  ],
  [/[;,.]? (?:or )?(?:pass truncate|let it be cut with truncate)(?: to cut it there)?(?=[;.]|$)/, ""],
  [
    /^\S*: expected a model that gives gradients.*$/,
    "This needs gradients, which a GGUF file does not provide. Use the model's Hugging Face folder instead.",
  ],
  [
    /^blank auto: expected a tokenizer with such a token.*$/,
    "The model has no token to blank with, so no token can be blanked.",
  ],
  [
    /^expected a model that predicts something.*found none in (.*)$/,
    "The model $1 predicts nothing that could be scored.",
  ],
  [/^mixing gradient: (.*); choose such a model, or mixing attention$/, "Weighting with gradients: $1."],
  [/^text: expected a text to (\w+), found none$/, "Enter a text to $1."],
  [/^prompt: expected a text to continue, found none$/, "Enter a prompt to continue."],
  [/^layers: /, "“Layers” under Options: "],
  [/^temperature: /, "“Temperature” under Options: "],
  [/^top_p: /, "“Top p” under Options: "],
  [/^tokens: /, "“Tokens” under Options: "],
  [/^target: /, "“Target” under Options: "],
  [/^candidates: /, "“Candidates” under Options: "],
  [/^referents: /, "“Candidate antecedents” under Options: "],
];

export function problemHere(message: string): string {
  return PHRASES.reduce((sentence, [says, instead]) => sentence.replace(says, instead), message);
}
