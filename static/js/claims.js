// Who is on a question, and questions that the person snoozed.
import { announce, byId, findAll, findOpenCards, on, personId } from "./dom.js";
import { requestFragment } from "./requests.js";

// Fragments from the socket are the same for everyone: here their holder gets the button to release.
on("htmx:load", ({ target }) => {
  for (const claim of findAll("[data-holder]", target.parentElement || target)) {
    claim.querySelector("button").hidden = Number(claim.dataset.holder) !== personId;
  }
  const claim = byId(pressedId);
  if (claim && claim !== pressedClaim && target.contains(claim)) reportClaim(claim);
});

// A pressed claim is replaced by the response, and perhaps by a message of the socket: the focus stays
// on what takes its place, until the person moves on.
let pressedId = "";
let pressedClaim = null;
function notePress(claim) {
  pressedId = claim.id;
  pressedClaim = claim;
}
function reportClaim(claim) {
  const holder = claim.querySelector("strong");
  const text = holder ? `${holder.textContent} is on it.` : "Released.";
  if (byId("announcer").textContent !== text) announce(text);
  pressedClaim = claim;
  if (document.activeElement && document.activeElement !== document.body) return;
  const control = holder ? claim.querySelector("button:not([hidden])") : claim;
  const target = control || claim.closest(".card");
  if (!control) target.tabIndex = -1;
  target.focus({ preventScroll: true });
}
for (const name of ["focusin", "pointerdown"]) {
  on(name, ({ target }) => { if (!target.closest || !target.closest(".claim")) pressedId = ""; });
}

// Cards have no attributes of htmx for these two, which would add 300 bytes to each.
on("submit", (event) => {
  const { target } = event;
  if (!target.matches(".claim")) return;
  event.preventDefault();
  notePress(target);
  requestFragment("POST", target.action, { source: target, target, swap: "outerHTML" });
});
on("click", (event) => {
  const link = event.target.closest && event.target.closest(".card :is(a.claim, a.snooze)");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const options = { source: link, target: link, swap: "outerHTML" };
  if (link.matches(".snooze")) requestFragment("GET", link.href, options);
  else {
    notePress(link);
    const csrfToken = document.querySelector("meta[name=csrf-token]");
    const values = { csrfmiddlewaretoken: csrfToken ? csrfToken.content : "" };
    requestFragment("POST", link.href.replace(/choose$/, "").replace(/\/$/, ""), { ...options, values });
  }
});
on("htmx:afterSwap", () => {
  const form = findAll("form.snooze:not([data-shown])")[0];
  if (!form) return;
  form.dataset.shown = "";
  form.querySelector("button").focus();
});

// "Tomorrow morning" is that of the person's time zone.
on("submit", ({ target }) => {
  if (target.matches("form.snooze")) {
    target.elements.zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  }
}, true);

// Who wakes a question goes on to its card, which comes with a later message.
let wokenId = "";
on("htmx:beforeRequest", ({ target }) => {
  const row = target.closest("[data-snoozed]");
  if (row) wokenId = `question-${row.dataset.snoozed}`;
});
on("htmx:wsAfterMessage", () => {
  const card = byId(wokenId);
  if (!card) return;
  wokenId = "";
  const focused = document.activeElement;
  if (focused && focused !== document.body && !focused.closest("#snoozed")) return;
  card.tabIndex = -1;
  card.focus({ preventScroll: true });
  card.scrollIntoView({ block: "nearest" });
});

export const isSnooze = (event) => Boolean(event.detail.requestConfig?.elt.matches("form.snooze"));
on("htmx:beforeSwap", (event) => {
  if (!isSnooze(event) || event.detail.xhr.status !== 200) return;
  // The page of one question goes on to the list of what is snoozed, as it does without scripts.
  if (!byId("page")?.dataset.inbox) {
    event.detail.shouldSwap = false;
    location.assign("/questions#snoozed");
    return;
  }
  const cards = findOpenCards();
  const index = cards.indexOf(event.target);
  const next = cards[index + 1] || cards[index - 1];
  // The socket deletes the element of this id, also where it is later than this response.
  event.detail.shouldSwap = false;
  event.target.replaceWith(Object.assign(document.createElement("div"), { id: event.target.id, hidden: true }));
  if (!next) return;
  setTimeout(() => {
    if (document.activeElement && document.activeElement !== document.body) return;
    next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  });
});
