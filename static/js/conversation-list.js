// Lists of conversations: keyboard shortcuts from row to row, and the state of the list's request.
import { announce, byId, findAll, on } from "./dom.js";
import { bindKeys } from "./keyboard.js";

const ROW_INDEX_KEY = "list:row"; // of session storage
const findLinks = () => findAll("main .row-link");
const findFocusedRow = () => document.activeElement.closest(".row");

function focusRow(step) {
  const links = findLinks();
  const row = findFocusedRow();
  const index = row ? links.findIndex((link) => row.contains(link)) : step > 0 ? -1 : links.length;
  const next = links[index + step] || (step > 0 ? document.querySelector("#list .page-links [rel=next]") : undefined);
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

// Press a button of the focused row. The page that follows may lack the row: its index is stored.
function pressButton(action) {
  const row = findFocusedRow();
  const button = row && row.querySelector(`[data-action=${action}]`);
  if (row && !button) announce("This conversation is read-only.");
  if (!button) return false;
  sessionStorage.setItem(ROW_INDEX_KEY, String(findAll("#list .row").indexOf(row)));
  button.click();
  return true;
}

function focusFilter() {
  const field = byId("q");
  if (!field) return false;
  field.focus();
  field.select();
  return true;
}

const hasList = Boolean(byId("list"));
if (hasList || document.querySelector("main .row-link[data-shortcuts]")) {
  bindKeys("Conversations", [
    ["j ArrowDown", "Next conversation", () => focusRow(1)],
    ["k ArrowUp", "Previous conversation", () => focusRow(-1)],
    ["Enter", "Open", () => false],
    ...(hasList ? [
      // A key that is held would change one conversation after another.
      ["p", "Pin/unpin", (event) => event.repeat || pressButton("pin")],
      ["e", "Archive/unarchive", (event) => event.repeat || pressButton("archive")],
      ["/", "Filter", focusFilter],
    ] : []),
  ]);
}

// After a change the browser focuses the row of the URL's hash; if it is gone, the row at its index
// gets the focus.
const rowIndex = hasList && sessionStorage.getItem(ROW_INDEX_KEY);
if (rowIndex) {
  sessionStorage.removeItem(ROW_INDEX_KEY);
  const links = findAll("#list .row-link");
  const link = links[Math.min(Number(rowIndex), links.length - 1)];
  if (link && !byId(location.hash.slice(1))) link.focus();
}

// One menu is open at a time; Escape closes it and keeps the focus on its summary.
on("toggle", (event) => {
  if (!event.target.matches(".row-menu[open]")) return;
  for (const menu of findAll(".row-menu[open]")) if (menu !== event.target) menu.open = false;
}, true);
on("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest && event.target.closest(".row-menu[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
on("click", (event) => {
  for (const menu of findAll(".row-menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// The filter form: its URL omits empty parameters; the page shows that it loads, or that it failed.
const isListRequest = (event) => event.detail.target && event.detail.target.id === "list";
on("htmx:configRequest", (event) => {
  if (event.target.id !== "filter") return;
  const emptyParameters = Object.entries(event.detail.parameters).filter(([, value]) => value === "");
  for (const [name] of emptyParameters) delete event.detail.parameters[name];
});
function setBusy(event, isBusy) {
  if (!isListRequest(event)) return;
  const list = byId("list");
  if (list) list.setAttribute("aria-busy", String(isBusy));
  if (isBusy && byId("list-error")) byId("list-error").hidden = true;
}
on("htmx:beforeRequest", (event) => setBusy(event, true));
on("htmx:afterRequest", (event) => setBusy(event, false));
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    if (isListRequest(event) && byId("list-error")) byId("list-error").hidden = false;
  });
}
// A live region that is replaced as a whole announces nothing.
on("htmx:afterSwap", (event) => {
  if (event.target.id !== "list") return;
  const count = findAll("#list .row").length;
  const empty = document.querySelector("#list .empty");
  const place = document.querySelector("#list .page-links") ? " on this page" : "";
  announce(empty ? empty.textContent.trim() : `${count} conversation${count === 1 ? "" : "s"}${place}`);
});
on("click", (event) => {
  if (event.target.closest && event.target.closest("[data-retry]")) byId("filter").requestSubmit();
});
