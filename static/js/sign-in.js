// A page that was opened by a link with a code behind its # sends the code. Until a person sees the
// page, such as while a browser renders it ahead, nothing is sent.
const form = document.querySelector("[data-code-form]");

function send() {
  const code = location.hash.slice(1);
  if (!form || !code || form.elements.code.value) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
}

if (document.prerendering) document.addEventListener("prerenderingchange", send, { once: true });
else send();
addEventListener("hashchange", send);
