// Shows how many questions and approvals are pending: in the tab's title and icon, to screen readers
// and, if the person turned them on and the page is hidden, as desktop notifications.
import { announce, byId, findOpenCards, on, readSetting, revealElement, saveSetting } from "./dom.js";
import { canUseWorker, closeSettledNotifications, findWorker, registerWorker } from "./push.js";

const initialTitle = document.title.replace(/^\(\d+\+?\) /, "");
// The title without the count; a conversation may have been renamed.
function getPlainTitle() {
  const heading = byId("heading");
  return heading ? `${heading.dataset.title} · jpweb` : initialTitle;
}
const icon = document.querySelector("link[rel=icon]");
const plainIconUrl = icon.href;

function makeIconUrl(count) {
  const text = count > 9 ? "9+" : count;
  return `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5fa8"/>' +
    '<text x="16" y="24" text-anchor="middle" font-family="sans-serif" font-weight="bold" ' +
    `font-size="${count > 9 ? 18 : 23}" fill="#fff">${text}</text></svg>`)}`;
}

let lastCount = Number((byId("question-count") || { dataset: {} }).dataset.count || 0);
let titleCount = 0;
function showCount(count) {
  document.title = count ? `(${count > 999 ? "999+" : count}) ${getPlainTitle()}` : getPlainTitle();
  if (count !== titleCount) icon.href = count ? makeIconUrl(count) : plainIconUrl;
  titleCount = count;
}

// Show the count, and notify of the newest item if it is new. The first message repeats what the page
// was rendered with, so it notifies only if more items are pending than then.
let newestTime;
export function updateCount(isFromSocket = true) {
  const badge = byId("question-count");
  if (!badge) return;
  const count = Number(badge.dataset.count);
  showCount(count);
  const { newest: key, askedAt, asker, text, href } = badge.dataset;
  if (notification && notification.key !== key) closeNotification();
  if (isFromSocket) closeSettledNotifications();
  if (!isFromSocket || (key === undefined && count)) return;
  const time = Number(askedAt || 0);
  const isKnown = newestTime === undefined ? count <= lastCount : time <= newestTime;
  newestTime = Math.max(newestTime || 0, time);
  lastCount = count;
  if (key && !isKnown) announceItem({ key, claim: `${key}@${askedAt}`, asker, text, href, count });
}

function announceItem(item) {
  // A page that shows the card announces it itself.
  if (!findOpenCards().some((card) => card.id === item.key)) {
    announce(`${item.asker}: ${item.text}`);
  }
  if (isTurnedOn()) notify(item);
}

// Desktop notifications: one at a time, of the newest item. A lock ensures that one page of this
// browser shows it, and none while a page is visible.
const CLAIM_DELAY_MS = 300; // in which a visible page claims the item first
// Names in the browser's local storage: the setting, and the items that were claimed.
const SETTING = "tell";
const CLAIMS = "told";
const MAX_CLAIMS = 50;
const isSupported = () => "Notification" in window && window.isSecureContext && navigator.locks;
const isTurnedOn = () => isSupported() && Notification.permission === "granted" && readSetting(SETTING) === "on";
let notification = null;

const claimItem = (claim) => navigator.locks.request("jpweb-told", () => {
  const claims = (readSetting(CLAIMS) || "").split(" ").slice(-MAX_CLAIMS);
  if (claims.includes(claim)) return false;
  saveSetting(CLAIMS, [...claims, claim].join(" "));
  return true;
});

async function notify(item) {
  if (document.hidden) await new Promise((resolve) => { setTimeout(resolve, CLAIM_DELAY_MS); });
  const isHidden = document.hidden;
  if (!(await claimItem(item.claim)) || !isHidden || byId("question-count").dataset.newest !== item.key) return;
  const countText = item.count > 1 ? ` (${item.count} waiting)` : "";
  closeNotification();
  const options = { body: item.text + countText, tag: "jpweb", renotify: true, icon: plainIconUrl };
  if (await notifyWithButtons(item, options)) return;
  const desktopNotification = makeNotification(item.asker, options);
  if (!desktopNotification) return;
  notification = { key: item.key, desktopNotification };
  desktopNotification.onclick = () => {
    closeNotification();
    window.focus();
    const card = byId(item.key);
    if (card) revealElement(card);
    else location.assign(`${item.href}#${item.key}`);
  };
}

// Have the service worker show a question with buttons that answer it. Its tag is that of Web Push, so
// that the browser shows one of both. Returns whether it did.
async function notifyWithButtons(item, options) {
  const registration = await findWorker();
  if (!registration || !item.key.startsWith("question-")) return false;
  try {
    const response = await fetch(`${item.href}/notification`, {
      method: "POST",
      headers: { "X-CSRFToken": document.querySelector("meta[name=csrf-token]").content, "X-Automatic": "1" },
    });
    if (!response.ok || response.redirected) return false;
    const message = await response.json();
    if (!message.buttons) return false;
    registration.active.postMessage({ ...message, title: item.asker, body: options.body, icon: options.icon });
    return true;
  } catch { return false; }
}
function makeNotification(title, options) {
  try { return new Notification(title, options); } catch (error) {
    // Some browsers, such as those of phones, allow them to installed pages only.
    if (error instanceof TypeError) saveSetting(SETTING, "unable");
    showToggle();
    return null;
  }
}
function closeNotification() {
  if (notification) notification.desktopNotification.close();
  notification = null;
}
on("visibilitychange", () => { if (!document.hidden) closeNotification(); });

// The button on the Questions page that turns them on and off: its label, and the text beside it.
const TOGGLE_TEXTS = {
  unable: ["", "Notifications aren't available in this browser. The tab's title and icon show how many questions are waiting."],
  denied: ["", "Notifications are blocked in this browser's settings for this site. The tab's title and icon show how many questions are waiting."],
  off: ["Turn on notifications on this device", ""],
  on: ["Turn off notifications on this device", "You'll be notified while this tab is in the background."],
};
function getToggleState() {
  if (!isSupported() || readSetting(SETTING) === "unable") return "unable";
  if (Notification.permission === "denied") return "denied";
  return isTurnedOn() ? "on" : "off";
}
export function showToggle() {
  const toggle = byId("notify-toggle");
  if (!toggle) return;
  const state = getToggleState();
  const [label, statusText] = TOGGLE_TEXTS[state];
  toggle.hidden = false;
  toggle.dataset.state = state;
  toggle.querySelector("button").hidden = !label;
  toggle.querySelector("button").textContent = label;
  toggle.querySelector("[role=status]").textContent = statusText;
}
on("click", async (event) => {
  if (!event.target.closest || !event.target.closest("#notify-toggle button")) return;
  if (getToggleState() === "on") saveSetting(SETTING, "off");
  else if ((await Notification.requestPermission()) === "granted") {
    saveSetting(SETTING, "on");
    if (canUseWorker()) registerWorker().catch(() => { /* notifications have no buttons then */ });
  }
  showToggle();
});
