// Loads earlier and later windows while a person scrolls towards them; the view keeps its position.
import { byId, findAll, on } from "../dom.js";
import { replaceElement } from "../preserve-state.js";
import { fetchResponse } from "../requests.js";
import { sendPageState } from "../socket.js";
import { findWindows, focusItem, keepPosition } from "./scroll-position.js";
import { pushUrl } from "./url-state.js";
import { isLoadMore, mergeOverlap, removeFarWindows } from "./windows.js";

// Report that the page has other windows. A window may be older than updates that the page got since
// it was requested: the page then reports the older state, and the server sends them again.
export function reportWindows() {
  for (const element of findWindows()) {
    for (const name of ["entryCount", "revision"]) {
      const value = element.dataset[name];
      if (value && Number(value) < Number(byId("counts").dataset[name])) byId("counts").dataset[name] = value;
      delete element.dataset[name];
    }
  }
  for (const element of findAll("#transcript > .load-more")) observer.observe(element);
  sendPageState();
  document.dispatchEvent(new CustomEvent("jpweb:windows"));
}

// One window is loaded at a time: the link that stands for it.
let loading = null;
const findLoadMore = (event) => event.target.closest && event.target.closest("#transcript > .load-more");
on("htmx:beforeRequest", (event) => { loading = findLoadMore(event) || loading; });
on("htmx:afterRequest", (event) => { if (findLoadMore(event) || !(loading && loading.isConnected)) loading = null; });

// Swapped here, not by htmx, so that the scroll position is corrected in the same frame.
on("htmx:beforeSwap", (event) => {
  const loadMore = findLoadMore(event);
  if (!loadMore || !event.detail.shouldSwap) return;
  event.detail.shouldSwap = false;
  const isEarlier = loadMore.dataset.direction === "earlier";
  const hasFocus = loadMore.contains(document.activeElement);
  const knownWindows = new Set(findWindows());
  keepPosition(() => {
    swapIn(loadMore, event.detail.serverResponse);
    const loadedWindow = findWindows().find((element) => !knownWindows.has(element));
    if (!loadedWindow) return;
    mergeOverlap(loadedWindow);
    const items = findAll(":scope > :is([data-kind]:not(.turn-anchor), .call-group)", loadedWindow);
    if (hasFocus && items.length) focusItem(isEarlier ? items.at(-1) : items[0]);
  });
  keepPosition(removeFarWindows);
  loading = null;
  reportWindows();
});
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    const loadMore = findLoadMore(event);
    if (!loadMore) return;
    loadMore.dataset.failed = "";
    loadMore.querySelector("a").textContent = "Couldn't load these events. Retry";
    document.dispatchEvent(new CustomEvent("jpweb:windows"));
  });
}
const swapIn = (target, html, select) => htmx.swap(
  target, html, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0, ignoreTitle: true }, { select });

// An inserted item may be on the page already, in a window that was loaded meanwhile: it replaces the
// older state there.
on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (!(fragment instanceof Element) || !target.closest("#transcript > .window")) return;
  for (const newer of findAll(":scope > [id]", fragment)) {
    const older = byId(newer.id);
    if (!older) continue;
    replaceElement(older, newer);
    const following = newer.nextElementSibling;
    for (const element of [newer, ...(following && following.matches(".omissions") ? [following] : [])]) element.remove();
  }
});

// At the top of the page earlier windows load only once a person scrolls up. Where two links meet,
// the nearer window is loaded.
let hasScrolledUp = location.hash.length > 1;
function isWanted(loadMore) {
  if ("failed" in loadMore.dataset) return false;
  const { top, bottom } = loadMore.getBoundingClientRect();
  const isBesideOther = isLoadMore(loadMore.previousElementSibling) || isLoadMore(loadMore.nextElementSibling);
  if (loadMore.dataset.direction === "later") return !isBesideOther || top > innerHeight / 2;
  return hasScrolledUp && (!isBesideOther || bottom <= innerHeight / 2);
}
const nearbyLinks = new Set();
function loadWanted() {
  for (const loadMore of nearbyLinks) {
    if (!loadMore.isConnected) nearbyLinks.delete(loadMore);
    else if (!loading && isWanted(loadMore)) requestWindow(loadMore);
  }
}
function requestWindow(loadMore) {
  delete loadMore.dataset.failed;
  htmx.process(loadMore);
  htmx.trigger(loadMore.querySelector("a"), "near");
}
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) nearbyLinks[isIntersecting ? "add" : "delete"](target);
  loadWanted();
}, { rootMargin: "100% 0px" });

let lastScrollY = scrollY;
function handleScroll(isUp) {
  hasScrolledUp = hasScrolledUp || isUp;
  if (nearbyLinks.size) loadWanted();
}
on("scroll", () => {
  handleScroll(scrollY < lastScrollY);
  lastScrollY = scrollY;
}, { passive: true });
on("wheel", (event) => handleScroll(event.deltaY < 0), { passive: true });

// Load the window that a link stands for; resolve to whether it was loaded.
export const loadWindow = (loadMore) => new Promise((resolve) => {
  const finish = () => {
    if (loadMore.isConnected && !("failed" in loadMore.dataset)) return;
    document.removeEventListener("jpweb:windows", finish);
    resolve(!loadMore.isConnected);
  };
  on("jpweb:windows", finish);
  if (loading !== loadMore) requestWindow(loadMore);
});

// Replace the transcript by another part of the conversation, with a new URL. Resolve to whether it was
// loaded; to null where another part was asked for meanwhile, which is shown instead.
let lastPartNumber = 0;
export async function showPart(query, url, headers) {
  const number = ++lastPartNumber;
  const { href, query: filterQuery } = byId("transcript").dataset;
  const requestUrl = `${href}?${[query, filterQuery].filter(Boolean).join("&")}`;
  const response = await fetchResponse(requestUrl, { headers: { Accept: "text/html", ...headers } });
  const html = response && response.ok && await response.text();
  if (number !== lastPartNumber) return null;
  if (!html) return false;
  if (url) pushUrl(url);
  const outlineBody = document.querySelector(".outline-body");
  for (const id of ["#outline", "#transcript"]) if (document.querySelector(id)) swapIn(id, html, id);
  document.dispatchEvent(new CustomEvent("jpweb:outline", { detail: !outlineBody || outlineBody.open }));
  hasScrolledUp = true;
  reportWindows();
  return true;
}

for (const element of findAll("#transcript > .load-more")) observer.observe(element);
for (const { dataset } of findWindows()) for (const name of ["entryCount", "revision"]) delete dataset[name];
