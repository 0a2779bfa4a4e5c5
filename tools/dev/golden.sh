# shellcheck shell=bash
#: make the golden files of tests/golden anew from current transformers (3 GB of packages)

command_golden() {
  require_packages build test data
  tools/golden/make "$@"
}
