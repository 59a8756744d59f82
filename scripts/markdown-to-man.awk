# The Markdown of docs/ and of `--format md` as the body of a man page: headings, paragraphs, lists, tables, code.
# -v level=1: "## x" is a section; -v level=2: headings below are subsections throughout.

function escape(s) {
  gsub(/\\\|/, "|", s)
  gsub(/\\\[/, "[", s)
  gsub(/\\\]/, "]", s)
  gsub(/\\/, "\\e", s)
  gsub(/-/, "\\-", s)
  gsub(/…/, "...", s)
  return s
}

# Inline code and strong text in bold; marks of emphasis are left out.
function inline(s,   out, parts, n, i) {
  s = escape(s)
  n = split(s, parts, "`")
  out = ""
  for (i = 1; i <= n; i++) {
    if (i % 2) {
      gsub(/\*\*?/, "", parts[i])
      out = out parts[i]
    } else {
      out = out "\\fB" parts[i] "\\fR"
    }
  }
  return out
}

# A line that begins with a full stop or an apostrophe would be a request.
function line(s) {
  if (s ~ /^[.']/) {
    s = "\\&" s
  }
  print s
}

function close_paragraph() {
  if (paragraph != "") {
    line(inline(paragraph))
    paragraph = ""
  }
}

function cells(s, out,   n, i) {
  gsub(/\\\|/, "\001", s)
  sub(/^\| */, "", s)
  sub(/ *\| *$/, "", s)
  n = split(s, out, / *\| */)
  for (i = 1; i <= n; i++) {
    gsub(/\001/, "|", out[i])
  }
  return n
}

# One row: the first cell as the term, the last as what it means, then what stands between by its heading.
function row(s,   n, i, cell, rest, mark) {
  n = cells(s, cell)
  print ".TP"
  mark = cell[1]
  gsub(/`/, "", mark)
  line("\\fB" escape(mark) "\\fR")
  rest = ""
  for (i = 2; i < n; i++) {
    if (cell[i] != "" && cell[i] != "-") {
      rest = rest (rest == "" ? "" : "; ") (heading[i] == "" ? "" : heading[i] ": ") cell[i]
    }
  }
  if (n > 1 && cell[n] != "") {
    line(inline(cell[n]))
    if (rest != "") {
      print ".br"
    }
  }
  if (rest != "") {
    line(inline(rest))
  }
}

/^```/ {
  close_paragraph()
  print(code ? ".EE\n.RE" : ".PP\n.RS 4\n.EX")
  code = !code
  next
}
code {
  line(escape($0))
  next
}
/^    / {
  close_paragraph()
  if (!indented) {
    print ".PP\n.RS 4\n.EX"
  }
  indented = 1
  line(escape(substr($0, 5)))
  next
}
indented {
  print ".EE\n.RE"
  indented = 0
}
/^\|[-:| ]*\|$/ { next }
/^\|/ {
  close_paragraph()
  if (!table) {
    for (i in heading) {
      delete heading[i]
    }
    cells($0, heading)
    table = 1
  } else {
    row($0)
  }
  next
}
{ table = 0 }
/^# / { next }
/^##+ / {
  close_paragraph()
  deep = index($0, " ") - 1
  sub(/^#+ /, "")
  gsub(/`/, "")
  print((level == 1 && deep == 2 ? ".SH " : ".SS ") "\"" escape(level == 1 && deep == 2 ? toupper($0) : $0) "\"")
  next
}
/^[*-] / {
  close_paragraph()
  print ".IP \\(bu 2"
  paragraph = substr($0, 3)
  next
}
/^  / && paragraph != "" {
  sub(/^ +/, "")
  paragraph = paragraph " " $0
  next
}
/^$/ {
  had = paragraph != ""
  close_paragraph()
  blank = 1
  next
}
{
  if (paragraph == "" && blank) {
    print ".PP"
  }
  blank = 0
  paragraph = paragraph (paragraph == "" ? "" : " ") $0
}
END {
  close_paragraph()
  if (indented) {
    print ".EE\n.RE"
  }
}
