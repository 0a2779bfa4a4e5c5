# shellcheck shell=bash
#= [SECONDS] [NAME]...
#: run each fuzzer for some SECONDS (60; NAME... to choose); what it finds stays in build/fuzz/NAME.corpus

command_fuzz() {
  local seconds=60 fuzzer name ran=0
  local -a wanted known
  if [[ "${1:-}" =~ ^[0-9]+$ ]]; then
    seconds="$1"
    shift
  fi
  wanted=("$@")
  # A wrong name is told before anything is built.
  mapfile -t known < <(find attnflow -name '*_fuzz.cc' -exec basename --suffix=.cc {} + | sort)
  for name in "${wanted[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || die "fuzz: expected the name of a fuzzer (${known[*]}), found '$name'"
  done
  require_packages build fuzz
  build_preset fuzz
  shopt -s nullglob
  for fuzzer in build/fuzz/*_fuzz; do
    name="$(basename "$fuzzer")"
    if ((${#wanted[@]})) && [[ " ${wanted[*]} " != *" $name "* ]]; then continue; fi
    say "$name for $seconds s"
    mkdir -p "build/fuzz/$name.corpus"
    # Runs from an input that once broke it are named crash-*, beside the corpus.
    "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="build/fuzz/$name." "build/fuzz/$name.corpus"
    ((++ran))
  done
  ((ran)) || die 'fuzz: no fuzzer was built'
}
