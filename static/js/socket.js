// The page's WebSocket: the page sends its state, and the server sends what it lacks.
import { byId, findAll, findOpenCards, on, personId } from "./dom.js";

// The server accepts no more cards in a message (MAX_CARDS of jpweb.web.websocket.protocol). It shows
// a fifth of that; cards beyond the limit are updated once some of the first are settled.
const MAX_CARDS = 500;
const listClaims = (name) => findOpenCards().slice(0, MAX_CARDS).filter((card) => name in card.dataset)
  .flatMap((card) => findAll("[data-claim]", card).map(({ dataset }) => [Number(card.dataset[name]), Number(dataset.claim)]));
const listCardKeys = (name) => findOpenCards().slice(0, MAX_CARDS)
  .filter((card) => name in card.dataset).map((card) => Number(card.dataset[name]));

// The range of items that the page shows: from 0 if it has the first window, to null if it has the
// last one.
function readRange() {
  const windows = findAll("#transcript > .window");
  if (!windows.length) return {};
  const query = new URLSearchParams(byId("transcript").dataset.query);
  const last = byId("transcript-end") ? null : Number(windows.at(-1).dataset.last);
  const before = windows[0].previousElementSibling;
  const first = before && before.matches(".load-more") ? Number(windows[0].dataset.first) : 0;
  return { first, last, show: query.get("show") || "", search: query.get("q") || "" };
}

function readPageState() {
  const page = byId("page");
  const state = { person: personId, questions: listCardKeys("question"), approvals: listCardKeys("approval") };
  state.claims = listClaims("question");
  state.approval_claims = listClaims("approval");
  state.snoozed = findAll("[data-snoozed]").slice(0, MAX_CARDS).map(({ dataset }) => Number(dataset.snoozed));
  if (page && page.dataset.inbox) state.inbox = true;
  if (page && page.dataset.workspace) state.workspace = Number(page.dataset.workspace);
  if (page && page.dataset.conversation) {
    state.conversation = Number(page.dataset.conversation);
    state.entry_count = Number(byId("counts").dataset.entryCount);
    state.revision = Number(byId("counts").dataset.revision);
    state.run = byId("composer").dataset.run;
    state.approval_state = byId("approval-state").dataset.approvals;
    const status = document.querySelector("#run-status > [data-run-status]");
    state.run_status = status ? status.dataset.runStatus : "";
    state.metadata = byId("metadata").dataset.metadata;
    Object.assign(state, readRange());
  }
  return state;
}

// Reconnect with exponential backoff and jitter, unless the server closed for good.
htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(1000 * 2 ** tries, 5000);
const FINAL_CLOSE_TEXTS = {
  3009: "This page is out of date. Reload.",
  4400: "The server could not read this page's message. Reload.",
  4401: "You are signed out. Reload to sign in.",
  4404: "You no longer have access. This page is out of date.",
};

// Rate limited: the page waits longer each time, and starts over after a quiet minute.
const RATE_LIMITED = 4429;
const QUIET_TIME_MS = 60000;
let pauseCount = 0;
let openTime = 0;
function reconnectLater(socket) {
  if (Date.now() - openTime > QUIET_TIME_MS) pauseCount = 0;
  const seconds = Math.round(Math.min(10 * 2 ** pauseCount, 120) * (1 + Math.random() / 2));
  pauseCount += 1;
  setTimeout(socket.reconnect, seconds * 1000);
  return `Too many requests from your open pages. Reconnecting in ${seconds} s; this page may be out of date.`;
}

// Too many pages: the one that was idle for longest pauses until a person returns to it.
const TOO_MANY_SOCKETS = 4430;
const RETURN_EVENTS = ["visibilitychange", "pointerdown", "keydown"];
function reconnectOnReturn(socket) {
  const reconnect = () => {
    if (document.hidden) return;
    for (const name of RETURN_EVENTS) document.removeEventListener(name, reconnect, true);
    socket.reconnect();
  };
  for (const name of RETURN_EVENTS) on(name, reconnect, true);
  return "You have more than 100 pages open. This one is paused and may be out of date. It resumes when you return to it.";
}
const DELAYED_RECONNECTS = { [RATE_LIMITED]: reconnectLater, [TOO_MANY_SOCKETS]: reconnectOnReturn };

// The extension reconnects after these closes alone. A proxy that restarts closes with 1001.
const RECONNECTED_CODES = [1006, 1011, 1012, 1013];
function reconnectSoon(socket) {
  if (Date.now() - openTime > QUIET_TIME_MS) pauseCount = 0;
  pauseCount += 1;
  setTimeout(socket.reconnect, htmx.config.wsReconnectDelay(pauseCount));
}

const NOTICE_DELAY_MS = 1500; // after which a lost connection is shown
const connectionLostText = byId("connection").textContent;
// A status region announces a text that replaces an equal one again.
function setNoticeText(text) {
  const notice = byId("connection");
  if (notice.textContent !== text) notice.textContent = text;
}
const describeCardLimit = () => findOpenCards().length > MAX_CARDS
  && `This page has more than ${MAX_CARDS} waiting questions. Only the first ${MAX_CARDS} update by themselves; reload to refresh the others.`;
let noticeTimer = 0;
let openSocket = null;
on("htmx:wsOpen", (event) => {
  clearTimeout(noticeTimer);
  noticeTimer = 0;
  openTime = Date.now();
  const limitText = describeCardLimit();
  setNoticeText(limitText || connectionLostText);
  byId("connection").hidden = !limitText;
  openSocket = event.detail.socketWrapper;
  sendPageState(true);
  document.dispatchEvent(new CustomEvent("jpweb:connected"));
});
on("htmx:wsClose", ({ detail: { event: { code }, socketWrapper } }) => {
  openSocket = null;
  const delayReconnect = DELAYED_RECONNECTS[code];
  const closeText = delayReconnect ? delayReconnect(socketWrapper) : FINAL_CLOSE_TEXTS[code];
  if (!closeText && !RECONNECTED_CODES.includes(code)) reconnectSoon(socketWrapper);
  setNoticeText(closeText || connectionLostText);
  // Each failed attempt closes again, which must not delay the notice.
  if (closeText) clearTimeout(noticeTimer);
  if (closeText || !noticeTimer) {
    noticeTimer = setTimeout(() => { byId("connection").hidden = false; }, closeText ? 0 : NOTICE_DELAY_MS);
  }
});

// The page of one question or approval fetches its own state, which shows that its person lost access.
const LOST_ACCESS_STATUSES = [403, 404];
const LOST_ACCESS_TEXT = FINAL_CLOSE_TEXTS[4404];
export function showLostAccess({ status }) {
  const notice = byId("connection");
  const isLost = LOST_ACCESS_STATUSES.includes(status);
  if (!isLost && notice.textContent !== LOST_ACCESS_TEXT) return;
  setNoticeText(isLost ? LOST_ACCESS_TEXT : connectionLostText);
  notice.hidden = !isLost;
}

// Send what the page shows, at most twice a second; at once on a new connection.
const MIN_INTERVAL_MS = 500;
let stateTimer = 0;
let lastStateTime = 0;
export function sendPageState(isFirst) {
  clearTimeout(stateTimer);
  const delay = lastStateTime + MIN_INTERVAL_MS - Date.now();
  if (delay > 0 && !isFirst) stateTimer = setTimeout(sendPageState, delay);
  else {
    lastStateTime = Date.now();
    sendMessage(readPageState());
  }
}

// Send a message if there is a connection; tell whether there was one.
export function sendMessage(message) {
  if (openSocket) openSocket.sendImmediately(JSON.stringify(message));
  return openSocket !== null;
}
