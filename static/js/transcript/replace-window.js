// What is sent anew as a whole may be another part than the one somebody reads: they stay with that,
// where it is still there, with the focus in it. Who is at the end stays there.
import { byId, on } from "../dom.js";
import { atEnd } from "./follow-tail.js";
import { tell, visit } from "./infinite-scroll.js";
import { firstInView, give, top } from "./scroll-position.js";

let left = null;
on("htmx:oobBeforeSwap", ({ detail: { target } }) => {
  if (target.id !== "transcript") return;
  const item = atEnd() ? null : firstInView();
  const focused = target.contains(document.activeElement) && document.activeElement.closest("[id]");
  left = { item: item && item.id, at: item && top(item), focused: focused && focused.id };
});
on("htmx:wsAfterMessage", async () => {
  if (!left) return;
  const { item, at, focused } = left;
  left = null;
  tell();
  if (item && !byId(item)) await visit(`at=${item}`);
  const there = item && byId(item);
  if (there) window.scrollBy({ top: top(there) - at, behavior: "instant" });
  const had = focused && byId(focused);
  if (had && document.activeElement === document.body) give(had);
});
