# shellcheck shell=bash
#: check that links in the documents lead somewhere and that docs/versioning.md lists every public header

command_docs() {
  require_packages build
  "$PYTHON" tools/dev/check_docs.py
}
