# shellcheck shell=bash
#: build a preset (release by default; dev, tsan, consumer, bench, fuzz) [TARGET...]

command_build() {
  local preset="${1:-release}"
  shift || true
  require_packages build
  if [[ "$preset" != consumer ]]; then require_rust && require_viewer; fi
  if [[ "$preset" == release || "$preset" == dev ]]; then require_llama; fi
  [[ "$preset" == bench ]] && require_packages bench
  [[ "$preset" == fuzz ]] && require_packages fuzz
  build_preset "$preset" "$@"
}
