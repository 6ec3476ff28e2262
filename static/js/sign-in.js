// Submits the code of a one-time link, which follows the # of the URL. A browser may render the page
// before a person opens it; nothing is sent until then.
import { findAll } from "./dom.js";

const form = document.querySelector("[data-code-form]");

function submitCode() {
  const code = location.hash.slice(1);
  if (!form || !code || form.elements.code.value) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
}

// Where a page that wants a sign-in redirected here, the browser has kept that page's fragment: it is
// no code, and belongs to the page that opens after the sign-in.
function keepFragment() {
  for (const field of findAll("input[name=next]")) {
    if (!field.value.includes("#")) field.value += location.hash;
  }
}

if (form && form.elements.next) keepFragment();
else if (document.prerendering) document.addEventListener("prerenderingchange", submitCode, { once: true });
else submitCode();
// A link that is pasted into the address of this page.
addEventListener("hashchange", submitCode);
