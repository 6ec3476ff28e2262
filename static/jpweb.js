// What a page does beyond links and forms. Everything here only adds immediacy and comfort.
import { all, byId, on } from "./parts/page.js";
import "./parts/socket.js";
import "./parts/copy.js";
import "./parts/list.js";
import "./parts/search.js";
import { restoreAll } from "./parts/drafts.js";
import { announce, number, reveal } from "./parts/cards.js";
import { tick } from "./parts/clock.js";
import { watch } from "./parts/showing.js";
import { look, offer } from "./parts/telling.js";

// Follow the end of a conversation while the reader is there.
const atEnd = () => window.innerHeight + window.scrollY >= document.body.scrollHeight - 160;
let following = false;
on("htmx:wsBeforeMessage", () => { following = atEnd(); });
on("htmx:wsAfterMessage", () => {
  number();
  announce();
  look();
  clear();
  tick();
  watch();
  refresh();
  if (following && byId("transcript") && window.scrollY > 0) {
    window.scrollTo({ top: document.body.scrollHeight });
  }
});
on("htmx:afterSwap", () => { tick(); watch(); });

// What was settled is in the transcript, so its card goes once the turn is done; one that holds
// the focus or a text to copy, or tells who was first, stays.
function clear() {
  const foot = byId("foot");
  if (!foot || !foot.dataset.run.endsWith("-done")) return;
  for (const card of all("#desk .card.settled")) {
    if (card.querySelector("textarea, [role=alert]")) continue;
    if (!card.contains(document.activeElement)) card.remove();
  }
}

// The page of one question looks again, while it waits, whenever something happened.
function refresh() {
  const page = byId("page");
  if (!page || !page.dataset.refresh) return;
  if (!document.querySelector("main .card:is([data-question], [data-waits])")) return;
  htmx.ajax("GET", page.dataset.refresh, { source: page, swap: "none" });
}
setInterval(refresh, 30000);

on("DOMContentLoaded", () => {
  restoreAll();
  for (const button of all("[data-unfold], [data-fold]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      for (const fold of all("#transcript details")) fold.open = "unfold" in button.dataset;
    });
  }
  look(false);
  offer();
  tick();
  watch();
  reveal();
});
