# shellcheck shell=bash
# Leaves out tests whose inputs have not changed since they passed. Sourced by tools/dev/test.sh.
#
# A part of a stage that passed passes again if everything it reads is the same: the programs and libraries of the build,
# files of the repository, and the environment by which tests find other inputs. Its key is a hash of these. A clone that
# is new, as CI's, remembers nothing; --all and --again run everything.

PASSED=build/passed

# tracked_hash PATTERN...: hashes the names and contents of files of the repository, committed or not.
tracked_hash() { source_files "$@" | tr '\n' '\0' | xargs -0 -r sha256sum | sha256sum | cut -d' ' -f1; }

# Hashes the environment: inputs that tests are given, filters of tests, the interpreter (whose path tells its packages), and
# the system's libraries that the backend of libtorch loads (not those that the build puts in place of some of them).
environment_hash() {
  {
    env | grep -E '^(ATTNFLOW|GTEST|OPENBLAS)_' | sort
    echo "$TIER $PYTHON"
    { ldd build/release/bin/libattnflow_torch.so 2>/dev/null || true; } | awk '$3 ~ /^\/(usr|lib)/ { print $3 }' | xargs -r stat -L -c '%n %s %Y'
  } | sha256sum | cut -d' ' -f1
}

# Hashes the files that tests read beside compiled code: golden files, documents, examples, tools. Two sources are read as texts.
data_hash() {
  tracked_hash ':!attnflow/**/*.cc' ':!attnflow/**/*.h' ':!viewer/src' ':!python/binding' ':!training' ':!rust'
  tracked_hash attnflow/attribution/note_texts.cc attnflow/serve/api.cc
}

# Hashes the commands and the backends of the release build.
program_hash() {
  sha256sum build/release/bin/attnflow build/release/bin/attnflow_command_runner build/release/bin/libattnflow_*.so \
    build/release/attnflow/draw/attnflow_sample_documents | sha256sum | cut -d' ' -f1
}

# once NAME KEY COMMAND...: runs a part of a stage unless it passed with this key; its tests then count as unchanged.
once() {
  local kept="$PASSED/parts/$1" key before passed failed skipped
  key="$(sha256sum <<<"$2 $(environment_hash)" | cut -d' ' -f1)"
  if ! runs_again && [[ "$(cut -d' ' -f1 "$kept" 2>/dev/null)" == "$key" ]]; then
    echo "$1: unchanged since it passed"
    count 0 0 0 "$(cut -d' ' -f2 "$kept")"
    return
  fi
  rm -f "$kept"
  before="$(wc -l 2>/dev/null <"$RESULTS/$STAGE.count" || echo 0)"
  "${@:3}" || return 1
  read -r passed failed skipped < <(tail -n "+$((before + 1))" "$RESULTS/$STAGE.count" |
    awk '{ p += $1; f += $2; s += $3 } END { print p + 0, f + 0, s + 0 }')
  # A skipped test may be possible next time.
  ((failed + skipped == 0 && passed > 0)) || return 0
  mkdir -p "${kept%/*}"
  echo "$key $passed" >"$kept"
}
