// Windows of a conversation: the page keeps a few, and a link stands for those that it lacks.
import { byId, findAll } from "../dom.js";
import { findWindows } from "./scroll-position.js";

const MAX_WINDOWS = 8;
const MAX_TAIL_ITEMS = 50; // children of the last window, after which new items begin another
const MIN_GROUP_CALLS = 3; // as the server has it: fewer calls are not folded into a group
const MIN_DISTANCE = 1.5; // screens: nearer windows are not removed

export const isLoadMore = (element) => Boolean(element && element.matches(".load-more"));
const isWindow = (element) => Boolean(element && element.matches(".window"));

// Return the links on one side of an element, and the window beyond them.
function findNeighbour(element, side) {
  const links = [];
  let sibling = element[side];
  for (; isLoadMore(sibling); sibling = sibling[side]) links.push(sibling);
  return { links, window: isWindow(sibling) ? sibling : null };
}

const EARLIER = { direction: "earlier", rel: "prev", edge: "first", parameter: "before", text: "Earlier events" };
const LATER = { direction: "later", rel: "next", edge: "last", parameter: "after", text: "Later events" };
// Make the link that conversations/_window.html renders beside a window.
function makeLoadMore(kind, neighbour) {
  const { href, query } = neighbour.closest("#transcript").dataset;
  const link = document.createElement("a");
  const url = `${href}?${kind.parameter}=${neighbour.dataset[kind.edge]}${query && `&${query}`}`;
  const attributes = { href: url, rel: kind.rel, "hx-get": url, "hx-target": "closest .load-more", "hx-swap": "outerHTML", "hx-trigger": "click, near" };
  for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
  link.textContent = kind.text;
  const loadMore = document.createElement("p");
  loadMore.className = "load-more";
  loadMore.dataset.direction = kind.direction;
  loadMore.append(link);
  return loadMore;
}

// A window that holds the focus or a selection is not removed.
function isInUse(element) {
  const selection = getSelection();
  const isSelected = selection.rangeCount && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(element);
  return isSelected || element.contains(document.activeElement);
}
// Return the distance of a window from the view, in screens.
function getDistance(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return Math.max(top - innerHeight, -bottom) / innerHeight;
}

function removeWindow(element) {
  const before = findNeighbour(element, "previousElementSibling");
  const after = findNeighbour(element, "nextElementSibling");
  for (const link of [...before.links, ...after.links]) link.remove();
  const links = [];
  if (before.window) links.push(makeLoadMore(LATER, before.window));
  if (after.window) links.push(makeLoadMore(EARLIER, after.window));
  element.replaceWith(...links);
}

// Remove the farthest windows, until MAX_WINDOWS are left.
export function removeFarWindows() {
  for (let windows = findWindows(); windows.length > MAX_WINDOWS; windows = findWindows()) {
    const candidates = windows.filter((element) => getDistance(element) > MIN_DISTANCE && !isInUse(element));
    if (!candidates.length) return;
    removeWindow(candidates.reduce((one, other) => (getDistance(other) > getDistance(one) ? other : one)));
  }
}

// The items of a window and of its groups of calls, with their annotations.
const findParts = (element) => findAll(":scope > [id], :scope > .call-group > [id]", element);

// Let the summary of a group of calls say which it still holds; too few of them are not folded.
function updateGroup(group) {
  const calls = findAll(":scope > [data-tool]", group);
  if (calls.length < MIN_GROUP_CALLS) return group.replaceWith(...findAll(":scope > :not(summary)", group));
  const counts = new Map();
  for (const { textContent: tool } of calls.map((call) => call.querySelector("summary strong"))) {
    counts.set(tool, (counts.get(tool) || 0) + 1);
  }
  const summary = group.querySelector("summary");
  summary.querySelector("strong").textContent = `${calls.length} calls`;
  const byCount = [...counts].sort(([, one], [, other]) => other - one);
  summary.querySelector(".hint").textContent = byCount.map(([tool, count]) => `${count} × ${tool}`).join(", ");
  const [time, startTime] = [summary, calls[0]].map((element) => element.querySelector("time"));
  if (time && startTime) time.replaceWith(startTime.cloneNode(true));
}

// A loaded window may overlap its neighbours: remove the items that the page has twice, and the link
// between windows that overlap.
export function mergeOverlap(loadedWindow) {
  for (const side of ["previousElementSibling", "nextElementSibling"]) {
    const { links, window: neighbour } = findNeighbour(loadedWindow, side);
    if (!neighbour || !links.length) continue;
    const knownIds = new Set(findParts(neighbour).map((item) => item.id));
    const duplicates = findParts(loadedWindow).filter((item) => knownIds.has(item.id));
    const groups = new Set(duplicates.map((item) => item.closest(".call-group")).filter(Boolean));
    for (const element of [...duplicates, ...(duplicates.length ? links : [])]) element.remove();
    groups.forEach(updateGroup);
    if (!duplicates.length) continue;
    if (side === "previousElementSibling") loadedWindow.dataset.first = Number(neighbour.dataset.last) + 1;
    else loadedWindow.dataset.last = Number(neighbour.dataset.first) - 1;
    if (neighbour.id) loadedWindow.removeAttribute("id");
  }
  if (!loadedWindow.querySelector("[data-kind]")) loadedWindow.remove();
}

// Move the items after ``lastItem`` of a full last window to a window of their own, whose items are at
// ``position`` or later; tell whether any were moved.
export function splitTail(position, lastItem) {
  const tail = byId("transcript-end");
  if (!tail || !lastItem || lastItem.parentElement !== tail || !lastItem.nextElementSibling || tail.childElementCount < MAX_TAIL_ITEMS) return false;
  const newTail = tail.cloneNode(false);
  tail.removeAttribute("id");
  tail.dataset.last = position - 1;
  newTail.dataset.first = position;
  while (lastItem.nextSibling) newTail.append(lastItem.nextSibling);
  tail.after(newTail);
  return true;
}
