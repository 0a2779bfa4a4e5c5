# shellcheck shell=bash
#= [SECONDS] [NAME]... | mutate [--seconds N] [--seed S] [CAMPAIGN]... | soak [--requests N]
#: try to break attnflow: run fuzzing campaigns on the program, then each libFuzzer program; ten minutes in all (docs/robustness.md)
#+ [SECONDS] [NAME]...  run the named fuzzers, or all, for SECONDS each (60); findings stay in
#+                      build/fuzz/NAME.*, corpora in build/fuzz/NAME.corpus
#+ mutate ...           only campaigns on the program (files texts options numbers crash server python);
#+                      failing inputs are kept in build/fuzz/mutate with the command that reproduces them
#+ soak ...             a server under load: 10,000 requests by 200 clients; memory and descriptors must not grow
#+ With no argument: five minutes of campaigns, then five minutes of fuzzers.

FUZZ_MINUTES=5

# The names of the fuzzers, one for each source file.
fuzzers() { find attnflow -name '*_fuzz.cc' -exec basename --suffix=.cc {} + | sort; }

# The program as the campaigns run it. (Steps use `|| return`, since `set -e` has no effect before `||`.)
fuzz_program() {
  require_packages build test || return 1
  require_build release || return 1
  await_llama || return 1
  build_preset release attnflow attnflow_torch attnflow_llama || return 1
  export ATTNFLOW="$ROOT/build/release/bin/attnflow"
}

fuzz_mutate() {
  local names
  # Wrong arguments are reported before anything is built.
  names="$("$PYTHON" tools/fuzz/mutate.py --names "$@")" || return 1
  fuzz_program || return 1
  if [[ " $names " == *' python '* ]]; then
    # shellcheck source=/dev/null
    source tools/dev/test.sh
    if ! ATTNFLOW_PACKAGE_PYTHON="$(package_python)" || ! package_into "$ATTNFLOW_PACKAGE_PYTHON"; then
      die 'fuzz: the package could not be installed'
    fi
    export ATTNFLOW_PACKAGE_PYTHON
  fi
  "$PYTHON" tools/fuzz/mutate.py "$@"
}

fuzz_soak() {
  "$PYTHON" tools/fuzz/soak.py --check "$@" || return 1
  fuzz_program || return 1
  "$PYTHON" tools/fuzz/soak.py "$@"
}

# fuzz_libfuzzer SECONDS NAME...: runs each for that long, the others as well if one finds something.
fuzz_libfuzzer() {
  local seconds="$1" name folder status=0
  local -a dictionary
  shift
  require_packages build fuzz || return 1
  require_rust || return 1
  build_preset fuzz || return 1
  for name in "$@"; do
    [[ -x "build/fuzz/$name" ]] || die "fuzz: $name was not built"
    say "$name for $seconds s"
    folder="build/fuzz/$name.corpus"
    mkdir -p "$folder"
    "$PYTHON" tools/fuzz/seeds.py "$name" "build/fuzz/$name.seeds" || return 1
    dictionary=()
    [[ ! -e "tools/fuzz/dictionaries/$name.dict" ]] || dictionary=("-dict=tools/fuzz/dictionaries/$name.dict")
    # Inputs that break it are saved as crash-*, next to the corpus.
    "build/fuzz/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 "${dictionary[@]}" \
      -artifact_prefix="build/fuzz/$name." "$folder" "build/fuzz/$name.seeds" || status=1
  done
  return "$status"
}

command_fuzz() {
  local seconds=60 name status=0
  local -a known
  case "${1:-}" in
    mutate)
      fuzz_mutate "${@:2}"
      return
      ;;
    soak)
      fuzz_soak "${@:2}"
      return
      ;;
  esac
  mapfile -t known < <(fuzzers)
  ((${#known[@]})) || die 'fuzz: there is no fuzzer'
  if (($# == 0)); then
    fuzz_mutate --seconds $((FUZZ_MINUTES * 60)) || status=1
    fuzz_libfuzzer $((FUZZ_MINUTES * 60 / ${#known[@]})) "${known[@]}" || status=1
    return "$status"
  fi
  if [[ "$1" =~ ^[0-9]+$ ]]; then
    seconds="$1"
    shift
  fi
  # A wrong name is reported before anything is built.
  for name in "$@"; do
    [[ " ${known[*]} " == *" $name "* ]] ||
      die "fuzz: expected mutate, soak or the name of a fuzzer (${known[*]}), found '$name'"
  done
  if (($# == 0)); then set -- "${known[@]}"; fi
  fuzz_libfuzzer "$seconds" "$@"
}
