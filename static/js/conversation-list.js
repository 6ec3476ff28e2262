// Lists of conversations: keys from row to row, and what happens while a list is fetched.
import { all, byId, on } from "./dom.js";
import { keys } from "./keyboard.js";

const links = () => all("main .row-link");
const here = () => document.activeElement.closest(".row");

function move(by) {
  const every = links();
  const row = here();
  const at = row ? every.findIndex((link) => row.contains(link)) : by > 0 ? -1 : every.length;
  const next = every[at + by] || (by > 0 ? document.querySelector("#list .ways [rel=next]") : undefined);
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

// Press the button of the row that has the focus; where the row will be gone, the next one gets it.
function press(what) {
  const row = here();
  const button = row && row.querySelector(`[data-do=${what}]`);
  if (row && !button) byId("announcer").textContent = "This conversation is read-only.";
  if (!button) return false;
  sessionStorage.setItem("list:row", String(all("#list .row").indexOf(row)));
  button.click();
  return true;
}

function find() {
  const field = byId("q");
  if (!field) return false;
  field.focus();
  field.select();
  return true;
}

const listed = byId("list");
if (listed || document.querySelector("main .row-link[data-keys]")) {
  keys("Conversations", [
    ["j ArrowDown", "Next conversation", () => move(1)],
    ["k ArrowUp", "Previous conversation", () => move(-1)],
    ["Enter", "Open", () => false],
    ...(listed ? [
      ["p", "Pin/unpin", () => press("pin")],
      ["e", "Archive/unarchive", () => press("archive")],
      ["/", "Filter", find],
    ] : []),
  ]);
}

// After a change the page is new: the browser gives the focus to the row that the address names;
// where that is gone, the one in its place gets it.
const place = listed && sessionStorage.getItem("list:row");
if (place) {
  sessionStorage.removeItem("list:row");
  const rows = all("#list .row-link");
  const link = rows[Math.min(Number(place), rows.length - 1)];
  if (link && !byId(location.hash.slice(1))) link.focus();
}

// One menu at a time; Escape closes it, and the focus stays at it.
on("toggle", (event) => {
  if (!event.target.matches(".acts[open]")) return;
  for (const other of all(".acts[open]")) if (other !== event.target) other.open = false;
}, true);
on("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest && event.target.closest(".acts[open]");
  if (!menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
});
on("click", (event) => {
  for (const menu of all(".acts[open]")) if (!menu.contains(event.target)) menu.open = false;
});

// The filter: what is empty does not stand in the address; busy and failed are said.
const ours = (event) => event.detail.target && event.detail.target.id === "list";
on("htmx:configRequest", (event) => {
  if (event.target.id !== "filter") return;
  const empty = Object.entries(event.detail.parameters).filter(([, value]) => value === "");
  for (const [name] of empty) delete event.detail.parameters[name];
});
function busy(event, state) {
  if (!ours(event)) return;
  const list = byId("list");
  if (list) list.setAttribute("aria-busy", String(state));
  if (state && byId("list-error")) byId("list-error").hidden = true;
}
on("htmx:beforeRequest", (event) => busy(event, true));
on("htmx:afterRequest", (event) => busy(event, false));
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"]) {
  on(name, (event) => {
    if (ours(event) && byId("list-error")) byId("list-error").hidden = false;
  });
}
on("click", (event) => {
  if (event.target.closest && event.target.closest("[data-again]")) byId("filter").requestSubmit();
});
