#!/usr/bin/env bash
# The one set-up step on a fresh Debian 12: installs the system packages that are missing (root or sudo), configures, and
# builds into build/. Quick when there is nothing to do.
#
#   ./setup.sh            what building and testing need
#   ./setup.sh --viewers  also the programs that the test group `viewers` opens results with
#   ./setup.sh --ci       also those, and clang with its tools and run-time libraries
set -euo pipefail
cd "$(dirname "$0")"

packages=(build-essential cmake ninja-build pkg-config libyaml-dev libhdf5-dev libopenblas-dev libxsmm-dev libcmocka-dev
  libjansson-dev libsmartcols-dev libssl-dev librandom123-dev gnuplot-nox)
viewers=(python3-h5py python3-xarray python3-h5netcdf python3-netcdf4 netcdf-bin hdf5-tools python3-silx octave
  octave-netcdf)
clang=(clang clang-format libclang-rt-14-dev)

for argument in "$@"; do
  case "$argument" in
    --viewers) packages+=("${viewers[@]}") ;;
    --ci) packages+=("${viewers[@]}" "${clang[@]}") ;;
    *) echo "setup.sh: unknown option '$argument' (allowed: --viewers, --ci)" >&2; exit 2 ;;
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

if [ ! -f build/build.ninja ]; then
  cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release >build-configure.log 2>&1 ||
    { cat build-configure.log >&2; rm -f build-configure.log; exit 1; }
  rm -f build-configure.log
fi
cmake --build build -- --quiet
