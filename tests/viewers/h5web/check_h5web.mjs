// check_h5web.mjs FILE VIEWS: open a results file in H5Web in headless Chromium, group by group. VIEWS is JSON: a list of
// {path, shows}, texts that must be seen when the group at `path` is selected. Stands in a folder with node_modules and
// dist/, which `npm run build` made.
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { chromium } from "playwright-core";

const [file, views] = [process.argv[2], JSON.parse(fs.readFileSync(process.argv[3]))];
const dist = path.join(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), "dist");
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };

function answer(request, response) {
  const name = new URL(request.url, "http://localhost").pathname;
  const wanted = name === "/results.h5" ? file : path.join(dist, path.basename(name));
  response.setHeader("content-type", types[path.extname(wanted)] ?? "application/octet-stream");
  response.end(fs.readFileSync(wanted));
}

const complaints = [];
const server = http.createServer(answer).listen(0, "127.0.0.1");
await new Promise((listening) => server.once("listening", listening));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"],
});
const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
page.setDefaultNavigationTimeout(120000);
page.on("pageerror", (error) => complaints.push(`script: ${error.message}`));
page.on("console", (message) => message.type() === "error" && complaints.push(`console: ${message.text()}`));

// Signs of a file that H5Web cannot show.
const refusals = ["Expected ", "not supported", "Unsupported", "Nothing to display", "not registered", "Error"];

for (const { path: group, shows } of views) {
  const place = `http://127.0.0.1:${server.address().port}/page.html`;
  await page.goto(`${place}?file=/results.h5&path=${encodeURIComponent(group)}`);
  const seen = (texts) => texts.every((text) => document.body.innerText.includes(text));
  await page.waitForFunction(seen, shows, { timeout: 60000 }).catch(() => {});
  const text = await page.evaluate(() => document.body.innerText);
  for (const wanted of shows.filter((wanted) => !text.includes(wanted))) {
    complaints.push(`${group}: no '${wanted}' in ${JSON.stringify(text)}`);
  }
  for (const refusal of refusals.filter((refusal) => text.includes(refusal))) {
    complaints.push(`${group}: '${refusal}' in ${JSON.stringify(text)}`);
  }
  if (process.env.SHOTS) {
    await page.screenshot({ path: path.join(process.env.SHOTS, `${path.basename(file)}${group.replaceAll("/", "_")}.png`) });
  }
}
await browser.close();
server.close();
console.log(complaints.join("\n"));
process.exitCode = complaints.length ? 1 : 0;
