// Folds: which are open stands in the address, so that whoever it is given to sees the same.
import { restate, says } from "./address.js";
import { all, byId, on } from "../page.js";

const NAMED = 50; // anchors in an address
const SOON = 200; // milliseconds; browsers bear no change of the address for each fold
const opened = new Set(says("open").split(",").filter(Boolean));
// These are open unless somebody folds them.
const byDefault = (fold) => fold.matches(".inquiry:not([data-outcome=answered])");

let soon;
function write() {
  clearTimeout(soon);
  soon = setTimeout(() => restate({ open: [...opened].slice(-NAMED).join(",") }), SOON);
}
on("toggle", (event) => {
  const fold = event.target;
  if (!fold.id || !fold.matches("#transcript .fold") || byDefault(fold)) return;
  if (fold.open === opened.has(fold.id)) return;
  opened[fold.open ? "add" : "delete"](fold.id);
  write();
}, true);

// What comes again is as it was left.
on("jpweb:windows", () => {
  for (const anchor of opened) {
    const fold = byId(anchor);
    if (fold && fold.matches("details")) fold.open = true;
  }
});

// All of them, of what is loaded.
function every(open, says) {
  const folds = all("#transcript > .window details");
  for (const fold of folds) fold.open = open;
  const part = document.querySelector("#transcript > .way") ? " of what is loaded" : "";
  byId("announcer").textContent = `${says}: ${folds.length} folds${part}.`;
}
export const unfoldAll = () => every(true, "Unfolded");
export const foldAll = () => every(false, "Folded");
for (const [selector, does] of [["[data-unfold]", unfoldAll], ["[data-fold]", foldAll]]) {
  for (const button of all(selector)) {
    button.hidden = false;
    button.title = "Of what is loaded";
    button.addEventListener("click", does);
  }
}
