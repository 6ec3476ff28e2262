// What a page does beyond links and forms. Everything here only adds immediacy and comfort.
"use strict";

(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);

  // The socket: say what the page shows; the server sends what it lacks.
  const openCards = () => all(".card[data-outcome=open]");
  const keys = (name) => openCards().filter((card) => name in card.dataset).map((card) => Number(card.dataset[name]));

  function hello() {
    const page = byId("page");
    const says = { shown: keys("question"), prompts: keys("prompt") };
    if (page && page.dataset.desk) says.desk = true;
    if (page && page.dataset.conversation) {
      says.conversation = Number(page.dataset.conversation);
      says.length = Number(byId("counts").dataset.length);
      says.revision = Number(byId("counts").dataset.revision);
      says.run = byId("foot").dataset.run;
      says.facts = byId("facts").dataset.facts;
    }
    return JSON.stringify(says);
  }

  // It comes back by itself, soon and not with everybody else at once, unless it was sent away.
  htmx.config.wsReconnectDelay = (tries) => Math.random() * Math.min(1000 * 2 ** tries, 5000);
  const OVER = {
    4401: "You are signed out; reload the page to sign in.",
    4404: "This is no longer yours to read; what you see is old.",
  };
  let late;
  document.addEventListener("htmx:wsOpen", (event) => {
    clearTimeout(late);
    byId("connection").hidden = true;
    event.detail.socketWrapper.send(hello());
  });
  document.addEventListener("htmx:wsClose", (event) => {
    const over = OVER[event.detail.event.code];
    if (over) byId("connection").textContent = over;
    clearTimeout(late);
    late = setTimeout(() => { byId("connection").hidden = false; }, over ? 0 : 1500);
  });

  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    // A card that is being sent waits for its reply, which alone knows what was typed; one that
    // is settled stays as it is, since it may hold that text or the focus.
    const card = event.target.closest(".card");
    if (card && (card.dataset.outcome !== "open" || card.querySelector(".htmx-request"))) {
      event.preventDefault();
      return;
    }
    if (card) keepTyped(card, event.detail.fragment);
    // What is unfolded stays unfolded when its fragment is replaced.
    for (const fold of all("details[id]", event.detail.fragment)) {
      const shown = byId(fold.id);
      if (shown && !justSettled(shown, fold)) fold.open = shown.open;
    }
  });
  // Who was typing when somebody else answered gets their text back, to copy.
  function keepTyped(card, fragment) {
    const typed = card.querySelector("textarea");
    const settled = fragment.querySelector(".card");
    if (!typed || !settled || typed.value === typed.defaultValue) return;
    const label = document.createElement("label");
    label.className = "field";
    label.textContent = "What you typed, to copy";
    const field = document.createElement("textarea");
    field.readOnly = true;
    field.rows = 2;
    field.value = typed.value;
    label.append(field);
    settled.append(label);
  }
  const justSettled = (before, after) =>
    before.dataset.outcome === "open" && after.dataset.outcome !== "open" &&
    !before.contains(document.activeElement);

  // Follow the end of a conversation while the reader is there.
  const atEnd = () => window.innerHeight + window.scrollY >= document.body.scrollHeight - 160;
  let following = false;
  document.addEventListener("htmx:wsBeforeMessage", () => { following = atEnd(); });
  document.addEventListener("htmx:wsAfterMessage", () => {
    count();
    number();
    announce();
    clear();
    if (following && byId("transcript") && window.scrollY > 0) {
      window.scrollTo({ top: document.body.scrollHeight });
    }
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

  // The count of what waits, in the title; and a word for those who listen.
  const plainTitle = document.title.replace(/^\(\d+\) /, "");
  function count() {
    const waiting = byId("waiting");
    const number = Number(waiting ? waiting.dataset.count : 0);
    document.title = number ? `(${number}) ${plainTitle}` : plainTitle;
  }
  // Where each card stands in the queue; it changes while the cards themselves stay as they are.
  function number() {
    const open = openCards();
    open.forEach((card, at) => {
      const place = card.querySelector("[data-position]");
      if (place) place.textContent = open.length > 1 ? `${at + 1} of ${open.length}` : "";
    });
  }
  const announced = new Set(openCards().map((card) => card.id));
  function announce() {
    for (const card of openCards()) {
      if (announced.has(card.id)) continue;
      announced.add(card.id);
      const what = "prompt" in card.dataset ? "A decision" : "A question";
      byId("announcer").textContent = `${what} waits: ${card.querySelector(".ask").textContent.trim()}`;
    }
  }

  // Fragments from the socket have no token of their own.
  const token = document.querySelector("meta[name=csrf-token]");
  document.addEventListener("htmx:load", (event) => {
    const root = event.target;
    for (const field of all("input[name=csrfmiddlewaretoken]", root)) {
      if (!field.value && token) field.value = token.content;
    }
    for (const field of all("[data-draft]", root)) restore(field);
  });

  // Drafts survive a reload; a secret never is one, its field has no data-draft.
  const draftKey = (field) => `draft:${field.dataset.draft}`;
  function restore(field) {
    const kept = sessionStorage.getItem(draftKey(field));
    if (kept !== null && !field.dataset.restored) field.value = kept;
    field.dataset.restored = "1";
  }
  document.addEventListener("input", (event) => {
    if (event.target.dataset.draft) sessionStorage.setItem(draftKey(event.target), event.target.value);
  });
  document.addEventListener("submit", (event) => {
    for (const field of all("[data-draft]", event.target)) sessionStorage.removeItem(draftKey(field));
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const field of all("[data-draft]")) restore(field);
    for (const button of all("[data-unfold], [data-fold]")) {
      button.hidden = false;
      button.addEventListener("click", () => {
        for (const fold of all("#transcript details")) fold.open = "unfold" in button.dataset;
      });
    }
    count();
    reveal();
  });

  // A permalink into something folded unfolds it.
  function reveal() {
    const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let fold = target; fold; fold = fold.parentElement) {
      if (fold.tagName === "DETAILS") fold.open = true;
    }
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reveal);

  // Keys in a card: digits choose, Ctrl-Enter sends. Escape does nothing, on purpose.
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest && event.target.closest("form");
    if (!form) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    } else if (/^[1-9]$/.test(event.key) && event.target.type === "radio") {
      const choice = all("input[type=radio]", form)[Number(event.key) - 1];
      if (choice) { choice.checked = true; choice.focus(); }
    }
  });

  // After one's own answer the focus goes to the next question, else to what became of this one.
  document.addEventListener("htmx:afterSwap", (event) => {
    const card = byId(event.target.id);
    if (!card || !card.classList.contains("card")) return;
    if (document.activeElement && document.activeElement !== document.body) return;
    number();
    // To a decision as a whole: a key pressed once too often must not run anything.
    const open = openCards()[0];
    const asks = open && "question" in open.dataset;
    const next = asks ? open.querySelector("input:not([type=hidden]), textarea, button") : open || card;
    if (!asks) next.tabIndex = -1;
    next.focus({ preventScroll: true });
  });
})();
