# shellcheck shell=bash
#= [NAME]...
#: measure: build (from scratch), explain, flow, contributions, rollout, degeneracy, generation, long, long_row, vision, serve, python (the package; by name only), gpu (by name only) and the core's *_benchmark.cc, or only those named

command_bench() {
  local -a wanted=("$@")
  # In tools/bench; the other files there make their inputs.
  local -a scripts=(explain flow contributions rollout degeneracy generation long long_row vision serve)
  local program name ran=0
  # Needs nothing built here, and runs only by name: it takes minutes.
  if [[ "${1:-}" == build ]]; then
    "$PYTHON" tools/bench/build.py "${@:2}"
    return
  fi
  # Needs the package, PyTorch, MiniLM and a browser.
  if [[ "${1:-}" == python ]]; then
    # shellcheck source=/dev/null
    source tools/dev/test.sh
    if ! program="$(models_python)" || ! package_into "$program"; then
      die 'bench: the package could not be installed'
    fi
    require_packages build test
    require_minilm
    require_npm_packages
    export_test_inputs
    for name in python corpus cell; do "$program" "tools/bench/$name.py"; done
    return
  fi
  # With a PyTorch that has CUDA, and the Python it belongs to.
  if [[ "${1:-}" == gpu ]]; then
    [[ -n "${ATTNFLOW_PYTORCH:-}" ]] || die 'bench: gpu needs ATTNFLOW_PYTORCH (docs/building.md)'
    require_packages build
    require_rust
    build_preset program attnflow attnflow_torch attnflow_long_row_benchmark
    python3 tools/bench/gpu.py "${@:2}"
    return
  fi
  wants() { ((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" $1 "* ]]; }
  # A wrong name is reported before anything is installed.
  local -a known
  mapfile -t known < <(printf '%s\n' "${scripts[@]}" && find attnflow -mindepth 2 -maxdepth 2 -name '*_benchmark.cc' -printf '%h\n' |
    xargs -n 1 basename | sort -u | sed 's/$/_benchmark/')
  for name in "${wanted[@]}"; do
    [[ " ${known[*]} " == *" $name "* ]] || die "bench: expected one of build python gpu ${known[*]}, found '$name'"
  done
  require_packages build test bench
  require_rust
  require_minilm
  require_llama
  require_smollm2
  export_test_inputs
  build_preset release attnflow attnflow_torch attnflow_llama attnflow_bare_forward attnflow_generation_benchmark \
    attnflow_long_row_benchmark attnflow_vision_benchmark attnflow_explain_loop
  build_preset bench
  shopt -s nullglob
  for program in build/bench/*_benchmark; do
    name="$(basename "$program")"
    if wants "$name"; then
      say "$name"
      "$program"
      ((++ran))
    fi
  done
  export ATTNFLOW="$ROOT/build/release/bin/attnflow"
  for name in "${scripts[@]}"; do
    if wants "$name"; then
      say "$name"
      "$PYTHON" "tools/bench/$name.py"
      ((++ran))
    fi
  done
  ((ran)) || die 'bench: nothing was built'
}
