// Keys of a page, and the dialog in which "?" lists them.
import { on } from "./page.js";

const groups = [];

// Bind keys: [["j ArrowDown", "Next conversation", fn], …]. Where fn returns false, nothing of ours
// happened and the browser goes on.
export function keys(title, table) {
  groups.push([title, table.map(([names, label, fn]) => ({ names: names.split(" "), label, fn }))]);
}

// Off while somebody types, and on a control that has keys of its own; links of rows have ours.
const BUSY = "input, textarea, select, button, summary, dialog, [contenteditable], a:not([data-keys])";
on("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (!groups.length || (event.target.closest && event.target.closest(BUSY))) return;
  if (event.key === "?") {
    event.preventDefault();
    list();
    return;
  }
  for (const [, table] of groups) {
    const found = table.find((each) => each.names.includes(event.key));
    if (!found) continue;
    if (found.fn(event) !== false) event.preventDefault();
    return;
  }
});

const NAMES = { ArrowDown: "↓", ArrowUp: "↑", ArrowLeft: "←", ArrowRight: "→", " ": "Space" };
const made = (tag, text = "", props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props);

function list() {
  const dialog = made("dialog", "", { className: "keys-list" });
  dialog.setAttribute("aria-labelledby", "keys-title");
  dialog.append(made("h2", "Keys", { id: "keys-title" }));
  for (const [title, table] of [...groups, ["Everywhere", [{ names: ["?"], label: "List the keys" }, { names: ["Escape"], label: "Close this list" }]]]) {
    const rows = made("dl");
    for (const { names, label } of table) {
      const row = made("div");
      const shown = made("dt");
      for (const name of names) shown.append(made("kbd", NAMES[name] || name), " ");
      row.append(shown, made("dd", label));
      rows.append(row);
    }
    dialog.append(made("h3", title), rows);
  }
  const close = made("button", "Close", { type: "button", className: "quiet-button" });
  close.addEventListener("click", () => dialog.close());
  dialog.append(close);
  // Whoever opened it has the focus again: the browser sees to that.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
