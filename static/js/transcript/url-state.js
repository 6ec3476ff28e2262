// The page's URL, which says what the page shows: a copied URL shows the same.

export const readParameter = (name) => new URLSearchParams(location.search).get(name) || "";
// The anchors of the folds that a parameter lists.
export const readAnchors = (name) => readParameter(name).split(",").filter(Boolean);

// Return the URL with changed parameters; empty ones are omitted.
export function buildUrl(changes, hash = location.hash) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  for (const name of ["shut", "open"]) { // the longest come last
    const anchors = query.get(name);
    query.delete(name);
    if (anchors) query.set(name, anchors);
  }
  const text = query.toString().replaceAll("%2C", ",");
  return location.pathname + (text && `?${text}`) + hash;
}

// The parameters that name a position in the conversation, all empty.
export const NO_POSITION = { at: "", turn: "", after: "", before: "" };
const describeView = () => [...Object.keys(NO_POSITION), "show"].map(readParameter).join();
let shownView = describeView();

// A browser refuses a change after too many; the next one succeeds and includes it.
export function replaceUrl(changes, hash = location.hash) {
  try { history.replaceState(history.state, "", buildUrl(changes, hash)); } catch { return; }
  shownView = describeView();
}
export function pushUrl(url) {
  history.pushState(null, "", url);
  shownView = describeView();
}

// Back to a view that is not on the page any more: until it is reloaded, the URL is not that of the
// page, and no scroll position may be saved for it.
let isReloading = false;
export const isLeaving = () => isReloading;
window.addEventListener("popstate", () => {
  if (!document.getElementById("transcript") || describeView() === shownView) return;
  isReloading = true;
  location.reload();
});
