# shellcheck shell=bash
#= [--release] [--check]
#: build what users install, into build/dist: source archive, Debian packages, wheel, SBOM (--check: try them in a clean root)

# --release refuses a state that nobody could reproduce: uncommitted changes, or a version without a section in
# CHANGELOG.md.
check_release() {
  local version="$1" release="$2" problem=''
  [[ -z "$(git status --porcelain)" ]] || problem='changes are not committed'
  grep -q "^## \[$version\]" CHANGELOG.md || problem="CHANGELOG.md has no section [$version]"
  [[ -n "$problem" ]] || return 0
  ((release == 0)) || die "package --release: $problem"
  say "not a release: $problem"
}

# logged NAME COMMAND...: sends its output to a log, whose end is shown if it fails.
logged() {
  local name="$1" log="$CACHE/logs/$1.log"
  shift
  "$@" >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    die "package: $name failed"
  }
}

make_debian_packages() {
  local version="$1" dist="$2" commit
  commit="$(git rev-parse --short HEAD)$([[ -z "$(git status --porcelain)" ]] || echo ' with changes')"
  require_build program
  require_llama
  logged configure cmake --preset package -D "ATTNFLOW_COMMIT=$commit"
  build_preset package attnflow attnflow_torch attnflow_llama
  "$PYTHON" tools/build/sbom.py "$version" -o build/package/attnflow.spdx.json
  cp build/package/attnflow.spdx.json "$dist/attnflow-$version.spdx.json"
  apt_install dpkg-dev file
  logged cpack cpack --config build/package/CPackConfig.cmake -B "$dist"
  rm -rf "$dist/_CPack_Packages"
}

# The wheel, including its libraries.
make_wheel() {
  local dist="$1" builder checks
  builder="$(package_python)" || die "no Python to build the wheel with"
  checks="$(wheel_python)" || die "no Python to check the wheel with"
  rm -rf build/wheels
  "$builder" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --wheel-dir build/wheels .
  PATH="$(dirname "$checks"):$PATH" logged auditwheel "$checks" -m auditwheel repair --wheel-dir "$dist" build/wheels/*.whl
}

# A root with nothing but the essential packages of this machine's Debian: installs the packages there and explains a
# sentence. The root is made in a temporary folder, and removed.
check_packages() {
  local dist="$1" clean codename
  [[ -e /etc/debian_version ]] || die 'package --check needs Debian'
  ((EUID == 0)) || die 'package --check needs root'
  apt_install mmdebstrap
  clean="$(mktemp -d)"
  # shellcheck disable=SC2064  # the folder's current value
  trap "umount '$clean/proc' 2>/dev/null; rm -rf '$clean'" EXIT
  say 'making a clean root'
  local -a sources=()
  if [[ -e /etc/apt/sources.list ]]; then sources+=(/etc/apt/sources.list); fi
  sources+=(/etc/apt/sources.list.d/*.sources)
  codename="$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)"
  cat "${sources[@]}" 2>/dev/null |
    logged mmdebstrap mmdebstrap --mode=root --variant=apt --skip=cleanup/apt,cleanup/tmp "$codename" "$clean" -
  cp /etc/apt/apt.conf.d/* "$clean/etc/apt/apt.conf.d/" 2>/dev/null || true
  cp /etc/resolv.conf "$clean/etc/resolv.conf"
  mkdir "$clean/dist" && cp "$dist"/*.deb "$clean/dist/"
  mount -t proc proc "$clean/proc" # the program finds its backends by it
  chroot "$clean" /bin/sh -e <<'END' | tee "$CACHE/logs/package-check.log"
export DEBIAN_FRONTEND=noninteractive
! command -v cc
begin=$(date +%s)
apt-get install --yes /dist/attnflow_*.deb /dist/attnflow-torch_*.deb >/var/log/install.log 2>&1 ||
  { tail -n 20 /var/log/install.log; exit 1; }
installed=$(date +%s)
cd /tmp
attnflow explain "The keys to the cabinet" -o page.html -o picture.png
test -s page.html && test -s picture.png
pictured=$(date +%s)
apt-get install --yes /dist/attnflow-llama_*.deb >>/var/log/install.log 2>&1
attnflow --version
echo "installed in $((installed - begin)) s, first picture $((pictured - begin)) s after apt install"
apt-get purge --yes attnflow attnflow-torch attnflow-llama >>/var/log/install.log 2>&1
! ls /usr/bin/attnflow /usr/lib/attnflow 2>/dev/null
END
  grep -q '^installed in' "$CACHE/logs/package-check.log" || die 'the packages do not work in a clean root'
}

command_package() {
  local release=0 check=0 version dist="$ROOT/build/dist"
  while (($#)); do
    case "$1" in
      --release) release=1 ;;
      --check) check=1 ;;
      *) die "package: expected --release or --check, found $1" ;;
    esac
    shift
  done
  version="$(sed -n 's/^project(attnflow VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)"
  [[ -n "$version" ]] || die 'package: CMakeLists.txt has no version'
  check_release "$version" "$release"
  rm -rf "$dist" && mkdir -p "$dist" "$CACHE/logs"
  git archive --format=tar.gz --prefix="attnflow-$version/" -o "$dist/attnflow-$version.tar.gz" HEAD
  make_debian_packages "$version" "$dist"
  make_wheel "$dist"
  ((check == 0)) || check_packages "$dist"
  ls -l "$dist"
}
