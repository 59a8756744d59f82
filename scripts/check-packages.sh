#!/usr/bin/env bash
# check-packages.sh BUILD: the Debian packages of a build in a fresh Debian 12 with nothing else of pe-run: installed,
# the commands of docs/writing-a-plugin.md run as written, moved to another prefix, removed without a trace.
#
# Needs root and debootstrap. The bare system is kept in PE_RUN_CHECK_ROOT (default /var/cache/pe-run-check), and each
# run works on a copy of it that is taken away at the end.
#
# Exit code 77: root or debootstrap is not there.
set -euo pipefail
build=$(cd "${1:?the build folder}" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
base=${PE_RUN_CHECK_ROOT:-/var/cache/pe-run-check}
[ "$(id -u)" = 0 ] || { echo "check-packages: left out, it needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "check-packages: left out, debootstrap is not there"; exit 77; }
started=$SECONDS
step() { echo "== $1 ($((SECONDS - started)) s)"; }

# ---- the packages ----
step "packages"
work=$(mktemp -d)
root=$work/root
clean() {
  for folder in dev proc; do
    ! mountpoint -q "$root/$folder" || umount "$root/$folder"
  done
  # Nothing is removed while something of the host is still mounted inside.
  if grep -q " $root/" /proc/mounts; then
    echo "check-packages: $root is still in use" >&2
  else
    rm -rf "$work"
  fi
}
trap clean EXIT
trap 'exit 143' HUP INT TERM
(cd "$work" && cpack --config "$build/CPackConfig.cmake" -B "$work/packages" >"$work/cpack.log" 2>&1) ||
  { cat "$work/cpack.log" >&2; exit 1; }
ls "$work"/packages/*.deb

# ---- a bare system ----
if [ ! -e "$base/done" ]; then
  step "debootstrap into $base"
  rm -rf "$base"
  mkdir -p "$base"
  debootstrap --variant=minbase bookworm "$base/system" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 5 "$work/debootstrap.log" >&2; exit 1; }
  touch "$base/done"
fi
cp -a "$base/system" "$root"
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/resolv.conf"
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" "$@"
}
# A mirror that shows a past day will do.
rm -f "$root/etc/apt/apt.conf.d/docker-clean"
echo 'APT::Get::Assume-Yes "true"; APT::Keep-Downloaded-Packages "true"; APT::Install-Recommends "false"; Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99check"
mkdir -p "$base/archives"
cp -n "$base"/archives/*.deb "$root/var/cache/apt/archives/" 2>/dev/null || true
inside apt-get -qq update

# ---- the document, as written ----
step "the commands of docs/writing-a-plugin.md"
rust=yes
inside apt-get -qq install rustc >"$work/log" 2>&1 || { rust=no; echo "no rustc: its example is left out"; }
mkdir "$root/root/desk"
cp "$work"/packages/*.deb "$root/root/desk/"
"$source/scripts/doc-commands.sh" "$source/docs/writing-a-plugin.md" $rust >"$root/root/desk/commands"
if ! inside sh -c 'cd /root/desk && sh -eux commands' >"$work/log" 2>&1; then
  tail -n 60 "$work/log" >&2
  echo "a command of the document failed" >&2
  exit 1
fi
cp -n "$root"/var/cache/apt/archives/*.deb "$base/archives/" 2>/dev/null || true
# The last one stands under the curve.
for sign in 'my_scheme.so, level full' '100% tests passed' 'extrapolation/comparison: ' 'sequence length'; do
  grep -qF "$sign" "$work/log" || { cat "$work/log" >&2; echo "not printed: $sign" >&2; exit 1; }
done
[ -s "$root/root/desk/my_scheme.h5" ]
grep -q '<svg' "$root/root/desk/my_scheme.html"

step "configs, man pages, completion"
inside sh -euc 'cd /tmp && pe-run /usr/share/pe-run/configs/worked_example.yaml output=worked.h5 --quiet >/dev/null && [ -s worked.h5 ]'
for file in man/man1/pe-run.1 man/man5/pe-run.yaml.5 bash-completion/completions/pe-run pe-run/docs/pe-run.schema.json; do
  inside dpkg -S "/usr/share/$file" >/dev/null
done

step "moved to another place"
inside sh -euc 'mkdir -p /opt/moved/bin /opt/moved/lib /opt/moved/share
  cp /usr/bin/pe-run /opt/moved/bin/
  for lib in /usr/lib/pe-run /usr/lib/*/pe-run; do
    if [ -d "$lib" ]; then to=/opt/moved/${lib#/usr/}; mkdir -p "$(dirname "$to")"; cp -r "$lib" "$to"; fi
  done
  cp -r /usr/share/pe-run /opt/moved/share/'

# ---- gone again ----
step "removed"
inside apt-get -qq purge pe-run pe-run-dev >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
if inside sh -c 'find /usr /etc /var/lib -path "*pe-run*" -not -path "/var/lib/dpkg/*" -not -path "/var/lib/apt/*"' | grep .; then
  echo "the packages leave that behind" >&2
  exit 1
fi
# What was moved away works without the packages.
inside sh -euc 'cd /tmp && /opt/moved/bin/pe-run list --format csv | grep -q "^rope,"
  /opt/moved/bin/pe-run /opt/moved/share/pe-run/configs/worked_example.yaml output=moved.h5 --quiet >/dev/null
  cmp worked.h5 moved.h5'
step "done"
