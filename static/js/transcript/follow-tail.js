// Follows the end of a conversation while a person is there, and offers a link to it while they read
// above. Reports how far they have read when they leave.
import { byId, findOpenCards, on, revealElement } from "../dom.js";
import { reportWindows } from "./infinite-scroll.js";
import { getHeaderEdge, keepPosition } from "./scroll-position.js";
import { readParameter } from "./url-state.js";
import { removeFarWindows, splitTail } from "./windows.js";

const END_DISTANCE = 160; // pixels that count as the end
const getPageHeight = () => document.documentElement.scrollHeight;
export const isAtEnd = () => Boolean(byId("transcript-end")) && innerHeight + scrollY >= getPageHeight() - END_DISTANCE;
const getEntryCount = () => Number(byId("counts").dataset.entryCount);
const ACTIVE_RUN = /-(queued|running)/;
export const hasActiveRun = () => ACTIVE_RUN.test(byId("composer").dataset.run);
const scrollToEnd = () => window.scrollTo({ top: getPageHeight(), behavior: "instant" });

const jumpLink = document.createElement("a");
jumpLink.className = "jump-link";
jumpLink.hidden = true;

// Entries that the person has read at the end of the page, and those that the link does not count.
let readCount = 0;
let knownCount = 0;
const hasFilter = () => new URLSearchParams(byId("transcript").dataset.query).has("show");
function updateJumpLink() {
  if (isAtEnd() && !document.hidden) {
    knownCount = getEntryCount();
    if (!hasFilter()) readCount = knownCount; // a filter hides what they have not read
  }
  const newCount = getEntryCount() - knownCount;
  const areCardsHidden = findOpenCards().every(isOutOfView);
  const pendingText = describePending();
  const endText = newCount > 0 ? `Jump to live (${newCount.toLocaleString("en")} new)` : "Jump to live";
  const text = areCardsHidden && pendingText || endText;
  const hasEndLink = !isAtEnd() && (hasActiveRun() || newCount > 0);
  jumpLink.hidden = !areCardsHidden || !(pendingText || hasEndLink);
  if (jumpLink.textContent !== text) jumpLink.textContent = text;
}
const isOutOfView = (card) => {
  const { top, bottom } = card.getBoundingClientRect();
  return bottom <= getHeaderEdge() || top >= innerHeight;
};
// Pending questions come first: the link names them instead of the end.
function describePending() {
  const cards = findOpenCards();
  const hiddenCount = byId("hidden-count");
  const count = cards.length + Number(hiddenCount ? hiddenCount.dataset.hiddenCount : 0);
  if (count > 1) return `${count.toLocaleString("en")} waiting for an answer`;
  return count && cards.length ? `1 ${"approval" in cards[0].dataset ? "approval" : "question"} waiting` : "";
}

// The page follows from when a person reaches the end until they scroll up or expand a fold there.
let isFollowing = false;
let lastScrollY = scrollY;
function handleScroll() {
  if (isAtEnd()) isFollowing = true;
  else if (scrollY < lastScrollY) isFollowing = false;
  lastScrollY = scrollY;
  updateJumpLink();
}
const followEnd = () => { if (isFollowing && (scrollY > 0 || hasActiveRun())) scrollToEnd(); };
on("toggle", (event) => {
  if (event.target.contains(document.activeElement)) isFollowing = isFollowing && isAtEnd();
}, true);

function handleJump(event) {
  const [card] = findOpenCards();
  if (card) {
    event.preventDefault();
    revealElement(card);
    return;
  }
  if (!byId("transcript-end")) return;
  event.preventDefault();
  isFollowing = true;
  scrollToEnd();
  const composer = byId("composer");
  composer.tabIndex = -1;
  composer.focus({ preventScroll: true });
  updateJumpLink();
}

function startFollowing() {
  const { href, query } = byId("transcript").dataset;
  jumpLink.href = `${href}?at=end${query && `&${query}`}#composer`;
  document.querySelector("main").append(jumpLink);
  jumpLink.addEventListener("click", handleJump);
  on("scroll", handleScroll, { passive: true });
  on("jpweb:windows", updateJumpLink);
  let before;
  on("htmx:wsBeforeMessage", () => {
    handleScroll(); // the browser reports a scroll a frame later, perhaps after this message
    before = { entryCount: getEntryCount(), lastItem: byId("transcript-end") && byId("transcript-end").lastElementChild };
  });
  on("htmx:wsAfterMessage", () => {
    // A page that follows for hours keeps as few windows as one that is scrolled.
    if (splitTail(before.entryCount, before.lastItem)) {
      keepPosition(removeFarWindows);
      reportWindows();
    }
    followEnd();
    updateJumpLink();
  });
  // Payloads that load late make the page longer.
  on("htmx:load", (event) => { if (event.target.closest("#transcript")) followEnd(); });
  // Without a position in its URL, the page of an active run or of pending questions begins with them.
  const hasPosition = location.hash || ["at", "turn", "after", "before"].some(readParameter);
  if (!hasPosition && byId("transcript-end") && (hasActiveRun() || findOpenCards().length)) {
    const card = findOpenCards()[0];
    if (card) card.scrollIntoView({ block: "nearest", behavior: "instant" });
    else scrollToEnd();
  }
  knownCount = getEntryCount();
  handleScroll();
}

// The read mark, sent once for each count that grew.
let reportedCount = 0;
function reportReadCount() {
  if (readCount <= reportedCount) return;
  reportedCount = readCount;
  const form = new FormData();
  form.set("entry_count", readCount);
  form.set("csrfmiddlewaretoken", document.querySelector("meta[name=csrf-token]").content);
  navigator.sendBeacon(`${byId("transcript").dataset.href}/read`, form);
}
if (byId("transcript")) {
  startFollowing();
  on("visibilitychange", () => {
    if (document.hidden) reportReadCount();
    else updateJumpLink();
  });
  window.addEventListener("pagehide", reportReadCount);
}
