# shellcheck shell=bash
#: remove everything that was built (--all: downloads as well)

command_clean() {
  rm -rf build rust/target compile_commands.json
  find tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
  if [[ "${1:-}" == --all ]]; then rm -rf .cache tests/browser/node_modules; fi
}
