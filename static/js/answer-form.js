// An answer takes the socket where there is one, which is quicker; else, and where no reply comes,
// its form is sent. The server settles a question once, so sending both ways does no harm.
import { all, on, person } from "./dom.js";
import { tell } from "./read-receipts.js";
import { say } from "./socket.js";

const PATIENCE = 3000; // milliseconds until the form is sent after all
const LONG = 100000; // characters that a socket is not for
const waiting = new Map(); // forms, with what stood in them, by the number that their reply has
const barred = new WeakMap(); // the same of forms that are sent as forms
let count = 0;

function busy(card, sending) {
  card.classList.toggle("htmx-request", sending);
  for (const button of all("form .button, form .quiet-button", card)) button.disabled = sending;
}

function finish(number) {
  const sent = waiting.get(number);
  waiting.delete(number);
  clearTimeout(sent.timer);
  busy(sent.form.closest(".card"), false);
  return sent;
}

// What was sent, whatever stands in the fields by now.
function byForm(number) {
  const { form, fields } = finish(number);
  if (!form.isConnected) return;
  barred.set(form, fields);
  form.noValidate = true;
  form.requestSubmit();
  form.noValidate = false;
  barred.delete(form);
}
on("htmx:configRequest", (event) => {
  const fields = barred.get(event.target);
  if (!fields) return;
  const { formData } = event.detail;
  for (const name of ["answer", "remember"]) {
    formData.delete(name);
    if (fields.has(name)) formData.set(name, fields.get(name));
  }
});

// Before htmx sends a form that it has found complete; a card sends one thing at a time.
on("htmx:beforeRequest", (event) => {
  const form = event.target;
  const card = form.closest(".card");
  if (card && [...waiting.values()].some((each) => card.contains(each.form))) event.preventDefault();
  if (event.defaultPrevented || !form.matches("form[data-swift]") || barred.has(form)) return;
  const fields = new FormData(form);
  const answer = fields.get("answer") || "";
  if (answer.length > LONG) return;
  count += 1;
  tell(); // what was seen of the card, before what came of it
  const sent = say({
    person,
    number: count,
    question: Number(card.dataset.question),
    answer,
    remember: fields.has("remember"),
  });
  if (!sent) return;
  event.preventDefault();
  waiting.set(count, { form, fields, timer: setTimeout(byForm, PATIENCE, count) });
  busy(card, true);
});

// Nothing that was under way when the line broke is answered on it.
on("htmx:wsClose", () => { for (const number of [...waiting.keys()]) byForm(number); });

// The reply is put in the card's place as htmx would have put that to its form.
on("htmx:wsBeforeMessage", (event) => {
  const { message } = event.detail;
  if (!message.startsWith("{")) return;
  event.preventDefault();
  const { reply, status, html } = JSON.parse(message);
  if (!waiting.has(reply)) return;
  const { form } = finish(reply);
  const card = form.closest(".card");
  const detail = { xhr: { status }, elt: form, target: card, shouldSwap: Boolean(html) };
  if (!html) htmx.trigger(card, "htmx:responseError", detail);
  else {
    htmx.trigger(card, "htmx:beforeSwap", detail);
    htmx.swap(card, html, { swapStyle: "outerHTML", swapDelay: 0, settleDelay: 0 }, { eventInfo: { target: card } });
  }
});
