// More of a conversation comes where somebody reads on, both ways; what is shown keeps its place.
import { all, byId, on } from "../dom.js";
import { enter } from "./url-state.js";
import { give, standing, windows } from "./scroll-position.js";
import { again } from "../socket.js";
import { renew } from "../preserve-state.js";
import { isWay, meet, trim } from "./windows.js";

// Whoever cares hears that other windows are there. One may have been made before what the page
// has been told since: then it lacks that, and has to be told it again.
export function tell() {
  for (const each of windows()) {
    for (const name of ["length", "revision"]) {
      const had = each.dataset[name];
      if (had && Number(had) < Number(byId("counts").dataset[name])) byId("counts").dataset[name] = had;
      delete each.dataset[name];
    }
  }
  for (const way of all("#transcript > .way")) observer.observe(way);
  again();
  document.dispatchEvent(new CustomEvent("jpweb:windows"));
}

// One way is gone at a time.
let busy = null;
const ours = (event) => event.target.closest && event.target.closest("#transcript > .way");
on("htmx:beforeRequest", (event) => { busy = ours(event) || busy; });
on("htmx:afterRequest", (event) => { if (ours(event) || !(busy && busy.isConnected)) busy = null; });

// The swap is ours, so that whatever moves moves at once.
on("htmx:beforeSwap", (event) => {
  const old = ours(event);
  if (!old || !event.detail.shouldSwap) return;
  event.detail.shouldSwap = false;
  const earlier = old.dataset.way === "earlier";
  const focused = old.contains(document.activeElement);
  const known = new Set(windows());
  standing(() => {
    put(old, event.detail.serverResponse);
    const fresh = windows().find((each) => !known.has(each));
    if (!fresh) return;
    meet(fresh);
    const there = all(":scope > [data-kind]:not(.mark)", fresh);
    if (focused && there.length) give(earlier ? there.at(-1) : there[0]);
  });
  standing(trim);
  busy = null;
  tell();
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    const way = ours(event);
    if (!way) return;
    way.dataset.failed = "";
    way.querySelector("a").textContent = "Couldn't load these events. Retry";
    document.dispatchEvent(new CustomEvent("jpweb:windows"));
  });
}
const put = (place, html, select) => htmx.swap(
  place, html, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0, ignoreTitle: true }, { select });

// What a live page is sent may have come with a window already, as it was then.
on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (!(fragment instanceof Element) || !target.closest("#transcript > .window")) return;
  for (const none of all("#transcript > .empty")) none.remove();
  for (const each of all(":scope > [id]", fragment)) {
    const old = byId(each.id);
    if (!old) continue;
    renew(old, each);
    const rest = each.nextElementSibling;
    for (const gone of [each, ...(rest && rest.matches(".left-out") ? [rest] : [])]) gone.remove();
  }
});

// At the very top of the page nothing comes by itself: only once somebody reads upwards. Where
// two ways meet, it is the one that somebody comes from.
let upward = location.hash.length > 1;
function wanted(way) {
  if ("failed" in way.dataset) return false;
  const { top, bottom } = way.getBoundingClientRect();
  const meets = isWay(way.previousElementSibling) || isWay(way.nextElementSibling);
  if (way.dataset.way === "later") return !meets || top > innerHeight / 2;
  return upward && (!meets || bottom <= innerHeight / 2);
}
const near = new Set();
function load() {
  for (const way of near) {
    if (!way.isConnected) near.delete(way);
    else if (!busy && wanted(way)) go(way);
  }
}
function go(way) {
  delete way.dataset.failed;
  htmx.process(way);
  htmx.trigger(way.querySelector("a"), "near");
}
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) near[isIntersecting ? "add" : "delete"](target);
  load();
}, { rootMargin: "100% 0px" });

let stood = scrollY;
function moved(up) {
  upward = upward || up;
  if (near.size) load();
}
on("scroll", () => {
  moved(scrollY < stood);
  stood = scrollY;
}, { passive: true });
on("wheel", (event) => moved(event.deltaY < 0), { passive: true });

// Go a way; whether something came.
export const more = (way) => new Promise((done) => {
  const heard = () => {
    if (way.isConnected && !("failed" in way.dataset)) return;
    document.removeEventListener("jpweb:windows", heard);
    done(!way.isConnected);
  };
  on("jpweb:windows", heard);
  if (busy !== way) go(way);
});

// Show another part of the conversation in place of what is there; false where that failed.
// The address says where somebody is from then on.
export async function visit(query, address) {
  const { href, query: keeps } = byId("transcript").dataset;
  const there = `${href}?${[query, keeps].filter(Boolean).join("&")}`;
  const reply = await fetch(there, { headers: { Accept: "text/html" } }).catch(() => null);
  if (!reply || !reply.ok) return false;
  const html = await reply.text();
  if (address) enter(address);
  const fold = document.querySelector(".outline-fold");
  for (const id of ["#outline", "#transcript"]) if (document.querySelector(id)) put(id, html, id);
  document.dispatchEvent(new CustomEvent("jpweb:outline", { detail: !fold || fold.open }));
  upward = true;
  tell();
  return true;
}

for (const way of all("#transcript > .way")) observer.observe(way);
for (const { dataset } of windows()) for (const name of ["length", "revision"]) delete dataset[name];
