# For the scripts beside this one.

# expect_code CODE COMMAND...: run it and hold its exit code; what it prints goes to the file `output`.
expect_code() {
  expected=$1
  shift
  code=0
  "$@" >output 2>&1 || code=$?
  if [ "$code" != "$expected" ]; then
    echo "exit code $code instead of $expected: $*"
    cat output
    exit 1
  fi
}

# expect_output TEXT: the last command printed it.
expect_output() {
  if ! grep -qF -e "$1" output; then
    echo "not printed: $1"
    cat output
    exit 1
  fi
}
