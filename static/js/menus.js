// Menus are details: one is open at a time, and Escape or a press elsewhere closes it.
import { findAll, on } from "./dom.js";

const MENUS = "details.menu, details.row-menu";
const findOpen = () => findAll(MENUS).filter((menu) => menu.open);

on("toggle", ({ target }) => {
  if (!target.matches(MENUS) || !target.open) return;
  for (const menu of findOpen()) if (!menu.contains(target) && !target.contains(menu)) menu.open = false;
}, true);
on("pointerdown", ({ target }) => {
  for (const menu of findOpen()) if (!menu.contains(target)) menu.open = false;
});
function closeMenu(menu) {
  const hadFocus = menu.contains(document.activeElement);
  menu.open = false;
  if (hadFocus) menu.querySelector("summary").focus();
}
export const closeMenus = () => findOpen().forEach(closeMenu);
on("keydown", (event) => {
  // Escape closes a dialog before the menu behind it.
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]")) return;
  const menu = findOpen().at(-1);
  if (!menu) return;
  event.preventDefault();
  closeMenu(menu);
}, true);
