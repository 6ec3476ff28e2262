// Following the end of a conversation while somebody is there; a way back once they read above.
// And how far they have read, told when they leave.
import { says } from "./url-state.js";
import { tell } from "./infinite-scroll.js";
import { byId, land, on, openCards } from "../dom.js";
import { edge, standing } from "./scroll-position.js";
import { cut, trim } from "./windows.js";

const NEAR = 160; // pixels from the end
export const atEnd = () => Boolean(byId("tail")) && innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR;
const length = () => Number(byId("counts").dataset.length);
const OVER = /-(done|failed|stopped|lost)/;
export const goesOn = () => Boolean(byId("foot").dataset.run) && !OVER.test(byId("foot").dataset.run);
const toEnd = () => window.scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });

const link = document.createElement("a");
link.className = "live";
link.hidden = true;

// How many events somebody has seen at the end, and how many they know of.
let read = 0;
let known = 0;
function stand() {
  if (atEnd()) known = read = length();
  const fresh = length() - known;
  const out = openCards().every(isOut);
  const text = out && waits() || (fresh > 0 ? `Jump to live (${fresh.toLocaleString("en")} new)` : "Jump to live");
  link.hidden = !out || !waits() && (atEnd() || !(goesOn() || fresh > 0));
  if (link.textContent !== text) link.textContent = text;
}
// What waits on this page for somebody who does not see it; first of all they are told of that.
const isOut = (card) => {
  const { top, bottom } = card.getBoundingClientRect();
  return bottom <= edge() || top >= innerHeight;
};
function waits() {
  const cards = openCards();
  const more = byId("more");
  const count = cards.length + Number(more ? more.dataset.more : 0);
  if (count > 1) return `${count.toLocaleString("en")} waiting for an answer`;
  return count && cards.length ? `1 ${"prompt" in cards[0].dataset ? "approval" : "question"} waiting` : "";
}

// Somebody follows from when they come to the end until they scroll up or unfold something there.
let following = false;
let stood = scrollY;
function scrolled() {
  if (atEnd()) following = true;
  else if (scrollY < stood) following = false;
  stood = scrollY;
  stand();
}
const follow = () => { if (following && (scrollY > 0 || goesOn())) toEnd(); };
on("toggle", (event) => {
  if (event.target.contains(document.activeElement)) following = following && atEnd();
}, true);

function begin() {
  const transcript = byId("transcript");
  const { href, query } = transcript.dataset;
  link.href = `${href}?at=end${query && `&${query}`}#foot`;
  document.querySelector("main").append(link);
  link.addEventListener("click", (event) => {
    const [card] = openCards();
    if (card) {
      event.preventDefault();
      land(card);
      return;
    }
    if (!byId("tail")) return;
    event.preventDefault();
    following = true;
    toEnd();
    const foot = byId("foot");
    foot.tabIndex = -1;
    foot.focus({ preventScroll: true });
    stand();
  });
  on("scroll", scrolled, { passive: true });
  on("jpweb:windows", stand);
  let before;
  on("htmx:wsBeforeMessage", () => {
    before = { length: length(), last: byId("tail") && byId("tail").lastElementChild };
  });
  on("htmx:wsAfterMessage", () => {
    // Whoever follows for hours keeps no more than a reader does.
    if (cut(before.length, before.last)) {
      standing(trim);
      tell();
    }
    follow();
    stand();
  });
  // Text that was fetched late makes the page longer.
  on("htmx:load", (event) => { if (event.target.closest("#transcript")) follow(); });
  // Who comes without a place to what goes on comes to where it does.
  const placed = location.hash || ["at", "turn", "after", "before"].some(says);
  if (!placed && byId("tail") && (goesOn() || openCards().length)) {
    const card = openCards()[0];
    if (card) card.scrollIntoView({ block: "nearest", behavior: "instant" });
    else toEnd();
  }
  known = length();
  scrolled();
}

// How far somebody has read: to the end, if they saw it.
let told = 0;
function leave() {
  if (read <= told) return;
  told = read;
  const form = new FormData();
  form.set("length", read);
  form.set("csrfmiddlewaretoken", document.querySelector("meta[name=csrf-token]").content);
  navigator.sendBeacon(`${byId("transcript").dataset.href}/read`, form);
}
if (byId("transcript")) {
  begin();
  on("visibilitychange", () => { if (document.hidden) leave(); });
  window.addEventListener("pagehide", leave);
}
