// The reader's scroll position in a conversation, and keeping it while the page changes.
import { findAll } from "../dom.js";

export const findWindows = () => findAll("#transcript > .window");
export const findItems = () => findAll("#transcript > .window > [data-kind]:not(.turn-anchor), #transcript > .window > .call-group > [data-kind]");

// The lower edge of what stays at the top while the page scrolls, in pixels.
const findSticky = () => findAll(".site-header, .toolbar.sticky").filter((element) => getComputedStyle(element).position === "sticky");
export const getHeaderEdge = () => Math.max(...findSticky().map((element) => element.getBoundingClientRect().bottom)) + 8;
export const getTop = (element) => element.getBoundingClientRect().top;
export const findFirstInView = () =>
  findItems().find((item) => item.getBoundingClientRect().bottom > getHeaderEdge());

// Change the page and keep the first item in view where it is, whatever is added or removed above.
export function keepPosition(change) {
  const item = findFirstInView();
  const topBefore = item && getTop(item);
  change();
  const shift = item && item.isConnected ? getTop(item) - topBefore : 0;
  if (Math.abs(shift) >= 1) window.scrollBy({ top: shift, behavior: "instant" });
}

// The summary of details has their focus; any other item has it itself.
const getFocusTarget = (item) => item.matches("details") ? item.querySelector("summary") : item;
export function focusItem(item) {
  const target = getFocusTarget(item);
  if (target === item && !item.hasAttribute("tabindex")) item.tabIndex = -1;
  target.focus({ preventScroll: true });
}
