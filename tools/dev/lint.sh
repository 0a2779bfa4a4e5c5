# shellcheck shell=bash
#: check format and style (--all: clang-tidy on every file, not just changed ones; or LINTER...)

# A linter is a function lint_NAME that prints what it found and ends with an error when it found something.
LINTERS=(layering docs clang_format clang_tidy python rust page shell)

# lint_inputs LINTER: what it reads, as patterns of git (for those that read most of the repository: everything).
lint_inputs() {
  case "$1" in
    layering) echo attnflow training python rust tests/layering.py ;;
    clang_format) echo '*.cc' '*.h' .clang-format tools/dev/lint.sh ;;
    python) echo '*.py' tools examples tests .ci dev ;;
    rust) echo rust ;;
    page) echo viewer tests/browser ;;
    shell) echo '*.sh' tools tests .ci dev ;;
    *) echo . ;;
  esac
}

# Files without an ending are known by their first line.
files_run_by() { # files_run_by INTERPRETER
  source_files | while read -r file; do
    if [[ "${file##*/}" != *.* ]] && head -n 1 "$file" | grep -aqE "^#!.*\b$1"; then echo "$file"; fi
  done
}
cpp_files() { source_files '*.cc' '*.h'; }
python_files() { source_files '*.py' && files_run_by python; }
shell_files() { source_files '*.sh' && files_run_by bash; }

# need_files LIST NAME: a linter that looked at nothing has not passed.
need_files() { [[ -n "$1" ]] || { echo "lint: found no files for $2" && return 1; }; }

lint_layering() { "$PYTHON" tests/layering.py; }

lint_docs() { "$PYTHON" tools/dev/check_docs.py; }

lint_clang_format() {
  local files
  files="$(cpp_files)" && need_files "$files" clang-format && xargs clang-format-14 --dry-run -Werror <<<"$files"
}

# The .cc files to tidy: changed since the branch left origin/main (or in the last commit), or that belong to a changed
# header; all of them with --all.
files_to_tidy() {
  local base="" changed
  if ((${lint_all:-0} == 0)); then
    base="$(git merge-base HEAD origin/main 2>/dev/null || true)"
    if [[ -z "$base" || "$base" == "$(git rev-parse HEAD 2>/dev/null)" ]]; then
      base="$(git rev-parse --verify --quiet HEAD~1 || true)"
    fi
  fi
  if [[ -z "$base" ]]; then
    source_files 'attnflow/*.cc' 'training/*.cc'
    return
  fi
  changed="$(git diff --name-only --diff-filter=d "$base" -- attnflow training && git ls-files --others --exclude-standard attnflow training)"
  {
    grep '\.cc$' <<<"$changed" || true
    grep '\.h$' <<<"$changed" | while read -r header; do
      if [[ -f "${header%.h}.cc" ]]; then
        echo "${header%.h}.cc"
      else
        grep -rlF "#include \"$header\"" --include='*.cc' attnflow training | sort | head -n 1
      fi
    done || true
  } | sort -u
}

# tidy_one FILE: remembers what was clean, by the content of everything that the answer depends on.
tidy_one() {
  local key
  key="$CACHE/tidy/$(cat "$1" .clang-tidy "$CACHE/tidy/headers" | sha256sum | cut -c1-40)"
  [[ -e "$key" ]] && return
  # The compile commands are g++'s: clang does not know all its warnings, and means more by -Wconversion. Of standard
  # error only messages: the count of suppressed warnings in system headers says nothing.
  clang-tidy-14 -p build/tidy --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-sign-conversion "$1" \
    2>"$key.err" || {
    grep -vE '^[0-9]+ warnings? (generated|treated)|^Suppressed|^Use -header-filter' "$key.err"
    rm -f "$key.err"
    return 1
  }
  mv "$key.err" "$key"
}

lint_clang_tidy() {
  local files
  # Files that were added since are known to it only when it is configured again.
  rm -f build/tidy/build.ninja
  configure_preset tidy || return 1
  mkdir -p "$CACHE/tidy"
  # shellcheck disable=SC2046  # our own file names have no spaces
  cat $(source_files 'attnflow/*.h' 'training/*.h') >"$CACHE/tidy/headers"
  # Only what the build compiles; libtorch's headers do not pass through clang 14 in C++20.
  files="$(files_to_tidy | grep -vE '^(attnflow/model/torch|training/trainer)/' | while read -r file; do
    if grep -qF "\"$ROOT/$file\"" build/tidy/compile_commands.json; then echo "$file"; fi
  done)"
  if [[ -z "$files" ]]; then
    echo 'clang-tidy: no changed file'
    return
  fi
  echo "clang-tidy: $(wc -l <<<"$files") files"
  export CACHE
  export -f tidy_one
  xargs -P "$JOBS" -I{} bash -c 'tidy_one {}' <<<"$files"
}

lint_python() {
  local files
  files="$(python_files)" && need_files "$files" ruff &&
    xargs "$RUFF" check --quiet --config tools/ruff.toml <<<"$files" &&
    xargs "$RUFF" format --quiet --check --diff --config tools/ruff.toml <<<"$files"
}

# In the build's own folder, where the packages' C code is compiled already.
lint_rust() {
  cargo fmt --check --manifest-path rust/Cargo.toml &&
    CARGO_TARGET_DIR=build/rust cargo clippy --quiet --release --locked --all-targets \
      --manifest-path rust/Cargo.toml -- --deny warnings
}

lint_page() { tests/browser/run --lint && (cd viewer && npm run --silent lint); }

lint_shell() {
  local files
  files="$(shell_files)" && need_files "$files" shellcheck && xargs shellcheck --external-sources --source-path=. <<<"$files"
}

command_lint() {
  local lint_all=0 linter
  local -a linters=() failed=()
  while (($#)); do
    case "$1" in
      --all) lint_all=1 ;;
      *)
        [[ " ${LINTERS[*]} " == *" $1 "* ]] || die "lint: no linter '$1' (${LINTERS[*]})"
        linters+=("$1")
        ;;
    esac
    shift
  done
  ((${#linters[@]})) || linters=("${LINTERS[@]}")
  source tools/dev/setup.sh
  command_setup build lint
  for linter in "${linters[@]}"; do
    if "lint_$linter"; then say "ok      $linter"; else
      say "FAILED  $linter"
      failed+=("$linter")
    fi
  done
  ((${#failed[@]} == 0))
}
