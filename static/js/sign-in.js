// Submits the code of a one-time link, which follows the # of the URL. A browser may render the page
// before a person opens it; nothing is sent until then. Who is signed in is asked first: a stranger's
// link would have them work in the stranger's account (login CSRF).
import { findAll } from "./dom.js";

const form = document.querySelector("[data-code-form]");
// The page of somebody who is signed in has a question around the form, hidden until there is a code.
const question = form?.closest("section[hidden]");

function submitCode() {
  const code = location.hash.slice(1);
  if (!form || !code || (form.elements.code.value && !question)) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  if (question) showQuestion();
  else form.requestSubmit();
}

// In place of the other ways to sign in.
function showQuestion() {
  question.hidden = false;
  for (let way = question.nextElementSibling; way; way = way.nextElementSibling) way.hidden = true;
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
