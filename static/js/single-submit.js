// A form that loads a page is sent once, however often it is pressed until the page has come.
const SENT_TIME_MS = 5000; // after which a form whose page has not come may be sent again
const sentForms = new WeakSet();

// At the window: scripts that send a form themselves have prevented it by then.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || form.hasAttribute("hx-post")) return;
  if (sentForms.has(form)) {
    event.preventDefault();
    return;
  }
  sentForms.add(form);
  setTimeout(() => sentForms.delete(form), SENT_TIME_MS);
});
