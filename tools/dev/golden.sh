# shellcheck shell=bash
#: regenerate the golden files in tests/golden with current transformers (3 GB of packages)

command_golden() {
  require_packages build test data
  tools/golden/make "$@"
}
