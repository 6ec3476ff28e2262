// Folds: the URL lists those that were opened, and those that were closed although they are open by
// default, so that a copied URL shows the same.
import { announce, findAll, on } from "../dom.js";
import { readAnchors, replaceUrl } from "./url-state.js";

const MAX_ANCHORS = 50; // in each parameter
const URL_DELAY_MS = 200; // browsers limit how often a URL changes
const closedAnchors = new Set(readAnchors("shut"));
const openAnchors = new Set(readAnchors("open").filter((anchor) => !closedAnchors.has(anchor)));
const isOpenByDefault = (fold) => fold.matches(".inquiry:not([data-outcome=answered])");

let urlTimer;
function updateUrl() {
  clearTimeout(urlTimer);
  const joinAnchors = (anchors) => [...anchors].slice(-MAX_ANCHORS).join(",");
  urlTimer = setTimeout(() => replaceUrl({ open: joinAnchors(openAnchors), shut: joinAnchors(closedAnchors) }), URL_DELAY_MS);
}
// Add or remove an anchor; tell whether the set changed.
function toggleAnchor(anchors, anchor, isMember) {
  if (anchors.has(anchor) === isMember) return false;
  anchors[isMember ? "add" : "delete"](anchor);
  return true;
}
on("toggle", (event) => {
  const fold = event.target;
  if (!fold.id || !fold.matches("#transcript .fold")) return;
  const hasOpened = toggleAnchor(openAnchors, fold.id, fold.open && !isOpenByDefault(fold));
  const hasClosed = toggleAnchor(closedAnchors, fold.id, !fold.open && isOpenByDefault(fold));
  if (hasOpened || hasClosed) updateUrl();
}, true);

// A fold that is loaded again gets its state back, before anything measures its height.
on("htmx:load", ({ target }) => {
  for (const fold of [target, ...findAll("details[id]", target)]) {
    if (!fold.matches("#transcript .fold")) continue;
    if (openAnchors.has(fold.id)) fold.open = true;
    if (closedAnchors.has(fold.id)) fold.open = false;
  }
});

function setAllFolds(isOpen, verb) {
  const folds = findAll("#transcript > .window details");
  for (const fold of folds) fold.open = isOpen;
  const restriction = document.querySelector("#transcript > .load-more") ? ", loaded events only" : "";
  announce(`${verb} ${folds.length} section${folds.length === 1 ? "" : "s"}${restriction}.`);
}
const EXPANDING = [true, "Expanded"];
const COLLAPSING = [false, "Collapsed"];
export const expandAll = () => setAllFolds(...EXPANDING);
export const collapseAll = () => setAllFolds(...COLLAPSING);
for (const button of findAll(".toolbar > [data-expand-all], .toolbar > [data-collapse-all]")) {
  button.hidden = false;
  button.title = "Loaded events only";
}
on("click", ({ target }) => {
  const button = target.closest && target.closest("[data-expand-all], [data-collapse-all]");
  if (button) setAllFolds(...("expandAll" in button.dataset ? EXPANDING : COLLAPSING));
});
