// That something waits: in the title, the tab's icon, for those who listen, and, where somebody
// asked for it and the page is hidden, as a notification of the browser.
import { byId, keep, land, on, openCards, recall } from "./dom.js";

const firstTitle = document.title.replace(/^\(\d+\+?\) /, "");
// A conversation may be called something else meanwhile.
function plainTitle() {
  const heading = byId("heading");
  return heading ? `${heading.dataset.title} · jpweb` : firstTitle;
}
const icon = document.querySelector("link[rel=icon]");
const plainIcon = icon.href;

function badge(count) {
  const number = count > 9 ? "9+" : count;
  return `data:image/svg+xml,${encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#1f5fa8"/>' +
    '<text x="16" y="24" text-anchor="middle" font-family="sans-serif" font-weight="bold" ' +
    `font-size="${count > 9 ? 18 : 23}" fill="#fff">${number}</text></svg>`)}`;
}

let counted = Number((byId("waiting") || { dataset: {} }).dataset.count || 0);
let shownCount = 0;
function count(number) {
  document.title = number ? `(${number > 999 ? "999+" : number}) ${plainTitle()}` : plainTitle();
  if (number !== shownCount) icon.href = number ? badge(number) : plainIcon;
  shownCount = number;
}

// What came last. The first word of the server only says where things stand, unless more waits
// than did when the page was made.
let last;
export function look(heard = true) {
  const waiting = byId("waiting");
  if (!waiting) return;
  const number = Number(waiting.dataset.count);
  count(number);
  const { newest, asked, who, ask, href } = waiting.dataset;
  if (notice && notice.key !== newest) close();
  if (!heard || (newest === undefined && number)) return;
  const known = last === undefined ? number <= counted : Number(asked || 0) <= last;
  last = Math.max(last || 0, Number(asked || 0));
  counted = number;
  if (newest && !known) tell({ key: newest, once: `${newest}@${asked}`, who, ask, href, number });
}

function tell(what) {
  // A page with the card has its own word for it.
  if (!openCards().some((card) => card.id === what.key)) {
    byId("announcer").textContent = `${what.who}: ${what.ask}`;
  }
  if (wanted()) notify(what);
}

// Browser notifications. One at a time, of what came last; once in this browser, however many
// pages are open, and not where one of them is looked at.
const SOON = 300; // milliseconds for a page that is looked at to say so
const able = () => "Notification" in window && window.isSecureContext && navigator.locks;
const wanted = () => able() && Notification.permission === "granted" && recall("tell") === "on";
let notice = null;

const claim = (once) => navigator.locks.request("jpweb-told", () => {
  const told = (recall("told") || "").split(" ").slice(-50);
  if (told.includes(once)) return false;
  keep("told", [...told, once].join(" "));
  return true;
});

async function notify(what) {
  if (document.hidden) await new Promise((done) => { setTimeout(done, SOON); });
  const hidden = document.hidden;
  if (!(await claim(what.once)) || !hidden || byId("waiting").dataset.newest !== what.key) return;
  const more = what.number > 1 ? ` (${what.number} waiting)` : "";
  close();
  const made = show(what.who, { body: what.ask + more, tag: "jpweb", renotify: true, icon: plainIcon });
  if (!made) return;
  notice = { key: what.key, made };
  made.onclick = () => {
    close();
    window.focus();
    const card = byId(what.key);
    if (card) land(card);
    else location.assign(`${what.href}#${what.key}`);
  };
}
function show(title, options) {
  try { return new Notification(title, options); } catch (refusal) {
    // Where only installed pages may, such as on phones.
    if (refusal instanceof TypeError) keep("tell", "unable");
    offer();
    return null;
  }
}
function close() {
  if (notice) notice.made.close();
  notice = null;
}
on("visibilitychange", () => { if (!document.hidden) close(); });

// On the Questions page somebody can ask for it, and take it back.
const STANDS = {
  unable: ["", "Notifications aren't available in this browser. The tab's title and icon show how many questions are waiting."],
  denied: ["", "Notifications are blocked in this browser's settings for this site. The tab's title and icon show how many questions are waiting."],
  off: ["Turn on notifications on this device", ""],
  on: ["Turn off notifications on this device", "You'll be notified while this tab is in the background."],
};
function standing() {
  if (!able() || recall("tell") === "unable") return "unable";
  if (Notification.permission === "denied") return "denied";
  return wanted() ? "on" : "off";
}
export function offer() {
  const place = byId("tell");
  if (!place) return;
  const stands = standing();
  const [does, says] = STANDS[stands];
  place.hidden = false;
  place.dataset.stands = stands;
  place.querySelector("button").hidden = !does;
  place.querySelector("button").textContent = does;
  place.querySelector("[role=status]").textContent = says;
}
on("click", async (event) => {
  if (!event.target.closest || !event.target.closest("#tell button")) return;
  if (standing() === "on") keep("tell", "off");
  else if ((await Notification.requestPermission()) === "granted") keep("tell", "on");
  offer();
});
