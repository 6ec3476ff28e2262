// What the socket tells waits while somebody presses: a card that moved under the pointer between
// press and release would get no click.
import { on } from "./dom.js";

const LONGEST = 2000; // milliseconds that a press may hold up what is told
let pressed = 0; // the timer that ends the press
let held = [];

function release() {
  clearTimeout(pressed);
  pressed = 0;
  const messages = held;
  held = [];
  for (const { socket, data } of messages) socket.dispatchEvent(new MessageEvent("message", { data }));
}

on("pointerdown", (event) => {
  if (event.button === 0 && !pressed) pressed = setTimeout(release, LONGEST);
}, true);
// The click comes right after the release, in the same task.
for (const name of ["pointerup", "pointercancel", "dragend"]) {
  on(name, () => { if (pressed) setTimeout(release); }, true);
}

// Its listener comes before that of htmx, which is added once the socket is made.
const make = htmx.createWebSocket;
htmx.createWebSocket = (url) => {
  const socket = make(url);
  socket.addEventListener("message", (event) => {
    if (!pressed) return;
    event.stopImmediatePropagation();
    held.push({ socket, data: event.data });
  });
  return socket;
};
