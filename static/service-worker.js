// Service worker: shows messages of Web Push, and answers questions by the buttons of notifications.
// It caches nothing, and pages work without it.

const open = (path) => new URL(path, self.location.origin);
const isOurs = (path) => typeof path === "string" && open(path).origin === self.location.origin;

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("push", (event) => {
  let message = null;
  try { message = event.data.json(); } catch { message = null; }
  event.waitUntil(message ? receiveMessage(message) : show({ title: "jpweb", body: "Something is waiting for you.", url: "/questions" }));
});

async function receiveMessage(message) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  // A page in view shows the question itself, but no mention. Safari ends a subscription after three
  // messages that show no notification, so this one is shown and closed at once.
  const isInView = /^(question|approval)-/.test(message.tag) && pages.some((page) => page.visibilityState === "visible");
  await show(message, isInView);
  if (isInView) for (const notification of await self.registration.getNotifications({ tag: message.tag })) notification.close();
  await closeSettled();
}

// Show a message. One with its tag, which a page may have shown already, is replaced without a sound,
// but with one where the question has returned from a snooze since.
async function show(message, isSilent = false) {
  const isRenotified = Boolean(message.returned) && !isSilent && !(await isJustShown(message.tag));
  const buttons = message.buttons || [];
  // All answers or none: some of them would look like all there are.
  const hasRoom = buttons.length <= (self.Notification.maxActions || 0);
  return self.registration.showNotification(message.title, {
    body: message.body,
    tag: message.tag,
    icon: message.icon,
    silent: isSilent,
    renotify: isRenotified,
    requireInteraction: buttons.length > 0,
    actions: hasRoom ? buttons.map((button, index) => ({ action: `answer-${index}`, title: button.title })) : [],
    data: {
      shownAt: Date.now(),
      url: message.url,
      answerUrl: message.answer_url,
      token: message.token,
      values: buttons.map((button) => button.value),
    },
  });
}

// A page and Web Push show the same return within this time, and a snooze lasts longer.
const SAME_RETURN_TIME = 60_000; // milliseconds
async function isJustShown(tag) {
  const notifications = await self.registration.getNotifications({ tag });
  return notifications.some((shown) => Date.now() - (shown.data || {}).shownAt < SAME_RETURN_TIME);
}

self.addEventListener("notificationclick", (event) => {
  const { url, answerUrl, token, values } = event.notification.data || {};
  event.notification.close();
  const index = /^answer-(\d)$/.exec(event.action || "");
  if (!index) {
    event.waitUntil(openPage(url));
    return;
  }
  const message = { answer: values[Number(index[1])], token };
  event.waitUntil(answer(event.notification, url, answerUrl, message));
});

// Send an answer. The page of the question says what else happened: another answer was first, the
// browser is signed out, or the role was lost.
async function answer(notification, url, answerUrl, fields) {
  let isAnswered = false;
  try {
    const response = await fetch(open(isOurs(answerUrl) ? answerUrl : "/"), {
      method: "POST",
      body: new URLSearchParams(fields),
      credentials: "same-origin",
      redirect: "manual",
    });
    isAnswered = response.status === 204;
  } catch { isAnswered = false; }
  if (isAnswered) return;
  try { await openPage(url); } catch {
    await show({ title: "Not answered", body: `Open the question: ${notification.body}`, tag: notification.tag, url });
  }
}

async function openPage(path) {
  const target = open(isOurs(path) ? path : "/");
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const page = pages.find((candidate) => new URL(candidate.url).pathname === target.pathname);
  if (page) return page.focus();
  return self.clients.openWindow(target.href);
}

// Pages tell when something was settled, and have the questions shown that they notify of.
self.addEventListener("message", (event) => {
  event.waitUntil(event.data === "settled" ? closeSettled() : show(event.data));
});

// Close the notifications of questions and approvals that no longer wait, and of mentions that were seen.
const MAX_TAGS = 50; // of which the server answers at once
async function closeSettled() {
  const notifications = await self.registration.getNotifications();
  const shown = notifications.filter((notification) => /^(question|approval|mention)-\d+$/.test(notification.tag));
  try {
    for (let start = 0; start < shown.length; start += MAX_TAGS) await closeSettledAmong(shown.slice(start, start + MAX_TAGS));
  } catch { /* offline: the next message tries again */ }
}

async function closeSettledAmong(shown) {
  const query = new URLSearchParams(shown.map((notification) => ["tag", notification.tag]));
  const response = await fetch(open(`/notifications/waiting?${query}`), { credentials: "same-origin", redirect: "manual", headers: { "X-Automatic": "1" } });
  if (response.status !== 200) return;
  const { waiting } = await response.json();
  for (const notification of shown) if (!waiting.includes(notification.tag)) notification.close();
}
