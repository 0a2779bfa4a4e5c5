# shellcheck shell=bash
#= [--all | --quick] [--again] [-v] [STAGE]...
#: build and run the tests (--all: the long ones, too; --quick: the release build's only; -v: show all output)
#+ Without --all these are the tests that a person runs before a commit and that CI runs. docs/building.md has a table
#+ of the stages. A stage that is named runs by itself. Tests that passed are not run again while everything that they
#+ read is the same, byte for byte; --again and --all run them.

# A stage is a function stage_NAME that prints what it does and, for its tests, calls `count PASSED FAILED SKIPPED`. A
# stage that ends with an error, or counts no test where it should, is a failure itself: a check that cannot run has not
# passed.
STAGES=(release cli serve oracle mutate python capture viewer browser consumer lint dev)
# Only with --all, or by name.
LONG_STAGES=(training families tsan)
# The release build comes first, since most others use it. The browser then runs alone: it opens two pages at once, which
# wait for what they show.
ALONE=(release browser)
# The others run two at a time, since most use one processor. The longest begin; stages on one line follow each other,
# because they make the same files.
LINES=(dev lint 'python capture' cli families tsan training serve oracle mutate viewer consumer)
# What --all adds to the stages that run without it: tests by name, and why each can wait.
LONG_TESTS=tests/long_tests.txt
RESULTS=build/test-results
# Cases of each campaign, and of those whose cases take seconds (`crash`, `python`).
MUTATED_CASES=(20 4)
MUTATED_CASES_OF_ALL=(200 20)

source tools/dev/unchanged.sh

# Whether the long tests are run as well, and whether what passed runs again.
runs_all() { [[ "$TIER" == all ]]; }
runs_again() { runs_all || ((again)); }

# count PASSED FAILED SKIPPED [UNCHANGED]
count() { printf '%d %d %d %d\n' "$1" "$2" "$3" "${4:-0}" >>"$RESULTS/$STAGE.count"; }

