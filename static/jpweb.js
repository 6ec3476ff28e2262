// Entry point. Pages work without scripts; these update them live and add comfort.
import { byId, findAll, on } from "./js/dom.js";
import "./js/pointer-press.js";
import { showLostAccess } from "./js/socket.js";
import "./js/answer-form.js";
import "./js/clipboard.js";
import "./js/copy-blocks.js";
import "./js/downloads.js";
import "./js/conversation-list.js";
import "./js/edit-menu.js";
import "./js/menus.js";
import "./js/review.js";
import "./js/search-page.js";
import "./js/sign-in.js";
import "./js/sticky-header.js";
import "./js/single-submit.js";
import "./js/passkeys.js";
import "./js/push.js";
import "./js/transcript/shortcuts.js";
import "./js/transcript/print.js";
import "./js/transcript/time-strip.js";
import { clearOtherPeople, restoreDrafts, settleSentDrafts } from "./js/drafts.js";
import "./js/card-keys.js";
import "./js/palette.js";
import { announceNewCards, focusNextCard, focusSettledCard, numberCards, revealHash, showApprovals } from "./js/question-cards.js";
import { loadFragment, runSerially } from "./js/requests.js";
import { updateTimes } from "./js/relative-time.js";
import { observeCards } from "./js/read-receipts.js";
import { showToggle, updateCount } from "./js/notifications.js";

on("htmx:wsAfterMessage", () => {
  numberCards();
  showApprovals();
  announceRunStatus();
  announceNewCards();
  focusSettledCard();
  focusNextCard();
  updateCount();
  removeSettledCards();
  updateTimes();
  observeCards();
  refreshQuestion();
  updateMetadataFocus();
});
on("htmx:afterSwap", (event) => {
  updateMetadataFocus();
  updateTimes();
  observeCards();
  showApprovals();
  const card = byId(event.target.id);
  if (!card || !card.matches(".card:not([data-outcome=open])")) return;
  refreshQuestion(true);
  setTimeout(refreshQuestion, RECEIPT_DELAY_MS, true);
});

// A run that ends comes with the whole section around its state, whose live region then announces
// nothing.
const ENDED_RUN = /-(failed|lost|stopped)/;
const readRunStatus = () => {
  const element = byId("run-status");
  return { element, text: element ? element.textContent.trim().replace(/\s+/g, " ") : "" };
};
let shownStatus = readRunStatus();
function announceRunStatus() {
  const older = shownStatus;
  shownStatus = readRunStatus();
  const { element, text } = shownStatus;
  if (!text || text === older.text || element === older.element) return;
  if (ENDED_RUN.test(byId("composer").dataset.run)) byId("announcer").textContent = text;
}

// A narrow page may cut the tab of the view that it shows.
for (const tab of findAll(".views [aria-current]")) {
  const views = tab.parentElement, edge = tab.getBoundingClientRect().right - views.getBoundingClientRect().right;
  if (edge > 0) views.scrollLeft += Math.ceil(edge);
}

// The metadata beside a title is a Tab stop where it scrolls.
function updateMetadataFocus() {
  const metadata = byId("metadata-bar");
  if (!metadata) return;
  const scrolls = metadata.scrollWidth > metadata.clientWidth && getComputedStyle(metadata).overflowX === "auto";
  if (scrolls) metadata.tabIndex = 0;
  else metadata.removeAttribute("tabindex");
}
updateMetadataFocus();
window.addEventListener("resize", updateMetadataFocus);

// The transcript has the outcomes once the turn is done. A card stays that has the focus, a draft to
// copy, or the notice that another person was first.
function removeSettledCards() {
  const composer = byId("composer");
  if (!composer || !composer.dataset.run.endsWith("-done")) return;
  for (const card of findAll("#inbox .card.settled")) {
    if (card.querySelector("textarea, [role=alert]")) continue;
    if (!card.contains(document.activeElement)) card.remove();
  }
}

const RECEIPT_DELAY_MS = 2000; // after which the server has stored a receipt

// A person who may answer again, or from now on, lacks the card. A settled question changes by a
// redaction, which makes a new revision of its conversation.
const OPEN_QUESTION = "main .card:is([data-question], [data-approval], [data-pending])";
const readRefreshQuery = (isSettledHere) => {
  const state = byId("question-state");
  if (document.querySelector("main .card[data-pending]")) return "?lacks=card";
  const isSettled = state && !isSettledHere && !document.querySelector(OPEN_QUESTION);
  return isSettled ? `?revision=${state.dataset.revision}` : "";
};
const readHeading = () => (byId("question-heading") || { textContent: "" }).textContent;
let isSettlementWanted = false;
const loadQuestion = runSerially(async () => {
  const page = byId("page");
  const heading = readHeading();
  const query = readRefreshQuery(isSettlementWanted);
  isSettlementWanted = false;
  const response = await loadFragment(page.dataset.refresh + query, page, "none");
  document.title = document.title.replace(heading, readHeading);
  if (response) showLostAccess(response);
  numberCards();
  observeCards();
});
// The page of one question or approval fetches its state after each message; that of a settled
// approval, which no redaction changes, does not.
function refreshQuestion(isSettledHere = false) {
  const page = byId("page");
  if (!page || !page.dataset.refresh) return;
  if (!isSettledHere && !byId("question-state") && !document.querySelector(OPEN_QUESTION)) return;
  isSettlementWanted ||= isSettledHere;
  loadQuestion();
}
setInterval(() => refreshQuestion(), 30000);

on("DOMContentLoaded", () => {
  clearOtherPeople();
  settleSentDrafts();
  restoreDrafts();
  updateCount(false);
  showToggle();
  updateTimes();
  observeCards();
  showApprovals();
  revealHash();
});
