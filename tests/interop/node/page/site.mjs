// Opens a site in Chromium, searches it, and tells what it saw, as JSON: node site.mjs BASE QUERY PAGE... [--shots FOLDER]
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const words = process.argv.slice(2);
const place = words.indexOf("--shots");
const shots = place < 0 ? null : words.splice(place, 2)[1];
const [base, query, ...pages] = words;

// A reader's browser keeps pages from files apart, so this one must, too.
const lax = ["--disable-web-security", "--allow-file-access-from-files"];
const browser = await puppeteer.launch({
  args: [...chromium.args.filter((arg) => !lax.includes(arg)), "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const found = [];
for (const width of [1280, 390]) {
  for (const name of pages) {
    found.push(await look(name, width));
  }
  found.push(await search(width));
}
await browser.close();
console.log(JSON.stringify(found));

async function open(name, width) {
  const complaints = [];
  const foreign = [];
  const page = await browser.newPage();
  page.on("console", (message) => complaints.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("requestfailed", (request) => complaints.push(`failed: ${request.url()}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(base) && !url.startsWith("data:")) foreign.push(url);
  });
  await page.setViewport({ width, height: 844 });
  await page.goto(`${base}/${name}`, { waitUntil: "load" });
  return { page, complaints, foreign };
}

async function look(name, width) {
  const { page, complaints, foreign } = await open(name, width);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await shoot(page, `${name.replaceAll("/", "-")}-${width}`);
  await page.close();
  return { name, width, complaints, foreign, overflow };
}

async function search(width) {
  const { page, complaints, foreign } = await open("index.html", width);
  await page.evaluate(() => document.querySelector("label[for=__search]").click());
  await page.waitForSelector("input.md-search__input", { visible: true });
  await page.focus("input.md-search__input");
  await page.keyboard.type(query);
  // Results are shown one by one while the words are typed; the last word decides.
  const last = encodeURIComponent(query);
  await page.waitForSelector(`.md-search-result__link[href*="h=${last}"]`, { timeout: 20000 });
  const results = await page.$$eval(".md-search-result__link", (links) => links.map((link) => link.href));
  await shoot(page, `search-${width}`);
  await page.close();
  return { name: "search", width, complaints, foreign, results };
}

async function shoot(page, name) {
  if (shots !== null) await page.screenshot({ path: `${shots}/${name}.png` });
}