# ctest_folder FOLDER [CTEST OPTION]...: runs a build's tests; GoogleTest's cases are counted one by one.
ctest_folder() {
  local folder="$1" status=0 tally tests inputs left
  local -a unchanged=() without=()
  shift
  tests="$RESULTS/$STAGE.programs.json"
  ctest --test-dir "$folder" --show-only=json-v1 "$@" >"$tests" || return 1
  inputs="$(data_hash | tr -d '\n')$(environment_hash)"
  tally="$("$PYTHON" tools/dev/programs.py unchanged "$PASSED/$STAGE" "$inputs" <"$tests")" || return 1
  read -ra unchanged <<<"$tally"
  if ! runs_again && ((${#unchanged[@]} > 1)); then
    echo "unchanged since they passed: ${unchanged[*]:1}"
    count 0 0 0 "${unchanged[0]}"
    without=(--exclude-regex "^($(IFS='|' && echo "${unchanged[*]:1}"))\$")
    left="$(ctest --test-dir "$folder" --show-only "$@" "${without[@]}")" || return 1
    [[ "$left" == *'Test '*'#'* ]] || return 0
  fi
  rm -rf "${RESULTS:?}/$STAGE.gtest" "$RESULTS/$STAGE.ctest.xml"
  # By absolute paths, because each test runs in its own folder. Tests take turns: some measure, many use all cores.
  GTEST_OUTPUT="xml:$ROOT/$RESULTS/$STAGE.gtest/" ctest --test-dir "$folder" --output-on-failure --no-tests=error \
    --output-junit "$ROOT/$RESULTS/$STAGE.ctest.xml" "$@" "${without[@]}" || status=1
  tally="$("$PYTHON" tools/dev/tally.py "$RESULTS/$STAGE.ctest.xml" "$RESULTS/$STAGE.gtest")" || return 1
  "$PYTHON" tools/dev/programs.py remember "$PASSED/$STAGE" "$inputs" "$RESULTS/$STAGE.ctest.xml" \
    "$RESULTS/$STAGE.gtest" <"$tests" || return 1
  # shellcheck disable=SC2086  # three numbers
  count $tally
  return "$status"
}

# unittest_folder FOLDER: Python's unittest in every test_*.py of a folder, but for the stage's long tests.
unittest_folder() {
  local tally status=0
  local -a without=()
  runs_all || without=(--without "$LONG_TESTS" --stage "$STAGE")
  "$PYTHON" tools/dev/run_unittest.py "${without[@]}" "$1" "$RESULTS/$STAGE.tally" || status=1
  tally="$(cat "$RESULTS/$STAGE.tally")" || return 1
  # shellcheck disable=SC2086
  count $tally
  return "$status"
}

# A build without libllama leaves the GGUF models out without a word: here that is a failure.
has_llama() {
  ctest --test-dir "$1" --show-only --tests-regex "^model_llama\$" | grep model_llama >/dev/null ||
    die "test: $1 was built without the llama backend (its configure.log says why)"
}

# Two test programs at a time: none of them measures.
stage_release() {
  build_preset release && has_llama build/release && ctest_folder build/release --label-exclude training --parallel 2
}

# The address and undefined-behavior sanitizers: over what reads files and requests from anywhere, and over flow, which
# follows pointers in hot loops; with --all over everything but libtorch.
SANITIZED=(base files flow http image model report text unicode)
# Tests in them that take minutes with sanitizers and read nothing hostile: writers of documents, every tensor of every
# model, every beginning of a character. The release build runs them, and --all with sanitizers, too.
NOT_SANITIZED='-Compact*Json.*:EncoderWeights.ChecksEveryTensor:VisionWeights.EveryTensor*:ZlibBytes.RoundTrip*:Utf8.WhatIsIncomplete*'
stage_dev() {
  if runs_all; then
    build_preset dev && has_llama build/dev && ctest_folder build/dev --label-regex fast --parallel 2
  else
    build_preset dev "${SANITIZED[@]/%/_test}" &&
      GTEST_FILTER="$NOT_SANITIZED" ctest_folder build/dev \
        --tests-regex "^($(IFS='|' && echo "${SANITIZED[*]}"))\$" --parallel 2
  fi
}

# What runs on several threads, and nothing else: a third build of everything would take minutes.
stage_tsan() {
  build_preset tsan base_test rollout_test flow_test metrics_test &&
    ctest_folder build/tsan --tests-regex '^(base|rollout|flow|metrics)$'
}

# Tests of streams and files look at attnflow-train, too, where it is built.
stage_cli() {
  if runs_all; then build_preset release attnflow-train; fi
  once cli "$(program_hash) $(data_hash)" unittest_folder tests/cli
}

stage_training() {
  build_preset release attnflow-train training_test &&
    ctest_folder build/release --label-regex training && unittest_folder tests/training
}

# A Python that has schemathesis, which asks the server whatever its OpenAPI document allows, and does not allow.
stage_serve() {
  local interpreter
  interpreter="$(serve_python)" || return 1  # by the usual PYTHON, so that must not be hidden yet
  PYTHON="$interpreter" once serve "$(program_hash) $(data_hash)" unittest_folder tests/serve
}

# The gradients' oracle needs PyTorch, the others what Debian's Python has.
stage_oracle() {
  ATTNFLOW_TORCH_PYTHON="$(torch_python)" || return 1
  export ATTNFLOW_TORCH_PYTHON
  if runs_all; then
    ATTNFLOW_LXT_PYTHON="$(lxt_python)" || return 1
    export ATTNFLOW_LXT_PYTHON
  fi
  once oracle "$(program_hash) $(data_hash)" unittest_folder tests/oracle
}

# mutated SPEED CAMPAIGN...: cases of each, always the same ones (./dev fuzz mutate tries others). SPEED: 0 fast, 1 slow.
mutated() {
  local cases="${MUTATED_CASES[$1]}" status=0 tally
  runs_all && cases="${MUTATED_CASES_OF_ALL[$1]}"
  shift
  rm -f "$RESULTS/$STAGE.tally"
  ATTNFLOW="$ROOT/build/release/bin/attnflow" "$PYTHON" tools/fuzz/mutate.py --seed 1 --cases "$cases" \
    --kept "$RESULTS/$STAGE.kept" --tally "$RESULTS/$STAGE.tally" "$@" || status=1
  tally="$(cat "$RESULTS/$STAGE.tally")" || return 1
  # shellcheck disable=SC2086
  count $tally
  return "$status"
}

# The program on damaged and hostile input; before it what checks the checks, which needs NumPy as they do.
mutations() {
  local status=0
  "$PYTHON" tools/fuzz/running_test.py || return 1
  mutated 0 files texts options numbers server || status=1
  mutated 1 crash || status=1
  return "$status"
}
stage_mutate() { once mutate "$(program_hash) $(data_hash)" mutations; }

# Hashes the sources of the Python package.
package_hash() { tracked_hash ':!docs' ':!tests' ':!python/tests' ':!attnflow/**/*_test.cc' ':!viewer/test' ':!training'; }

# package_into PYTHON: builds the Python package as `pip install .` does, but where what it needs to be built is there, and
# installs it.
package_into() {
  local builder made
  builder="$(package_python)" && made="$(package_hash)" || return 1
  # Python's own names of the compilers would keep the compiler cache from knowing what the release has compiled.
  export CC="${CC:-cc}" CXX="${CXX:-c++}"
  if [[ "$(cat build/wheels/made-of 2>/dev/null)" != "$made" ]]; then
    rm -rf build/wheels
    "$builder" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheels \
      --config-settings=cmake.define.ATTNFLOW_WERROR=ON . || return 1
    echo "$made" >build/wheels/made-of
  fi
  "$1" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheels/*.whl
}

stage_python() {
  local interpreter
  interpreter="$(package_python)" && package_into "$interpreter" || return 1
  if runs_all; then
    ATTNFLOW_WHEEL_PYTHON="$(wheel_python)" && ATTNFLOW_OTHER_PYTHONS="$(other_pythons)" || return 1
    export ATTNFLOW_WHEEL_PYTHON ATTNFLOW_OTHER_PYTHONS
  fi
  once python "$(package_hash) $(program_hash) $(data_hash) $interpreter" package_tests "$interpreter"
}
package_tests() {
  local status=0
  PYTHON="$1" unittest_folder python/tests || status=1
  ATTNFLOW_PACKAGE_PYTHON="$1" mutated 1 python || status=1
  return "$status"
}

# The program's own families, against transformers.
stage_families() {
  local interpreter
  interpreter="$(models_python)" || return 1
  PYTHON="$interpreter" unittest_folder tests/families
}

# Attention of models of transformers, family by family.
stage_capture() {
  local interpreter
  interpreter="$(models_python)" && package_into "$interpreter" || return 1
  PYTHON="$interpreter" once capture "$(package_hash) $(program_hash) $(data_hash)" \
    unittest_folder python/tests/capture
}

# sample_pages FOLDER: the pages that tests of the viewer open, with their reports.
sample_pages() {
  build_preset release attnflow_sample_html
  rm -rf "$1" && mkdir -p "$1"
  build/release/attnflow/draw/attnflow_sample_html "$1"
}

# pages_hash FOLDER PATTERN...: hashes the sample pages and the files that the tests of pages read beside them.
pages_hash() { { (cd "$1" && find . -type f -print0 | sort -z | xargs -0 sha256sum) && tracked_hash viewer "${@:2}"; } | sha256sum; }

# The numbers of the html page, and the page itself, without a browser.
stage_viewer() {
  local pages="$ROOT/$RESULTS/$STAGE.pages"
  sample_pages "$pages"
  ATTNFLOW_HTML="$pages" once viewer "$(pages_hash "$pages" 'attnflow/**/*.json' tests/golden docs)" page_tests
}
page_tests() {
  local log="$RESULTS/$STAGE.json" status=0 tally
  (cd viewer && npm test --silent -- --reporter=default --reporter=json --outputFile.json="$ROOT/$log") || status=1
  tally="$("$PYTHON" -c 'import json, sys
report = json.load(open(sys.argv[1], encoding="utf-8"))
pending = report["numPendingTests"] + report["numTodoTests"]
unread = sum(file["status"] == "failed" and not file["assertionResults"] for file in report["testResults"])
print(report["numPassedTests"], report["numFailedTests"] + unread, pending)' "$log")" || return 1
  # shellcheck disable=SC2086  # three numbers
  count $tally
  return "$status"
}

stage_browser() {
  local pages="$RESULTS/$STAGE.pages" of_pages
  sample_pages "$pages"
  of_pages="$(pages_hash "$pages" tests/browser)"
  once browser "$of_pages" browser_tests "$pages" || return 1
  once tour "$of_pages $(program_hash)" browser_tests --tour "$pages"
}
# Node's test runner on sample pages; the closing lines of each of its runs are "# pass N" or, for people,
# "ℹ pass N".
browser_tests() {
  local log="$RESULTS/$STAGE.output" status=0
  local -a numbers tier=()
  if runs_all && (($# == 1)); then tier=(--all); fi
  ATTNFLOW_VIEWER="$ROOT/build/release/viewer" tests/browser/run "${tier[@]}" "$@" 2>&1 | tee "$log" || status=1
  mapfile -t numbers < <(awk '($1 == "#" || $1 == "ℹ") && $3 ~ /^[0-9]+$/ { n[$2] += $3 }
    END { print n["pass"] + 0; print n["fail"] + n["cancelled"]; print n["skipped"] + n["todo"] }' "$log")
  # What passed when it was run again has passed.
  ((status)) || numbers=($((numbers[0] + numbers[1])) 0 "${numbers[2]}")
  count "${numbers[@]}"
  return "$status"
}

stage_consumer() { once consumer "$(package_hash) $(data_hash)" unittest_folder tests/consumer; }

# Each linter is one check.
count_lint() {
  if "lint_$1"; then count 1 0 0; else count 0 1 0; fi
}
stage_lint() {
  local status=0 linter
  local -a inputs
  for linter in "${LINTERS[@]}"; do
    read -ra inputs < <(lint_inputs "$linter")
    once "lint-$linter" "$(tracked_hash "${inputs[@]}")" count_lint "$linter" || status=1
  done
  return "$status"
}

# What the stages at hand take from PyPI, beside the build. (A stage that comes too early waits.)
task_environments() {
  [[ " ${stages[*]} " != *' serve '* ]] || serve_python
  [[ " ${stages[*]} " != *' oracle '* ]] || torch_python
  [[ " ${stages[*]} " != *' python '* ]] || package_python
  [[ " ${stages[*]} " != *' python '* ]] || ! runs_all || { wheel_python && other_pythons; }
  [[ " ${stages[*]} " != *' capture '* && " ${stages[*]} " != *' families '* ]] || models_python
}

# run_stage NAME: its output goes to a log, shown when it fails (or with -v as it comes), its numbers to a file.
run_stage() {
  STAGE="$1"
  local log="$RESULTS/$STAGE.log" status=0 start=$SECONDS passed failed skipped unchanged
  rm -rf "${RESULTS:?}/$STAGE".*
  say "== $STAGE"
  # In a shell of its own, so that an error ends the stage and nothing else. (`set -e` does nothing inside a condition,
  # hence the explicit status.)
  set +e
  if ((verbose)); then
    (set -e; "stage_$STAGE") 2>&1 | tee "$log"
  else
    (set -e; "stage_$STAGE") >"$log" 2>&1
  fi
  status=${PIPESTATUS[0]}
  set -e
  read -r passed failed skipped unchanged < <(awk '{ p += $1; f += $2; s += $3; u += $4 }
    END { print p + 0, f + 0, s + 0, u + 0 }' "$RESULTS/$STAGE.count" 2>/dev/null || echo 0 0 0 0)
  if ((status != 0 && failed == 0)); then
    echo "the stage '$STAGE' ended with status $status" >>"$log"
    failed=1
  elif ((passed + failed + unchanged == 0)); then
    echo "the stage '$STAGE' ran no test" >>"$log"
    failed=1
  fi
  if ((failed && !verbose)); then tail -n "${ATTNFLOW_LOG_LINES:-150}" "$log"; fi
  if ((!verbose)); then grep -hE '\[  SKIPPED \]|^skipped: ' "$log" | sort -u | head -n 20 || true; fi
  printf '   %-9s %4d passed, %d failed, %d skipped%s   %4d s\n' "$STAGE" "$passed" "$failed" "$skipped" \
    "$([[ $unchanged == 0 ]] || echo ", $unchanged unchanged")" $((SECONDS - start))
  printf '%d %d %d %d\n' "$passed" "$failed" "$skipped" "$unchanged" >"$RESULTS/$STAGE.summary"
}

# The number of the next line that no worker has taken.
take_line() {
  local number
  {
    flock 9
    number="$(cat "$RESULTS/next")"
    echo $((number + 1)) >"$RESULTS/next"
  } 9>"$RESULTS/next.lock"
  echo "$number"
}

# work_off LINE...: takes one line after the other.
work_off() {
  local -a lines=("$@")
  local number stage
  while number="$(take_line)" && ((number < ${#lines[@]})); do
    for stage in ${lines[number]}; do run_stage "$stage"; done
  done
}

# run_beside LINE...: each by one of two workers, which end with this shell.
run_beside() {
  local worker
  echo 0 >"$RESULTS/next"
  WORKERS=()
  trap end_workers EXIT
  set -m # process groups of their own, which can be ended as a whole
  for worker in 1 2; do
    work_off "$@" </dev/null &
    WORKERS+=("$!")
  done
  set +m
  for worker in "${WORKERS[@]}"; do wait "$worker" || true; done
  WORKERS=()
}

end_workers() {
  local worker
  for worker in "${WORKERS[@]}"; do kill -- "-$worker" 2>/dev/null || true; done
}

command_test() {
  TIER=short
  local verbose=0 again=0 total_passed=0 total_failed=0 total_skipped=0 total_unchanged=0 start=$SECONDS stage
  local -a stages=() lines=()
  local line passed failed skipped unchanged summary
  while (($#)); do
    case "$1" in
      --quick) stages+=(release) ;;
      --all) TIER=all ;;
      --again) again=1 ;;
      -v | --verbose) verbose=1 ;;
      *)
        [[ " ${STAGES[*]} ${LONG_STAGES[*]} " == *" $1 "* ]] ||
          die "test: no stage '$1' (${STAGES[*]}; ${LONG_STAGES[*]})"
        stages+=("$1")
        ;;
    esac
    shift
  done
  if ((${#stages[@]} == 0)); then
    stages=("${STAGES[@]}")
    if runs_all; then stages+=("${LONG_STAGES[@]}"); fi
  fi

  source tools/dev/setup.sh
  source tools/dev/lint.sh
  say '== setup'
  # What the stages at hand need, and no more.
  local -a groups=(build)
  for stage in "${stages[@]}"; do
    case "$stage" in
      cli | training | serve | oracle | families | mutate | python | capture | viewer | browser | release) groups+=(test) ;;
      lint) groups+=(lint) ;;
      dev) groups+=(test dev) ;;
    esac
  done
  mapfile -t groups < <(printf '%s\n' "${groups[@]}" | sort -u)
  command_setup "${groups[@]}"
  start_task environments
  export_test_inputs
  [[ -v ATTNFLOW_SHARED_DATA ]] || say '   found no ../shared/data: the tests that need it are skipped'
  printf '   %-9s %42d s\n' setup $((SECONDS - start))

  mkdir -p "$RESULTS"
  # The stages that need the release build build it if it is not the first.
  if [[ " ${stages[*]} " != *' release '* ]]; then build_preset release; fi
  for stage in "${stages[@]}"; do rm -f "$RESULTS/$stage.summary"; done
  if ((verbose)); then
    for stage in "${stages[@]}"; do run_stage "$stage"; done
  else
    for stage in "${ALONE[@]}"; do [[ " ${stages[*]} " != *" $stage "* ]] || run_stage "$stage"; done
    for line in "${LINES[@]}"; do
      local -a asked=()
      for stage in $line; do [[ " ${stages[*]} " != *" $stage "* ]] || asked+=("$stage"); done
      ((${#asked[@]} == 0)) || lines+=("${asked[*]}")
    done
    ((${#lines[@]} == 0)) || run_beside "${lines[@]}"
  fi
  for stage in "${stages[@]}"; do
    if [[ ! -f "$RESULTS/$stage.summary" ]]; then
      say "the stage '$stage' did not end"
      ((++total_failed))
      continue
    fi
    read -r passed failed skipped unchanged <"$RESULTS/$stage.summary"
    ((total_passed += passed, total_failed += failed, total_skipped += skipped, total_unchanged += unchanged)) || true
  done

  printf 'all stages %43d s\n' $((SECONDS - start))
  if ((total_passed + total_failed + total_unchanged == 0)); then total_failed=1; fi
  summary="$total_passed passed, $total_failed failed"
  if ((total_skipped)); then summary+=", $total_skipped skipped"; fi
  if ((total_unchanged)); then summary+=", $total_unchanged unchanged since they passed"; fi
  echo "$summary"
  ((total_failed == 0))
}
