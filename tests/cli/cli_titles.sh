# A hostile title stays text everywhere: in the file, on the terminal, in the page and in the pictures.
. "$SOURCE/tests/cli/checks.sh"

title='q" '\''s'\'' `id` $(id) </title></script><script>alert(1)</script> & größer, 長い, ☃ %s %n \n {a} @b _c '
while [ ${#title} -lt 500 ]; do title=$title'</script>"`'; done
{
  printf 'title: |-\n  %s\n' "$title"
  grep -v '^title:' "$SOURCE/configs/worked_example.yaml"
} >hostile.yaml

expect_code 0 "$PE_RUN" hostile.yaml -q output=hostile.h5
expect_code 0 "$PE_RUN" show hostile.h5
grep -qF -- '</title></script><script>alert(1)</script> & größer, 長い, ☃ %s %n \n {a} @b _c ' output
expect_code 0 "$PE_RUN" show hostile.h5 run/config
grep -qF -- "$title" output
expect_code 0 "$PE_RUN" plan hostile.yaml
grep -qF -- '長い' output

expect_code 0 "$PE_RUN" report hostile.h5 -o hostile.html
test "$(grep -o '<script' hostile.html | wc -l)" = 1 # the page's own
grep -qF -- '&lt;/title&gt;&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt; &amp; größer, 長い, ☃ %s %n \n {a} @b _c ' hostile.html
if command -v gnuplot >/dev/null; then
  expect_code 0 "$PE_RUN" report hostile.h5 --svg pictures
fi
if command -v python3 >/dev/null; then
  TITLE=$title python3 - hostile.html pictures/*.svg <<'CHECK'
import base64, hashlib, html.parser, os, re, sys, xml.dom.minidom

class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.inside, self.texts, self.scripts = [], {"title": "", "h1": ""}, 0

    def handle_starttag(self, tag, attributes):
        assert not [name for name, _ in attributes if name.startswith("on")]
        self.scripts += tag == "script"
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        for tag in self.texts:
            if tag in self.inside and "svg" not in self.inside:
                self.texts[tag] += data

page, source = Page(), open(sys.argv[1], encoding="utf-8").read()
page.feed(source)
assert page.scripts == 1
digest = hashlib.sha256(re.search("<script>(.*?)</script>", source, re.S).group(1).encode()).digest()
assert f"script-src 'sha256-{base64.b64encode(digest).decode()}'" in source
wanted = " ".join(os.environ["TITLE"].split())
for tag, text in page.texts.items():
    assert " ".join(text.split()) == wanted, f"{tag}: {text!r}"
for picture in sys.argv[2:]:
    if os.path.exists(picture):
        xml.dom.minidom.parse(picture)
CHECK
fi
