# shellcheck shell=bash
#: build a preset (release by default; dev, tsan, consumer, bench, fuzz) [TARGET...]

command_build() {
  local preset="${1:-release}"
  shift || true
  require_build "$preset"
  [[ "$preset" == bench ]] && require_packages bench
  [[ "$preset" == fuzz ]] && require_packages fuzz
  build_preset "$preset" "$@"
}
