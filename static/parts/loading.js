// More of a conversation comes where somebody reads on, both ways; what is shown keeps its place.
import { all, byId, on } from "./page.js";
import { give, standing, windows } from "./place.js";
import { again } from "./socket.js";
import { isWay, meet, trim } from "./windows.js";

// Whoever cares hears that other windows are there, or that none came.
function tell() {
  const beyond = byId("beyond");
  if (beyond && byId("tail")) beyond.hidden = true;
  again();
  document.dispatchEvent(new CustomEvent("jpweb:windows"));
}

// One way is gone at a time.
let busy = null;
const ours = (event) => event.target.closest && event.target.closest("#transcript > .way");
on("htmx:beforeRequest", (event) => { busy = ours(event) || busy; });
on("htmx:afterRequest", (event) => { if (ours(event) || !(busy && busy.isConnected)) busy = null; });

// htmx swaps between these two events.
let swapping = null;
on("htmx:beforeSwap", (event) => {
  const old = ours(event);
  if (!old || !event.detail.shouldSwap) return;
  // The swap is ours, so that all that moves moves at once.
  event.detail.shouldSwap = false;
  const earlier = old.dataset.way === "earlier";
  const focused = old.contains(document.activeElement);
  const [before, after] = [old.previousElementSibling, old.nextElementSibling];
  standing(() => {
    htmx.swap(old, event.detail.serverResponse, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 });
    const fresh = windows().find((each) => (earlier ? each.nextElementSibling === after : each.previousElementSibling === before));
    const there = fresh ? all(":scope > [data-kind]:not(.mark)", fresh) : [];
    if (fresh) meet(fresh);
    if (focused && there.length) give(earlier ? there.at(-1) : there[0]);
  });
  standing(trim);
  busy = null;
  look();
  tell();
});
