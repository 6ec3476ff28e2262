// The browser downloads by itself; the page asks how far the server is with a large file.
import { on } from "./dom.js";

on("click", (event) => {
  if (event.target.closest(".download-link")) htmx.trigger("#download", "begin");
});
