// Highlights search words by the CSS Custom Highlight API, which leaves the text unchanged; without
// it nothing is highlighted.
import { findItems } from "./scroll-position.js";

const MAX_RANGES = 2000;
const MAX_CHARS = 300000; // of an item, that are searched
const MAX_TERMS = 8;
const isSupported = Boolean(window.CSS && CSS.highlights && window.Highlight);

// As jpweb.store.search.find_in_conversation.parse_terms: words, and phrases in double quotes.
export function parseTerms(query) {
  const terms = [...query.matchAll(/"([^"]*)"?|(\S+)/g)].map(([, phrase, word]) => {
    if (word === undefined) return phrase.trim();
    return word.length > 1 && word.startsWith("-") ? "" : word.replace(/\*+$/, "").replace(/^"+|"+$/g, "");
  });
  return [...new Set(terms.filter(Boolean))].slice(0, MAX_TERMS);
}

const escapePattern = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
function makePattern(terms) {
  const longestFirst = [...terms].sort((one, other) => other.length - one.length);
  return new RegExp(longestFirst.map(escapePattern).join("|"), "giu");
}

// Return the ranges of matches in an element; a match may span text nodes.
export function findRanges(root, terms, maxRanges = MAX_RANGES) {
  if (!terms.length) return [];
  const pieces = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && text.length < MAX_CHARS) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".copy-buttons, .footnote")) continue;
    pieces.push({ node, start: text.length });
    text += node.data;
  }
  const ranges = [];
  let first = 0;
  for (const match of text.matchAll(makePattern(terms))) {
    if (ranges.length >= maxRanges) break;
    const end = match.index + match[0].length;
    while (first + 1 < pieces.length && pieces[first + 1].start <= match.index) first += 1;
    let last = first;
    while (last + 1 < pieces.length && pieces[last + 1].start < end) last += 1;
    const range = new Range();
    range.setStart(pieces[first].node, match.index - pieces[first].start);
    range.setEnd(pieces[last].node, Math.min(end - pieces[last].start, pieces[last].node.length));
    ranges.push(range);
  }
  return ranges;
}

export function clearHighlights() {
  if (isSupported) for (const name of ["match", "current-match"]) CSS.highlights.delete(name);
}

// Highlight the matches of all loaded items, and differently those of the current one.
export function highlightMatches(terms, currentItem) {
  clearHighlights();
  if (!isSupported || !terms.length) return;
  const ranges = [];
  for (const item of findItems()) {
    if (ranges.length >= MAX_RANGES) break;
    ranges.push(...findRanges(item, terms, MAX_RANGES - ranges.length));
  }
  CSS.highlights.set("match", new Highlight(...ranges));
  if (currentItem) CSS.highlights.set("current-match", new Highlight(...findRanges(currentItem, terms)));
}

// Scroll to a range, also within the boxes that hold it.
export function scrollToRange(range) {
  const holder = range.startContainer.parentElement;
  for (let box = holder; box && box !== document.body; box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    const offset = range.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (offset < 0 || offset > box.clientHeight - 24) box.scrollTop += offset - box.clientHeight / 2;
  }
  const { top } = range.getBoundingClientRect();
  if (top < innerHeight * 0.25 || top > innerHeight * 0.8) {
    window.scrollBy({ top: top - innerHeight * 0.4, behavior: "instant" });
  }
}
