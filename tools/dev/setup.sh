# shellcheck shell=bash
#: install what is missing (GROUP...: build test lint bench fuzz data; default: the first three)

command_setup() {
  local -a groups=("$@")
  local group
  ((${#groups[@]})) || groups=(build test lint)
  for group in "${groups[@]}"; do
    [[ "$group" =~ ^(build|test|lint|bench|fuzz|data)$ ]] ||
      die "setup: no group '$group' (build, test, lint, bench, fuzz, data)"
  done
  require_packages "${groups[@]}"
  for group in "${groups[@]}"; do
    case "$group" in
      build) require_build release && require_minilm ;;
      test) require_npm_packages && require_smollm2 ;;
      lint) require_rust_lint && require_ruff && require_viewer && require_npm_packages ;;
    esac
  done
}
