"""check_reports.py PAGE...: open reports in headless Chromium at 1280 and 390 pixels.

No page may be wider than its window, need the network, hide a picture, or have a picture that does not tell its values
under the pointer or the finger; none has a script but its own; each is under 3 MB.
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
// At places all over every panel: a text without a gap in it, and the page no wider for it.
function tells(page, svg, pointerType) {
  const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal, note = page.querySelector(".value");
  const make = page.defaultView.PointerEvent;
  return JSON.parse(svg.parentNode.dataset.places).every(([left, top, wide, high]) => {
    const texts = new Set();
    for (let step = 0; step < 100; step++) {
      const x = left + (step % 10 + 0.5) / 10 * wide, y = top + (Math.floor(step / 10) + 0.5) / 10 * high;
      svg.dispatchEvent(new make(step % 2 ? "pointermove" : "pointerdown", {bubbles: true, pointerType,
        clientX: box.left + x * box.width / view.width, clientY: box.top + y * box.height / view.height}));
      if (note.style.display === "block") texts.add(note.textContent);
    }
    return texts.size > 0 && [...texts].every(text => /[0-9]|no value/.test(text) && !/undefined$|NaN|\\{/.test(text)) &&
      page.documentElement.scrollWidth <= page.documentElement.clientWidth;
  });
}
let waiting = WIDTHS.length;
for (const width of WIDTHS) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `width:${width}px;height:3000px;border:0`;
  frame.onload = () => {
    const page = frame.contentDocument;
    const shown = [...page.querySelectorAll("figure svg")].filter(e => e.getBoundingClientRect().width > 0);
    const clipped = shown.filter(e => e.getBoundingClientRect().width > width);
    const silent = shown.filter(e => !tells(page, e, width < 500 ? "touch" : "mouse"));
    found.push({width, silent: silent.map(e => e.getAttribute("aria-label")),
                scroll: page.documentElement.scrollWidth, figures: page.querySelectorAll("figure .part").length,
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
    assert source.count("<script") == 1 and not re.search(r"<[^>]+\son[a-z]+=", source), f"{page}: foreign scripts"
    outside = re.findall(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!#|data:)[^\"')\s>]+", source.split("</style>", 1)[1])
    assert not outside, f"{page}: refers to {outside[:3]}"
    for seen in probe(page):
        assert seen["scroll"] <= seen["width"], f"{page}: {seen['scroll']} pixels wide in {seen['width']}"
        assert seen["shown"] == seen["figures"] and not seen["clipped"], f"{page}: {seen}"
        assert seen["title"] in seen["text"]
        assert not seen["silent"], f"{page}: {seen['width']} pixels: no values under the pointer: {seen['silent']}"
    print(f"{page}: {len(source) >> 10} kB, {seen['figures']} pictures")


for name in sys.argv[1:]:
    check(name)
