// The menu that edits title, labels, pin and archive, while other people may edit them too.
import { byId, findAll, on } from "./dom.js";
import { replaceElement } from "./preserve-state.js";

// A newer body is swapped in at once, or when the menu is closed: not while a person uses it, and not
// over what they typed.
const isEdited = () => findAll("#edit-menu-body input").some((field) => field.value !== field.defaultValue);
let newerBody = null;
on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target.id !== "edit-menu-body") return;
  newerBody = byId("edit-menu").open || isEdited() ? fragment.firstElementChild : null;
  if (newerBody) event.preventDefault();
});
on("toggle", ({ target }) => {
  if (!newerBody || target.id !== "edit-menu" || target.open || isEdited()) return;
  replaceElement(byId("edit-menu-body"), newerBody);
  newerBody = null;
}, true);
