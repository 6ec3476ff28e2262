// Where somebody stands in a conversation, and keeping them there.
import { all } from "../dom.js";

export const windows = () => all("#transcript > .window");
export const items = () => all("#transcript > .window > [data-kind]:not(.mark)");

// The line under which reading begins.
export const edge = () => document.querySelector(".bar").getBoundingClientRect().bottom + 8;
export const top = (each) => each.getBoundingClientRect().top;
export const firstInView = () => items().find((item) => item.getBoundingClientRect().bottom > edge());

// Change the page and leave what stands under the bar where it is, whatever comes or goes above.
export function standing(change) {
  const item = firstInView();
  const before = item && top(item);
  change();
  const moved = item && item.isConnected ? top(item) - before : 0;
  if (Math.abs(moved) >= 1) window.scrollBy({ top: moved, behavior: "instant" });
}

// The focus: a fold has it in its summary, anything else itself.
export const holder = (item) => item.matches("details") ? item.querySelector("summary") : item;
export function give(item) {
  const place = holder(item);
  if (place === item && !item.hasAttribute("tabindex")) item.tabIndex = -1;
  place.focus({ preventScroll: true });
}
