// The browser downloads a file itself; the page asks the server for the progress of a large one.
import { on } from "./dom.js";

on("click", (event) => {
  if (event.target.closest(".download-link")) htmx.trigger("#download", "begin");
});
