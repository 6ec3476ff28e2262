// The menu that changes a title, labels and the archive, while others change them too.
import { byId, on } from "./dom.js";
import { renew } from "./preserve-state.js";

// What may be changed is sent anew; not under the hands of somebody, but once they shut it.
let later = null;
on("htmx:oobBeforeSwap", (event) => {
  const { target, fragment } = event.detail;
  if (target.id !== "changing") return;
  later = byId("actions").open ? fragment.firstElementChild : null;
  if (later) event.preventDefault();
});
on("toggle", ({ target }) => {
  if (!later || target.id !== "actions" || target.open) return;
  renew(byId("changing"), later);
  later = null;
}, true);
