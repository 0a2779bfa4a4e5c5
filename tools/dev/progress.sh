# shellcheck shell=bash
# Stages of work that report their progress: one line each, updated in place on a terminal, and written at the end
# elsewhere, where a stage that takes longer says twice a minute how far it is.

STAGE_LOG="${ATTNFLOW_STAGE_LOG:-}" # a file that gets "SECONDS<tab>TITLE" for each stage: ./dev bench build reads it

# The running stage's line; empty: none. Elsewhere than on a terminal, many would fill a log.
LAST_LINE=0 # in SECONDS
moving_line() {
  if [[ -t 2 ]]; then
    printf '\r\033[K%s' "$1" >&2
  elif [[ -n "$1" ]] && ((SECONDS - LAST_LINE >= 30)); then
    LAST_LINE=$SECONDS
    printf '%s\n' "$1" >&2
  fi
}
end_line() {
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  printf '%-60s %4d s\n' "$1" "$2" >&2
  if [[ -n "$STAGE_LOG" ]]; then printf '%s\t%s\n' "$2" "$1" >>"$STAGE_LOG"; fi
}

bar() { # bar DONE ALL
  local width=24 filled
  filled=$(($2 > 0 ? width * $1 / $2 : 0))
  printf '[%s%s] %d/%d' "$(printf '%*s' "$filled" '' | tr ' ' '#')" "$(printf '%*s' $((width - filled)) '')" "$1" "$2"
}

# Background tasks: task_NAME, with its output in .cache/logs/NAME.log and its progress from progress_NAME.
declare -A TASK_PID=()
start_task() {
  local name="$1"
  mkdir -p "$CACHE/logs"
  rm -f "$CACHE/logs/$name.done"
  (
    set -e
    "task_$name"
    touch "$CACHE/logs/$name.done"
  ) >"$CACHE/logs/$name.log" 2>&1 </dev/null &
  TASK_PID[$name]=$!
}
# For a task that first needs the result of another.
after_task() {
  until [[ -e "$CACHE/logs/$1.done" ]]; do
    kill -0 "${TASK_PID[$1]}" 2>/dev/null || [[ -e "$CACHE/logs/$1.done" ]] || die "$1 failed"
    sleep 0.2
  done
}
is_running() { kill -0 "${TASK_PID[$1]}" 2>/dev/null; }

# wait_for TITLE TASK...: waits for all of them; the first failure ends the script with the end of that task's log.
wait_for() {
  local title="$1" start=$SECONDS name line running=1
  shift
  while ((running)); do
    running=0
    line="$title "
    for name in "$@"; do
      if is_running "$name"; then
        running=1
        line+="  $name $("progress_$name")"
      else
        line+="  $name: done"
      fi
    done
    moving_line "$line  ($((SECONDS - start)) s)"
    ((running)) && sleep 0.3
  done
  for name in "$@"; do
    if ! wait "${TASK_PID[$name]}"; then
      moving_line ''
      tail -n 30 "$CACHE/logs/$name.log" >&2
      die "$title: '$name' failed (all of its output is in $CACHE/logs/$name.log)"
    fi
  done
  end_line "$title" $((SECONDS - start))
}

count_lines() { grep -c -E "$1" "$2" 2>/dev/null || true; }

# ninja_stage TITLE ARGUMENT...: runs ninja, whose count becomes the progress line; its messages on failure are shown.
ninja_stage() {
  local title="$1" start=$SECONDS status=0
  shift
  NINJA_STATUS='@%f/%t@' nice -n "${NICENESS:-0}" ninja "$@" | while IFS= read -r line; do
    if [[ "$line" =~ ^@([0-9]+)/([0-9]+)@ ]]; then
      moving_line "$title  $(bar "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}")  ($((SECONDS - start)) s)"
    elif [[ "$line" != 'ninja: '* || "$line" == *stopped* ]]; then
      moving_line ''
      printf '%s\n' "$line" >&2
    fi
  done || status=1
  if ((status)); then
    moving_line ''
    return 1
  fi
  end_line "$title" $((SECONDS - start))
}
