// Lighting of what was looked for, without a change of the text; where the browser cannot, there
// is none.
import { items } from "./scroll-position.js";

const MOST = 2000; // ranges
const LONGEST = 300000; // characters of an item that are looked through
const able = Boolean(window.CSS && CSS.highlights && window.Highlight);

// As jpweb.store.search.find_in_conversation.terms reads them: words, and phrases in double quotes.
export function terms(words) {
  const found = [...words.matchAll(/"([^"]*)"?|(\S+)/g)].map(([, phrase, word]) => {
    if (word === undefined) return phrase.trim();
    return word.length > 1 && word.startsWith("-") ? "" : word.replace(/\*+$/, "").replace(/^"+|"+$/g, "");
  });
  return [...new Set(found.filter(Boolean))].slice(0, 8);
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
function pattern(looked) {
  const longest = [...looked].sort((one, other) => other.length - one.length);
  return new RegExp(longest.map(escaped).join("|"), "giu");
}

// The ranges in an element; what is found may begin in one piece of text and end in another.
export function ranges(root, looked, most = MOST) {
  if (!looked.length) return [];
  const pieces = [];
  let text = "";
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode() && text.length < LONGEST) {
    const node = walker.currentNode;
    if (node.parentElement.closest(".copies, .rest")) continue;
    pieces.push({ node, from: text.length });
    text += node.data;
  }
  const found = [];
  let piece = 0;
  for (const match of text.matchAll(pattern(looked))) {
    if (found.length >= most) break;
    const end = match.index + match[0].length;
    while (piece + 1 < pieces.length && pieces[piece + 1].from <= match.index) piece += 1;
    let last = piece;
    while (last + 1 < pieces.length && pieces[last + 1].from < end) last += 1;
    const range = new Range();
    range.setStart(pieces[piece].node, match.index - pieces[piece].from);
    range.setEnd(pieces[last].node, Math.min(end - pieces[last].from, pieces[last].node.length));
    found.push(range);
  }
  return found;
}

export function dark() {
  if (able) for (const name of ["found", "found-here"]) CSS.highlights.delete(name);
}

// Light it in all that is loaded, and apart in the one item that somebody is at.
export function light(looked, here) {
  dark();
  if (!able || !looked.length) return;
  const every = [];
  for (const item of items()) {
    if (every.length >= MOST) break;
    every.push(...ranges(item, looked, MOST - every.length));
  }
  CSS.highlights.set("found", new Highlight(...every));
  if (here) CSS.highlights.set("found-here", new Highlight(...ranges(here, looked)));
}

// Bring a range before the reader's eyes, in the box that it may be scrolled in as well.
export function bring(range) {
  const holder = range.startContainer.parentElement;
  for (let box = holder; box && box !== document.body; box = box.parentElement) {
    if (box.scrollHeight <= box.clientHeight || !/auto|scroll/.test(getComputedStyle(box).overflowY)) continue;
    const there = range.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (there < 0 || there > box.clientHeight - 24) box.scrollTop += there - box.clientHeight / 2;
  }
  const { top } = range.getBoundingClientRect();
  if (top < innerHeight * 0.25 || top > innerHeight * 0.8) {
    window.scrollBy({ top: top - innerHeight * 0.4, behavior: "instant" });
  }
}
