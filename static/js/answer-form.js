// Sends an answer over the socket, which is quicker than a request; without a connection, or without
// a reply, htmx submits the form. The server settles a question once, so sending both ways is safe.
import { DECISION_FORMS, STATUS_OUTAGE, findAll, on, personId } from "./dom.js";
import { sendReceipts } from "./read-receipts.js";
import { sendMessage } from "./socket.js";

const REPLY_TIMEOUT_MS = 3000; // until the form is submitted instead
const MAX_SOCKET_CHARS = 100000; // longer answers are submitted as a form
const pendingForms = new Map(); // forms and their sent fields, by the number of the message
const resubmittedForms = new WeakMap(); // sent fields of forms that are submitted instead
let lastNumber = 0;

function setBusy(card, isBusy) {
  card.classList.toggle("htmx-request", isBusy);
  for (const button of findAll("form .button, form .button-secondary", card)) button.disabled = isBusy;
}

function takePending(number) {
  const pending = pendingForms.get(number);
  pendingForms.delete(number);
  clearTimeout(pending.timer);
  setBusy(pending.form.closest(".card"), false);
  return pending;
}

// Submit the form with the fields that were sent, whatever it holds now.
function submitForm(number) {
  const { form, fields } = takePending(number);
  if (!form.isConnected) return;
  resubmittedForms.set(form, fields);
  form.noValidate = true;
  form.requestSubmit();
  form.noValidate = false;
  resubmittedForms.delete(form);
}
on("htmx:configRequest", (event) => {
  const fields = resubmittedForms.get(event.target);
  if (!fields) return;
  const { formData } = event.detail;
  for (const name of ["answer", "remember"]) {
    formData.delete(name);
    if (fields.has(name)) formData.set(name, fields.get(name));
  }
});

// Before htmx submits a valid form. A card sends one message or form at a time; its other requests,
// as that of its context, exclude nothing.
on("htmx:beforeRequest", (event) => {
  const form = event.target;
  const card = form.closest(".card");
  const isExclusive = card && form.matches(`${DECISION_FORMS}, form.snooze`);
  if (isExclusive && [...pendingForms.values()].some((pending) => card.contains(pending.form))) event.preventDefault();
  if (event.defaultPrevented || !form.matches("form[data-via-socket]") || resubmittedForms.has(form)) return;
  const { triggeringEvent } = event.detail.requestConfig;
  const fields = new FormData(form, triggeringEvent && triggeringEvent.submitter);
  const answer = fields.get("answer") || "";
  if (answer.length > MAX_SOCKET_CHARS) return;
  lastNumber += 1;
  sendReceipts(); // the receipts of the card precede its outcome
  const isSent = sendMessage({
    person: personId,
    number: lastNumber,
    question: Number(card.dataset.question),
    answer,
    remember: fields.has("remember"),
  });
  if (!isSent) return;
  event.preventDefault();
  pendingForms.set(lastNumber, { form, fields, timer: setTimeout(submitForm, REPLY_TIMEOUT_MS, lastNumber) });
  setBusy(card, true);
});

// A reply comes on the connection of its message, so none follows once that is closed.
on("htmx:wsClose", () => { for (const number of [...pendingForms.keys()]) submitForm(number); });

// Swap the reply in with the events that htmx triggers for the response to a form.
on("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  if (!message.startsWith("{")) return;
  event.preventDefault();
  const { reply, status, html } = JSON.parse(message);
  if (!pendingForms.has(reply)) return;
  if (status === STATUS_OUTAGE) {
    submitForm(reply); // its page says why nothing can be saved
    return;
  }
  const { form } = takePending(reply);
  const card = form.closest(".card");
  const detail = { xhr: { status }, elt: form, target: card, shouldSwap: Boolean(html) };
  if (!html) htmx.trigger(card, "htmx:responseError", detail);
  else {
    htmx.trigger(card, "htmx:beforeSwap", detail);
    htmx.swap(card, html, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 }, { eventInfo: { target: card } });
  }
});
