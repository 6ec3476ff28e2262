// The page of search: keys from result to result, and to the box.
import { all, byId } from "./dom.js";
import { keys } from "./keyboard.js";

function move(by) {
  const links = all(".hit-link");
  const row = document.activeElement.closest(".hit");
  const at = row ? links.findIndex((link) => row.contains(link)) : by > 0 ? -1 : links.length;
  const next = links[at + by] || (by > 0 && document.querySelector(".found .ways [rel=next]"));
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function look() {
  byId("q").focus();
  byId("q").select();
}

const form = byId("search");
if (form) {
  keys("Search", [
    ["/", "Search", look],
    ["j ArrowDown", "Next result", () => move(1)],
    ["k ArrowUp", "Previous result", () => move(-1)],
    ["Enter", "Open", () => false],
  ]);
  // What is empty does not stand in the address.
  form.addEventListener("submit", () => {
    for (const field of form.elements) if (field.name && field.name !== "q" && !field.value) field.disabled = true;
  });
  window.addEventListener("pageshow", () => {
    for (const field of form.elements) field.disabled = false;
  });
}
