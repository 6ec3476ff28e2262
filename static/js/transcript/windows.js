// Windows of a conversation: a few stay on the page, and a link stands for what does not.
import { byId } from "../dom.js";
import { windows } from "./scroll-position.js";

const MOST = 8; // windows that stay
const FULL = 50; // children of the last one, after which what comes begins another
const FAR = 1.5; // screens away: what may leave

export const isWay = (each) => Boolean(each && each.matches(".way"));
export const isWindow = (each) => Boolean(each && each.matches(".window"));

// The ways on one side of something, and the window behind them.
function past(each, side) {
  const found = [];
  let next = each[side];
  for (; isWay(next); next = next[side]) found.push(next);
  return { ways: found, window: isWindow(next) ? next : null };
}

const EARLIER = { way: "earlier", rel: "prev", from: "first", name: "before", text: "Earlier events" };
const LATER = { way: "later", rel: "next", from: "last", name: "after", text: "Later events" };
function made(kind, beside) {
  const { href, query } = beside.closest("#transcript").dataset;
  const link = document.createElement("a");
  const address = `${href}?${kind.name}=${beside.dataset[kind.from]}${query && `&${query}`}`;
  const says = { href: address, rel: kind.rel, "hx-get": address, "hx-target": "closest .way", "hx-swap": "outerHTML", "hx-trigger": "click, near" };
  for (const [name, value] of Object.entries(says)) link.setAttribute(name, value);
  link.textContent = kind.text;
  const way = document.createElement("p");
  way.className = "way";
  way.dataset.way = kind.way;
  way.append(link);
  return way;
}

// None leaves that holds the focus or a selection, or is near.
function kept(each) {
  const selection = getSelection();
  const selected = selection.rangeCount && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(each);
  return selected || each.contains(document.activeElement);
}
function away(each) {
  const { top, bottom } = each.getBoundingClientRect();
  return Math.max(top - innerHeight, -bottom) / innerHeight;
}

function leave(each) {
  const before = past(each, "previousElementSibling");
  const after = past(each, "nextElementSibling");
  for (const way of [...before.ways, ...after.ways]) way.remove();
  const links = [];
  if (before.window) links.push(made(LATER, before.window));
  if (after.window) links.push(made(EARLIER, after.window));
  each.replaceWith(...links);
}

// Let the farthest leave, until few enough are left.
export function trim() {
  for (let left = windows(); left.length > MOST; left = windows()) {
    const may = left.filter((each) => away(each) > FAR && !kept(each));
    if (!may.length) return;
    leave(may.reduce((one, other) => (away(other) > away(one) ? other : one)));
  }
}

// What came may be there already, where two stretches of the transcript meet: then no way is
// left between them.
export function meet(fresh) {
  for (const side of ["previousElementSibling", "nextElementSibling"]) {
    const { ways, window: other } = past(fresh, side);
    if (!other || !ways.length) continue;
    const known = new Set([...other.children].map((each) => each.id).filter(Boolean));
    const twice = [...fresh.children].filter((each) => known.has(each.id));
    for (const each of [...twice, ...(twice.length ? ways : [])]) each.remove();
    if (!twice.length) continue;
    if (side === "previousElementSibling") fresh.dataset.first = Number(other.dataset.last) + 1;
    else fresh.dataset.last = Number(other.dataset.first) - 1;
    if (other.id) fresh.removeAttribute("id");
  }
  if (!fresh.querySelector("[data-kind]")) fresh.remove();
}

// What came behind an element of a full last window begins a window of its own: everything in it
// stands at this position or later. Whether it did.
export function cut(position, last) {
  const tail = byId("tail");
  if (!tail || !last || last.parentElement !== tail || !last.nextElementSibling || tail.childElementCount < FULL) return false;
  const next = tail.cloneNode(false);
  tail.removeAttribute("id");
  tail.dataset.last = position - 1;
  next.dataset.first = position;
  while (last.nextSibling) next.append(last.nextSibling);
  tail.after(next);
  return true;
}
