// Holds messages of the socket back while a pointer is pressed: a card that moved between press and
// release would get no click.
import { on } from "./dom.js";

const MAX_PRESS_MS = 2000; // for which a press holds messages back
let pressTimer = 0; // nonzero while pressed
let heldMessages = [];

function releaseMessages() {
  clearTimeout(pressTimer);
  pressTimer = 0;
  const messages = heldMessages;
  heldMessages = [];
  for (const { socket, data } of messages) socket.dispatchEvent(new MessageEvent("message", { data }));
}

on("pointerdown", (event) => {
  if (event.button === 0 && !pressTimer) pressTimer = setTimeout(releaseMessages, MAX_PRESS_MS);
}, true);
// The click follows the release in the same task.
for (const name of ["pointerup", "pointercancel", "dragend"]) {
  on(name, () => { if (pressTimer) setTimeout(releaseMessages); }, true);
}

// htmx adds its listener after the socket is created; this one precedes it.
const createWebSocket = htmx.createWebSocket;
htmx.createWebSocket = (url) => {
  const socket = createWebSocket(url);
  socket.addEventListener("message", (event) => {
    if (!pressTimer) return;
    event.stopImmediatePropagation();
    heldMessages.push({ socket, data: event.data });
  });
  return socket;
};
