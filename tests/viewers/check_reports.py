"""check_reports.py PAGE...: open reports in headless Chromium at 1280 and 390 pixels.

No page may be wider than its window, need a script or the network, or hide a picture; each is under 3 MB.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

WIDTHS = (1280, 390)
LIMIT = 3 << 20

# The page stands in a frame of the wanted width, which its style sheet sees as the width of the window.
PROBE = """<!doctype html><meta charset="utf-8"><body><pre id="found"></pre><script>
const found = [];
let waiting = WIDTHS.length;
for (const width of WIDTHS) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:3000px;border:0`;
  frame.onload = () => {
    const page = frame.contentDocument;
    const shown = [...page.querySelectorAll("figure svg")].filter(e => e.getBoundingClientRect().width > 0);
    const clipped = shown.filter(e => e.getBoundingClientRect().width > width);
    found.push({width, scroll: page.documentElement.scrollWidth, figures: page.querySelectorAll("figure").length,
                shown: shown.length, clipped: clipped.length, title: page.title, text: page.body.innerText});
    if (!--waiting) document.getElementById("found").textContent = JSON.stringify(found);
  };
  frame.src = PAGE;
  document.body.append(frame);
}
</script>"""


def probe(page):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "probe.html")
        source = PROBE.replace("WIDTHS", json.dumps(WIDTHS), 1).replace("WIDTHS", json.dumps(WIDTHS))
        with open(path, "w", encoding="utf-8") as file:
            file.write(source.replace("PAGE", json.dumps("file://" + os.path.abspath(page))))
        done = subprocess.run(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
             "--enable-logging=stderr", "--v=0", "--virtual-time-budget=8000", "--window-size=1400,3000",
             f"--user-data-dir={folder}/profile", "--dump-dom", "file://" + path],
            capture_output=True, text=True, timeout=240)
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not complaints, "\n".join(complaints)
    dom = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.S)
    assert dom and dom.group(1), f"{page}: nothing came back\n{done.stdout[:500]}\n{done.stderr[-500:]}"
    text = dom.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


def check(page):
    with open(page, encoding="utf-8") as file:
        source = file.read()
    assert len(source.encode()) < LIMIT, f"{page}: {len(source)} bytes"
    assert "<script" not in source and not re.search(r"<[^>]+\son[a-z]+=", source), f"{page}: has a script"
    outside = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!#|data:)[^\"')\s>]+", source.split("</style>", 1)[1])
    assert not outside, f"{page}: refers to {outside[:3]}"
    for seen in probe(page):
        assert seen["scroll"] <= seen["width"], f"{page}: {seen['scroll']} pixels wide in {seen['width']}"
        assert seen["shown"] == seen["figures"] and not seen["clipped"], f"{page}: {seen}"
        assert seen["title"] in seen["text"]
    print(f"{page}: {len(source) >> 10} kB, {seen['figures']} pictures")


for name in sys.argv[1:]:
    check(name)
