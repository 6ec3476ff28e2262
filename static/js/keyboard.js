// Keys of a page, and the dialog in which "?" lists them.
import { on } from "./dom.js";

const groups = [];

// Bind keys: [["j ArrowDown", "Next conversation", fn], …]. Where fn returns false, nothing of ours
// happened and the browser goes on.
export function keys(title, table) {
  groups.push([title, table.map(([names, label, fn]) => ({ names: names.split(" "), label, fn }))]);
}

// Off while somebody types and in a form, with Ctrl and its like, and where the browser has the key:
// a control is pressed by Enter and the space bar, but links of rows have keys of ours.
const BUSY = "input, textarea, select, form, dialog, .card, [contenteditable]";
const PRESSED = "button, summary, a:not([data-keys])";
const PRESSES = ["Enter", " "];
const CHORD = 1000; // milliseconds between the two keys of "gg"
const plain = (event) =>
  event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey);
let before = { key: "", at: 0 };
// Off as well for whoever types on where a field was taken away, until they do something else.
let unwritten = false;
on("jpweb:unwritten", () => { unwritten = true; });
for (const name of ["pointerdown", "focusin"]) on(name, () => { unwritten = false; }, true);
on("keydown", (event) => {
  if (event.defaultPrevented || unwritten || !groups.length || event.isComposing || !plain(event)) return;
  const { target, key } = event;
  if (!target.closest || target.closest(BUSY)) return;
  if (PRESSES.includes(key) && target.closest(PRESSED)) return;
  if (key === "?") {
    event.preventDefault();
    list();
    return;
  }
  const chord = event.timeStamp - before.at < CHORD ? before.key + key : "";
  before = { key, at: event.timeStamp };
  const found = groups.flatMap(([, table]) => table).find(({ names }) => names.includes(key) || names.includes(chord));
  if (found && found.fn(event) !== false) event.preventDefault();
});

const NAMES = {
  ArrowDown: ["↓"], ArrowUp: ["↑"], ArrowLeft: ["←"], ArrowRight: ["→"],
  " ": ["Space"], Enter: ["Enter"], Escape: ["Esc"],
};
const made = (tag, text = "", props = {}) => Object.assign(document.createElement(tag), { textContent: text }, props);

function list() {
  const dialog = made("dialog", "", { className: "keys-list" });
  dialog.setAttribute("aria-labelledby", "keys-title");
  dialog.append(made("h2", "Keyboard shortcuts", { id: "keys-title" }));
  for (const [title, table] of [...groups, ["General", [{ names: ["?"], label: "Show shortcuts" }, { names: ["Escape"], label: "Close" }]]]) {
    const rows = made("dl");
    for (const { names, label } of table) {
      const row = made("div");
      const shown = made("dt");
      names.forEach((name, nth) => {
        shown.append(nth ? " or " : "");
        for (const key of NAMES[name] || name) shown.append(made("kbd", key));
      });
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
