// Where somebody stood comes back with the page: after a reload, and on the way back to it. The
// entry of the history says which item stood where on the screen; where that is no part of what
// the address shows, the address comes to say it.
import { WHERE, changed, isLeaving, restate, says } from "./url-state.js";
import { goesOn } from "./follow-tail.js";
import { byId, on } from "../dom.js";
import { firstInView, top, windows } from "./scroll-position.js";

const REST = 200; // milliseconds; browsers bear no change of the history for each step
const AT_END = 2; // pixels
const SETTLED = 1500; // milliseconds

// What the address shows by itself; another part replaces the whole transcript.
let shown = null;
let own = new Set();
function look() {
  if (shown === byId("transcript")) return;
  shown = byId("transcript");
  own = new Set(windows());
}

function place() {
  const end = innerHeight + scrollY >= document.documentElement.scrollHeight - AT_END;
  if (byId("tail") && end && goesOn()) return { end: true };
  const item = firstInView();
  return item && { item: item.id, top: top(item) };
}
function note() {
  const stands = settling || isLeaving() ? null : place();
  if (!stands) return;
  const item = stands.item && byId(stands.item);
  if (item && !own.has(item.closest(".window"))) restate({ ...WHERE, at: item.id }, "");
  try { history.replaceState({ ...history.state, stands }, ""); } catch { /* the next time */ }
}

function restore() {
  const stands = history.state && history.state.stands;
  if (!stands || isLeaving()) return;
  const item = byId(stands.item);
  if (stands.end) window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (item) settle(stands);
  else if (says("at") !== stands.item) location.replace(changed({ ...WHERE, at: stands.item }, ""));
}

// What is in view gets its colours, and what is above may grow: the item stays where it stood
// until that is over, or until somebody goes on.
let settling = null;
const growth = new ResizeObserver(align);
function align() {
  const item = settling && byId(settling.item);
  if (item) window.scrollBy({ top: top(item) - settling.top, behavior: "instant" });
}
function settle(stands) {
  settling = stands;
  align();
  growth.observe(byId("transcript"));
  setTimeout(settled, SETTLED);
}
function settled() {
  settling = null;
  growth.disconnect();
}
for (const goes of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  window.addEventListener(goes, settled, { passive: true });
}
// An address of an event without the mark of one: to the event, as to any place.
function land() {
  const item = !history.state && !location.hash && byId(says("at"));
  if (item) item.scrollIntoView({ block: "start", behavior: "instant" });
}

if (byId("transcript")) {
  history.scrollRestoration = "manual";
  look();
  on("jpweb:windows", look);
  let soon;
  on("scroll", () => {
    clearTimeout(soon);
    soon = setTimeout(note, REST);
  }, { passive: true });
  window.addEventListener("load", () => {
    land();
    restore();
  });
  window.addEventListener("popstate", () => requestAnimationFrame(restore));
}
