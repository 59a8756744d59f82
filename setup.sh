#!/usr/bin/env bash
# The one set-up step on a fresh Debian 12: installs the system packages that are missing (root or sudo), configures, and
# builds into build/. Quick when there is nothing to do.
#
#   ./setup.sh            what building and testing need
#   ./setup.sh --viewers  also the programs that the test group `viewers` opens results with
#   ./setup.sh --text     also data/opticks.txt, English prose in the public domain to train on
#   ./setup.sh --ci       also those, clang with its tools and run-time libraries, rustc for the example in Rust, shells
#                         and readers of man pages, Open MPI and shellcheck
set -euo pipefail
cd "$(dirname "$0")"

packages=(build-essential cmake ninja-build pkg-config libyaml-dev libhdf5-dev libdeflate-dev libopenblas-dev libxsmm-dev
  libcmocka-dev libjansson-dev libsmartcols-dev nettle-dev librandom123-dev gnuplot-nox python3-jsonschema python3-yaml)
viewers=(python3-h5py python3-xarray python3-h5netcdf python3-netcdf4 netcdf-bin hdf5-tools python3-silx octave
  octave-netcdf r-base-core r-cran-ncdf4 r-cran-hdf5r chromium)
command -v npm >/dev/null || viewers+=(nodejs npm)
clang=(clang clang-format libclang-rt-14-dev)
# For the example plugin in Rust; shells and readers whose completion and pages are tested.
others=(rustc zsh fish mandoc groff openmpi-bin shellcheck)

text=no
h5web=no
for argument in "$@"; do
  case "$argument" in
    --text) text=yes ;;
    --viewers) packages+=("${viewers[@]}") h5web=yes ;;
    --ci) packages+=("${viewers[@]}" "${clang[@]}" "${others[@]}") h5web=yes ;;
    *) echo "setup.sh: unknown option '$argument' (allowed: --viewers, --text, --ci)" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing+=("$package")
done
if ((${#missing[@]})); then
  echo "setup.sh: installing ${missing[*]}"
  as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup.sh: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# Isaac Newton, Opticks, 4th edition 1730 (Project Gutenberg's text), 567,198 bytes. It comes from the Debian package
# golang-1.19-src 1.19.8-2, which has it as a test file; the package is only unpacked, not installed.
opticks_sha256=d4a9ac22462b35e7821a4f2706c211093da678620a8f9997989ee7cf8d507bbd
if [ "$text" = yes ] && ! echo "$opticks_sha256  data/opticks.txt" | sha256sum --check --status 2>/dev/null; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download golang-1.19-src)
  dpkg-deb --fsys-tarfile "$folder"/golang-1.19-src_*.deb |
    tar -xO ./usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt >"$folder/opticks.txt"
  echo "$opticks_sha256  $folder/opticks.txt" | sha256sum --check --quiet
  mkdir -p data
  mv "$folder/opticks.txt" data/opticks.txt
fi

if [ ! -f build/build.ninja ]; then
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >build-configure.log 2>&1 ||
    { cat build-configure.log >&2; rm -f build-configure.log; exit 1; }
  rm -f build-configure.log
fi
cmake --build build -- --quiet
[ "$h5web" = no ] || tests/viewers/make_h5web.sh build/h5web
