// Restores the scroll position after a reload and on going back. The history entry holds the item and
// its position on the screen; if the URL does not show that item, it is changed to name it.
import { byId, on } from "../dom.js";
import { hasActiveRun } from "./follow-tail.js";
import { findFirstInView, findWindows, getTop } from "./scroll-position.js";
import { NO_POSITION, buildUrl, isLeaving, readParameter, replaceUrl } from "./url-state.js";

const SAVE_DELAY_MS = 200; // browsers limit how often the history changes
const END_TOLERANCE = 2; // pixels
const ALIGN_TIME_MS = 1500;

// The windows that the URL shows: those of the page as loaded, until the transcript is replaced.
let knownTranscript = null;
let urlWindows = new Set();
function updateUrlWindows() {
  if (knownTranscript === byId("transcript")) return;
  knownTranscript = byId("transcript");
  urlWindows = new Set(findWindows());
}

function readPosition() {
  const isAtEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - END_TOLERANCE;
  if (byId("transcript-end") && isAtEnd && hasActiveRun()) return { end: true };
  const item = findFirstInView();
  return item && { item: item.id, top: getTop(item) };
}
function savePosition() {
  const position = alignedPosition || isLeaving() ? null : readPosition();
  if (!position) return;
  const item = position.item && byId(position.item);
  if (item && !urlWindows.has(item.closest(".window"))) replaceUrl({ ...NO_POSITION, at: item.id }, "");
  try { history.replaceState({ ...history.state, position }, ""); } catch { /* saved by the next scroll */ }
}

function restorePosition() {
  const position = history.state && history.state.position;
  if (!position || isLeaving()) return;
  const item = byId(position.item);
  if (position.end) window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
  else if (item) keepAligned(position);
  else if (readParameter("at") !== position.item) location.replace(buildUrl({ ...NO_POSITION, at: position.item }, ""));
}

// Items above may grow while they load their syntax highlighting: the item stays aligned until that is
// over, or the person scrolls.
let alignedPosition = null;
const observer = new ResizeObserver(alignItem);
function alignItem() {
  const item = alignedPosition && byId(alignedPosition.item);
  if (item) window.scrollBy({ top: getTop(item) - alignedPosition.top, behavior: "instant" });
}
function keepAligned(position) {
  alignedPosition = position;
  alignItem();
  observer.observe(byId("transcript"));
  setTimeout(stopAligning, ALIGN_TIME_MS);
}
function stopAligning() {
  alignedPosition = null;
  observer.disconnect();
}
for (const name of ["wheel", "touchstart", "pointerdown", "keydown"]) {
  window.addEventListener(name, stopAligning, { passive: true });
}
// A URL may name an event by a parameter and have no hash.
function scrollToParameter() {
  const item = !history.state && !location.hash && byId(readParameter("at"));
  if (item) item.scrollIntoView({ block: "start", behavior: "instant" });
}

if (byId("transcript")) {
  history.scrollRestoration = "manual";
  updateUrlWindows();
  on("jpweb:windows", updateUrlWindows);
  let saveTimer;
  on("scroll", () => {
    clearTimeout(saveTimer);
    saveTimer = setTimeout(savePosition, SAVE_DELAY_MS);
  }, { passive: true });
  window.addEventListener("load", () => {
    scrollToParameter();
    restorePosition();
  });
  window.addEventListener("popstate", () => requestAnimationFrame(restorePosition));
}
