// Turns Web Push on for this browser, and off: the form on the Notifications page.
import { decode, encode } from "./base64url.js";
import { byId, findAll, on } from "./dom.js";

const WORKER_URL = "/service-worker.js";

class Refusal extends Error {}

export const canUseWorker = () => "serviceWorker" in navigator && window.isSecureContext;

// Return the service worker that shows notifications; null where the browser has none.
export async function findWorker() {
  if (!canUseWorker()) return null;
  const registration = await navigator.serviceWorker.getRegistration("/");
  return registration && registration.active && registration.showNotification ? registration : null;
}

export async function registerWorker() {
  await navigator.serviceWorker.register(WORKER_URL, { scope: "/" });
  return navigator.serviceWorker.ready;
}

// Have the service worker close notifications of what is settled. It asks the server about each that it
// shows, so it is told once in a while, however many messages a turn sends.
const SETTLED_PAUSE_MS = 2000;
let settledTimer = 0;
let lastSettledTime = -SETTLED_PAUSE_MS;
export function closeSettledNotifications() {
  if (settledTimer) return;
  settledTimer = setTimeout(async () => {
    settledTimer = 0;
    lastSettledTime = performance.now();
    const registration = await findWorker();
    if (registration) registration.active.postMessage("settled");
  }, Math.max(0, lastSettledTime + SETTLED_PAUSE_MS - performance.now()));
}

function describeLack() {
  if (!window.isSecureContext) return "Notifications need an https address. Ask the operator of this jpweb for it.";
  const isApple = /iPhone|iPad/.test(navigator.userAgent);
  if (isApple && !("PushManager" in window)) return "On iPhone and iPad, first add jpweb to the Home Screen, and open it from there.";
  if (!("Notification" in window && canUseWorker() && "PushManager" in window)) return "This browser offers no Web Push.";
  if (Notification.permission === "denied") return "Notifications are blocked in this browser's settings for this site.";
  return "";
}

// Chromium goes on trying for minutes, without an error, where a firewall drops what it sends to its
// push service.
const SERVICE_TIMEOUT_MS = 20000;
const limitTime = (work) => Promise.race([
  work,
  new Promise((_, reject) => { setTimeout(() => reject(new Error("timeout")), SERVICE_TIMEOUT_MS); }),
]);

async function subscribe(form) {
  const lack = describeLack();
  if (lack) throw new Refusal(lack);
  if ((await Notification.requestPermission()) !== "granted") throw new Refusal("The browser did not permit notifications.");
  showProblem("Connecting to the browser's push service…");
  const subscription = await limitTime(makeSubscription(form.dataset.key));
  form.elements.endpoint.value = subscription.endpoint;
  form.elements.public_key.value = encode(subscription.getKey("p256dh"));
  form.elements.auth_secret.value = encode(subscription.getKey("auth"));
}

async function makeSubscription(key) {
  const registration = await registerWorker();
  const previous = await registration.pushManager.getSubscription();
  // One of an earlier key or sign-in gets nothing any more.
  if (previous) await previous.unsubscribe();
  return registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: decode(key) });
}

async function unsubscribe() {
  const registration = await findWorker();
  const subscription = registration && registration.pushManager && await registration.pushManager.getSubscription();
  if (subscription) await subscription.unsubscribe();
}

function describeError(error) {
  if (error instanceof Refusal) return error.message;
  return "The browser's push service can't be reached. Try again, or use another browser.";
}

function showProblem(text) {
  const problem = byId("push-problem");
  problem.textContent = text;
  problem.hidden = !text;
}

on("submit", async (event) => {
  const form = event.target.closest("form[data-push]");
  if (!form) return;
  event.preventDefault();
  const button = form.querySelector("button");
  const hadFocus = document.activeElement === button;
  showProblem("");
  button.disabled = true;
  try {
    await subscribe(form);
    form.submit(); // sends no further "submit" event
  } catch (error) {
    showProblem(describeError(error));
    button.disabled = false;
    // A disabled button loses the focus.
    if (hadFocus && document.activeElement === document.body) button.focus();
  }
});

// The browser itself forgets its subscription when it is removed from the list.
on("submit", async (event) => {
  const form = event.target.closest("form[data-push-remove]");
  if (!form || !event.submitter || !event.submitter.dataset.current) return;
  event.preventDefault();
  const field = Object.assign(document.createElement("input"), { type: "hidden", name: event.submitter.name, value: event.submitter.value });
  form.append(field);
  try { await limitTime(unsubscribe()); } catch { /* what is left ends when it is turned on again */ }
  form.submit();
});

on("DOMContentLoaded", () => {
  for (const form of findAll("form[data-push]")) {
    const lack = describeLack();
    form.hidden = Boolean(lack);
    showProblem(lack);
  }
});
