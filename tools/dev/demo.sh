# shellcheck shell=bash
#: explain a sentence with the built-in model: prints a table, writes a page and a picture to build/demo

command_demo() {
  local start=$SECONDS
  require_build program '1 of 3  packages, crates'
  BUILD_TITLE='2 of 3  compiling attnflow' build_preset program
  mkdir -p build/demo
  local -a explain=(build/release/bin/attnflow explain 'The keys to the cabinet' --words)
  say "3 of 3  attnflow explain 'The keys to the cabinet' --words"
  "${explain[@]}"
  # The same notes again would be of no use, unless it fails.
  local messages
  messages="$("${explain[@]}" -o build/demo/key.html -o build/demo/key.png 2>&1)" || die "$messages"
  echo
  echo "page:    $ROOT/build/demo/key.html"
  echo "picture: $ROOT/build/demo/key.png"
  echo "program: $ROOT/build/release/bin/attnflow    (for GGUF models: ./dev build llama)"
  say "done in $((SECONDS - start)) s"
}
