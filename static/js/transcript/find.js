// Find in a conversation, including events that are not loaded. Matches are counted in events; the
// next one after the last is the first.
import { byId, on } from "../dom.js";
import { clearHighlights, findRanges, highlightMatches, parseTerms, scrollToRange } from "./highlight.js";
import { fetchJson, findCurrent, goTo, makeCurrent } from "./navigation.js";
import { findFirstInView } from "./scroll-position.js";
import { NO_POSITION, readParameter, replaceUrl } from "./url-state.js";

const form = byId("find");
const field = form && form.elements.q;
const status = form && form.querySelector("[role=status]");
const MAX_PARTS = 3; // parts of a truncated payload that are loaded for one match
const HIGHLIGHT_DELAY_MS = 50;

// The query, and the match that is current.
let query = "";
let currentMatch = null;
export const isFinding = () => Boolean(query);

export function openFind() {
  if (!form) return false;
  form.classList.add("active");
  field.focus({ preventScroll: true });
  field.select();
  return true;
}
export function closeFind() {
  if (!form || !form.classList.contains("active")) return false;
  form.classList.remove("active");
  query = "";
  currentMatch = null;
  field.value = "";
  status.textContent = "";
  form.querySelector(".find-steps").hidden = true;
  clearHighlights();
  byId("transcript").dataset.query = buildQueryString("");
  replaceUrl({ q: "" });
  const item = findCurrent() || findFirstInView();
  if (form.contains(document.activeElement)) (item ? makeCurrent(item) : field.blur());
  return true;
}
// Return the transcript's query string with other search words.
function buildQueryString(words) {
  const parameters = new URLSearchParams(byId("transcript").dataset.query);
  parameters.delete("q");
  if (words) parameters.set("q", words);
  return parameters.toString().replaceAll("%2C", ",");
}

const formatNumber = (number) => number.toLocaleString("en");
function describeCount({ total, more, unindexed }) {
  const unindexedText = unindexed ? ` (${formatNumber(unindexed)} events not indexed yet)` : "";
  if (!currentMatch) return `No matches${unindexedText}`;
  const position = currentMatch.number ? `${formatNumber(currentMatch.number)} of ` : "";
  return `${position}${formatNumber(total)}${more ? "+" : ""} match${total === 1 ? "" : "es"}${unindexedText}`;
}

export async function findMatch(direction) {
  const words = field.value.trim();
  if (!words) return;
  form.classList.add("active");
  const from = currentMatch && query === words
    ? { from: currentMatch.position }
    : { at: (findCurrent() || findFirstInView() || {}).id || "" };
  query = words;
  status.textContent = "Searching…";
  const result = await fetchJson("find", { q: words, to: direction, ...from });
  if (query !== words) return;
  if (!result) {
    status.textContent = "Couldn't search. Try again.";
    return;
  }
  currentMatch = result.anchor ? result : null;
  form.querySelector(".find-steps").hidden = false;
  byId("transcript").dataset.query = buildQueryString(words);
  const match = currentMatch;
  if (match) await goTo(match, { q: words }, (item) => { if (currentMatch === match) showItem(item); });
  else {
    clearHighlights();
    replaceUrl({ q: words });
  }
  if (query === words && currentMatch === match) status.textContent = describeCount(result);
}

function showItem(item) {
  replaceUrl({ ...NO_POSITION, at: currentMatch.anchor, q: query }, `#${currentMatch.anchor}`);
  const isTyping = document.activeElement === field;
  if (item.matches("details")) item.open = true;
  makeCurrent(item);
  if (isTyping) field.focus({ preventScroll: true });
  showMatch(MAX_PARTS);
}
// Highlight the current match and scroll to it. If it is beyond the loaded parts of a payload, load up
// to ``maxParts`` more of them first.
function showMatch(maxParts) {
  const item = currentMatch && (byId(currentMatch.anchor) || byId(currentMatch.item));
  if (!item) return;
  const terms = parseTerms(query);
  highlightMatches(terms, item);
  const [range] = findRanges(item, terms, 1);
  if (range) {
    let ancestor = range.startContainer.parentElement;
    for (; ancestor && ancestor !== item.parentElement; ancestor = ancestor.parentElement) {
      if (ancestor.matches("details")) ancestor.open = true;
    }
    scrollToRange(range);
    return;
  }
  const nextPart = maxParts && item.querySelector(".payload .footnote a[hx-get]");
  if (!nextPart) return;
  remainingParts = maxParts - 1;
  htmx.trigger(nextPart, "click");
}
let remainingParts = null; // null while no part is requested
on("htmx:load", (event) => {
  if (!isFinding() || !event.target.closest("#transcript")) return;
  if (remainingParts === null) return highlightLater();
  const maxParts = remainingParts;
  remainingParts = null;
  showMatch(maxParts);
});
let highlightTimer;
function highlightLater() {
  clearTimeout(highlightTimer);
  highlightTimer = setTimeout(() => {
    if (isFinding()) highlightMatches(parseTerms(query), currentMatch && byId(currentMatch.anchor));
  }, HIGHLIGHT_DELAY_MS);
}
on("jpweb:windows", () => { if (isFinding()) highlightLater(); });

// A link from the search page highlights its words and makes its event the current match.
function beginWithParameter() {
  form.classList.add("active");
  query = readParameter("q");
  field.value = query;
  const anchor = location.hash.slice(1);
  highlightMatches(parseTerms(query), byId(anchor));
  const words = query;
  fetchJson("find", { q: words, at: anchor }).then((result) => {
    // The person may have begun another search.
    if (currentMatch || !result || query !== words || words !== field.value.trim()) return;
    currentMatch = result.anchor ? result : null;
    status.textContent = describeCount(result);
    form.querySelector(".find-steps").hidden = false;
    if (currentMatch && location.hash.slice(1) === currentMatch.anchor) showMatch(MAX_PARTS);
  });
}

if (form) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    findMatch("next");
  });
  form.addEventListener("keydown", (event) => {
    if (event.isComposing) return; // Enter and Escape choose characters
    if (event.key === "Escape") {
      event.preventDefault();
      if (!closeFind()) field.blur();
    } else if (event.key === "Enter" && event.shiftKey && event.target === field) {
      event.preventDefault();
      findMatch("previous");
    }
  });
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-find]");
    if (!button) return;
    if (button.dataset.find === "close") closeFind();
    else findMatch(button.dataset.find);
  });
  if (readParameter("q")) beginWithParameter();
}
