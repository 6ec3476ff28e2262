// Makes a passkey, or signs in with one: requests a challenge, has the browser's authenticator reply
// to it, and submits the reply with the form.
import { decode, encode } from "./base64url.js";
import { findAll, on } from "./dom.js";


class Refusal extends Error {}

async function fetchOptions(form) {
  const response = await fetch(form.dataset.options, { method: "POST", body: new FormData(form) });
  const isJson = (response.headers.get("Content-Type") || "").startsWith("application/json");
  const options = isJson ? await response.json() : {};
  if (!response.ok || !isJson) throw new Refusal(options.problem || "The server didn't respond as expected. Reload the page, and try again.");
  options.challenge = decode(options.challenge);
  return options;
}

async function makeCredential(form) {
  const publicKey = await fetchOptions(form);
  publicKey.user.id = decode(publicKey.user.id);
  for (const known of publicKey.excludeCredentials || []) known.id = decode(known.id);
  const credential = await navigator.credentials.create({ publicKey });
  return [credential, { attestationObject: encode(credential.response.attestationObject) }];
}

async function useCredential(form) {
  const credential = await navigator.credentials.get({ publicKey: await fetchOptions(form) });
  const { authenticatorData, signature, userHandle } = credential.response;
  return [credential, {
    authenticatorData: encode(authenticatorData),
    signature: encode(signature),
    userHandle: userHandle ? encode(userHandle) : null,
  }];
}

function describeError(error) {
  if (error instanceof Refusal) return error.message;
  if (error.name === "InvalidStateError") return "This device has a passkey for your account already.";
  if (error.name === "NotAllowedError") return "No passkey was used: it was cancelled or took too long. Try again.";
  if (error.name === "TypeError") return "The server can't be reached. Try again.";
  return `Your browser can't do that here: ${error.message}`;
}

function showProblem(form, text) {
  const problem = document.createElement("p");
  problem.className = "notice error";
  problem.setAttribute("role", "alert");
  problem.textContent = text;
  form.append(problem);
}

on("submit", async (event) => {
  const form = event.target.closest("form[data-passkey]");
  if (!form) return;
  event.preventDefault();
  form.querySelector("[role=alert]")?.remove();
  // What an earlier form did would stand above what this one does.
  for (const notice of findAll("#main > .notice[role=status]")) notice.remove();
  try {
    if (!window.PublicKeyCredential) throw new Refusal("This browser has no passkeys. Sign in another way.");
    const [credential, reply] = await (form.dataset.passkey === "create" ? makeCredential(form) : useCredential(form));
    const id = encode(credential.rawId);
    reply.clientDataJSON = encode(credential.response.clientDataJSON);
    form.elements.credential.value = JSON.stringify({ id, rawId: id, type: credential.type, response: reply });
    form.submit(); // sends no further "submit" event
  } catch (error) {
    showProblem(form, describeError(error));
  }
});
