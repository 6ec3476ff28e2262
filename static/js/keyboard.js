// Keyboard shortcuts of a page, and the dialog in which "?" lists them.
import { makeElement, on, personId } from "./dom.js";

const groups = [];
export const GLOBAL_TITLE = "Everywhere", REVIEW_TITLE = "Review";

// Bind keys: [["j ArrowDown", "Next conversation", action], …]. Where an action returns false, the
// browser's own action follows.
export function bindKeys(title, rows) {
  groups.push([title, rows.map(([names, label, action]) => ({ names: names.split(" "), label, action }))]);
}

// List keys that apply in one place of the page, and are bound there: [["y", "Yes"], …].
const listedGroups = [];
export function listKeys(title, rows) {
  listedGroups.push([title, rows.map(([name, label]) => ({ names: [name], label }))]);
}

// No shortcut applies in a form, with a modifier such as Ctrl, or where the browser uses the key:
// Enter and space press a control. Links with data-shortcuts have shortcuts for Enter.
// In a card only those of every page apply beside its own (card-keys.js), on a verdict and on the
// buttons beside it only those of reviewing.
const EXCLUDED = "input:not([data-review] [type=radio]), textarea, select, form:not(.card form, [data-review]), dialog, [contenteditable]";
const CONTROLS = "button, summary, a:not([data-shortcuts])";
const CONTROL_KEYS = ["Enter", " "];
const CHORD_TIMEOUT_MS = 1000; // between the two keys of "gg"
const hasNoModifier = (event) =>
  event.getModifierState("AltGraph") || !(event.ctrlKey || event.metaKey || event.altKey);
let previousKey = { key: "", time: 0 };
// A person whose field was removed while typing means no shortcut until they click or move on.
let wasFieldRemoved = false;
export const isFieldRemoved = () => wasFieldRemoved;
on("jpweb:field-removed", () => { wasFieldRemoved = true; });
for (const name of ["pointerdown", "focusin"]) on(name, () => { wasFieldRemoved = false; }, true);
on("keydown", (event) => {
  if (event.defaultPrevented || wasFieldRemoved || !(groups.length + listedGroups.length) || event.isComposing || !hasNoModifier(event)) return;
  const { target, key } = event;
  if (!target.closest || target.closest(EXCLUDED)) return;
  if (CONTROL_KEYS.includes(key) && target.closest(CONTROLS)) return;
  if (key === "?") {
    event.preventDefault();
    showShortcuts();
    return;
  }
  const chord = event.timeStamp - previousKey.time < CHORD_TIMEOUT_MS ? previousKey.key + key : "";
  previousKey = { key, time: event.timeStamp };
  const onlyTitle = target.closest(".card") ? GLOBAL_TITLE : target.closest("[data-review]") ? REVIEW_TITLE : "";
  const shortcuts = groups.filter(([title]) => !onlyTitle || title === onlyTitle).flatMap(([, rows]) => rows);
  const shortcut = (chord && shortcuts.find(({ names }) => names.includes(chord)))
    || shortcuts.find(({ names }) => names.includes(key));
  if (shortcut && shortcut.action(event) !== false) event.preventDefault();
});

// The shortcuts that apply to this page alone, without those that need a focused element.
export const findPageShortcuts = () => groups.filter(([title]) => title !== GLOBAL_TITLE)
  .flatMap(([, rows]) => rows).filter(({ names }) => names[0] !== "Enter" && names[0] !== "Escape");

const KEY_LABELS = {
  ArrowDown: ["↓"], ArrowUp: ["↑"], ArrowLeft: ["←"], ArrowRight: ["→"],
  " ": ["Space"], Enter: ["Enter"], Escape: ["Esc"], "Control+k": ["Ctrl", "K"], "1-9": ["1–9"],
};
const GENERAL_ROWS = [...(personId ? [{ names: ["Control+k"], label: "Go to…" }] : []), { names: ["?"], label: "Show shortcuts" }, { names: ["Escape"], label: "Close" }];

function makeRow({ names, label }) {
  const row = makeElement("div");
  const keys = makeElement("dt");
  names.forEach((name, index) => {
    keys.append(index ? " or " : "");
    for (const key of KEY_LABELS[name] || name) keys.append(makeElement("kbd", { textContent: key }));
  });
  row.append(keys, makeElement("dd", { textContent: label }));
  return row;
}

function showShortcuts() {
  const dialog = makeElement("dialog", { className: "shortcuts-dialog" });
  dialog.setAttribute("aria-labelledby", "shortcuts-title");
  dialog.append(makeElement("h2", { id: "shortcuts-title", textContent: "Keyboard shortcuts" }));
  const listed = new Set();
  for (const [title, rows] of [...groups, ...listedGroups, ["General", GENERAL_ROWS]]) {
    const list = makeElement("dl");
    // Of several actions of a key the first one applies.
    const applying = title === GLOBAL_TITLE ? rows.filter(({ names }) => !listed.has(names[0])) : rows;
    for (const { names } of rows) listed.add(names[0]);
    list.append(...applying.map(makeRow));
    dialog.append(makeElement("h3", { textContent: title }), list);
  }
  const closeButton = makeElement("button", { type: "button", className: "button-secondary", textContent: "Close" });
  closeButton.addEventListener("click", () => dialog.close());
  dialog.append(closeButton);
  // The browser returns the focus to where it was.
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
