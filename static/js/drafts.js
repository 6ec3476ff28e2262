// Drafts: fields that were edited but not sent, kept in this tab through reloads and swaps. Secrets
// are never kept: their forms have no data-draft, and password fields are never read. A draft belongs
// to the person who typed it, and is deleted when they sign out.
import { findAll, on, personId, saveSetting } from "./dom.js";

const getKey = (holder) => `draft:${personId}:${holder.dataset.draft}`;
const EXCLUDED_TYPES = ["hidden", "password", "submit", "button"];
const listFields = (holder) =>
  (holder.elements ? [...holder.elements] : [holder]).filter((field) => field.name && !EXCLUDED_TYPES.includes(field.type));
const isCheckable = (field) => field.type === "checkbox" || field.type === "radio";

function readValues(holder) {
  const values = {};
  for (const field of listFields(holder)) {
    if (field.type === "checkbox") values[field.name] = field.checked;
    else if (!isCheckable(field) || field.checked) values[field.name] = field.value;
  }
  return values;
}

function restoreDraft(holder) {
  const values = JSON.parse(sessionStorage.getItem(getKey(holder)) || "{}");
  for (const field of listFields(holder)) {
    if (!(field.name in values)) continue;
    const value = values[field.name];
    if (field.type === "checkbox") field.checked = value;
    else if (field.type === "radio") field.checked = field.value === value;
    else field.value = value;
    const fold = field.closest("details");
    if (field.value === field.defaultValue) continue;
    if (fold) fold.open = true;
    for (const note of findAll("[data-draft-note]", field.form)) note.hidden = false;
  }
}

export function restoreDrafts(root = document) {
  for (const holder of findAll("[data-draft]", root)) restoreDraft(holder);
}

// Forms of settings show that their field has a draft, with a button that resets it to what is saved.
on("reset", ({ target }) => {
  for (const holder of findAll("[data-draft]", target)) {
    sessionStorage.removeItem(getKey(holder));
    holder.focus();
  }
  for (const note of findAll("[data-draft-note]", target)) note.hidden = true;
});

// Without the attribute no later event saves the draft again: a focused field that is removed from
// the page still fires one.
export function deleteDrafts(root) {
  for (const holder of findAll("[data-draft]", root)) {
    sessionStorage.removeItem(getKey(holder));
    delete holder.dataset.draft;
  }
}

const saveDraft = (holder) => sessionStorage.setItem(getKey(holder), JSON.stringify(readValues(holder)));

// Keys of the drafts whose form was sent last.
const SENT_KEY = "sent-drafts";
on("input", (event) => {
  const holder = event.target.closest("[data-draft]");
  if (!holder) return;
  saveDraft(holder);
  sessionStorage.removeItem(SENT_KEY); // whoever goes on typing has sent something else
});
// A form that loads a new page keeps its draft until that page has come: the session may have ended, or
// the server be out of reach. The draft of a card stays until the server has replied. Saved here is also
// what was written before this script ran, or filled in by the browser.
on("submit", (event) => {
  if (event.target.hasAttribute("hx-post")) return;
  const holders = findAll("[data-draft]", event.target);
  holders.forEach(saveDraft);
  sessionStorage.setItem(SENT_KEY, JSON.stringify(holders.map(getKey)));
});
// Delete the drafts that the page before has sent, if the server accepted them: it led on to a page.
// Where it refused a text and shows it in a field, that is the newest draft of the field.
const REFUSED_STATUS = 422;
export function settleSentDrafts() {
  const keys = JSON.parse(sessionStorage.getItem(SENT_KEY) || "[]");
  sessionStorage.removeItem(SENT_KEY);
  const [{ redirectCount = 0, responseStatus = 200 } = {}] = performance.getEntriesByType("navigation");
  if (!personId) return;
  if (redirectCount && responseStatus === 200) removeKeys(keys);
  if (responseStatus !== REFUSED_STATUS) return;
  const refusedFields = findAll("[data-draft]").filter((field) => field.defaultValue && !field.form.hasAttribute("hx-post"));
  if (refusedFields.length) removeKeys(keys);
  refusedFields.forEach(keepRefused); // the next page no longer shows them
}

// A text that was sent with another field may be refused into one whose own draft is kept: both stay.
function keepRefused(field) {
  const draft = JSON.parse(sessionStorage.getItem(getKey(field)) || "{}")[field.name] || "";
  const text = field.defaultValue;
  // A page that is reloaded shows the text again, which a draft then has already.
  if (draft.startsWith(text) || draft.endsWith(text)) field.value = draft;
  else if (draft) field.value = `${draft}\n\n${text}`;
  saveDraft(field);
}

const listKeys = () => Object.keys(sessionStorage).filter((key) => key.startsWith("draft:"));
const removeKeys = (keys) => { for (const key of keys) sessionStorage.removeItem(key); };

// Delete the drafts of other people, who used this tab before.
export function clearOtherPeople() {
  if (personId) removeKeys(listKeys().filter((key) => !key.startsWith(`draft:${personId}:`)));
}

// Signing out deletes the drafts of every open tab.
const SIGNED_OUT_KEY = "signed-out";
on("submit", (event) => {
  if (!event.target.hasAttribute("data-sign-out")) return;
  removeKeys(listKeys());
  saveSetting(SIGNED_OUT_KEY, String(Date.now()));
});
addEventListener("storage", (event) => {
  if (event.key === SIGNED_OUT_KEY) removeKeys(listKeys());
});
