// After a new revision the server sends the transcript again, which may be another part than the one
// that a person reads: keep their item, its position and the focus. At the end they stay there.
import { byId, on } from "../dom.js";
import { AUTOMATIC } from "../requests.js";
import { isAtEnd } from "./follow-tail.js";
import { reportWindows, showPart } from "./infinite-scroll.js";
import { findFirstInView, focusItem, getTop } from "./scroll-position.js";

let savedPosition = null;
on("htmx:oobBeforeSwap", ({ detail: { target } }) => {
  if (target.id !== "transcript") return;
  const item = isAtEnd() ? null : findFirstInView();
  const focused = target.contains(document.activeElement) && document.activeElement.closest("[id]");
  savedPosition = { itemId: item && item.id, top: item && getTop(item), focusedId: focused && focused.id };
});
on("htmx:wsAfterMessage", async () => {
  if (!savedPosition) return;
  const { itemId, top, focusedId } = savedPosition;
  savedPosition = null;
  reportWindows();
  const hasAll = !document.querySelector("#transcript > .load-more"); // a transcript without it is shown whole
  if (itemId && !byId(itemId) && !hasAll) await showPart(`at=${itemId}`, "", AUTOMATIC);
  const item = itemId && byId(itemId);
  if (item) window.scrollBy({ top: getTop(item) - top, behavior: "instant" });
  const focused = focusedId && byId(focusedId);
  if (focused && document.activeElement === document.body) focusItem(focused);
});
