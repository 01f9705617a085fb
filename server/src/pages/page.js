"use strict";
const find = (id) => document.getElementById(id);

// The token from the link. It is removed from the address bar at once, so that it stays out of history and screenshots.
let token = null;

function readToken() {
  const fromLink = new URLSearchParams(location.hash.slice(1)).get("token");
  if (fromLink) {
    token = fromLink;
    history.replaceState(null, "", location.pathname);
  }
  find("form").hidden = !token;
  if (token) showMessage("", "");
  else showMessage("error", "This page needs a token. Open the link from your mail again.");
}

function showMessage(kind, text) {
  find("message").className = kind;
  find("message").textContent = text;
}

function showSuccess(text) {
  token = null;
  find("form").hidden = true;
  find("next").hidden = false;
  showMessage("success", text);
  find("message").focus();
}

function problemText(problem) {
  const fields = (problem.invalid_params || []).map(({ name, reason }) => `The ${name.replaceAll("_", " ")} ${reason}.`);
  return fields.join(" ") || problem.detail || problem.title;
}

// Sends the token to the API. Returns null on success, otherwise the problem.
async function redeemToken(path, body, onSuccess) {
  const button = find("submit-button");
  if (button.getAttribute("aria-disabled") === "true") return null;
  button.setAttribute("aria-disabled", "true");
  showMessage("", "Please wait …");
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, ...body }),
      credentials: "omit",
      cache: "no-store",
    });
    const result = await response.json().catch(() => ({}));
    if (response.ok) {
      onSuccess(result);
      return null;
    }
    showMessage("error", problemText(result) || `The request failed with status ${response.status}.`);
    if (response.status === 401 && !(result.type || "").endsWith("auth.invalid_credentials")) {
      // The link is used or expired; a retry cannot succeed.
      find("form").hidden = true;
      find("message").focus();
    }
    return result;
  } catch {
    showMessage("error", "The service cannot be reached. Try again in a moment.");
    return {};
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

addEventListener("hashchange", readToken);
readToken();
