# For the scripts beside this one: needs $cmake, $build, $work and $log.

run() {
  if ! "$@" >"$log" 2>&1; then
    echo "failed: $*" >&2
    cat "$log" >&2
    exit 1
  fi
}

# install_into PREFIX: the build, by a manifest of its own: that of the build folder belongs to the user's installations.
install_into() {
  manifest=$build/install_manifest.txt
  if [ -f "$manifest" ]; then
    cp -p "$manifest" "$work/manifest"
  fi
  run "$cmake" --install "$build" --prefix "$1"
  rm -f "$manifest"
  if [ -f "$work/manifest" ]; then
    mv "$work/manifest" "$manifest"
  fi
}
