// The address of the page: it says what the page shows, so that a copy shows the same.

export const says = (name) => new URLSearchParams(location.search).get(name) || "";
// The folds that it says something of.
export const named = (name) => says(name).split(",").filter(Boolean);

// The address with some of what it says changed; what is empty does not stand in it.
export function changed(changes, hash = location.hash) {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  for (const name of ["shut", "open"]) { // the longest come last
    const folds = query.get(name);
    query.delete(name);
    if (folds) query.set(name, folds);
  }
  const text = query.toString().replaceAll("%2C", ",");
  return location.pathname + (text && `?${text}`) + hash;
}

// Where in a conversation the page is.
export const WHERE = { at: "", turn: "", after: "", before: "" };
const place = () => [...Object.keys(WHERE), "show"].map(says).join();
let shown = place();

// A browser that was asked too often refuses; the address is right again the next time.
export function restate(changes, hash = location.hash) {
  try { history.replaceState(history.state, "", changed(changes, hash)); } catch { return; }
  shown = place();
}
export function enter(address) {
  history.pushState(null, "", address);
  shown = place();
}

// Back in the history, to what is not on the page any more. Until it is loaded, the address is that
// of another place than the page shows: nobody may note that somebody stands here.
let leaving = false;
export const isLeaving = () => leaving;
window.addEventListener("popstate", () => {
  if (!document.getElementById("transcript") || place() === shown) return;
  leaving = true;
  location.reload();
});
