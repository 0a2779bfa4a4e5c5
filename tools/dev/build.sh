# shellcheck shell=bash
#= [program | llama | PRESET] [TARGET]...
#: build everything, or: program, llama (GGUF support), a preset (dev tsan consumer bench fuzz), single TARGETs

command_build() {
  local preset="${1:-release}"
  shift || true
  case "$preset" in
    llama)
      require_build program
      require_llama
      build_preset program attnflow attnflow_torch attnflow_llama
      ;;
    *)
      require_build "$preset"
      await_llama
      [[ "$preset" == bench ]] && require_packages bench
      [[ "$preset" == fuzz ]] && require_packages fuzz
      build_preset "$preset" "$@"
      ;;
  esac
}
