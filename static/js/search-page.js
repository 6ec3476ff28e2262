// The search page: keyboard shortcuts from result to result, and to the search field.
import { byId, findAll } from "./dom.js";
import { bindKeys } from "./keyboard.js";

function focusResult(step) {
  const links = findAll(".hit-link");
  const row = document.activeElement.closest(".hit");
  const index = row ? links.findIndex((link) => row.contains(link)) : step > 0 ? -1 : links.length;
  const next = links[index + step] || (step > 0 && document.querySelector(".results .page-links [rel=next]"));
  if (!next) return false;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

function focusSearch() {
  byId("q").focus();
  byId("q").select();
}

const form = byId("search");
if (form) {
  bindKeys("Search", [
    ["/", "Search", focusSearch],
    ["j ArrowDown", "Next result", () => focusResult(1)],
    ["k ArrowUp", "Previous result", () => focusResult(-1)],
    ["Enter", "Open", () => false],
  ]);
  // The URL omits empty parameters.
  form.addEventListener("formdata", ({ formData }) => {
    for (const [name, value] of [...formData]) if (name !== "q" && !value) formData.delete(name);
  });
}
