# shellcheck shell=bash
#: explain a sentence with the built-in model: a table here, a page and a picture in build/demo

command_demo() {
  say '1 of 4: what the build needs (Debian packages, Rust, npm packages, libllama)'
  require_build release
  # Only the program, not its tests.
  say "2 of 4: building build/release/bin/attnflow (-j $JOBS); the first time this takes some minutes"
  build_preset release attnflow attnflow_torch
  # GGUF models, where there is libllama: what is installed later has them, too.
  if [[ "$(ninja -C build/release -t targets all)" == *$'\nattnflow_llama: '* ]]; then build_preset release attnflow_llama; fi
  mkdir -p build/demo
  local -a explain=(build/release/bin/attnflow explain 'The key to the cabinets')
  say "3 of 4: attnflow explain 'The key to the cabinets'"
  "${explain[@]}"
  say '4 of 4: the same as a page and as a picture'
  # The same notes again are of no use, unless it fails.
  local messages
  messages="$("${explain[@]}" -o build/demo/key.html -o build/demo/key.png 2>&1)" || die "$messages"
  echo
  echo "page:    $ROOT/build/demo/key.html"
  echo "picture: $ROOT/build/demo/key.png"
}
