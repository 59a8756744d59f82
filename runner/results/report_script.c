#include "results/report_script.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <string.h>

/* In pieces, because a string may have 4095 bytes. */
static const char *const pieces[] = {
    "'use strict';\n"
    "(() => {\n"
    "const near = 40; // pixels of the canvas, from a point of a curve\n"
    "const note = document.createElement('div');\n"
    "const mark = document.createElementNS('http://www.w3.org/2000/svg', 'rect');\n"
    "note.className = 'value';\n"
    "mark.setAttribute('class', 'mark');\n"
    "document.body.append(note);\n"
    "const number = v => Number.isFinite(v) ? String(Number(v.toPrecision(4))) : 'no value';\n"
    "const part = (v, from, to, logarithmic) =>\n"
    "  logarithmic ? Math.log(v / from) / Math.log(to / from) : (v - from) / (to - from);\n"
    "// Four letters hold the upper 24 bits of a float32.\n"
    "const decode = letters => {\n"
    "  const bits = new DataView(new ArrayBuffer(4)), bytes = atob(letters);\n"
    "  for (let i = 0; i < 3; i++) bits.setUint8(i, bytes.charCodeAt(i));\n"
    "  return bits.getFloat32(0);\n"
    "};\n"
    "// Row or column `i` of a grid: its name, its number, or the numbers that it is a mean over.\n"
    "const side = (names, i, first, step, list) => {\n"
    "  if (list >= 0) return names[list][i];\n"
    "  const from = first + Math.floor(i * step + 1e-3), to = first + Math.floor((i + 1) * step + 1e-3) - 1;\n"
    "  return to > from ? from + ' to ' + to : String(from);\n"
    "};\n",
    "const fill = (text, words) => text.replace(/\\{([a-z])\\}/g, (all, key) => words[key] ?? all);\n"
    "const inCell = (names, item, panel, x, y) => {\n"
    "  const [left, top, width, height] = panel;\n"
    "  const [rows, row0, rowStep, rowNames, columns, column0, columnStep, columnNames] = item.g;\n"
    "  const row = Math.floor((y - top) / height * rows), column = Math.floor((x - left) / width * columns);\n"
    "  if (row < 0 || row >= rows || column < 0 || column >= columns) return null;\n"
    "  const place = 4 * (row * columns + column);\n"
    "  return {far: 0, x: left + column * width / columns, y: top + row * height / rows, w: width / columns,\n"
    "          h: height / rows, text: fill(item.s, {v: number(decode(item.v.slice(place, place + 4))),\n"
    "          r: side(names, row, row0, rowStep, rowNames), c: side(names, column, column0, columnStep, "
    "columnNames)})};\n"
    "};\n",
    "const nearest = (item, panel, x, y, least) => {\n"
    "  const [left, top, width, height, x0, x1, xLog, y0, y1, yLog] = panel;\n"
    "  let found = null;\n"
    "  for (let i = 0; i < item.p.length; i += item.w) {\n"
    "    const px = left + width * part(item.p[i], x0, x1, xLog);\n"
    "    const py = top + height * (1 - Math.min(Math.max(part(item.p[i + 1], y0, y1, yLog), 0), 1));\n"
    "    const far = Math.hypot(px - x, py - y);\n"
    "    if (!(far < least) || !(item.far || far < near)) continue;\n"
    "    least = far;\n"
    "    found = {far, x: px - 5, y: py - 5, w: 10, h: 10, text: fill(item.s,\n"
    "      {x: number(item.p[i]), y: number(item.p[i + 1]), v: number(item.p[i + 2]), l: number(item.p[i + 3]),\n"
    "       h: number(item.p[i + 4])})};\n"
    "  }\n"
    "  return found;\n"
    "};\n",
    "const find = (svg, event) => {\n"
    "  const holder = svg.closest('[data-values]'), frame = svg.closest('[data-places]');\n"
    "  const {names, items} = holder.values ||= JSON.parse(holder.dataset.values);\n"
    "  const panels = frame.panels ||= JSON.parse(frame.dataset.places);\n"
    "  const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;\n"
    "  const x = (event.clientX - box.left) * view.width / box.width;\n"
    "  const y = (event.clientY - box.top) * view.height / box.height;\n"
    "  let best = null;\n"
    "  panels.forEach((panel, p) => {\n"
    "    const [left, top, width, height] = panel, last = p + 1 < panels.length ? panels[p + 1][10] : items.length;\n"
    "    if (x < left - 8 || x > left + width + 8 || y < top - 8 || y > top + height + 8) return;\n"
    "    for (const item of items.slice(panel[10], last)) {\n"
    "      const found = item.g ? inCell(names, item, panel, x, y)\n"
    "                           : nearest(item, panel, x, y, best ? best.far : Infinity);\n"
    "      if (found && (!best || found.far < best.far)) best = found;\n"
    "    }\n"
    "  });\n"
    "  return best;\n"
    "};\n",
    "const hide = () => {\n"
    "  note.style.display = 'none';\n"
    "  mark.remove();\n"
    "};\n"
    "const show = event => {\n"
    "  const target = event.target instanceof Element ? event.target.closest('[data-places] svg') : null;\n"
    "  const found = target ? find(target, event) : null;\n"
    "  if (!found) return hide();\n"
    "  note.textContent = found.text;\n"
    "  note.style.display = 'block';\n"
    "  // Above a finger, beside a pointer, and within the window.\n"
    "  const wide = document.documentElement.clientWidth, touch = event.pointerType === 'touch';\n"
    "  const left = event.clientX + (touch ? -note.offsetWidth / 2 : 14);\n"
    "  const over = event.clientY - note.offsetHeight - (touch ? 28 : 12);\n"
    "  note.style.left = Math.max(4, Math.min(left, wide - note.offsetWidth - 4)) + 'px';\n"
    "  note.style.top = (over < 4 ? event.clientY + 24 : over) + 'px';\n"
    "  for (const name of ['x', 'y']) mark.setAttribute(name, found[name]);\n"
    "  mark.setAttribute('width', found.w);\n"
    "  mark.setAttribute('height', found.h);\n"
    "  target.append(mark);\n"
    "};\n"
    "document.addEventListener('pointermove', show);\n"
    "document.addEventListener('pointerdown', show);\n"
    "document.addEventListener('pointercancel', hide);\n"
    "document.documentElement.addEventListener('pointerleave', event => event.pointerType === 'touch' || hide());\n"
    "document.addEventListener('scroll', hide, {passive: true});\n"
    "})();\n"};

void report_script_append(struct text *page) {
  text_append(page, "<script>\n");
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    text_append(page, pieces[i]);
  }
  text_append(page, "</script>\n");
}

void report_script_policy(struct text *page) {
  struct sha256_ctx hash;
  uint8_t digest[SHA256_DIGEST_SIZE];
  char letters[BASE64_ENCODE_RAW_LENGTH(SHA256_DIGEST_SIZE)];
  sha256_init(&hash);
  /* Of all between the tags, the line end after the first one with it. */
  sha256_update(&hash, 1, (const uint8_t *)"\n");
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    sha256_update(&hash, strlen(pieces[i]), (const uint8_t *)pieces[i]);
  }
  sha256_digest(&hash, sizeof digest, digest);
  base64_encode_raw(letters, sizeof digest, digest);
  text_printf(page,
              "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
              "style-src 'unsafe-inline'; script-src 'sha256-%.*s'\">\n",
              (int)sizeof letters, letters);
}
