// Submits the code of a one-time link, which follows the # of the URL. A browser may render the page
// before a person opens it; nothing is sent until then.
const form = document.querySelector("[data-code-form]");

function submitCode() {
  const code = location.hash.slice(1);
  if (!form || !code || form.elements.code.value) return;
  history.replaceState(null, "", location.pathname);
  form.elements.code.value = code;
  form.requestSubmit();
}

if (document.prerendering) document.addEventListener("prerenderingchange", submitCode, { once: true });
else submitCode();
addEventListener("hashchange", submitCode);
