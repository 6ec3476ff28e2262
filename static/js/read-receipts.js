// Proof of showing: a card was on the screen, was gone into, an answer was begun. Of what is typed
// nothing is told. Each once a card and page.
import { on, openCards } from "./dom.js";
import { say } from "./socket.js";

const HALF = 0.5;
const LONG_ENOUGH = 500; // milliseconds
const told = new Set();
let untold = [];
let soon;

function note(card, kind) {
  const key = Number(card.dataset.question);
  if (!key || card.dataset.outcome !== "open" || told.has(`${key} ${kind}`)) return;
  told.add(`${key} ${kind}`);
  untold.push([key, kind]);
  // At once: what somebody saw should be on record before what they answered.
  soon = soon || setTimeout(tell);
}
export function tell() {
  clearTimeout(soon);
  soon = undefined;
  if (untold.length && say({ seen: untold })) untold = [];
}
on("jpweb:connected", tell);

// Half of it, or half of the screen where it is larger than that.
const timers = new Map();
const inView = new Set();
const begin = (card) => {
  if (document.hidden || timers.has(card)) return;
  timers.set(card, setTimeout(() => note(card, "visible"), LONG_ENOUGH));
};
const end = (card) => {
  clearTimeout(timers.get(card));
  timers.delete(card);
};
const observer = new IntersectionObserver((entries) => {
  for (const { target, intersectionRect, boundingClientRect, rootBounds } of entries) {
    const room = rootBounds ? rootBounds.height : window.innerHeight;
    const shown = intersectionRect.height >= HALF * Math.min(boundingClientRect.height, room) && intersectionRect.height > 0;
    inView[shown ? "add" : "delete"](target);
    (shown ? begin : end)(target);
  }
}, { threshold: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1] });
on("visibilitychange", () => inView.forEach(document.hidden ? end : begin));

const watched = new WeakSet();
export function watch() {
  for (const card of openCards()) {
    if (!card.dataset.question || watched.has(card)) continue;
    watched.add(card);
    observer.observe(card);
  }
}

const cardOf = (event) => event.target.closest && event.target.closest(".card[data-question]");
on("focusin", (event) => {
  const card = cardOf(event);
  if (card) note(card, "focused");
});
on("input", (event) => {
  const card = cardOf(event);
  if (card) note(card, "draft");
});
