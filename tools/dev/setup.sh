# shellcheck shell=bash
#: install what is missing (GROUP...: build unit test lint dev bench fuzz data; default: the first four)

command_setup() {
  local -a groups=("$@")
  local group
  ((${#groups[@]})) || groups=(build unit test lint)
  for group in "${groups[@]}"; do
    [[ "$group" =~ ^(build|unit|test|lint|dev|bench|fuzz|data)$ ]] ||
      die "setup: no group '$group' (build, unit, test, lint, dev, bench, fuzz, data)"
  done
  if [[ " ${groups[*]} " == *' build '* ]]; then
    require_build release 'packages' "${groups[@]}"
    require_minilm
  else
    require_packages "${groups[@]}"
  fi
  for group in "${groups[@]}"; do
    case "$group" in
      test) require_npm_packages && require_smollm2 ;;
      lint) require_rust_lint && require_ruff && require_viewer && require_npm_packages ;;
    esac
  done
  await_llama
}
