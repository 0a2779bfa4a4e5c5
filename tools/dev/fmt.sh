# shellcheck shell=bash
#: format C++, Python, Rust and the page, in place

command_fmt() {
  source tools/dev/setup.sh
  source tools/dev/lint.sh
  command_setup lint
  cpp_files | xargs clang-format-14 -i
  python_files | xargs "$RUFF" format --quiet --config tools/ruff.toml
  python_files | xargs "$RUFF" check --quiet --fix --config tools/ruff.toml
  cargo fmt --manifest-path rust/Cargo.toml
  tests/browser/run --format
  (cd viewer && npm run --silent format)
}
