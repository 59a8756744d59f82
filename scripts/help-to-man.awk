# What `pe-run COMMAND --help` prints, unfolded (ARGP_HELP_FMT), as a subsection of a man page. -v name=COMMAND

function escape(s) {
  gsub(/\\/, "\\e", s)
  gsub(/-/, "\\-", s)
  sub(/^[.']/, "\\\\\\&&", s)
  return s
}

/^Usage: / {
  sub(/^Usage: /, "")
  print ".SS \"" escape($0) "\""
  next
}
/^  or: / {
  sub(/^ *or: */, "")
  print ".br\n\\fB" escape($0) "\\fR"
  next
}
/^ +(-.|--[a-z])/ {
  options = 1
  sub(/^ +/, "")
  at = match($0, /  +/)
  option = at ? substr($0, 1, at - 1) : $0
  text = at ? substr($0, at + RLENGTH) : ""
  sub(/ +$/, "", text)
  if (option !~ /--(help|usage|version)/) {
    print ".TP\n\\fB" escape(option) "\\fR"
    print escape(text)
  }
  next
}
/^Mandatory or optional arguments/ { next }
/^Report bugs/ { next }
/^  / {
  sub(/^ +/, "")
  print (example ? ".br" : ".PP") "\n" escape($0)
  example = 1
  next
}
/^ *$/ { example = 0; next }
{
  example = 0
  print ".PP\n" escape($0)
}
