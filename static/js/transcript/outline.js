// The outline beside a conversation: it follows the reader, and moves to what is loaded without a
// new page.
import { WHERE, changed, enter } from "./url-state.js";
import { all, byId, keep, on, recall } from "../dom.js";
import { edge, top } from "./scroll-position.js";
import { current, mark } from "./navigation.js";

const PHONE = "(max-width: 70rem)";
const REST = 400; // milliseconds that somebody stays before turns that are not listed are fetched

// The turn of the item that a reader is at, or else under the bar: the last heading above. One that
// goes on in another window is not shown, and says the same as the one before it.
function turn() {
  const heads = all("#transcript .turn-head").filter((head) => head.offsetParent);
  const here = current();
  const line = here ? top(here) + 1 : edge() + 40;
  const head = heads.findLast((each) => top(each) <= line) || heads[0];
  return head && head.dataset.turn;
}

let shown;
let soon;
function follow() {
  const number = turn();
  if (number === undefined || number === shown) return;
  shown = number;
  clearTimeout(soon);
  if (!point(number)) soon = setTimeout(() => fetched(number), REST);
}
function point(number) {
  const here = all("#outline li[data-turn]").find((each) => each.dataset.turn === number);
  if (!here) return false;
  for (const each of all("#outline li[aria-current]")) each.removeAttribute("aria-current");
  here.setAttribute("aria-current", "true");
  // Within the outline alone: the page stays.
  const box = byId("outline");
  const row = here.querySelector("a") || here;
  const from = top(row) - top(box);
  if (from < 0 || from > box.clientHeight - 2 * row.offsetHeight) box.scrollTop += from - box.clientHeight / 3;
  return true;
}
async function fetched(number) {
  const address = `${byId("transcript").dataset.href}?turn=${number}`;
  const reply = await fetch(address, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!reply || !reply.ok || shown !== number || byId("outline").contains(document.activeElement)) return false;
  const fold = document.querySelector(".outline-fold").open;
  const open = all("#outline li > details[open]").map((each) => each.parentElement.dataset.turn);
  htmx.swap("#outline", await reply.text(), { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0, ignoreTitle: true }, { select: "#outline" });
  ready(fold);
  for (const row of all("#outline li[data-turn]")) if (open.includes(row.dataset.turn)) row.querySelector("details").open = true;
  point(number);
  return true;
}

// What comes is in the outline soon after it is on the page.
const SOON = 1000; // milliseconds
const last = () => Number(document.querySelector("[data-count=turns]").textContent) - 1;
const came = () => { const { length, revision } = byId("counts").dataset; return `${length} ${revision}`; };
let told;
let due;
function grown() {
  if (came() === told || due) return;
  due = setTimeout(async () => {
    counted();
    const now = came();
    const kept = byId("outline").contains(document.activeElement);
    let done = false;
    try {
      done = !kept && (await refresh(told.split(" ")[1] !== now.split(" ")[1]));
    } finally { due = 0; }
    if (done) told = now;
    // What failed is tried again with what comes next.
    if (done || came() !== now) grown();
  }, SOON);
}
// How many turns there are, and how many after those that are listed.
function counted() {
  document.querySelector(".outline-fold > summary .quiet").textContent =
    document.querySelector("[data-count=turns]").parentElement.textContent;
  const link = document.querySelector("#outline ol ~ .outline-way a");
  if (link) link.textContent = `${last() - Number(all("#outline li[data-turn]").at(-1).dataset.turn)} later`;
}
// Fetch the outline where the reader is, wherever they go meanwhile; whether it came.
async function anew() {
  const number = shown;
  return (await fetched(number)) || (shown !== number && anew());
}
// Bring the outline up to date; whether it is.
async function refresh(rewritten) {
  const rows = all("#outline li[data-turn]");
  const number = String(last());
  const row = rows.find((each) => each.dataset.turn === number);
  const unasked = row && row.querySelector("[data-unasked]");
  if ((rewritten || unasked) && shown !== undefined) return anew();
  if (!row && shown !== undefined && !document.querySelector("#outline ol ~ .outline-way")) return anew();
  const inside = row && row.querySelector("ol.inside");
  if (!inside) return true;
  const reply = await fetch(`${byId("transcript").dataset.href}/outline?turn=${number}`, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!reply || !reply.ok || inside.contains(document.activeElement)) return false;
  if (!inside.isConnected) return refresh(false);
  htmx.swap(inside, await reply.text(), { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
  return true;
}

// On a phone it is a line above the text until somebody opens it; elsewhere as they left it.
function ready(open) {
  const fold = document.querySelector(".outline-fold");
  fold.open = open;
  fold.addEventListener("toggle", () => {
    if (!matchMedia(PHONE).matches) keep("outline", fold.open ? "open" : "folded");
  });
}

on("click", (event) => {
  if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  const link = event.target.closest && event.target.closest("#outline a[href*='#'], #transcript .turn-head a");
  const anchor = link && link.hash.slice(1);
  const target = anchor && byId(anchor);
  if (!target || !target.closest("#transcript")) return;
  event.preventDefault();
  const where = Object.fromEntries(Object.keys(WHERE).map((name) => [name, new URL(link.href).searchParams.get(name) || ""]));
  enter(changed(where, link.hash));
  mark(target);
  if (matchMedia(PHONE).matches && link.closest("#outline")) {
    document.querySelector(".outline-fold").open = false;
    target.scrollIntoView({ block: "start", behavior: "instant" });
  }
});

if (byId("outline") && byId("transcript")) {
  ready(!matchMedia(PHONE).matches && recall("outline") !== "folded");
  let asked = false;
  const soonest = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; follow(); });
  };
  on("scroll", soonest, { passive: true });
  on("jpweb:windows", soonest);
  told = came();
  on("htmx:wsAfterMessage", () => {
    soonest();
    grown();
  });
  on("jpweb:outline", (event) => ready(event.detail));
  byId("outline").closest("main").addEventListener("focusout", () => setTimeout(grown));
  soonest();
}
