// What a page does beyond links and forms. Everything here only adds immediacy and comfort.
import { all, byId, on } from "./js/dom.js";
import "./js/pointer-press.js";
import "./js/socket.js";
import "./js/answer-form.js";
import "./js/clipboard.js";
import "./js/downloads.js";
import "./js/conversation-list.js";
import "./js/change-menu.js";
import "./js/search-page.js";
import "./js/sign-in.js";
import "./js/transcript/shortcuts.js";
import { clearOthers, restoreAll } from "./js/drafts.js";
import { announce, follow, number, reveal } from "./js/question-cards.js";
import { tick } from "./js/relative-time.js";
import { watch } from "./js/read-receipts.js";
import { look, offer } from "./js/notifications.js";

on("htmx:wsAfterMessage", () => {
  number();
  announce();
  follow();
  look();
  clear();
  tick();
  watch();
  refresh();
});
on("htmx:afterSwap", (event) => {
  tick();
  watch();
  const card = byId(event.target.id);
  if (!card || !card.matches(".card:not([data-outcome=open])")) return;
  refresh(true);
  setTimeout(refresh, SEEN, true);
});

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

// Milliseconds after which what was seen of a card is on record.
const SEEN = 2000;

// The page of one question looks again, while it waits, whenever something happened; and once it is
// settled here.
function refresh(anyway = false) {
  const page = byId("page");
  if (!page || !page.dataset.refresh) return;
  if (!anyway && !document.querySelector("main .card:is([data-question], [data-waits])")) return;
  htmx.ajax("GET", page.dataset.refresh, { source: page, swap: "none", headers: { "X-Automatic": "1" } });
}
setInterval(() => refresh(), 30000);

on("DOMContentLoaded", () => {
  clearOthers();
  restoreAll();
  look(false);
  offer();
  tick();
  watch();
  reveal();
});
