# Every number on the terminal is in the results file: in the tables that it keeps, with all digits.
. "$SOURCE/tests/cli/checks.sh"
for config in equivariance worked_example relative_position encoding course decide_not_met; do
  "$PE_RUN" "$SOURCE/configs/$config.yaml" "output=$config.h5" --quiet >printed
  sed -i '$d' printed # the path of the output
  "$PE_RUN" show "$config.h5" run/tables >stored
  grep -oE '[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?' printed | sort -u >numbers
  grep -oE '[-+]?[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?' stored | sort -u >kept
  if comm -23 numbers kept | grep .; then
    echo "$config: printed, but not in the file"
    exit 1
  fi
  [ "$(wc -l <numbers)" -gt 2 ]
done
