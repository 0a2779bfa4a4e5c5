# shellcheck shell=bash
#: check that the links in the documents work and that docs/versioning.md lists every public header

command_docs() {
  require_packages build
  "$PYTHON" tools/dev/check_docs.py
}
