// Folds: which are open, and which are shut that are open by themselves, stands in the address, so
// that whoever it is given to sees the same.
import { named, restate } from "./url-state.js";
import { all, byId, on } from "../dom.js";

const NAMED = 50; // anchors in an address
const SOON = 200; // milliseconds; browsers bear no change of the address for each fold
const shut = new Set(named("shut"));
const opened = new Set(named("open").filter((anchor) => !shut.has(anchor)));
// These are open unless somebody folds them.
const byDefault = (fold) => fold.matches(".inquiry:not([data-outcome=answered])");

let soon;
function write() {
  clearTimeout(soon);
  const last = (anchors) => [...anchors].slice(-NAMED).join(",");
  soon = setTimeout(() => restate({ open: last(opened), shut: last(shut) }), SOON);
}
// Whether that changed anything.
function name(anchors, anchor, is) {
  if (anchors.has(anchor) === is) return false;
  anchors[is ? "add" : "delete"](anchor);
  return true;
}
on("toggle", (event) => {
  const fold = event.target;
  if (!fold.id || !fold.matches("#transcript .fold")) return;
  const opens = name(opened, fold.id, fold.open && !byDefault(fold));
  const shuts = name(shut, fold.id, !fold.open && byDefault(fold));
  if (opens || shuts) write();
}, true);

// What comes again is as it was left, before anybody measures it.
on("htmx:load", ({ target }) => {
  for (const fold of [target, ...all("details[id]", target)]) {
    if (!fold.matches("#transcript .fold")) continue;
    if (opened.has(fold.id)) fold.open = true;
    if (shut.has(fold.id)) fold.open = false;
  }
});

// All of them, of what is loaded.
function every(open, says) {
  const folds = all("#transcript > .window details");
  for (const fold of folds) fold.open = open;
  const part = document.querySelector("#transcript > .way") ? ", loaded events only" : "";
  byId("announcer").textContent = `${says} ${folds.length} section${folds.length === 1 ? "" : "s"}${part}.`;
}
export const unfoldAll = () => every(true, "Expanded");
export const foldAll = () => every(false, "Collapsed");
for (const [selector, does] of [["[data-unfold]", unfoldAll], ["[data-fold]", foldAll]]) {
  for (const button of all(selector)) {
    button.hidden = false;
    button.title = "Loaded events only";
    button.addEventListener("click", does);
  }
}
