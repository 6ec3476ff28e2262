// The current item, and steps to the next or previous item of a sort, also where it is not loaded.
import { announce, byId, findAll, makeElement } from "../dom.js";
import { fetchResponse } from "../requests.js";
import { loadWindow, showPart } from "./infinite-scroll.js";
import { findFirstInView, findItems, focusItem, getHeaderEdge, getTop } from "./scroll-position.js";
import { NO_POSITION, buildUrl, replaceUrl } from "./url-state.js";

const FIND_BY_SORT = {
  item: () => findItems(),
  prompt: () => findAll("#transcript > .window > [data-kind=chat_request]"),
  inquiry: () => findAll("#transcript > .window details.inquiry"),
  problem: () => findAll("#transcript > .window :is(.result.failed, .fold.unknown, .inquiry[data-outcome=cancelled]:not([data-reason=user]))"),
};
const SORT_LABELS = { item: "event", prompt: "prompt", inquiry: "question", problem: "problem" };

const TOAST_TIME_MS = 1800;
export function showToast(toast) {
  for (const older of findAll("body > .toast")) older.remove();
  document.body.append(toast);
  setTimeout(() => toast.remove(), TOAST_TIME_MS);
}
// Screen readers read the announcer, so the toast is hidden from them.
export function announceWithToast(text) {
  announce(text);
  const toast = makeElement("p", { className: "toast", textContent: text });
  toast.setAttribute("aria-hidden", "true");
  showToast(toast);
}
const LOAD_FAILED_TEXT = "Couldn't load. Try again.";

// The current item by its id, since a swap may replace the element.
let currentId = "";
// An item in a closed fold has the position of the fold.
const getVisibleElement = (item) => (item.checkVisibility() ? item : item.closest(".window > *"));
export function findCurrent() {
  const item = currentId && byId(currentId);
  if (!item || !item.closest("#transcript")) return null;
  const { top, bottom } = getVisibleElement(item).getBoundingClientRect();
  return bottom > 0 && top < innerHeight ? item : null;
}

export function makeCurrent(item) {
  for (const older of findAll("#transcript [aria-current]")) older.removeAttribute("aria-current");
  for (let ancestor = item.parentElement; ancestor; ancestor = ancestor.parentElement) {
    if (ancestor.matches("details")) ancestor.open = true;
  }
  currentId = item.id;
  item.setAttribute("aria-current", "true");
  item.scrollIntoView({ block: "start", behavior: "instant" });
  focusItem(item);
}
// Return the element of an anchor; for an outcome that of its question.
const findByAnchor = (anchor) => {
  const element = byId(anchor);
  return element && (element.closest("details.inquiry") || element);
};

// Go to an event by its anchor, or by that of its item where the event has no element of its own.
export async function goTo({ anchor, item }, parameters = {}, onArrival = makeCurrent) {
  const findTarget = () => findByAnchor(anchor) || findByAnchor(item);
  const url = buildUrl({ ...NO_POSITION, at: anchor, ...parameters }, `#${anchor}`);
  if (!findTarget()) {
    const isLoaded = await showPart(`at=${anchor}`, url);
    if (isLoaded === false) announceWithToast(LOAD_FAILED_TEXT);
    if (!isLoaded) return null;
  }
  const target = findTarget();
  if (target) onArrival(target);
  return target;
}

const isBefore = (one, other) => Boolean(one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING);
function findNeighbour(elements, step) {
  const current = findCurrent();
  if (current) {
    return step > 0
      ? elements.find((element) => isBefore(current, element))
      : elements.findLast((element) => isBefore(element, current));
  }
  const edge = getHeaderEdge() - 1;
  const isBelowEdge = (element) => getTop(getVisibleElement(element)) >= edge;
  return step > 0 ? elements.find(isBelowEdge) : elements.findLast((element) => !isBelowEdge(element));
}

const URL_DELAY_MS = 200; // browsers limit how often a URL changes
let urlTimer;
function stepOnto(item) {
  makeCurrent(item);
  clearTimeout(urlTimer);
  urlTimer = setTimeout(() => {
    if (currentId === item.id) replaceUrl({ ...NO_POSITION, at: currentId }, `#${currentId}`);
  }, URL_DELAY_MS);
}

// Steps that are asked for while one loads follow it.
const MAX_QUEUED_STEPS = 20;
const LOADING_DELAY_MS = 300; // after which a step that loads says so
let isStepping = false;
const queuedSteps = [];
export async function stepTo(sort, step) {
  if (isStepping) {
    if (queuedSteps.length < MAX_QUEUED_STEPS) queuedSteps.push([sort, step]);
    return;
  }
  isStepping = true;
  const timer = setTimeout(announceWithToast, LOADING_DELAY_MS, "Loading…");
  try { await takeStep(sort, step); } finally {
    clearTimeout(timer);
    isStepping = false;
  }
  if (queuedSteps.length) await stepTo(...queuedSteps.shift());
}
async function takeStep(sort, step) {
  const target = findNeighbour(FIND_BY_SORT[sort](), step);
  // A window that is not loaded may hold a nearer target, if it lies between loaded ones.
  const hasWindowBeyond = (element) => (step > 0 ? element.previousElementSibling : element.nextElementSibling);
  const loadMore = findNeighbour(findAll("#transcript > .load-more").filter(hasWindowBeyond), step);
  const isTargetBeyond = loadMore && target && (step > 0 ? isBefore(loadMore, target) : isBefore(target, loadMore));
  if (target && !isTargetBeyond) return stepOnto(target);
  const noneText = `No ${step > 0 ? "later" : "earlier"} ${SORT_LABELS[sort]}.`;
  if (!loadMore) return announceWithToast(noneText);
  if (sort === "item") return (await loadWindow(loadMore)) ? takeStep(sort, step) : announceWithToast(LOAD_FAILED_TEXT);
  const neighbour = step > 0 ? loadMore.previousElementSibling : loadMore.nextElementSibling;
  const from = neighbour.dataset[step > 0 ? "last" : "first"];
  const next = await fetchJson("step", { what: sort, to: step > 0 ? "next" : "previous", from });
  if (!next) return announceWithToast(LOAD_FAILED_TEXT);
  if (!next.anchor) return announceWithToast(noneText);
  await goTo(next, {}, stepOnto);
}

// Return the JSON of one of the conversation's pages, null where the request failed.
export async function fetchJson(path, query) {
  const url = `${byId("transcript").dataset.href}/${path}?${new URLSearchParams(query)}`;
  const response = await fetchResponse(url, { headers: { Accept: "application/json" } });
  return response && response.ok ? response.json() : null;
}

// Go to the first or the last item of the conversation.
export async function goToEnd(step) {
  const loadMore = document.querySelector(`#transcript > .load-more[data-direction=${step > 0 ? "later" : "earlier"}]`);
  const position = step > 0 ? "end" : "0";
  if (loadMore) {
    const isLoaded = await showPart(`at=${position}`, buildUrl({ ...NO_POSITION, at: position }, ""));
    if (isLoaded === false) announceWithToast(LOAD_FAILED_TEXT);
    if (!isLoaded) return;
  }
  const item = findItems().at(step > 0 ? -1 : 0);
  if (item) makeCurrent(item);
  if (step < 0) window.scrollTo({ top: 0, behavior: "instant" });
}

export function toggleFold() {
  const focusedFold = document.activeElement.closest("#transcript details");
  const item = findCurrent() || findFirstInView();
  const fold = focusedFold || (item && item.matches("details") ? item : null);
  if (!fold) return false;
  fold.open = !fold.open;
  return true;
}
