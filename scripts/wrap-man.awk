# Lines of text at most 79 characters long, outside of examples; a line that would begin like a request is guarded.
function out(s) {
  print(s ~ /^[.']/ ? "\\&" s : s)
}
# A heading needs no paragraph after it.
/^\.PP/ && heading { next }
{ heading = /^\.S[HS]/ }
/^\.EX/ { example = 1 }
/^\.EE/ { example = 0 }
example || /^[.']/ || length($0) < 80 {
  print
  next
}
{
  text = $0
  while (length(text) >= 80) {
    for (at = 79; at > 1 && substr(text, at, 1) != " "; at--) {
    }
    if (at <= 1) {
      break
    }
    out(substr(text, 1, at - 1))
    text = substr(text, at + 1)
  }
  if (text != "") {
    out(text)
  }
}
