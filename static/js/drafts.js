// What somebody typed or chose and the server has not got yet: kept in this tab, through a reload
// and a re-render. A secret never is: its forms have no data-draft, and no password is ever read.
// A draft is of the person who typed it, and goes when they sign out.
import { all, keep, on, person } from "./dom.js";

const name = (holder) => `draft:${person}:${holder.dataset.draft}`;
const UNKEPT = ["hidden", "password", "submit", "button"];
const fields = (holder) =>
  (holder.elements ? [...holder.elements] : [holder]).filter((field) => field.name && !UNKEPT.includes(field.type));
const ticks = (field) => field.type === "checkbox" || field.type === "radio";

function read(holder) {
  const kept = {};
  for (const field of fields(holder)) {
    if (field.type === "checkbox") kept[field.name] = field.checked;
    else if (!ticks(field) || field.checked) kept[field.name] = field.value;
  }
  return kept;
}

function restore(holder) {
  const kept = JSON.parse(sessionStorage.getItem(name(holder)) || "{}");
  for (const field of fields(holder)) {
    if (!(field.name in kept)) continue;
    const was = kept[field.name];
    if (field.type === "checkbox") field.checked = was;
    else if (field.type === "radio") field.checked = field.value === was;
    else field.value = was;
  }
}

export function restoreAll(root = document) {
  for (const holder of all("[data-draft]", root)) restore(holder);
}

// For good: a field that leaves the page with the focus still says that it changed.
export function forget(root) {
  for (const holder of all("[data-draft]", root)) {
    sessionStorage.removeItem(name(holder));
    delete holder.dataset.draft;
  }
}

on("input", (event) => {
  const holder = event.target.closest("[data-draft]");
  if (holder) sessionStorage.setItem(name(holder), JSON.stringify(read(holder)));
});
// A form that leaves the page takes its draft along; a card's stays until the server has it.
on("submit", (event) => {
  if (event.target.hasAttribute("hx-post")) return;
  for (const holder of all("[data-draft]", event.target)) sessionStorage.removeItem(name(holder));
});

const drafts = () => Object.keys(sessionStorage).filter((key) => key.startsWith("draft:"));
const clear = (keys) => { for (const key of keys) sessionStorage.removeItem(key); };

// Another person has signed in with this browser.
export function clearOthers() {
  if (person) clear(drafts().filter((key) => !key.startsWith(`draft:${person}:`)));
}

// Signing out clears the drafts of every open tab.
const SIGNED_OUT = "signed-out";
on("submit", (event) => {
  if (!event.target.hasAttribute("data-sign-out")) return;
  clear(drafts());
  keep(SIGNED_OUT, String(Date.now()));
});
addEventListener("storage", (event) => {
  if (event.key === SIGNED_OUT) clear(drafts());
});
