// Opens pages in Chromium and tells what it saw, as JSON: node page.mjs FILE... [--shots FOLDER]
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const words = process.argv.slice(2);
const place = words.indexOf("--shots");
const shots = place < 0 ? null : words.splice(place, 2)[1];

const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const found = [];
for (const file of words) {
  for (const width of [1200, 360]) {
    for (const scheme of ["light", "dark"]) {
      found.push(await open(file, width, scheme));
    }
  }
}
await browser.close();
console.log(JSON.stringify(found));

async function open(file, width, scheme) {
  const url = pathToFileURL(file).href;
  const requests = [];
  const complaints = [];
  const page = await browser.newPage();
  page.on("request", (request) => requests.push(request.url()));
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(url, { waitUntil: "load" });
  const seen = await page.evaluate(() => ({
    overflow: document.documentElement.scrollWidth - innerWidth,
    background: getComputedStyle(document.body).backgroundColor,
    scripts: document.scripts.length,
    headings: document.querySelectorAll("h1").length,
    cells: document.querySelectorAll("td.cell").length,
  }));
  if (shots !== null) {
    await page.screenshot({ path: `${shots}/${basename(file)}-${width}-${scheme}.png` });
  }
  await page.close();
  return { width, scheme, requests: requests.filter((one) => one !== url), complaints, ...seen };
}
